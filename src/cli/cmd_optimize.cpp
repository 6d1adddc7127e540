#include "agent/agent.h"
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/hidden_debug.h"
#include "optimize/optimize.h"
#include "support/file_io.h"
#include "verify/asmpatch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace asmevo::cli {

namespace {

struct OptimizeArguments {
  std::string k0, dispatch, output, chip = "mi300x", budget = "60s", agent, model, baseUrl,
                                    keyVariable = "OPENAI_API_KEY", timed, finalCases, ledger;
  std::vector<std::string> disabled, only;
  unsigned seeds = 2, maxTurns = 60, threads = 0, perturbations = 10;
  std::optional<unsigned> effort;
  std::uint64_t seed = 1;
  std::size_t mutants = 60, candidates = 0;
  double threshold = 0.99;
  bool inPlace = false, json = false, listMoves = false;
};

void printTable(const OptimizeArguments& arguments, const device::Device& device, const optimize::Outcome& outcome) {
  fmt::print("device    {}{}\n", device.name(), device.modelled() ? " (cycles are modelled)" : "");
  fmt::print("baseline  {:.0f} cycles\n", outcome.baselineCycles);
  fmt::print("hottest windows of K0\n");
  for (std::size_t i = 0; i < outcome.windows.size() && i < 5; ++i) {
    const auto& w = outcome.windows[i];
    fmt::print("  {:#8x}..{:#x}  {:5.1f} %  {}\n", w.begin, w.end, 100 * w.share, timing::stallName(w.topStall));
  }
  std::vector<std::string> spent;
  for (const auto& [phase, seconds] : outcome.phaseSeconds)
    spent.push_back(fmt::format("{} {:.0f} s", phase, seconds));
  fmt::print("candidates {} tried, {} rejected by the gate\n", outcome.candidatesTried, outcome.candidatesRejected);
  fmt::print("ended by  {} after {:.0f} s ({})\n", outcome.ended, outcome.seconds, fmt::join(spent, ", "));
  if (!outcome.improved) {
    fmt::print("nothing faster found within {}: nothing written\n", arguments.budget);
    return;
  }
  fmt::print("accepted edits\n  {:<17} {:<19} {:>12} {:>12}  {:<9} {}\n", "move", "window", "before", "after",
             "verdict", "reason");
  for (const auto& edit : outcome.edits)
    fmt::print("  {:<17} {:<19} {:>12.0f} {:>12.0f}  {:<9} {}\n", edit.move,
               fmt::format("{:#x}..{:#x}", edit.begin, edit.end), edit.cyclesBefore, edit.cyclesAfter,
               verify::levelName(edit.level), edit.reason);
  fmt::print("result    {:.0f} cycles, {:.3f}x, verdict {}\n", outcome.finalCycles,
             outcome.baselineCycles / outcome.finalCycles, verify::levelName(outcome.verdict.level));
  if (const auto& near = outcome.perturbedSpeedups; !near.empty()) {
    const auto [least, most] = std::ranges::minmax(near);
    fmt::print("          {:.3f}x to {:.3f}x on {} chips near {} (modelled)\n", least, most, near.size(),
               device.name());
  }
  for (const std::string& line : outcome.assumptions)
    fmt::print("assumes   {}\n", line);
  if (outcome.finalVerdict)
    fmt::print("final     verdict {} on {} more cases\n", verify::levelName(outcome.finalVerdict->level),
               outcome.finalVerdict->givenCases);
}

nlohmann::json timingSection(const optimize::Outcome& outcome, const device::Device& device) {
  nlohmann::json edits = nlohmann::json::array();
  for (const auto& e : outcome.edits)
    edits.push_back({{"move", e.move},
                     {"reason", e.reason},
                     {"begin", e.begin},
                     {"end", e.end},
                     {"cycles_before", e.cyclesBefore},
                     {"cycles_after", e.cyclesAfter},
                     {"verdict", verify::levelName(e.level)},
                     {"assumptions", e.assumptions},
                     {"perturbed_speedups", e.perturbedSpeedups},
                     {"seconds", e.seconds}});
  return {{"modelled", device.modelled()},
          {"cycles_before", outcome.baselineCycles},
          {"cycles_after", outcome.finalCycles},
          {"perturbed_speedups", outcome.perturbedSpeedups},
          {"edits", std::move(edits)}};
}

/// How the search went: its time, and every program that it accepted.
nlohmann::json searchJson(const optimize::Outcome& outcome) {
  nlohmann::json steps = nlohmann::json::array();
  for (const auto& step : outcome.steps)
    steps.push_back({{"seconds", step.seconds}, {"cycles", step.cycles}});
  return {{"seconds", outcome.seconds},
          {"seconds_to_nine_tenths", outcome.secondsToNineTenths},
          {"phase_seconds", outcome.phaseSeconds},
          {"ended_by", outcome.ended},
          {"steps", std::move(steps)}};
}

/// Every candidate that went through the whole gate, with what the proof took.
nlohmann::json attemptsJson(const optimize::Outcome& outcome) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& attempt : outcome.attempts) {
    nlohmann::json windows = nlohmann::json::array();
    for (const auto& w : attempt.windows)
      windows.push_back({{"address", w.address},
                         {"status", verify::statusName(w.status)},
                         {"instructions", w.instructions},
                         {"seconds", w.seconds}});
    list.push_back({{"move", attempt.move},
                    {"edits", attempt.edits},
                    {"accepted", verify::accepted(attempt.level)},
                    {"verdict", verify::levelName(attempt.level)},
                    {"reason", attempt.reason},
                    {"gate_seconds", attempt.gateSeconds},
                    {"proof_windows", std::move(windows)}});
  }
  return list;
}

/// Names the debug sections that K1 no longer shows.
Result<std::vector<std::string>> writeOutputs(const OptimizeArguments& arguments, const object::CodeObject& k0,
                                              const dispatch::Dispatch& dispatch, const device::Device& device,
                                              const optimize::Outcome& outcome, const verify::Options& options) {
  auto k1 = object::CodeObject::parse(outcome.k1, arguments.output);
  if (!k1)
    return std::move(k1).error();
  nlohmann::json receipt = verify::receipt(k0, *k1, outcome.verdict, dispatch, device);
  receipt["timing"] = timingSection(outcome, device);
  receipt["seeds"] = options.seeds;
  receipt["assumptions"] = outcome.assumptions;
  if (outcome.finalVerdict)
    receipt["final_cases"] = {{"verdict", verify::levelName(outcome.finalVerdict->level)},
                              {"reason", outcome.finalVerdict->reason},
                              {"cases", outcome.finalVerdict->givenCases}};
  if (!outcome.mutation.is_null())
    receipt["mutation"] = outcome.mutation;
  auto patch = verify::createPatch(k0, *k1, receipt, verify::PatchForm::anyBytes);
  if (!patch)
    return std::move(patch).error();
  std::string stem = arguments.output;
  if (const auto dot = stem.rfind('.'); dot != std::string::npos && stem.find('/', dot) == std::string::npos)
    stem.resize(dot);
  ASMEVO_CHECK(writeFileAtomic(stem + ".receipt.json", receipt.dump(2) + "\n"));
  ASMEVO_CHECK(writeFileAtomic(stem + ".asmpatch", patch->dump(2) + "\n"));
  ASMEVO_CHECK(writeFileAtomic(arguments.output, outcome.k1));
  return warnOfHiddenDebug(k0, *k1, arguments.output);
}

Result<optimize::Outcome> withAgent(const OptimizeArguments& arguments, const object::CodeObject& k0,
                                    const dispatch::Dispatch& dispatch, device::Device& device,
                                    optimize::Outcome builtIn, const optimize::Options& gate, double seconds,
                                    Progress& progress) {
  agent::Options options;
  options.endpoint.baseUrl = arguments.baseUrl;
  options.endpoint.model = arguments.model;
  if (const char* key = std::getenv(arguments.keyVariable.c_str()))
    options.endpoint.apiKey = key;
  options.maxTurns = arguments.maxTurns;
  options.budgetSeconds = seconds;
  options.gate = gate;
  options.progress = [&](const std::string& line) { progress.show(line); };
  ASMEVO_TRY(const auto start,
             object::CodeObject::parse(builtIn.improved ? builtIn.k1 : Bytes(k0.bytes().begin(), k0.bytes().end()),
                                       k0.name()));
  ASMEVO_TRY(auto outcome, agent::run(k0, start, dispatch, device, options));
  fmt::print(stderr, "agent     {} turns, {} proposals, {} kept\n", outcome.turns, outcome.proposals, outcome.accepted);
  builtIn.candidatesTried += outcome.result.candidatesTried;
  builtIn.candidatesRejected += outcome.result.candidatesRejected;
  if (!outcome.result.improved)
    return builtIn;
  builtIn.improved = true;
  builtIn.k1 = std::move(outcome.result.k1);
  builtIn.finalCycles = outcome.result.finalCycles;
  builtIn.verdict = std::move(outcome.result.verdict);
  builtIn.edits.insert(builtIn.edits.end(), outcome.result.edits.begin(), outcome.result.edits.end());
  return builtIn;
}

/// Where mutation scores of earlier jobs lie.
std::string scoreCache() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const std::string base = cache && *cache ? cache : home && *home ? std::string(home) + "/.cache" : ".";
  return base + "/asmevo/mutation-scores";
}

Result<int> runOptimize(const OptimizeArguments& arguments) {
  if (arguments.listMoves) {
    for (const auto* move : optimize::moveTable())
      fmt::print("{:<17} {}\n", move->name(), move->purpose());
    return int{ok};
  }
  if (arguments.k0.empty() || arguments.dispatch.empty() || arguments.output.empty())
    return usageError("optimize needs K0, -d and -o (asmevo optimize --help)");
  const auto isMove = [](const std::string& name) {
    return std::ranges::any_of(optimize::moveTable(), [&](const auto* move) { return move->name() == name; });
  };
  for (const auto& [option, names] :
       {std::pair("--disable", &arguments.disabled), std::pair("--moves", &arguments.only)})
    for (const std::string& name : *names)
      if (!isMove(name))
        return usageError("{} {}: no such move; asmevo optimize --list-moves names them", option, name);
  const bool useAgent = !arguments.agent.empty();
  if (useAgent && (arguments.agent != "openai" || arguments.model.empty() || arguments.baseUrl.empty()))
    return usageError("--agent openai needs --model and --base-url");
  const auto start = std::chrono::steady_clock::now();
  ASMEVO_TRY(const double budget, parseDuration("--budget", arguments.budget));
  ASMEVO_TRY(const auto k0, object::CodeObject::load(arguments.k0));
  ASMEVO_TRY(const auto dispatch, dispatch::loadDispatch(arguments.dispatch));
  ASMEVO_TRY(const auto device, device::makeSimulator(arguments.chip));
  Progress progress(!arguments.json);
  optimize::Options options;
  options.disabledMoves = arguments.disabled;
  for (const auto* move : optimize::moveTable())
    if (!arguments.only.empty() && std::ranges::find(arguments.only, move->name()) == arguments.only.end())
      options.disabledMoves.emplace_back(move->name());
  options.maximumCandidates = arguments.candidates;
  options.seed = arguments.seed;
  constexpr unsigned mostThreads = 4;
  options.threads =
      arguments.threads ? arguments.threads : std::clamp(std::thread::hardware_concurrency(), 1u, mostThreads);
  options.maximumEffort = arguments.effort.value_or(options.maximumEffort);
  options.ledger = arguments.ledger;
  options.perturbations = arguments.perturbations;
  if (!arguments.timed.empty()) {
    ASMEVO_TRY(options.timed, dispatch::loadDispatch(arguments.timed));
  }
  if (!arguments.finalCases.empty()) {
    ASMEVO_TRY(options.finalCases, dispatch::loadDispatch(arguments.finalCases));
  }
  options.inPlace = arguments.inPlace;
  options.mutants = arguments.mutants;
  options.scoreCache = scoreCache();
  options.verify.mutationThreshold = arguments.threshold;
  options.verify.seeds.clear();
  for (unsigned s = 0; s < arguments.seeds; ++s)
    options.verify.seeds.push_back(s);
  options.progress = [&](const std::string& line) { progress.show(line); };
  const double loading = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  options.budgetSeconds = (useAgent ? budget / 2 : budget) - loading;
  ASMEVO_TRY(auto outcome, optimize::optimize(k0, dispatch, *device, options));
  if (useAgent) {
    ASMEVO_TRY(outcome, withAgent(arguments, k0, dispatch, *device, std::move(outcome), options, budget / 2, progress));
  }
  progress.done();
  std::vector<std::string> hiddenDebug;
  if (outcome.improved) {
    ASMEVO_TRY(hiddenDebug, writeOutputs(arguments, k0, dispatch, *device, outcome, options.verify));
  }
  if (arguments.json) {
    nlohmann::json report = timingSection(outcome, *device);
    report["improved"] = outcome.improved;
    report["search"] = searchJson(outcome);
    report["device"] = device->name();
    report["verdict"] = verify::levelName(outcome.verdict.level);
    report["hidden_debug_sections"] = hiddenDebug;
    report["candidates_tried"] = outcome.candidatesTried;
    report["candidates_rejected"] = outcome.candidatesRejected;
    report["attempts"] = attemptsJson(outcome);
    if (!outcome.mutation.is_null())
      report["mutation"] = outcome.mutation;
    fmt::print("{}\n", report.dump(2));
  } else
    printTable(arguments, *device, outcome);
  return int{outcome.improved ? ok : negative};
}

} // namespace

void addOptimize(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<OptimizeArguments>();
  CLI::App* command = app.add_subcommand(
      "optimize", "search for a verified and faster K1: writes K1, <K1 stem>.receipt.json and <K1 stem>.asmpatch");
  command->add_option("K0", arguments->k0, "code object (.co, .hsaco)");
  command->add_option("-d,--dispatch", arguments->dispatch, "dispatch.json or capsule folder");
  command->add_option("-o,--output", arguments->output, "K1");
  command->add_option("--budget", arguments->budget, "time for all of it, last verification included: 60s, 10m")
      ->capture_default_str();
  command->add_option("--chip", arguments->chip, "chip of the timing model")->capture_default_str();
  command->add_option("--timing-dispatch", arguments->timed,
                      "cases to time instead of those that are verified: production sizes");
  command->add_option("--final-dispatch", arguments->finalCases, "cases that only the final K1 is verified on as well");
  command->add_option("--ledger", arguments->ledger,
                      "file of what searches found: one that was stopped goes on, others start from it");
  command->add_option("--candidates", arguments->candidates, "end after that many candidates (0: by --budget alone)")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "of the search")->capture_default_str();
  command
      ->add_option("--effort", arguments->effort,
                   "rounds without a gain, each at more effort, after which the search ends with time left (default: "
                   "when nothing is left to try)")
      ->check(CLI::Range(0, 1000));
  command
      ->add_option("--threads", arguments->threads,
                   "that price candidates (default: one for each core, at most 4); the result is the same with any")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--perturbations", arguments->perturbations,
                   "chips near the nominal one that an edit has to be faster on too, all but 2 (0: none)")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  command->add_option("--moves", arguments->only, "only these moves (--list-moves)")->delimiter(',');
  command->add_option("--disable", arguments->disabled, "moves not to use (--list-moves)")->delimiter(',');
  command->add_flag("--list-moves", arguments->listMoves, "list the moves and exit");
  command->add_flag("--in-place", arguments->inPlace, "conservative: patch blocks in place, nothing else moves");
  command->add_option("--seeds", arguments->seeds, "wave interleavings each case is verified under")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--mutants", arguments->mutants,
                   "mutants that judge the dispatch before a result is called exact (0: it is not judged)")
      ->capture_default_str();
  command->add_option("--mutation-threshold", arguments->threshold, "share of them that has to be noticed")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--agent", arguments->agent, "language-model loop after the built-in search: openai");
  command->add_option("--model", arguments->model, "model name of the endpoint");
  command->add_option("--base-url", arguments->baseUrl, "OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1");
  command->add_option("--api-key-env", arguments->keyVariable, "environment variable with the key")
      ->capture_default_str();
  command->add_option("--max-turns", arguments->maxTurns, "requests to the model")->capture_default_str();
  command->add_flag("--json", arguments->json, "machine-readable report");
  command->callback([arguments, &exit] {
    const auto result = runOptimize(*arguments);
    exit = result ? *result : fail(result.error(), {arguments->k0, arguments->dispatch});
  });
}

} // namespace asmevo::cli
