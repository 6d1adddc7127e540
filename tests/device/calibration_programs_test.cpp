// The programs of bench/calibrate compute what they are named after: each at a small size on the emulator, its whole
// launch sequence, against host arithmetic.
#include "calibrate/programs.h"
#include "device/run_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <numbers>

namespace asmevo {
namespace {

using namespace test;
using calibrate::Plan;

using Words = std::vector<std::uint32_t>;
using Floats = std::vector<double>;

/// Buffers by name, before and after the whole sequence.
struct Outcome {
  std::map<std::string, Words> before, after;

  const Words& words(const std::string& name) const { return after.at(name); }
  Floats in(const std::string& name) const { return floats(before.at(name)); }
  Floats out(const std::string& name) const { return floats(after.at(name)); }

 private:
  static Floats floats(const Words& words) {
    Floats values;
    for (const std::uint32_t word : words)
      values.push_back(std::bit_cast<float>(word));
    return values;
  }
};

Words wordsOf(const Bytes& bytes) {
  Words words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

Outcome runWhole(const std::string& program, const std::string& size) {
  const Plan plan = must(calibrate::planOf(program, size));
  const object::CodeObject object = loadObject(ASMEVO_BINARY_DIR "/calibrate/" + plan.object + ".co");
  const auto device = must(device::makeSimulator("mi300a"));
  Outcome run;
  std::vector<Bytes> contents;
  for (const calibrate::PlanLaunch& launch : plan.launches) {
    dispatch::Case made = calibrate::wholeCase(plan, launch);
    for (std::size_t i = 0; i < made.buffers.size(); ++i) {
      if (contents.empty())
        run.before[made.buffers[i].name] = wordsOf(made.buffers[i].initial);
      else
        made.buffers[i].initial = contents[i];
    }
    const emulator::RunResult result = must(must(device->load(object, launch.kernel))->launch(made, {}));
    EXPECT_TRUE(result.guardViolations.empty());
    contents = result.buffers;
  }
  for (std::size_t i = 0; i < plan.buffers.size(); ++i)
    run.after[plan.buffers[i].name] = wordsOf(contents.at(i));
  return run;
}

void expectNear(const Floats& actual, const Floats& expected, double relative) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (const double value : expected)
    largest = std::max(largest, std::abs(value));
  ASSERT_GT(largest, 0);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], relative * largest) << "element " << i;
}

TEST(CalibrationProgram, VectoraddAdds) {
  const Outcome run = runWhole("vectoradd", "1000");
  Floats expected = run.in("left");
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] += run.in("right")[i];
  expectNear(run.out("sum"), expected, 0);
}

TEST(CalibrationProgram, ReluCutsBelowZero) {
  const Outcome run = runWhole("relu", "1000");
  Floats expected = run.in("in");
  for (double& value : expected)
    value = std::max(value, 0.0);
  expectNear(run.out("out"), expected, 0);
}

TEST(CalibrationProgram, MatrixtransposeTransposes) {
  constexpr std::size_t n = 128;
  const Outcome run = runWhole("matrixtranspose", "128x128");
  const Floats in = run.in("in");
  Floats expected(n * n);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < n; ++column)
      expected[column * n + row] = in[row * n + column];
  expectNear(run.out("out"), expected, 0);
}

TEST(CalibrationProgram, MatrixmultiplicationMultipliesTheFirstRowsOfA) {
  constexpr std::size_t n = 64;
  const Outcome run = runWhole("matrixmultiplication", "64x64x64");
  const Floats a = run.in("a"), b = run.in("b");
  Floats expected(n * n);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < n; ++column)
      for (std::size_t k = 0; k < n; ++k)
        expected[row * n + column] += a[row % 32 * n + k] * b[k * n + column];
  expectNear(run.out("c"), expected, 1e-6);
}

TEST(CalibrationProgram, FirFilters) {
  constexpr std::size_t taps = 8;
  const Outcome run = runWhole("fir", "512_taps8");
  const Floats in = run.in("in"), coefficients = run.in("coefficients"), history = run.in("history");
  Floats expected(in.size());
  for (std::size_t at = 0; at < in.size(); ++at)
    for (std::size_t i = 0; i < taps; ++i)
      expected[at] += coefficients[i] * (at >= i ? in[at - i] : history[taps - (i - at)]);
  expectNear(run.out("out"), expected, 1e-6);
}

/// A x or, transposed, A^T x of a square matrix.
Floats product(const Floats& a, const Floats& x, bool transposed) {
  const std::size_t n = x.size();
  Floats result(n);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < n; ++column)
      result[transposed ? column : row] += a[row * n + column] * x[transposed ? row : column];
  return result;
}

TEST(CalibrationProgram, AtaxMultipliesTwice) {
  const Outcome run = runWhole("atax", "96x96");
  const Floats ax = product(run.in("a"), run.in("x"), false);
  expectNear(run.out("sum"), ax, 1e-5);
  expectNear(run.out("y"), product(run.in("a"), ax, true), 1e-5);
}

TEST(CalibrationProgram, BicgMultipliesBothWays) {
  const Outcome run = runWhole("bicg", "96x96");
  expectNear(run.out("sum"), product(run.in("a"), run.in("x"), false), 1e-5);
  expectNear(run.out("y"), product(run.in("a"), run.in("r"), true), 1e-5);
}

/// Patches of a square picture as rows of columns: [tap][position].
Floats patches(const Floats& picture, std::size_t side, std::size_t mask) {
  const std::size_t field = side - mask + 1;
  Floats columns;
  for (std::size_t tap = 0; tap < mask * mask; ++tap)
    for (std::size_t y = 0; y < field; ++y)
      for (std::size_t x = 0; x < field; ++x)
        columns.push_back(picture[(y + tap / mask) * side + x + tap % mask]);
  return columns;
}

TEST(CalibrationProgram, Im2colUnrollsPatches) {
  const Outcome run = runWhole("im2col", "N1_C1_20x20_k3x3");
  expectNear(run.out("columns"), patches(run.in("in"), 20, 3), 0);
}

TEST(CalibrationProgram, Conv2dConvolves) {
  constexpr std::size_t field = 8 * 8, taps = 25;
  const Outcome run = runWhole("conv2d", "N1_C1_12x12_k5x5_OC3");
  const Floats columns = patches(run.in("in"), 12, 5), weights = run.in("weights");
  Floats expected(3 * field);
  for (std::size_t output = 0; output < 3; ++output)
    for (std::size_t at = 0; at < field; ++at)
      for (std::size_t tap = 0; tap < taps; ++tap)
        expected[output * field + at] += weights[output * taps + tap] * columns[tap * field + at];
  Floats actual = run.out("out");
  actual.resize(expected.size());
  expectNear(actual, expected, 1e-6);
}

TEST(CalibrationProgram, KmeansFindsTheNearestCentre) {
  constexpr std::size_t points = 300, features = 8, centres = 5;
  const Outcome run = runWhole("kmeans", "pts300_feat8_clus5");
  const Floats data = run.in("features"), centre = run.in("centres");
  for (std::size_t point = 0; point < points; ++point) {
    std::uint32_t nearest = 0;
    double least = std::numeric_limits<double>::max();
    for (std::uint32_t c = 0; c < centres; ++c) {
      double distance = 0;
      for (std::size_t f = 0; f < features; ++f)
        distance += std::pow(data[f * points + point] - centre[c * features + f], 2);
      if (distance < least) {
        least = distance;
        nearest = c;
      }
    }
    ASSERT_EQ(run.words("membership")[point], nearest) << "point " << point;
  }
}

/// Compressed rows times vector.
Floats sparseProduct(const Words& starts, const Words& columns, const Floats& values, const Floats& x) {
  Floats result;
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    result.push_back(0);
    for (std::uint32_t at = starts[row]; at < starts[row + 1]; ++at)
      result.back() += values[at] * x[columns[at]];
  }
  return result;
}

TEST(CalibrationProgram, SpmvMultiplies) {
  const Outcome run = runWhole("spmv_csr_scalar", "512x512_nnz2048");
  expectNear(run.out("out"),
             sparseProduct(run.before.at("rowStarts"), run.before.at("columns"), run.in("values"), run.in("vector")),
             1e-6);
}

TEST(CalibrationProgram, PagerankGoesTwoSteps) {
  const Outcome run = runWhole("pagerank", "nodes64_sparsity0.5_priters2");
  const auto step = [&](const Floats& x) {
    return sparseProduct(run.before.at("rowStarts"), run.before.at("columns"), run.in("values"), x);
  };
  const Floats once = step(run.in("x"));
  expectNear(run.out("y"), once, 1e-6);
  expectNear(run.out("x"), step(once), 1e-6);
}

TEST(CalibrationProgram, NbodyMovesByGravity) {
  constexpr std::size_t bodies = 512;
  constexpr double step = 0.005, softening = 50;
  const Outcome run = runWhole("nbody", "512_particles");
  const Floats at = run.in("position"), speed = run.in("velocity");
  Floats moved(at), faster(speed);
  for (std::size_t i = 0; i < bodies; ++i)
    for (std::size_t d = 0; d < 3; ++d) {
      double pull = 0;
      for (std::size_t j = 0; j < bodies; ++j) {
        double squared = softening;
        for (std::size_t e = 0; e < 3; ++e)
          squared += std::pow(at[j * 4 + e] - at[i * 4 + e], 2);
        pull += at[j * 4 + 3] / std::pow(squared, 1.5) * (at[j * 4 + d] - at[i * 4 + d]);
      }
      moved[i * 4 + d] += speed[i * 4 + d] * step + pull * 0.5 * step * step;
      faster[i * 4 + d] += pull * step;
    }
  expectNear(run.out("newPosition"), moved, 1e-6);
  expectNear(run.out("newVelocity"), faster, 1e-6);
}

TEST(CalibrationProgram, BitonicsortSorts) {
  const Outcome run = runWhole("bitonicsort", "512");
  Words expected = run.before.at("array");
  std::sort(expected.begin(), expected.end());
  EXPECT_NE(expected, run.before.at("array"));
  EXPECT_EQ(run.words("array"), expected);
}

TEST(CalibrationProgram, FastwalshtransformTransforms) {
  const Outcome run = runWhole("fastwalshtransform", "512");
  const Floats in = run.in("array");
  Floats expected(in.size());
  for (std::size_t k = 0; k < in.size(); ++k)
    for (std::size_t i = 0; i < in.size(); ++i)
      expected[k] += std::popcount(k & i) % 2 ? -in[i] : in[i];
  expectNear(run.out("array"), expected, 1e-6);
}

TEST(CalibrationProgram, SimpleconvolutionConvolves) {
  constexpr std::size_t side = 32, mask = 3, pitch = side + mask - 1;
  const Outcome run = runWhole("simpleconvolution", "32x32_mask3");
  const Words in = run.before.at("in");
  const Floats weights = run.in("mask");
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < side; ++x) {
      double sum = 0.5;
      for (std::size_t j = 0; j < mask; ++j)
        for (std::size_t i = 0; i < mask; ++i)
          sum += in[(y + j) * pitch + x + i] * weights[j * mask + i];
      ASSERT_EQ(static_cast<int>(run.words("out")[y * side + x]), static_cast<int>(sum)) << y << ", " << x;
    }
}

TEST(CalibrationProgram, Stencil2dWeighsNineNeighbours) {
  constexpr std::size_t side = 64, pitch = 80; // 66 columns, a multiple of 16
  const Outcome run = runWhole("stencil2d", "64x64");
  const Floats in = run.in("in");
  Floats expected(in.size());
  for (std::size_t row = 1; row <= side; ++row)
    for (std::size_t column = 1; column <= side; ++column)
      for (const std::size_t y : {row - 1, row, row + 1})
        for (const std::size_t x : {column - 1, column, column + 1}) {
          const double weight = y == row && x == column ? 0.25 : y == row || x == column ? 0.15 : 0.05;
          expected[row * pitch + column] += weight * in[y * pitch + x];
        }
  expectNear(run.out("out"), expected, 1e-6);
}

TEST(CalibrationProgram, FloydwarshallFindsShortestPaths) {
  constexpr std::size_t n = 32;
  const Outcome run = runWhole("floydwarshall", "32_nodes");
  // Bellman-Ford from every node.
  const Words& edges = run.before.at("distance");
  Words expected = edges;
  for (std::size_t round = 0; round < n; ++round)
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t via = 0; via < n; ++via)
        for (std::size_t to = 0; to < n; ++to)
          expected[from * n + to] = std::min(expected[from * n + to], expected[from * n + via] + edges[via * n + to]);
  EXPECT_NE(expected, edges);
  EXPECT_EQ(run.words("distance"), expected);
}

TEST(CalibrationProgram, NwScoresEveryAlignment) {
  constexpr std::size_t pitch = 129;
  const Outcome run = runWhole("nw", "length=128");
  const Words& reference = run.before.at("reference");
  Words expected = run.before.at("scores");
  const auto at = [&](std::size_t row, std::size_t column) { return static_cast<int>(expected[row * pitch + column]); };
  for (std::size_t row = 1; row < pitch; ++row)
    for (std::size_t column = 1; column < pitch; ++column)
      expected[row * pitch + column] = static_cast<std::uint32_t>(
          std::max({at(row - 1, column - 1) + static_cast<int>(reference[row * pitch + column]),
                    at(row, column - 1) - 10, at(row - 1, column) - 10}));
  EXPECT_EQ(run.words("scores"), expected);
}

TEST(CalibrationProgram, Fft1DTransformsEachBlock) {
  constexpr std::size_t points = 512;
  const Outcome run = runWhole("fft1D_512", "1024_elements");
  const Floats in = run.in("work");
  Floats expected;
  for (std::size_t block = 0; block < 2; ++block)
    for (std::size_t k = 0; k < points; ++k) {
      std::complex<double> sum;
      for (std::size_t i = 0; i < points; ++i)
        sum += std::complex<double>(in[(block * points + i) * 2], in[(block * points + i) * 2 + 1]) *
               std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * i % points) / points);
      expected.push_back(sum.real());
      expected.push_back(sum.imag());
    }
  expectNear(run.out("work"), expected, 1e-5);
}

TEST(CalibrationProgram, EveryProgramIsChecked) {
  // The tests above, one per program.
  const auto& unit = *testing::UnitTest::GetInstance();
  int tests = 0;
  for (int i = 0; i < unit.total_test_suite_count(); ++i)
    if (std::string(unit.GetTestSuite(i)->name()) == "CalibrationProgram")
      tests = unit.GetTestSuite(i)->total_test_count();
  EXPECT_EQ(calibrate::programNames().size() + 1, static_cast<std::size_t>(tests));
}

TEST(CalibrationPlan, TimedLaunchesStandForTheSequence) {
  for (const auto& [program, size] : std::vector<std::pair<std::string, std::string>>{{"bitonicsort", "1048576"},
                                                                                      {"fastwalshtransform", "65536"},
                                                                                      {"nw", "length=2048"},
                                                                                      {"floydwarshall", "160_nodes"},
                                                                                      {"nbody", "131072_particles"},
                                                                                      {"atax", "4096x4096"}}) {
    const Plan plan = must(calibrate::planOf(program, size));
    double weight = 0;
    for (const calibrate::PlanLaunch& launch : plan.timed)
      weight += launch.weight;
    EXPECT_NEAR(weight, static_cast<double>(plan.launches.size()), 1e-9) << program;
  }
  // A loop of 512 tiles as loops of one and two: 512 = 1 + 511 * (2 - 1).
  const Plan nbody = must(calibrate::planOf("nbody", "131072_particles"));
  ASSERT_EQ(nbody.timed.size(), 2u);
  EXPECT_EQ(nbody.timed[0].weight, -510);
  EXPECT_EQ(nbody.timed[1].weight, 511);
}

TEST(CalibrationPlan, RefusesOtherSizes) {
  for (const auto& [program, size] : std::vector<std::pair<std::string, std::string>>{
           {"sort", "64"}, {"relu", "12x"}, {"relu", "0"}, {"nbody", "300_particles"}, {"relu", "9999999999"}})
    EXPECT_FALSE(calibrate::planOf(program, size)) << program << " " << size;
}

} // namespace
} // namespace asmevo
