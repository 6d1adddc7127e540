#include "cli/command.h"
#include "device/device.h"
#include "support/file_io.h"
#include "verify/minimise.h"
#include "verify/mutation/score.h"
#include "verify/proof/kept_counterexamples.h"
#include "verify/verify.h"

#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

namespace asmevo::cli {

namespace {

constexpr std::size_t shown = 8;

struct VerifyArguments {
  std::string k0, k1, dispatch, receipt, output, counterexamples;
  std::string chip = "mi300x";
  unsigned seeds = 2, rounds = 1, threads = 1;
  double timeLimit = 0, threshold = 0.99;
  std::size_t mutants = 0;
  std::uint64_t mutantSeed = 1;
  bool noProof = false, noStrict = false, json = false, mutationScore = false, minimise = false;
};

template <class List, class Line> void printSome(const List& list, Line&& line) {
  for (std::size_t i = 0; i < list.size() && i < shown; ++i)
    line(list[i]);
  if (list.size() > shown)
    fmt::print("  ... and {} more\n", list.size() - shown);
}

void print(const verify::EditReport& edit) {
  const bool old = edit.k0Begin != 0;
  fmt::print("  edit at {:#x}{}: {}, {} instructions out, {} in", old ? edit.k0Begin : edit.k1Begin,
             old ? "" : " of K1", verify::levelName(edit.level), edit.removed, edit.added);
  if (edit.cases == 0)
    fmt::print("; no case executes it");
  else
    fmt::print("; executed by {} cases; waves with all lanes {}, some {}, none {}", edit.cases, edit.execFull,
               edit.execPartial, edit.execNone);
  fmt::print("{}\n", edit.inLoop && !edit.backEdgeTaken ? "; no back edge of its loop seen" : "");
  if (!edit.reason.empty())
    fmt::print("    {}\n", edit.reason);
  for (const std::string& line : edit.reach)
    fmt::print("    reached by {}\n", line);
}

void print(const VerifyArguments& arguments, const verify::Verdict& verdict) {
  fmt::print("{} against {}: {}\n  {}\n", arguments.k1, arguments.k0, verify::levelName(verdict.level), verdict.reason);
  fmt::print("  {} edited blocks; static findings: {} new, {} that K0 has too\n", verdict.editedBlocks,
             verdict.newFindings.size(), verdict.baselineFindings);
  printSome(verdict.newFindings,
            [](const auto& finding) { fmt::print("  new {}: {}\n", finding.rule, finding.message); });
  for (std::size_t i = 0; i < verdict.strict.size() && i < verdict.givenCases; ++i)
    fmt::print("  {}: strict, memory delivered {}: {}\n", verdict.strict[i].name,
               fmt::join(verdict.strict[i].deliveries, ", "), verdict.strict[i].workgroups);
  if (verdict.strict.size() > verdict.givenCases)
    fmt::print("  {} of their variants strictly too, memory delivered late\n",
               verdict.strict.size() - verdict.givenCases);
  if (!verdict.strict.empty())
    fmt::print("  strict findings: {} new, {} that K0 has too\n", verdict.newStrictFindings.size(),
               verdict.knownStrictFindings.size());
  printSome(verdict.newStrictFindings,
            [](const auto& finding) { fmt::print("  new {}: {}\n", finding.rule, finding.message); });
  printSome(verdict.otherChanges, [](const std::string& change) { fmt::print("  declares {}\n", change); });
  for (const verify::CaseResult& result : verdict.cases)
    if (!result.skipped && result.equal)
      fmt::print("  {}: equal\n", result.name);
    else if (!result.skipped)
      fmt::print("  {}: {}\n", result.name, result.detail.empty() ? "not run" : "NOT equal: " + result.detail);
    else if (!result.detail.ends_with("executes nothing that other sizes do not"))
      fmt::print("  {}: {}\n", result.name, result.detail);
  if (verdict.sizesWithoutNews != 0)
    fmt::print("  {} more sizes are not compared: they execute nothing that others do not\n", verdict.sizesWithoutNews);
  printSome(verdict.leftOut, [](const std::string& line) { fmt::print("  {}\n", line); });
  printSome(verdict.edits, [](const verify::EditReport& edit) { print(edit); });
  printSome(verdict.proofAssumptions, [](const std::string& line) { fmt::print("  the proof assumes: {}\n", line); });
  if (verdict.counterexample)
    fmt::print("  another state tells the two apart; whether a launch reaches it is not known (the receipt has all of "
               "it):\n    window at {:#x}: {}\n",
               verdict.counterexample->address, verdict.counterexample->difference);
  printSome(verdict.nondeterminism, [](const std::string& line) { fmt::print("  not deterministic: {}\n", line); });
}

void print(const VerifyArguments& arguments, const verify::MutationScore& score) {
  using enum verify::MutantOutcome;
  fmt::print("{}: mutation score {:.4f} ({} of {} mutants planted, seed {})\n", arguments.k0, score.value(),
             score.fates.size() - score.count(unbuilt), score.possible, score.seed);
  fmt::print("  {} killed, {} blind spots, {} equivalent by proof, {} undecided; {:.4f} if all of those were wrong\n",
             score.count(killed), score.count(blindSpot), score.count(equivalent), score.count(undecided),
             score.lowerBound());
  fmt::print("  {:.4f} without those that only a state of a window tells apart, which may never arise\n",
             score.noticedByRuns());
  for (const auto& [gate, count] : score.killsByGate())
    fmt::print("  killed by {}: {}\n", gate, count);
  const auto table = score.byKind();
  fmt::print("  {:<20} {:>8} {:>11} {:>11} {:>10}\n", "kind", "killed", "blind spots", "equivalent", "undecided");
  for (std::size_t k = 0; k < verify::mutantKinds; ++k)
    fmt::print("  {:<20} {:>8} {:>11} {:>11} {:>10}\n", verify::mutantKindName(static_cast<verify::MutantKind>(k)),
               table[k][static_cast<std::size_t>(killed)], table[k][static_cast<std::size_t>(blindSpot)],
               table[k][static_cast<std::size_t>(equivalent)], table[k][static_cast<std::size_t>(undecided)]);
  for (const auto outcome : {blindSpot, undecided})
    for (const verify::MutantFate& fate : score.fates)
      if (fate.outcome == outcome)
        fmt::print("  {}: {} at {}\n    {}\n", verify::mutantOutcomeName(outcome),
                   verify::mutantKindName(fate.mutant.kind), fate.mutant.description, fate.reason);
}

void print(const verify::Minimised& least) {
  fmt::print("smallest refused part: {} of {} edited blocks ({} parts tried)\n", least.places.size(), least.edits,
             least.tried);
  for (const std::string& place : least.places)
    fmt::print("  {}\n", place);
  fmt::print("  {}: {}\n", verify::levelName(least.verdict.level), least.verdict.reason);
  if (!least.divergence || !least.divergence->first)
    return;
  const verify::Divergence& first = *least.divergence->first;
  fmt::print("  {}: first divergence in workgroup {}, wave {}{}: {} {}\n", least.divergedCase, first.workgroup,
             first.wave, first.lane ? fmt::format(", lane {}", *first.lane) : "",
             verify::divergenceKindName(first.kind), first.where);
  for (const auto& [name, side] : {std::pair{"K0", &first.k0}, std::pair{"K1", &first.k1}})
    fmt::print("    {} {} {:#x}  {}\n", name, side->value.empty() ? "nothing" : side->value, side->pc, side->text);
}

struct Inputs {
  object::CodeObject k0;
  dispatch::Dispatch dispatch;
  std::unique_ptr<device::Device> device;
  verify::Options options;
};

Result<Inputs> load(const VerifyArguments& arguments) {
  ASMEVO_TRY(object::CodeObject k0, object::CodeObject::load(arguments.k0));
  ASMEVO_TRY(dispatch::Dispatch dispatch, dispatch::loadDispatch(arguments.dispatch));
  ASMEVO_TRY(auto device, device::makeSimulator(arguments.chip));
  verify::Options options;
  options.seeds.clear();
  for (unsigned seed = 0; seed < arguments.seeds; ++seed)
    options.seeds.push_back(seed);
  options.prove = !arguments.noProof;
  options.timeLimitSeconds = arguments.timeLimit;
  options.strict = !arguments.noStrict;
  options.dataVariants = arguments.rounds;
  return Inputs{std::move(k0), std::move(dispatch), std::move(device), std::move(options)};
}

Result<int> runScore(const VerifyArguments& arguments) {
  ASMEVO_TRY(const Inputs inputs, load(arguments));
  Progress progress(!arguments.json);
  verify::MutationOptions options;
  options.mutants = arguments.mutants;
  options.seed = arguments.mutantSeed;
  options.threads = arguments.threads;
  options.gate = inputs.options;
  options.progress = [&](std::size_t done, std::size_t all) {
    progress.show(fmt::format("{} of {} mutants judged", done, all));
  };
  ASMEVO_TRY(const verify::MutationScore score,
             verify::scoreMutants(inputs.k0, inputs.dispatch, *inputs.device, options));
  progress.done();
  if (arguments.json)
    fmt::print("{}\n", verify::scoreJson(score).dump(2));
  else
    print(arguments, score);
  return int{score.lowerBound() >= arguments.threshold ? ok : negative};
}

Result<int> runVerify(const VerifyArguments& arguments) {
  if (arguments.mutationScore) {
    if (!arguments.k1.empty())
      return usageError("--mutation-score is of K0 and its dispatch alone: give no K1");
    return runScore(arguments);
  }
  if (arguments.k1.empty())
    return usageError("verify needs K0 and K1 (or --mutation-score)");
  ASMEVO_TRY(Inputs inputs, load(arguments));
  ASMEVO_TRY(const object::CodeObject k1, object::CodeObject::load(arguments.k1));
  Progress progress(!arguments.json);
  inputs.options.progress = [&](const std::string& what) { progress.show(what); };
  const std::string k0Hash = sha256Hex(inputs.k0.bytes());
  if (!arguments.counterexamples.empty()) {
    inputs.options.kept = std::make_shared<verify::KeptCounterexamples>();
    ASMEVO_CHECK(inputs.options.kept->load(arguments.counterexamples, k0Hash));
  }
  if (arguments.minimise) {
    ASMEVO_TRY(inputs.options.baseline,
               verify::measureBaseline(inputs.k0, inputs.dispatch, *inputs.device, inputs.options));
  }
  ASMEVO_TRY(const verify::Verdict verdict,
             verify::verify(inputs.k0, k1, inputs.dispatch, *inputs.device, inputs.options));
  nlohmann::json receipt = verify::receipt(inputs.k0, k1, verdict, inputs.dispatch, *inputs.device);
  std::optional<verify::Minimised> least;
  if (arguments.minimise && !verify::accepted(verdict.level)) {
    ASMEVO_TRY(least, verify::minimise(inputs.k0, k1, inputs.dispatch, *inputs.device, inputs.options));
    if (least) {
      receipt["smallest_refused"] = {{"edits", least->edits},
                                     {"places", least->places},
                                     {"hunks", least->hunks},
                                     {"verdict", verify::levelName(least->verdict.level)},
                                     {"reason", least->verdict.reason}};
      if (!arguments.output.empty())
        ASMEVO_CHECK(writeFileAtomic(arguments.output, least->k1));
    }
  }
  progress.done();
  if (inputs.options.kept && inputs.options.kept->size() != 0)
    ASMEVO_CHECK(inputs.options.kept->save(arguments.counterexamples, k0Hash));
  if (!arguments.receipt.empty())
    ASMEVO_CHECK(writeFileAtomic(arguments.receipt, receipt.dump(2) + "\n"));
  if (arguments.json)
    fmt::print("{}\n", receipt.dump(2));
  else {
    print(arguments, verdict);
    if (least)
      print(*least);
  }
  return int{verify::accepted(verdict.level) ? ok : negative};
}

} // namespace

void addVerify(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = app.add_subcommand("verify", "Is K1 a replacement of K0? Waits, proof and differential runs");
  command->add_option("K0", arguments->k0, "original code object")->required();
  command->add_option("K1", arguments->k1, "candidate");
  command->add_option("-d,--dispatch", arguments->dispatch, "dispatch.json, or a folder with one")->required();
  command->add_option("--receipt", arguments->receipt, "write the receipt here");
  command->add_option("--counterexamples", arguments->counterexamples,
                      "file of states that told earlier candidates from this K0: tried first, new ones are added");
  command->add_option("--seeds", arguments->seeds, "wave interleavings each case is run under")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_option("--time-limit", arguments->timeLimit, "give up after that many seconds (0: never)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--chip", arguments->chip, "chip of the simulator")->capture_default_str();
  command->add_flag("--no-proof", arguments->noProof, "differential runs and lint only");
  command->add_flag("--no-strict", arguments->noStrict, "no strict runs: waits and races are judged by lint only");
  command->add_option("--variants", arguments->rounds, "rounds of adversarial data each case is also run on (0: none)")
      ->capture_default_str()
      ->check(CLI::Range(0, 32));
  command->add_flag(
      "--minimise", arguments->minimise,
      "of a K1 that is refused, find the smallest part of its edits that still is, and where it diverges");
  command->add_option("-o,--output", arguments->output, "with --minimise: write K0 with that part here");
  command->add_flag("--mutation-score", arguments->mutationScore,
                    "plant mutants into K0 and report how many of them this dispatch and the gate notice");
  command->add_option("--mutants", arguments->mutants, "how many, of all kinds alike (0: all there are)")
      ->capture_default_str();
  command->add_option("--seed", arguments->mutantSeed, "which mutants")->capture_default_str();
  command
      ->add_option("--threshold", arguments->threshold,
                   "lower bound of the mutation score below which the exit code is 1")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--threads", arguments->threads, "mutants judged at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  command->add_flag("--json", arguments->json, "print the receipt, or the mutation score");
  command->callback([arguments, &exit] {
    const auto result = runVerify(*arguments);
    exit = result ? *result : fail(result.error());
  });
}

} // namespace asmevo::cli
