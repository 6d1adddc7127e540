#include "cli/command.h"
#include "cli/duration.h"
#include "optimize/optimize.h"
#include "report/results.h"
#include "report/suite.h"
#include "support/file_io.h"
#include "verify/asmpatch.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace asmevo::cli {

namespace {

namespace fs = std::filesystem;

struct BenchArguments {
  std::string suite, output = "results", budget = "120s", chip;
  std::vector<std::string> roots, only, moves;
  std::size_t mutants = 60, candidates = 0;
  unsigned threads = 1, perturbations = 10;
  std::uint64_t seed = 1;
  bool noFinal = false, json = false, again = false;
};

Result<std::map<std::string, std::string>> rootsOf(const std::vector<std::string>& given) {
  std::map<std::string, std::string> roots;
  for (const std::string& one : given) {
    const auto equals = one.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == one.size())
      return usageError("--root {}: give NAME=DIR", one);
    roots[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return roots;
}

class Bench {
 public:
  Bench(const BenchArguments& arguments, double seconds, Progress& progress)
      : arguments(arguments), seconds(seconds), progress(progress) {}

  Result<int> run() {
    ASMEVO_TRY(const auto roots, rootsOf(arguments.roots));
    ASMEVO_TRY(suite, report::loadSuite(arguments.suite, roots));
    for (const std::string& name : arguments.only)
      if (std::ranges::find(suite.kernels, name, &report::SuiteKernel::name) == suite.kernels.end())
        return usageError("--only {}: the suite has no such kernel", name);
    ASMEVO_TRY(device, device::makeSimulator(arguments.chip.empty() ? suite.chip : arguments.chip));
    std::error_code failure;
    fs::create_directories(arguments.output, failure);
    if (failure)
      return asmevo::badInput("{}: {}", arguments.output, failure.message());
    for (std::size_t i = 0; i < suite.kernels.size(); ++i) {
      const report::SuiteKernel& kernel = suite.kernels[i];
      if (!arguments.only.empty() && std::ranges::find(arguments.only, kernel.name) == arguments.only.end())
        continue;
      head = fmt::format("{} {} of {}", kernel.name, i + 1, suite.kernels.size());
      ASMEVO_CHECK(one(kernel));
    }
    progress.done();
    ASMEVO_TRY(std::vector<report::KernelResult> results, report::loadResults(arguments.output));
    std::erase_if(results, [&](const auto& r) { return r.suite != suite.name; });
    const report::Summary summary = report::summarise(results);
    nlohmann::json file = report::summaryJson(summary);
    file["suite"] = suite.name;
    file["device"] = device->name();
    file["modelled"] = device->modelled();
    ASMEVO_CHECK(writeFileAtomic(arguments.output + "/" + suite.name + ".summary.json", file.dump(2) + "\n"));
    if (arguments.json)
      fmt::print("{}\n", file.dump(2));
    else
      fmt::print("{}: {} kernels, {} verified, {} faster, {} failed; geometric mean {:.3f}x, maximum {:.3f}x{}\n",
                 suite.name, summary.kernels, summary.verified, summary.improved, summary.failed, summary.geometricMean,
                 summary.maximum, device->modelled() ? " (modelled)" : "");
    return int{summary.failed == 0 && summary.improved != 0 ? ok : negative};
  }

 private:
  std::string stemOf(const report::SuiteKernel& kernel) const { return arguments.output + "/" + kernel.name; }

  /// What a result depends on besides K0. Of the dispatches only the texts: data files are not read for it.
  std::string optionsText(const report::SuiteKernel& kernel) const {
    std::string texts;
    std::vector<std::string> paths = kernel.verify;
    paths.insert(paths.end(), kernel.final.begin(), kernel.final.end());
    paths.push_back(kernel.time);
    for (const std::string& path : paths)
      if (const auto bytes = readFile(fs::is_directory(path) ? path + "/dispatch.json" : path))
        texts += sha256Hex(*bytes);
    const std::string launches = sha256Hex({reinterpret_cast<const std::uint8_t*>(texts.data()), texts.size()});
    return fmt::format("launches {} budget {} candidates {} seed {} mutants {} perturbations {}{}{}",
                       launches.substr(0, 12), seconds, arguments.candidates, arguments.seed, arguments.mutants,
                       arguments.perturbations, arguments.noFinal ? " without final cases" : "",
                       arguments.moves.empty() ? "" : fmt::format(" moves {}", fmt::join(arguments.moves, ",")));
  }

  bool isDone(const report::SuiteKernel& kernel, const std::string& k0Hash) const {
    const auto bytes = readFile(stemOf(kernel) + ".result.json");
    if (!bytes || arguments.again)
      return false;
    const auto result =
        report::parseResult(nlohmann::json::parse(bytes->begin(), bytes->end(), nullptr, false), kernel.name);
    return result && result->error.empty() && result->k0Sha256 == k0Hash && result->device == device->name() &&
           result->options == optionsText(kernel);
  }

  /// A kernel that cannot be judged is a result of its own; only what concerns the whole run is an error here.
  Status one(const report::SuiteKernel& kernel) {
    report::KernelResult result;
    result.suite = suite.name;
    result.kernel = kernel.name;
    result.title = kernel.title;
    result.device = device->name();
    result.modelled = device->modelled();
    result.options = optionsText(kernel);
    auto k0 = object::CodeObject::load(kernel.object);
    if (k0) {
      result.k0Sha256 = sha256Hex(k0->bytes());
      if (isDone(kernel, result.k0Sha256))
        return {};
      const auto status = search(kernel, *k0, result);
      if (!status)
        result.error = status.error().message;
    } else {
      result.error = k0.error().message;
    }
    ASMEVO_CHECK(writeFileAtomic(stemOf(kernel) + ".result.json", report::resultJson(result).dump(2) + "\n"));
    progress.done();
    if (!arguments.json)
      fmt::print("{:<32} {:>10.2f} us {:>10.2f} us  {:.3f}x  {}{}\n", kernel.name, result.baselineMicroseconds,
                 result.finalMicroseconds, result.speedup(),
                 !result.error.empty()    ? "failed: " + result.error
                 : result.verdict.empty() ? "nothing faster found"
                                          : result.verdict,
                 result.atRoof() ? ", at its roof" : "");
    std::fflush(stdout);
    return {};
  }

  Status search(const report::SuiteKernel& kernel, const object::CodeObject& k0, report::KernelResult& result) {
    ASMEVO_TRY(const dispatch::Dispatch verified, report::loadDispatches(kernel.verify));
    ASMEVO_TRY(dispatch::Dispatch timed, dispatch::loadDispatch(kernel.time));
    dispatch::shareContents(timed);
    dispatch::Dispatch last = timed;
    if (!kernel.timesFinal) {
      ASMEVO_TRY(last, report::loadDispatches(kernel.final));
    }
    result.finalOnTimed = kernel.timesFinal;
    result.cases = verified.cases.size() + last.cases.size();
    optimize::Options options;
    options.budgetSeconds = seconds;
    options.maximumCandidates = arguments.candidates;
    options.seed = arguments.seed;
    options.threads = arguments.threads;
    options.perturbations = arguments.perturbations;
    options.mutants = arguments.mutants;
    options.scoreCache = arguments.output + "/scores";
    options.ledger = arguments.output + "/" + suite.name + ".ledger";
    for (const auto* move : optimize::moveTable())
      if (!arguments.moves.empty() && std::ranges::find(arguments.moves, move->name()) == arguments.moves.end())
        options.disabledMoves.emplace_back(move->name());
    options.timed = timed;
    if (!arguments.noFinal)
      options.finalCases = std::move(last);
    options.progress = [&](const std::string& line) { progress.show(head + ": " + line); };
    ASMEVO_CHECK(position(k0, timed, result.before, result.baselineMicroseconds, &result.bound));
    ASMEVO_TRY(const optimize::Outcome outcome, optimize::optimize(k0, verified, *device, options));
    result.baselineCycles = outcome.baselineCycles;
    result.finalCycles = outcome.finalCycles;
    result.candidates = outcome.candidatesTried;
    result.rejected = outcome.candidatesRejected;
    result.seconds = outcome.seconds;
    result.after = result.before;
    result.finalMicroseconds = result.baselineMicroseconds;
    if (!outcome.improved)
      return {};
    result.secondsToNineTenths = outcome.secondsToNineTenths;
    result.perturbedSpeedups = outcome.perturbedSpeedups;
    result.assumptions = outcome.assumptions;
    result.verdict = verify::levelName(outcome.verdict.level);
    if (outcome.finalVerdict)
      result.finalVerdict = verify::levelName(outcome.finalVerdict->level);
    for (const auto& edit : outcome.edits)
      result.edits.push_back({edit.move, edit.reason, edit.cyclesBefore / edit.cyclesAfter});
    result.k1Sha256 = sha256Hex(outcome.k1);
    ASMEVO_TRY(const auto k1, object::CodeObject::parse(outcome.k1, kernel.name));
    ASMEVO_CHECK(position(k1, timed, result.after, result.finalMicroseconds));
    nlohmann::json receipt = verify::receipt(k0, k1, outcome.verdict, verified, *device);
    receipt["assumptions"] = outcome.assumptions;
    ASMEVO_CHECK(writeFileAtomic(stemOf(kernel) + ".receipt.json", receipt.dump(2) + "\n"));
    return writeFileAtomic(stemOf(kernel) + ".co", outcome.k1);
  }

  /// Of the case that takes longest; microseconds and bounds of all.
  Status position(const object::CodeObject& object, const dispatch::Dispatch& timed, report::RoofPosition& roof,
                  double& microseconds, timing::Bound* bound = nullptr) {
    double longest = -1;
    microseconds = 0;
    const timing::Chip* chip = device->chip();
    for (const auto& launch : timed.cases) {
      ASMEVO_TRY(const auto loaded, device->load(object, launch.kernel));
      timing::Estimate estimate;
      if (bound && chip) {
        ASMEVO_TRY(const device::TracedCase traced, loaded->sample(launch, *chip));
        ASMEVO_TRY(estimate, traced.estimate(*chip));
        ASMEVO_TRY(const timing::Bound one, traced.bound(*chip, estimate));
        *bound += one;
      } else {
        ASMEVO_TRY(estimate, loaded->time(launch));
      }
      microseconds += estimate.microseconds;
      if (estimate.cycles > longest)
        roof = report::roofPosition(estimate);
      longest = std::max(longest, estimate.cycles);
    }
    return {};
  }

  const BenchArguments& arguments;
  double seconds;
  Progress& progress;
  report::Suite suite;
  std::unique_ptr<device::Device> device;
  std::string head;
};

Result<int> runBench(const BenchArguments& arguments) {
  ASMEVO_TRY(const double seconds, parseDuration("--budget-per-kernel", arguments.budget));
  for (const std::string& name : arguments.moves)
    if (std::ranges::find(optimize::moveTable(), name, &optimize::Move::name) == optimize::moveTable().end())
      return usageError("--moves {}: no such move; asmevo optimize --list-moves names them", name);
  Progress progress(!arguments.json);
  return Bench(arguments, seconds, progress).run();
}

} // namespace

void addBench(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "optimize every kernel of a suite and keep the results; resumes");
  command->add_option("SUITE", arguments->suite, "suite.json, or a folder with one")->required();
  command->add_option("--budget-per-kernel", arguments->budget, "time of each search: 60s, 10m")->capture_default_str();
  command->add_option("--chip", arguments->chip, "chip of the timing model (default: the suite's)");
  command->add_option("--out", arguments->output, "folder of the results, K1s and the ledger")->capture_default_str();
  command->add_option("--root", arguments->roots, "NAME=DIR: where a root of the suite's paths lies");
  command->add_option("--only", arguments->only, "only these kernels")->delimiter(',');
  command->add_option("--moves", arguments->moves, "only these moves (asmevo optimize --list-moves)")->delimiter(',');
  command->add_option("--candidates", arguments->candidates, "end each search after that many (0: by time alone)")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "of the searches")->capture_default_str();
  command->add_option("--threads", arguments->threads, "that price candidates")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--mutants", arguments->mutants,
                   "mutants that judge a dispatch before a result is called exact (0: it is not judged)")
      ->capture_default_str();
  command->add_option("--perturbations", arguments->perturbations, "chips near the nominal one, see optimize")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  command->add_flag("--no-final", arguments->noFinal, "do not verify K1 on the final cases");
  command->add_flag("--again", arguments->again, "repeat kernels that have a result");
  command->add_flag("--json", arguments->json, "print the summary as json");
  command->callback([arguments, &exit] {
    const auto result = runBench(*arguments);
    exit = result ? *result : fail(result.error(), {arguments->suite});
  });
}

} // namespace asmevo::cli
