// Plants weakened waits and distances into kernels and counts what strict mode catches:
//   wait_mutations [--seed N] [--count N] [--groups N] [--dead N] [OBJECT DISPATCH]...
// Without objects: every kernel of kernels/. --groups: how many workgroups run, from the first on. --count: live
// mutants to run, spread over the kernels (0: all). --dead: how many mutants that the oracle calls harmless run as well
// in each kernel; those that are caught are listed.
#include "verify/verify_support.h"
#include "verify/wait_mutation.h"

#include "verify/strict_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>

namespace asmevo::tests {
namespace {

struct Options {
  std::uint64_t seed = 1;
  std::size_t count = 0, groups = 2, dead = 0;
  std::vector<std::pair<std::string, std::string>> inputs;
};

struct Tally {
  std::size_t planted = 0, live = 0, caught = 0, deadRun = 0, deadCaught = 0;
  void operator+=(const Tally& other) {
    planted += other.planted;
    live += other.live;
    caught += other.caught;
    deadRun += other.deadRun;
    deadCaught += other.deadCaught;
  }
};

Options parse(int count, char** values) {
  Options options;
  std::vector<std::string> names;
  for (int i = 1; i < count; ++i) {
    const std::string word = values[i];
    const auto number = [&] { return i + 1 < count ? std::stoull(values[++i]) : 0; };
    if (word == "--seed")
      options.seed = number();
    else if (word == "--count")
      options.count = number();
    else if (word == "--groups")
      options.groups = number();
    else if (word == "--dead")
      options.dead = number();
    else
      names.push_back(word);
  }
  for (std::size_t i = 0; i + 1 < names.size(); i += 2)
    options.inputs.emplace_back(names[i], names[i + 1]);
  if (names.empty())
    for (const auto& entry : std::filesystem::directory_iterator(ASMEVO_BINARY_DIR "/kernels")) {
      const std::string dispatch = kernelDispatchPath(entry.path().stem().string());
      if (entry.path().extension() == ".co" && std::filesystem::exists(dispatch))
        options.inputs.emplace_back(entry.path().string(), dispatch);
    }
  std::ranges::sort(options.inputs);
  return options;
}

std::vector<std::uint64_t> firstOf(std::uint64_t workgroups, std::size_t wanted) {
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(workgroups, wanted); ++i)
    chosen.push_back(i);
  return chosen;
}

Tally examine(const std::string& path, const dispatch::Case& launch, const Options& options, std::size_t quota) {
  const auto object = object::CodeObject::load(path);
  if (!object)
    throw std::runtime_error(object.error().message);
  MutationTarget target(*object, launch, firstOf(verify::workgroupsOf(launch), options.groups));
  Tally tally;
  const std::size_t possible = target.mutants().size();
  std::map<std::string, std::size_t> byKind, byRule;
  for (const std::size_t i : mixedOrder(target.mutants(), options.seed)) {
    if (quota != 0 && tally.live == quota)
      break;
    ++tally.planted;
    const WaitMutant& mutant = target.mutants()[i];
    const std::string why = target.whyLive(mutant);
    if (why.empty() && tally.deadRun < options.dead) {
      ++tally.deadRun;
      if (const auto trial = target.run(mutant); trial.caught) {
        ++tally.deadCaught;
        fmt::print("    harmless, but caught: {} ({})\n", mutant.description, trial.by);
      }
    }
    if (why.empty())
      continue;
    ++tally.live;
    ++byKind[mutationName(mutant.kind)];
    const auto trial = target.run(mutant);
    tally.caught += trial.caught;
    if (trial.caught)
      ++byRule[trial.by];
    else
      fmt::print("    survives: {} ({})\n", mutant.description, why);
    std::fflush(stdout);
  }
  fmt::print("{}, {}: {} of {} planted, {} live, {} caught ({} findings without any edit)\n",
             std::filesystem::path(path).filename().string(), launch.name, tally.planted, possible, tally.live,
             tally.caught, target.baselineFindings());
  for (const auto& counts : {byKind, byRule}) {
    fmt::print("   ");
    for (const auto& [name, n] : counts)
      fmt::print(" {} {};", n, name);
    fmt::print("\n");
  }
  std::fflush(stdout);
  return tally;
}

int run(int count, char** values) {
  const Options options = parse(count, values);
  Tally all;
  std::size_t left = options.count, inputsLeft = options.inputs.size();
  for (const auto& [object, path] : options.inputs) {
    const auto dispatch = dispatch::loadDispatch(path);
    if (!dispatch)
      throw std::runtime_error(dispatch.error().message);
    const std::size_t quota =
        options.count == 0 ? 0 : std::max<std::size_t>(1, left / std::max<std::size_t>(1, inputsLeft));
    const Tally tally = examine(object, dispatch->cases.front(), options, quota);
    all += tally;
    left -= std::min(left, tally.live);
    --inputsLeft;
  }
  fmt::print("seed {}: {} planted, {} live, {} caught", options.seed, all.planted, all.live, all.caught);
  if (all.deadRun != 0)
    fmt::print("; {} harmless ones run, {} caught", all.deadRun, all.deadCaught);
  fmt::print("\n");
  return all.caught == all.live && all.live != 0 ? 0 : 1;
}

} // namespace
} // namespace asmevo::tests

int main(int count, char** values) {
  try {
    return asmevo::tests::run(count, values);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
