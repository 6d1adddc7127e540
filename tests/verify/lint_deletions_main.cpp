// Takes waits and s_nop out of compiled objects, one at a time, and counts what `lint --baseline` flags:
//   lint_deletions [--seed N] [--count N] OBJECT...
// Without objects: every kernel of kernels/. --count: deletions to try, spread over the objects (0: all).
#include "verify/lint_deletion.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>

namespace asmevo::tests {
namespace {

std::uint64_t mix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

struct Tally {
  std::size_t tried = 0, live = 0, liveFlagged = 0, dead = 0, deadFlagged = 0, unknown = 0, unknownFlagged = 0,
              kept = 0;
};

void examine(const std::string& path, std::size_t quota, std::uint64_t& seed, Tally& tally,
             std::map<std::string, std::size_t>& byRule) {
  auto object = object::CodeObject::load(path);
  if (!object)
    throw std::runtime_error(object.error().message);
  DeletionTarget target(*std::move(object));
  auto order = target.candidates();
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[mix(seed) % i]);
  if (quota != 0)
    order.resize(std::min(order.size(), quota));
  for (const auto& candidate : order) {
    const auto trial = target.remove(candidate);
    ++tally.tried;
    if (!trial) {
      ++tally.kept;
      continue;
    }
    if (trial->flagged)
      ++byRule[trial->rule];
    if (!trial->live) {
      ++tally.unknown;
      tally.unknownFlagged += trial->flagged;
    } else if (*trial->live) {
      ++tally.live;
      tally.liveFlagged += trial->flagged;
      if (!trial->flagged)
        fmt::print("  missed: {} {:#x}: {}\n", path, trial->address, trial->text);
    } else {
      ++tally.dead;
      tally.deadFlagged += trial->flagged;
      if (trial->flagged)
        fmt::print("  harmless, but flagged: {} {:#x}: {} ({})\n", path, trial->address, trial->text, trial->rule);
    }
    std::fflush(stdout);
  }
}

int run(int count, char** values) {
  std::uint64_t seed = 1;
  std::size_t wanted = 0;
  std::vector<std::string> paths;
  for (int i = 1; i < count; ++i) {
    const std::string word = values[i];
    const auto number = [&] { return i + 1 < count ? std::stoull(values[++i]) : 0; };
    if (word == "--seed")
      seed = number();
    else if (word == "--count")
      wanted = number();
    else
      paths.push_back(word);
  }
  if (paths.empty())
    for (const auto& entry : std::filesystem::directory_iterator(ASMEVO_BINARY_DIR "/kernels"))
      if (entry.path().extension() == ".co")
        paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  Tally tally;
  std::map<std::string, std::size_t> byRule;
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::size_t left = wanted > tally.tried ? wanted - tally.tried : 0;
    if (wanted != 0 && left == 0)
      break;
    examine(paths[i], wanted == 0 ? 0 : (left + paths.size() - i - 1) / (paths.size() - i), state, tally, byRule);
  }
  fmt::print("seed {}: {} deletions in {} objects; {} live, {} flagged; {} harmless, {} flagged; {} not decided, {} "
             "flagged; {} not possible\n",
             seed, tally.tried, paths.size(), tally.live, tally.liveFlagged, tally.dead, tally.deadFlagged,
             tally.unknown, tally.unknownFlagged, tally.kept);
  for (const auto& [rule, n] : byRule)
    fmt::print("  {} by {}\n", n, rule);
  return tally.live != 0 && tally.liveFlagged == tally.live ? 0 : 1;
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
