#include "cli/command.h"
#include "device/device.h"
#include "verify/verify.h"

#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

namespace asmevo::cli {

namespace {

constexpr std::size_t shown = 8;

struct VerifyArguments {
  std::string k0, k1, dispatch, receipt;
  std::string chip = "mi300x";
  unsigned seeds = 2;
  double timeLimit = 0;
  bool noProof = false, noStrict = false, json = false;
};

template <class List, class Line> void printSome(const List& list, Line&& line) {
  for (std::size_t i = 0; i < list.size() && i < shown; ++i)
    line(list[i]);
  if (list.size() > shown)
    fmt::print("  ... and {} more\n", list.size() - shown);
}

void print(const VerifyArguments& arguments, const verify::Verdict& verdict) {
  fmt::print("{} against {}: {}\n  {}\n", arguments.k1, arguments.k0, verify::levelName(verdict.level), verdict.reason);
  fmt::print("  {} edited blocks; static findings: {} new, {} that K0 has too\n", verdict.editedBlocks,
             verdict.newFindings.size(), verdict.baselineFindings);
  printSome(verdict.newFindings,
            [](const auto& finding) { fmt::print("  new {}: {}\n", finding.rule, finding.message); });
  for (const verify::StrictSummary& strict : verdict.strict)
    fmt::print("  {}: strict, {}: {}\n", strict.name, fmt::join(strict.deliveries, ", "), strict.workgroups);
  if (!verdict.strict.empty())
    fmt::print("  strict findings: {} new, {} that K0 has too\n", verdict.newStrictFindings.size(),
               verdict.knownStrictFindings.size());
  printSome(verdict.newStrictFindings,
            [](const auto& finding) { fmt::print("  new {}: {}\n", finding.rule, finding.message); });
  printSome(verdict.otherChanges, [](const std::string& change) { fmt::print("  declares {}\n", change); });
  for (const verify::CaseResult& result : verdict.cases)
    fmt::print("  {}: {}{}{}\n", result.name, result.equal ? "equal" : "NOT equal", result.detail.empty() ? "" : ": ",
               result.detail);
  printSome(verdict.uncoveredEdits,
            [](std::uint64_t at) { fmt::print("  no case executes the edited block at {:#x} of K0\n", at); });
  printSome(verdict.uncoveredNew,
            [](std::uint64_t at) { fmt::print("  no case executes the new block at {:#x} of K1\n", at); });
  printSome(verdict.nondeterminism, [](const std::string& line) { fmt::print("  not deterministic: {}\n", line); });
}

Result<int> runVerify(const VerifyArguments& arguments) {
  ASMEVO_TRY(const object::CodeObject k0, object::CodeObject::load(arguments.k0));
  ASMEVO_TRY(const object::CodeObject k1, object::CodeObject::load(arguments.k1));
  ASMEVO_TRY(const dispatch::Dispatch dispatch, dispatch::loadDispatch(arguments.dispatch));
  ASMEVO_TRY(const auto device, device::makeSimulator(arguments.chip));
  verify::Options options;
  options.seeds.clear();
  for (unsigned seed = 0; seed < arguments.seeds; ++seed)
    options.seeds.push_back(seed);
  options.prove = !arguments.noProof;
  options.timeLimitSeconds = arguments.timeLimit;
  options.strict = !arguments.noStrict;
  ASMEVO_TRY(const verify::Verdict verdict, verify::verify(k0, k1, dispatch, *device, options));
  const nlohmann::json receipt = verify::receipt(k0, k1, verdict, dispatch, *device);
  if (!arguments.receipt.empty())
    ASMEVO_CHECK(writeFileAtomic(arguments.receipt, receipt.dump(2) + "\n"));
  if (arguments.json)
    fmt::print("{}\n", receipt.dump(2));
  else
    print(arguments, verdict);
  return int{verify::accepted(verdict.level) ? ok : negative};
}

} // namespace

void addVerify(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = app.add_subcommand("verify", "Is K1 a replacement of K0? Waits, proof and differential runs");
  command->add_option("K0", arguments->k0, "original code object")->required();
  command->add_option("K1", arguments->k1, "candidate")->required();
  command->add_option("-d,--dispatch", arguments->dispatch, "dispatch.json, or a folder with one")->required();
  command->add_option("--receipt", arguments->receipt, "write the receipt here");
  command->add_option("--seeds", arguments->seeds, "wave interleavings each case is run under")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_option("--time-limit", arguments->timeLimit, "give up after that many seconds (0: never)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--chip", arguments->chip, "chip of the simulator")->capture_default_str();
  command->add_flag("--no-proof", arguments->noProof, "differential runs and lint only");
  command->add_flag("--no-strict", arguments->noStrict, "no strict runs: waits and races are judged by lint only");
  command->add_flag("--json", arguments->json, "print the receipt");
  command->callback([arguments, &exit] {
    const auto result = runVerify(*arguments);
    exit = result ? *result : fail(result.error());
  });
}

} // namespace asmevo::cli
