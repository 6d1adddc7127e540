// MI308X: AITer's six fp8 block-scale GEMM objects at the 401 shapes its tuning table was measured at.
#include "dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <string_view>

namespace asmevo::calibrate {
namespace {

/// Where a checkout of ROCm/aiter is looked for when no folder is given, and where the objects lie in it.
constexpr const char* defaultCheckout = ASMEVO_SOURCE_DIR "/.cache/aiter";
constexpr const char* objectFolder = "hsa/gfx942/fp8gemm_blockscale";
constexpr const char* measuredFile = ASMEVO_SOURCE_DIR "/bench/calibrate/data/mi308x_fp8gemm_blockscale_measured.csv";

constexpr std::uint32_t tileColumns = 128, blockDepth = 128, threads = 256;

struct Shape {
  std::string object;
  std::uint32_t tileRows = 0, m = 0, n = 0, k = 0, splitK = 0;
  double microseconds = 0;

  std::uint32_t rowTiles() const { return (m + tileRows - 1) / tileRows; }
  std::string size() const { return fmt::format("{}x{}x{} ks{}", m, n, k, splitK); }
};

template <class T> bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Result<Shape> parseShape(std::string_view line) {
  std::array<std::string_view, 6> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t comma = std::min(line.find(','), line.size());
    fields[i] = line.substr(0, comma);
    line.remove_prefix(std::min(comma + 1, line.size()));
  }
  Shape shape;
  shape.object = fields[0];
  const std::size_t tile = fields[0].rfind('_') + 1, times = fields[0].rfind('x');
  if (tile >= times || times == std::string_view::npos ||
      !parse(fields[0].substr(tile, times - tile), shape.tileRows) || !parse(fields[1], shape.m) ||
      !parse(fields[2], shape.n) || !parse(fields[3], shape.k) || !parse(fields[4], shape.splitK) ||
      !parse(fields[5], shape.microseconds) || !shape.tileRows || !shape.splitK || shape.n % tileColumns != 0 ||
      shape.k % blockDepth != 0)
    return badInput("{}: not a measured shape: object '{}'", measuredFile, fields[0]);
  return shape;
}

Result<std::vector<Shape>> readShapes() {
  ASMEVO_TRY(const Bytes bytes, readFile(measuredFile, 1 << 20));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<Shape> shapes;
  for (bool header = true; !text.empty(); header = false) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!header && end > 0) {
      ASMEVO_TRY(Shape shape, parseShape(text.substr(0, end)));
      shapes.push_back(std::move(shape));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shapes;
}

/// The launch: arguments in slots of 16 bytes, buffers of zeros that take memory where sampled workgroups touch them.
dispatch::Case launchOf(const Shape& shape, const std::string& kernel) {
  dispatch::Case launch;
  launch.name = shape.size();
  launch.kernel = kernel;
  launch.workgroupSize = {threads, 1, 1};
  launch.gridSize = {shape.n / tileColumns * shape.splitK * threads, shape.rowTiles(), 1};
  launch.explicitKernarg = true;
  std::uint32_t slot = 0;
  const auto argument = [&]() -> dispatch::Argument& {
    dispatch::Argument& added = launch.arguments.emplace_back();
    added.at = 16 * slot++;
    return added;
  };
  const auto buffer = [&](const char* name, std::uint64_t bytes) {
    dispatch::Buffer& added = launch.buffers.emplace_back();
    added.name = name;
    added.shape = {bytes};
    added.sparseBytes = bytes;
    argument().buffer = name;
  };
  const auto number = [&](std::uint32_t value) {
    dispatch::Argument& added = argument();
    added.bytes.resize(sizeof value);
    std::memcpy(added.bytes.data(), &value, sizeof value);
  };
  const std::uint64_t m = shape.m, n = shape.n, k = shape.k, depth = k / blockDepth;
  buffer("C", 2 * m * n);
  buffer("A", m * k);
  buffer("B", n * k);
  buffer("scaleA", 4 * m * depth);
  buffer("scaleB", 4 * (n / tileColumns) * depth);
  buffer("bias", 4 * n);
  number(shape.m);
  number(shape.n);
  number(shape.k);
  number(shape.k);     // row of A in bytes
  number(shape.k);     // row of B
  number(2 * shape.n); // row of C
  number(shape.splitK);
  number(shape.m); // extents of the scales
  number(shape.n / tileColumns);
  number(shape.k / blockDepth);
  return launch;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(values[i], i); });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]])
      ++end;
    for (std::size_t i = first; i < end; ++i)
      result[order[i]] = static_cast<double>(first + end - 1) / 2;
    first = end;
  }
  return result;
}

/// Spearman's rank correlation, ties at their mean rank.
double rankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Summary {
  std::size_t rows = 0;
  double median = 0, mean = 0, worst = 0, ratio = 0, correlation = 0;
};

Summary summarise(const std::vector<const Outcome*>& outcomes) {
  std::vector<double> errors, measured, modelled, ratios;
  for (const Outcome* o : outcomes) {
    errors.push_back(std::abs(o->error()));
    ratios.push_back(o->modelled / o->row.microseconds);
    measured.push_back(o->row.microseconds);
    modelled.push_back(o->modelled);
  }
  Summary s;
  s.rows = outcomes.size();
  s.median = medianOf(errors);
  s.ratio = medianOf(ratios);
  s.correlation = rankCorrelation(measured, modelled);
  for (const double e : errors) {
    s.mean += e / static_cast<double>(errors.size());
    s.worst = std::max(s.worst, e);
  }
  return s;
}

std::string line(std::string_view title, const Summary& s) {
  return fmt::format(
      "{:24} {:5} rows  |error| median {:5.1f} %  mean {:5.1f} %  worst {:5.1f} %  model/measured median "
      "{:.3f}  rank correlation {:.4f}",
      title, s.rows, 100 * s.median, 100 * s.mean, 100 * s.worst, s.ratio, s.correlation);
}

class Mi308x final : public Dataset {
 public:
  explicit Mi308x(const std::string& objects) : folder(std::filesystem::path(objects) / objectFolder) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored))
      folder = objects;
  }

  std::string name() const override { return "mi308x"; }
  std::string chip() const override { return "mi308x"; }

  Result<std::vector<Row>> rows() override {
    ASMEVO_CHECK(load());
    std::vector<Row> result;
    for (const Shape& shape : shapes)
      result.push_back({shape.object, shape.size(), shape.microseconds});
    return result;
  }

  Result<Sequence> sequence(const Row& row, const timing::Chip& chip) override {
    ASMEVO_CHECK(load());
    const auto shape =
        std::ranges::find_if(shapes, [&](const Shape& s) { return s.object == row.program && s.size() == row.size; });
    if (shape == shapes.end())
      return badInput("mi308x: no row {} {}", row.program, row.size);
    ASMEVO_TRY(device::LoadedKernel * kernel, kernelOf(*shape));
    const dispatch::Case launch = launchOf(*shape, names.at(shape->object));
    ASMEVO_TRY(device::TracedCase traced, kernel->sample(launch, chip));
    Sequence result;
    result.launches.push_back({std::move(traced), 1});
    return result;
  }

  std::vector<FreeParameter> freeParameters() const override {
    return {{"clock.matrixMhz", 900, 2100}, {"launch.floorMicroseconds", 0, 8}};
  }
  std::size_t fitRowsPerProgram() const override { return 16; }

  std::vector<std::string> remarks(const std::vector<Outcome>& outcomes) const override {
    std::vector<std::string> lines;
    std::map<std::uint32_t, std::vector<const Outcome*>> byTile;
    std::vector<const Outcome*> unseen, calibrated;
    for (const Outcome& o : outcomes) {
      const Shape* shape = find(o.row);
      if (!shape)
        continue;
      byTile[shape->tileRows].push_back(&o);
      (o.calibrated ? calibrated : unseen).push_back(&o);
    }
    for (const auto& [tile, list] : byTile)
      lines.push_back(line(fmt::format("{}x128{}", tile, list.front()->calibrated ? " (calibrated)" : " (unseen)"),
                           summarise(list)));
    if (!calibrated.empty())
      lines.push_back(line("three calibrated objects", summarise(calibrated)));
    if (!unseen.empty())
      lines.push_back(line("three unseen objects", summarise(unseen)));
    addPicks(outcomes, lines);
    return lines;
  }

 private:
  Status load() {
    if (!shapes.empty())
      return {};
    ASMEVO_TRY(shapes, readShapes());
    ASMEVO_TRY(simulator, device::makeSimulator(chip()));
    return {};
  }

  Result<device::LoadedKernel*> kernelOf(const Shape& shape) {
    auto& slot = kernels[shape.object];
    if (!slot) {
      const std::string path = (folder / shape.object).string();
      const auto object = object::CodeObject::load(path);
      if (!object)
        return badInput("{} (a checkout of ROCm/aiter is needed: --objects DIR, or .cache/aiter)",
                        object.error().message);
      ASMEVO_TRY(const object::Kernel* kernel, object->findKernel(""));
      names[shape.object] = kernel->name;
      ASMEVO_TRY(slot, simulator->load(*object, kernel->name));
    }
    return slot.get();
  }

  const Shape* find(const Row& row) const {
    for (const Shape& s : shapes)
      if (s.object == row.program && s.size() == row.size)
        return &s;
    return nullptr;
  }

  /// The table holds one object per shape. An object's time depends on M through the number of its row tiles only, so a
  /// row of another M with as many tiles (and equal N and K) measures that object on the shape too.
  void addPicks(const std::vector<Outcome>& outcomes, std::vector<std::string>& lines) const {
    std::size_t several = 0, good = 0, fastest = 0, good20 = 0;
    for (const Outcome& o : outcomes) {
      const Shape* shape = find(o.row);
      if (!shape)
        continue;
      std::map<std::uint32_t, const Outcome*> byTile;
      for (const Outcome& other : outcomes) {
        const Shape* s = find(other.row);
        if (!s || s->n != shape->n || s->k != shape->k || s->rowTiles() != (shape->m + s->tileRows - 1) / s->tileRows)
          continue;
        const Outcome*& best = byTile[s->tileRows];
        if (!best || other.row.microseconds < best->row.microseconds)
          best = &other;
      }
      byTile[shape->tileRows] = &o;
      if (byTile.size() < 2)
        continue;
      const Outcome *pick = nullptr, *best = nullptr;
      for (const auto& [tile, candidate] : byTile) {
        if (!pick || candidate->modelled < pick->modelled)
          pick = candidate;
        if (!best || candidate->row.microseconds < best->row.microseconds)
          best = candidate;
      }
      if (!pick)
        continue;
      ++several;
      fastest += pick == best;
      good += pick->row.microseconds <= 1.10 * best->row.microseconds;
      good20 += pick->row.microseconds <= 1.20 * best->row.microseconds;
    }
    if (several)
      lines.push_back(
          fmt::format("picks: of {} shapes measured with several objects the model names the fastest in {}, "
                      "one within 10 % of it in {} ({:.1f} %), within 20 % in {}",
                      several, fastest, good, 100 * static_cast<double>(good) / static_cast<double>(several), good20));
  }

  std::filesystem::path folder;
  std::vector<Shape> shapes;
  std::unique_ptr<device::Device> simulator;
  std::map<std::string, std::unique_ptr<device::LoadedKernel>> kernels;
  std::map<std::string, std::string> names; ///< kernel by object
};

} // namespace

std::unique_ptr<Dataset> makeMi308x(const std::string& objects) {
  return std::make_unique<Mi308x>(objects.empty() ? defaultCheckout : objects);
}

} // namespace asmevo::calibrate
