// Fits the few free numbers of a chip file to measured kernels and says how far the model is off.
#include "fit.h"

#include "support/file_io.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace asmevo::calibrate {
namespace {

struct Options {
  std::string dataset = "mi300a", objects, chip, write, only;
  bool fit = false, json = false, quiet = false;
};

void progress(const Options& options, const std::string& line) {
  if (!options.quiet)
    fmt::print(stderr, "{}\n", line);
}

Result<std::vector<Outcome>> predict(Dataset& dataset, const timing::Chip& chip, const HostCosts& host,
                                     const std::vector<Row>& rows, const Options& options) {
  const std::vector<std::string> calibrated = calibratedPrograms(rows);
  std::vector<Outcome> outcomes;
  for (const Row& row : rows) {
    if (!options.only.empty() && row.program != options.only)
      continue;
    ASMEVO_TRY(const Sequence sequence, dataset.sequence(row, chip));
    ASMEVO_TRY(const SequenceTime time, timeOf(sequence, chip));
    Outcome& outcome = outcomes.emplace_back();
    outcome.row = row;
    outcome.modelled = time.total(chip.parameter("launch.floorMicroseconds"), host);
    outcome.calibrated = std::ranges::count(calibrated, row.program) > 0;
    progress(options, fmt::format("{} {}: measured {:.1f} us, modelled {:.1f} us, {:+.1f} %", row.program, row.size,
                                  row.microseconds, outcome.modelled, outcome.error() * 100));
  }
  return outcomes;
}

std::vector<Outcome> half(const std::vector<Outcome>& outcomes, bool calibrated) {
  std::vector<Outcome> own;
  std::ranges::copy_if(outcomes, std::back_inserter(own), [&](const Outcome& o) { return o.calibrated == calibrated; });
  return own;
}

void printSummary(const std::string& name, const ErrorSummary& e) {
  fmt::print("{:<38} {:>6} {:>8.1f} {:>8.1f} {:>8.1f} {:>+8.1f}\n", name, e.points, e.mean * 100, e.median * 100,
             e.most * 100, e.bias * 100);
}

void printTable(const Dataset& dataset, const std::vector<Outcome>& outcomes) {
  fmt::print("modelled against measured, chip {}: |error| in %\n\n{:<38} {:>6} {:>8} {:>8} {:>8} {:>8}\n",
             dataset.chip(), "", "points", "mean", "median", "max", "bias");
  const auto programs = byProgram(outcomes);
  for (const bool calibrated : {true, false}) {
    fmt::print("{}\n", calibrated ? "calibrated on" : "unseen");
    for (const ProgramErrors& program : programs)
      if (program.calibrated == calibrated)
        printSummary("  " + program.program, program.errors);
    printSummary("  together", summarize(half(outcomes, calibrated)));
  }
  printSummary("all", summarize(outcomes));
  for (const std::string& remark : dataset.remarks(outcomes))
    fmt::print("{}\n", remark);
}

nlohmann::json toJson(const ErrorSummary& e) {
  return {{"points", e.points}, {"mean", e.mean}, {"median", e.median}, {"max", e.most}, {"bias", e.bias}};
}

nlohmann::json toJson(const Dataset& dataset, const std::vector<Outcome>& outcomes) {
  nlohmann::json programs = nlohmann::json::array(), points = nlohmann::json::array();
  for (const ProgramErrors& program : byProgram(outcomes))
    programs.push_back(
        {{"name", program.program}, {"calibrated", program.calibrated}, {"errors", toJson(program.errors)}});
  for (const Outcome& o : outcomes)
    points.push_back({{"program", o.row.program},
                      {"size", o.row.size},
                      {"measured_us", o.row.microseconds},
                      {"modelled_us", o.modelled},
                      {"calibrated", o.calibrated}});
  return {{"dataset", dataset.name()},
          {"chip", dataset.chip()},
          {"programs", programs},
          {"points", points},
          {"calibrated", toJson(summarize(half(outcomes, true)))},
          {"unseen", toJson(summarize(half(outcomes, false)))},
          {"all", toJson(summarize(outcomes))},
          {"remarks", dataset.remarks(outcomes)}};
}

Status writeFit(const Options& options, const Dataset& dataset, const FitResult& fitted) {
  std::vector<std::string> keys;
  for (const FreeParameter& parameter : dataset.freeParameters())
    keys.push_back(parameter.key);
  ASMEVO_TRY(const Bytes old, readFile(options.write));
  ASMEVO_TRY(const std::string text, rewriteChip(std::string(old.begin(), old.end()), fitted.chip, keys,
                                                 fmt::format("fitted by bench/calibrate on {} measured rows of {}",
                                                             fitted.rows, dataset.name())));
  ASMEVO_CHECK(writeFileAtomic(options.write, text));
  if (dataset.hostCostsFile().empty())
    return {};
  nlohmann::ordered_json costs;
  for (const FreeHostCost& cost : dataset.freeHostCosts())
    costs[cost.name] = fitted.host.*cost.member;
  return writeFileAtomic(dataset.hostCostsFile(), costs.dump(2) + "\n");
}

Status run(const Options& options) {
  ASMEVO_TRY(const std::unique_ptr<Dataset> dataset, makeDataset(options.dataset, options.objects));
  ASMEVO_TRY(timing::Chip chip, timing::loadChip(options.chip.empty() ? dataset->chip() : options.chip));
  ASMEVO_TRY(const std::vector<Row> rows, dataset->rows());
  HostCosts host = dataset->hostCosts();
  if (options.fit) {
    ASMEVO_TRY(const FitResult fitted, fit(*dataset, chip, rows, [&](const auto& line) { progress(options, line); }));
    progress(options, fmt::format("objective {:.4f} -> {:.4f} in {} evaluations of {} rows", fitted.before,
                                  fitted.after, fitted.evaluations, fitted.rows));
    for (const FreeParameter& parameter : dataset->freeParameters())
      progress(options, fmt::format("  {} = {}", parameter.key, fitted.chip.parameter(parameter.key)));
    for (const FreeHostCost& cost : dataset->freeHostCosts())
      progress(options, fmt::format("  host {} = {}", cost.name, fitted.host.*cost.member));
    if (!options.write.empty()) {
      ASMEVO_CHECK(writeFit(options, *dataset, fitted));
    }
    chip = fitted.chip;
    host = fitted.host;
  }
  ASMEVO_TRY(const std::vector<Outcome> outcomes, predict(*dataset, chip, host, rows, options));
  if (options.json)
    fmt::print("{}\n", toJson(*dataset, outcomes).dump(2));
  else
    printTable(*dataset, outcomes);
  return {};
}

} // namespace
} // namespace asmevo::calibrate

int main(int argc, char** argv) {
  using namespace asmevo;
  calibrate::Options options;
  CLI::App app{"Calibrates the timing model on measured kernels and reports its errors"};
  app.add_option("--dataset", options.dataset, "mi300a or mi308x")->capture_default_str();
  app.add_option(
      "--objects", options.objects,
      "mi308x: a checkout of ROCm/aiter, or the folder of its fp8gemm_blockscale objects; .cache/aiter otherwise");
  app.add_option("--chip", options.chip, "chip name or file to start from; the dataset's chip otherwise");
  app.add_flag("--fit", options.fit, "fit the free parameters before the report");
  app.add_option("--write", options.write, "chip file that gets the fitted values (with --fit)")
      ->check(CLI::ExistingFile);
  app.add_option("--only", options.only, "report this program only");
  app.add_flag("--json", options.json, "report as JSON, every point in it");
  app.add_flag("--quiet", options.quiet, "no progress on stderr");
  CLI11_PARSE(app, argc, argv);
  if (const Status status = calibrate::run(options); !status) {
    fmt::print(stderr, "calibrate: {}\n", status.error().message);
    return 3;
  }
  return 0;
}
