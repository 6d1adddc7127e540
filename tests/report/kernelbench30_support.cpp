#include "report/kernelbench30_support.h"

#include "device/run_support.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>

namespace asmevo::test {

namespace {

using std::size_t;
using Values = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A case's inputs.
class Inputs {
 public:
  explicit Inputs(const dispatch::Case& launch) : launch(launch) {
    for (const dispatch::Buffer& buffer : launch.buffers)
      buffers.push_back(buffer.initial);
  }
  Values operator[](const std::string& name) const { return elements(launch, buffers, name); }
  const std::vector<std::uint64_t>& shape(const std::string& name) const {
    for (const dispatch::Buffer& buffer : launch.buffers)
      if (buffer.name == name)
        return buffer.shape;
    throw std::runtime_error("no buffer " + name);
  }
  float scalar(size_t argument) const {
    float value = 0;
    std::memcpy(&value, launch.arguments.at(argument).bytes.data(), sizeof value);
    return value;
  }

 private:
  const dispatch::Case& launch;
  std::vector<Bytes> buffers;
};

/// Collects an output.
struct Output {
  explicit Output(std::string buffer) { expectation.buffer = std::move(buffer); }
  void add(double value, double bound) {
    expectation.values.push_back(value);
    expectation.bounds.push_back(bound);
  }
  Expectation expectation;
};

/// Half a unit in the last place of 1.
constexpr double ulp = 0x1p-24;

/// f of every element, to within `ulps` of the result and `ofInput` ulps of the argument: the latter where a sum
/// cancels. Results below the least normal number may be flushed where a step towards them overflows.
std::function<Expectation(const Inputs&)> elementwise(const std::function<double(double)>& f, double ulps,
                                                      double ofInput = 0, double tiny = 0x1p-149) {
  return [=](const Inputs& in) {
    Output out("out");
    for (const double x : in["in"]) {
      const double y = f(x);
      out.add(y, ulps * ulp * std::fabs(y) + (std::isfinite(x) ? ofInput * ulp * std::fabs(x) : 0) +
                     tiny * std::fmax(1, std::isfinite(x) ? std::fabs(x) : 1));
    }
    return out.expectation;
  };
}

/// The same with the float behind the three usual arguments.
std::function<Expectation(const Inputs&)> withParameter(double (*f)(double, double), double ulps) {
  return [=](const Inputs& in) {
    const double parameter = static_cast<double>(in.scalar(3));
    return elementwise([=](double x) { return f(x, parameter); }, ulps)(in);
  };
}

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}
double elu(double x, double alpha) {
  return x > 0 ? x : alpha * std::expm1(x);
}

/// Rows of `in` to rows of `out`.
std::function<Expectation(const Inputs&)> byRow(const std::function<void(const Values& row, Output& out)>& f) {
  return [=](const Inputs& in) {
    const Values all = in["in"];
    const size_t columns = in.shape("in")[1];
    Output out("out");
    for (size_t first = 0; first < all.size(); first += columns)
      f({all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + columns)},
        out);
    return out.expectation;
  };
}

/// Largest value (NaNs do not count) and the sum of e^(x - largest).
std::pair<double, double> softmaxSums(const Values& row) {
  double largest = -infinity, sum = 0;
  for (const double x : row)
    largest = std::fmax(largest, x);
  for (const double x : row)
    sum += std::exp(x - largest);
  return {largest, sum};
}

void softmaxRow(const Values& row, Output& out) {
  const auto [largest, sum] = softmaxSums(row);
  for (const double x : row) {
    const double y = std::exp(x - largest) / sum;
    const double distance = std::isfinite(x) ? std::fabs(x - largest) : 0;
    out.add(y, (40 + 2 * distance) * ulp * y + 0x1p-149);
  }
}

void logSoftmaxRow(const Values& row, Output& out) {
  const auto [largest, sum] = softmaxSums(row);
  for (const double x : row)
    out.add(x - largest - std::log(sum),
            std::isfinite(x) ? 4 * ulp * (std::fabs(x) + std::fabs(largest) + std::log(sum)) + 40 * ulp : 0);
}

void l1Row(const Values& row, Output& out) {
  double sum = 0;
  for (const double x : row)
    sum += std::fabs(x);
  for (const double x : row)
    out.add(x / sum, 20 * ulp * std::fabs(x / sum) + 0x1p-149);
}

void cumsumRow(const Values& row, Output& out) {
  double sum = 0, size = 0;
  for (const double x : row) {
    sum += x;
    size += std::fabs(x);
    out.add(sum, 20 * ulp * size);
  }
}

/// C = A * B where A's element of row r and depth d is at index(r, d).
Expectation product(const Inputs& in, size_t m, size_t n, size_t k,
                    const std::function<size_t(size_t, size_t)>& index) {
  const Values a = in["a"], b = in["b"];
  Output out("c");
  for (size_t row = 0; row < m; ++row)
    for (size_t column = 0; column < n; ++column) {
      double sum = 0, size = 0;
      for (size_t depth = 0; depth < k; ++depth) {
        const double term = a[index(row, depth)] * b[depth * n + column];
        sum += term;
        size += std::fabs(term);
      }
      out.add(sum, 40 * ulp * size);
    }
  return out.expectation;
}

Expectation squareMatmul(const Inputs& in) {
  const size_t n = in.shape("a")[0];
  return product(in, n, n, n, [=](size_t row, size_t depth) { return row * n + depth; });
}

Expectation matmulTransposedA(const Inputs& in) {
  const size_t k = in.shape("a")[0], m = in.shape("a")[1];
  return product(in, m, in.shape("b")[1], k, [=](size_t row, size_t depth) { return depth * m + row; });
}

Expectation diagonalMatmul(const Inputs& in) {
  const Values d = in["d"], b = in["b"];
  Output out("c");
  for (size_t i = 0; i < b.size(); ++i) {
    const double y = d[i / (b.size() / d.size())] * b[i];
    out.add(y, ulp * std::fabs(y) + 0x1p-149);
  }
  return out.expectation;
}

Expectation matrixVector(const Inputs& in) {
  const Values a = in["a"], x = in["x"];
  Output out("y");
  for (size_t row = 0; row < a.size() / x.size(); ++row) {
    double sum = 0, size = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sum += a[row * x.size() + i] * x[i];
      size += std::fabs(a[row * x.size() + i] * x[i]);
    }
    out.add(sum, 40 * ulp * size);
  }
  return out.expectation;
}

Expectation rmsNorm(const Inputs& in) {
  const Values x = in["in"];
  const size_t features = in.shape("in")[1], pixels = in.shape("in")[2];
  const double epsilon = static_cast<double>(in.scalar(4));
  Output out("out");
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t first = i / (features * pixels) * features * pixels + i % pixels;
    double squares = 0;
    for (size_t feature = 0; feature < features; ++feature)
      squares += x[first + feature * pixels] * x[first + feature * pixels];
    const double y = x[i] / std::sqrt(squares / static_cast<double>(features) + epsilon);
    out.add(y, 30 * ulp * std::fabs(y) + 0x1p-149);
  }
  return out.expectation;
}

/// Pairs of sums by workgroup, which takes every parts-th piece of 1024 values of a row.
Expectation layerNormSums(const Inputs& in) {
  const Values x = in["in"];
  const size_t rows = in.shape("sums")[0], parts = in.shape("sums")[1], columns = x.size() / rows;
  Output out("sums");
  for (size_t row = 0; row < rows; ++row)
    for (size_t part = 0; part < parts; ++part) {
      double sum = 0, size = 0, squares = 0;
      for (size_t i = 0; i < columns; ++i) {
        if (i / 1024 % parts != part)
          continue;
        const double value = x[row * columns + i];
        sum += value;
        size += std::fabs(value);
        squares += value * value;
      }
      out.add(sum, 20 * ulp * size);
      out.add(squares, 20 * ulp * squares);
    }
  return out.expectation;
}

Expectation layerNorm(const Inputs& in) {
  const Values x = in["in"], sums = in["sums"], weight = in["weight"], bias = in["bias"];
  const size_t columns = weight.size(), parts = in.shape("sums")[1];
  const double epsilon = static_cast<double>(in.scalar(7));
  Output out("out");
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t row = i / columns, column = i % columns;
    double sum = 0, squares = 0;
    for (size_t part = 0; part < parts; ++part) {
      sum += sums[2 * (row * parts + part)];
      squares += sums[2 * (row * parts + part) + 1];
    }
    const double mean = sum / static_cast<double>(columns);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(columns) - mean * mean + epsilon);
    out.add((x[i] - mean) * factor * weight[column] + bias[column],
            60 * ulp * (std::fabs(x[i]) + std::fabs(mean)) * factor * std::fabs(weight[column]) +
                ulp * std::fabs(bias[column]));
  }
  return out.expectation;
}

/// `taps` by `taps` taps, `dilation` apart, every `stride` places of images padded by `padding`.
struct Windows {
  int taps, stride, padding, dilation;
};

/// Calls `tap(value)` for every tap inside the image and `done()` once for every place of the result.
void overWindows(const Inputs& in, const Windows& windows, const std::function<void(double)>& tap,
                 const std::function<void()>& done) {
  const Values x = in["in"];
  const auto extent = [&](const char* name, size_t d) { return static_cast<int>(in.shape(name)[d]); };
  for (int image = 0; image < extent("out", 0); ++image)
    for (int row = 0; row < extent("out", 1); ++row)
      for (int column = 0; column < extent("out", 2); ++column) {
        for (int i = 0; i < windows.taps * windows.taps; ++i) {
          const int y = row * windows.stride - windows.padding + i / windows.taps * windows.dilation;
          const int z = column * windows.stride - windows.padding + i % windows.taps * windows.dilation;
          if (y >= 0 && y < extent("in", 1) && z >= 0 && z < extent("in", 2))
            tap(x[static_cast<size_t>((image * extent("in", 1) + y) * extent("in", 2) + z)]);
        }
        done();
      }
}

Expectation maxPool(const Inputs& in) {
  Output out("out");
  double largest = -infinity;
  overWindows(
      in, {.taps = 2, .stride = 2, .padding = 1, .dilation = 3}, [&](double x) { largest = std::fmax(largest, x); },
      [&] {
        out.add(largest, 0);
        largest = -infinity;
      });
  return out.expectation;
}

Expectation averagePool(const Inputs& in) {
  Output out("out");
  double sum = 0, size = 0;
  overWindows(
      in, {.taps = 3, .stride = 3, .padding = 0, .dilation = 1},
      [&](double x) {
        sum += x;
        size += std::fabs(x);
      },
      [&] {
        out.add(sum / 9, 2 * ulp * size);
        sum = size = 0;
      });
  return out.expectation;
}

/// The middle dimension of [batch][rows][columns] away.
std::function<Expectation(const Inputs&)> reduction(const std::function<void(const Values& column, Output& out)>& f) {
  return [=](const Inputs& in) {
    const Values x = in["in"];
    const auto& shape = in.shape("in");
    Output out("out");
    for (size_t batch = 0; batch < shape[0]; ++batch)
      for (size_t column = 0; column < shape[2]; ++column) {
        Values values;
        for (size_t row = 0; row < shape[1]; ++row)
          values.push_back(x[(batch * shape[1] + row) * shape[2] + column]);
        f(values, out);
      }
    return out.expectation;
  };
}

void sumOf(const Values& values, Output& out) {
  double sum = 0, size = 0;
  for (const double x : values) {
    sum += x;
    size += std::fabs(x);
  }
  out.add(sum, 20 * ulp * size);
}

void maximumOf(const Values& values, Output& out) {
  double largest = -infinity;
  for (const double x : values)
    largest = std::fmax(largest, x);
  out.add(largest, 0);
}

void placeOfMaximum(const Values& values, Output& out) {
  size_t place = 0;
  double largest = -infinity;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] > largest) {
      largest = values[i];
      place = i;
    }
  out.add(static_cast<double>(place), 0);
}

Expectation depthwiseConvolution(const Inputs& in) {
  const Values x = in["in"], filters = in["filters"];
  const auto& shape = in.shape("in");
  const size_t height = shape[2], width = shape[3];
  Output out("out");
  for (size_t image = 0; image < shape[0] * shape[1]; ++image)
    for (size_t row = 0; row + 2 < height; ++row)
      for (size_t column = 0; column + 2 < width; ++column) {
        double sum = 0, size = 0;
        for (size_t tap = 0; tap < 9; ++tap) {
          const double term =
              x[(image * height + row + tap / 3) * width + column + tap % 3] * filters[image % shape[1] * 9 + tap];
          sum += term;
          size += std::fabs(term);
        }
        out.add(sum, 9 * ulp * size);
      }
  return out.expectation;
}

using Reference = std::function<Expectation(const Inputs&)>;

const std::map<std::string, Reference>& references() {
  static const std::map<std::string, Reference> table = {
      {"p01_square_matmul", squareMatmul},
      {"p04_matrix_vector", matrixVector},
      {"p05_matrix_scalar", withParameter([](double x, double factor) { return x * factor; }, 1)},
      {"p12_diagonal_matmul", diagonalMatmul},
      {"p16_matmul_transposed_a", matmulTransposedA},
      {"p19_relu", elementwise([](double x) { return std::fmax(x, 0); }, 0)},
      {"p20_leaky_relu", withParameter([](double x, double slope) { return x > 0 ? x : x * slope; }, 1)},
      {"p21_sigmoid", elementwise([](double x) { return logistic(x); }, 8, 0, 0x1p-126)},
      {"p22_tanh", elementwise([](double x) { return std::tanh(x); }, 6)},
      {"p23_softmax", byRow(softmaxRow)},
      {"p24_log_softmax", byRow(logSoftmaxRow)},
      {"p25_swish", elementwise([](double x) { return x * logistic(x); }, 8, 0, 0x1p-126)},
      {"p26_gelu", elementwise([](double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }, 6, 4)},
      {"p27_selu", elementwise([](double x) { return 1.0507009873554805 * elu(x, 1.6732632423543772); }, 8)},
      {"p28_hard_sigmoid", elementwise([](double x) { return std::fmin(std::fmax((x + 3) / 6, 0), 1); }, 4, 1, ulp)},
      {"p29_softplus", elementwise([](double x) { return x > 20 ? x : std::log1p(std::exp(x)); }, 12)},
      {"p30_softsign", elementwise([](double x) { return x / (1 + std::fabs(x)); }, 3)},
      {"p31_elu", withParameter(elu, 8)},
      {"p32_hard_tanh", elementwise([](double x) { return std::fmin(std::fmax(x, -1), 1); }, 0)},
      {"p36_rms_norm", rmsNorm},
      {"p38_l1_norm", byRow(l1Row)},
      {"p40_layer_norm", layerNorm},
      {"p40_layer_norm_sums", layerNormSums},
      {"p42_max_pool", maxPool},
      {"p45_average_pool", averagePool},
      {"p47_sum_reduction", reduction(sumOf)},
      {"p49_max_reduction", reduction(maximumOf)},
      {"p51_argmax", reduction(placeOfMaximum)},
      {"p82_depthwise_conv", depthwiseConvolution},
      {"p88_new_gelu",
       elementwise([](double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); },
                   8, 12)},
      {"p89_cumsum", byRow(cumsumRow)},
  };
  return table;
}

} // namespace

Expectation kernelBenchReference(const dispatch::Case& launch) {
  const auto found = references().find(launch.kernel);
  if (found == references().end())
    throw std::runtime_error("no reference for " + launch.kernel);
  return found->second(Inputs(launch));
}

} // namespace asmevo::test
