#include "fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace asmevo::calibrate {
namespace {

constexpr std::string_view floorKey = "launch.floorMicroseconds";

double roundToDigits(double value) {
  return std::strtod(fmt::format("{:.3e}", value).c_str(), nullptr);
}

/// One value of the search.
struct Coordinate {
  double value = 0, low = 0, high = 0;
};

/// Compass search: tries each coordinate up and down, keeps what helps, halves the steps when nothing does.
template <class Objective>
double compassSearch(std::vector<Coordinate>& at, double firstStep, double lastStep, const Objective& objective) {
  double best = objective(at);
  for (double step = firstStep; step >= lastStep;) {
    bool better = false;
    for (Coordinate& coordinate : at)
      for (const double direction : {1.0, -1.0}) {
        const double before = coordinate.value;
        coordinate.value = std::clamp(roundToDigits(before + direction * step * (coordinate.high - coordinate.low)),
                                      coordinate.low, coordinate.high);
        if (coordinate.value == before)
          continue;
        if (const double now = objective(at); now < best) {
          best = now;
          better = true;
          break;
        }
        coordinate.value = before;
      }
    if (!better)
      step /= 2;
  }
  return best;
}

double missOf(double modelled, double measured) {
  return modelled > 0 ? std::min(1.0, std::abs(std::log(modelled / measured))) : 1.0;
}

class Fitter {
 public:
  Fitter(Dataset& dataset, timing::Chip start, std::vector<Row> fitted)
      : data(dataset), chip(std::move(start)), rows(std::move(fitted)) {
    reset();
  }

  Status prepare(const std::function<void(const std::string&)>& progress) {
    for (const Row& row : rows) {
      progress(fmt::format("tracing {} {}", row.program, row.size));
      ASMEVO_TRY(Sequence sequence, data.sequence(row, chip));
      sequences.push_back(std::move(sequence));
    }
    return {};
  }

  /// Objective with these parameters and the best host costs for them, which it keeps.
  Result<double> evaluate(const timing::Chip& candidate) {
    std::vector<SequenceTime> times;
    for (const Sequence& sequence : sequences) {
      ASMEVO_TRY(const SequenceTime time, timeOf(sequence, candidate));
      times.push_back(time);
    }
    ++evaluationCount;
    const std::vector<FreeHostCost> costs = data.freeHostCosts();
    std::vector<Coordinate> at;
    for (const FreeHostCost& cost : costs)
      at.push_back({host.*cost.member, cost.low, cost.high});
    for (const FreeParameter& parameter : data.freeParameters())
      if (parameter.key == floorKey)
        at.push_back({floor, parameter.low, parameter.high});
    const auto objective = [&](const std::vector<Coordinate>& values) {
      apply(costs, values);
      std::map<std::string, std::pair<double, double>> programs; // sum and number of misses
      for (std::size_t i = 0; i < rows.size(); ++i) {
        auto& [sum, count] = programs[rows[i].program];
        sum += missOf(times[i].total(floor, host), rows[i].microseconds);
        count += 1;
      }
      double mean = 0;
      for (const auto& [program, misses] : programs)
        mean += misses.first / misses.second;
      return mean / static_cast<double>(programs.size());
    };
    if (at.empty())
      return objective(at);
    const double best = compassSearch(at, 0.125, 1.0 / 512, objective);
    apply(costs, at);
    return best;
  }

  Result<FitResult> run(const std::function<void(const std::string&)>& progress) {
    FitResult result;
    result.rows = rows.size();
    ASMEVO_TRY(result.before, evaluate(chip));
    progress(fmt::format("{} rows, objective {:.4f}", rows.size(), result.before));
    reset();
    std::vector<Coordinate> at;
    std::vector<std::string> keys;
    for (const FreeParameter& parameter : data.freeParameters())
      if (parameter.key != floorKey) {
        at.push_back({middle(parameter.low, parameter.high), parameter.low, parameter.high});
        keys.push_back(parameter.key);
      }
    Status failure;
    const auto objective = [&](const std::vector<Coordinate>& values) {
      timing::Chip candidate = chip;
      std::string text;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        candidate = withParameter(std::move(candidate), keys[i], values[i].value);
        text += fmt::format(" {}={:.4g}", keys[i], values[i].value);
      }
      const Result<double> miss = evaluate(candidate);
      if (!miss) {
        failure = miss.error();
        return 1e9;
      }
      progress(fmt::format("{:.4f}{}", *miss, text));
      return *miss;
    };
    if (!at.empty())
      compassSearch(at, 0.25, 1.0 / 64, objective);
    ASMEVO_CHECK(failure);
    for (std::size_t i = 0; i < keys.size(); ++i)
      chip = withParameter(std::move(chip), keys[i], at[i].value);
    ASMEVO_TRY(result.after, evaluate(chip));
    result.chip = withParameter(chip, std::string(floorKey), floor);
    result.host = host;
    result.evaluations = evaluationCount;
    return result;
  }

 private:
  static double middle(double low, double high) { return roundToDigits((low + high) / 2); }

  /// Host costs and floor to where every search starts, so that a fit does not depend on an earlier one's result.
  void reset() {
    host = data.hostCosts();
    for (const FreeHostCost& cost : data.freeHostCosts())
      host.*cost.member = middle(cost.low, cost.high);
    floor = chip.parameter(floorKey);
    for (const FreeParameter& parameter : data.freeParameters())
      if (parameter.key == floorKey)
        floor = middle(parameter.low, parameter.high);
  }

  void apply(const std::vector<FreeHostCost>& costs, const std::vector<Coordinate>& values) {
    for (std::size_t i = 0; i < costs.size(); ++i)
      host.*costs[i].member = values[i].value;
    if (values.size() > costs.size())
      floor = values.back().value;
  }

  Dataset& data;
  timing::Chip chip;
  std::vector<Row> rows;
  std::vector<Sequence> sequences;
  HostCosts host;
  double floor = 0;
  unsigned evaluationCount = 0;
};

} // namespace

std::vector<Row> fitRows(Dataset& dataset, const std::vector<Row>& rows) {
  std::map<std::string, std::vector<Row>> programs;
  for (const std::string& name : calibratedPrograms(rows))
    programs[name];
  for (const Row& row : rows)
    if (const auto program = programs.find(row.program); program != programs.end())
      program->second.push_back(row);
  std::vector<Row> chosen;
  for (const auto& [name, own] : programs) {
    const std::size_t most = dataset.fitRowsPerProgram();
    if (most < 2 || own.size() <= most) {
      chosen.insert(chosen.end(), own.begin(), own.end());
      continue;
    }
    for (std::size_t i = 0; i < most; ++i)
      chosen.push_back(own[i * (own.size() - 1) / (most - 1)]);
  }
  return chosen;
}

Result<FitResult> fit(Dataset& dataset, const timing::Chip& start, const std::vector<Row>& rows,
                      const std::function<void(const std::string&)>& progress) {
  Fitter fitter(dataset, start, fitRows(dataset, rows));
  ASMEVO_CHECK(fitter.prepare(progress));
  return fitter.run(progress);
}

Result<std::string> rewriteChip(const std::string& text, const timing::Chip& chip, const std::vector<std::string>& keys,
                                const std::string& source) {
  std::string result = text;
  for (const std::string& key : keys) {
    const std::string name = "\"" + key + "\":";
    const std::size_t begin = result.find(name);
    const std::size_t end = begin == std::string::npos ? begin : result.find('\n', begin);
    if (end == std::string::npos)
      return badInput("chip file: no line with {}", key);
    const bool more = result[end - 1] == ',';
    result.replace(
        begin, end - begin,
        fmt::format(R"({} {{"value": {}, "source": "{}"}}{})", name, chip.parameter(key), source, more ? "," : ""));
  }
  return result;
}

} // namespace asmevo::calibrate
