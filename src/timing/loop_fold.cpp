#include "timing/loop_fold.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace asmevo::timing {
namespace {

/// Equal iterations one after the other: path[begin + k * length], k < count, look all the same.
struct Run {
  std::size_t begin = 0, length = 0, count = 0;
};

std::vector<Run> runsOf(const std::vector<std::uint32_t>& path) {
  std::vector<Run> runs;
  std::unordered_map<std::uint32_t, std::size_t> last; ///< by loop header: where it was executed last
  std::size_t free = 0;                                ///< end of the run found last
  for (std::size_t at = 0; at < path.size(); ++at) {
    const bool jumpedBack = at > 0 && path[at] <= path[at - 1];
    const auto [entry, isNew] = last.try_emplace(path[at], at);
    const std::size_t before = std::exchange(entry->second, at);
    if (!jumpedBack || isNew || before < free)
      continue;
    const std::size_t length = at - before;
    std::size_t end = at;
    while (end + length <= path.size() && std::equal(path.begin() + static_cast<std::ptrdiff_t>(end),
                                                     path.begin() + static_cast<std::ptrdiff_t>(end + length),
                                                     path.begin() + static_cast<std::ptrdiff_t>(before)))
      end += length;
    const std::size_t count = (end - before) / length;
    if (count <= 2 * fewestKept)
      continue;
    runs.push_back({before, length, count});
    free = end;
    at = end - 1;
  }
  return runs;
}

std::size_t keptOf(const Run& run, double share) {
  const auto wanted = static_cast<std::size_t>(std::llround(share * static_cast<double>(run.count)));
  return std::clamp<std::size_t>(wanted, fewestKept, run.count);
}

emulator::WaveTrace fold(const emulator::WaveTrace& wave, const std::vector<Run>& runs, double share) {
  emulator::WaveTrace result;
  result.lines = wave.lines;
  result.ldsAddresses = wave.ldsAddresses;
  std::size_t access = 0;
  const auto copy = [&](std::size_t begin, std::size_t end) {
    const std::size_t shift = begin - result.path.size();
    result.path.insert(result.path.end(), wave.path.begin() + static_cast<std::ptrdiff_t>(begin),
                       wave.path.begin() + static_cast<std::ptrdiff_t>(end));
    while (access < wave.accesses.size() && wave.accesses[access].step < begin)
      ++access;
    for (; access < wave.accesses.size() && wave.accesses[access].step < end; ++access) {
      emulator::MemoryAccess& added = result.accesses.emplace_back(wave.accesses[access]);
      added.step -= static_cast<std::uint32_t>(shift);
    }
  };
  std::size_t from = 0;
  for (const Run& run : runs) {
    const std::size_t kept = keptOf(run, share), head = kept / 2;
    copy(from, run.begin + head * run.length);
    from = run.begin + (run.count - (kept - head)) * run.length;
  }
  copy(from, wave.path.size());
  return result;
}

} // namespace

FoldedTraces foldLoops(const std::vector<emulator::WorkgroupTrace>& traces, double share) {
  FoldedTraces result;
  for (const emulator::WorkgroupTrace& trace : traces) {
    std::vector<std::vector<Run>> runs;
    runs.reserve(trace.waves.size());
    for (const emulator::WaveTrace& wave : trace.waves)
      runs.push_back(runsOf(wave.path));
    const bool alike = std::ranges::all_of(runs, [&](const std::vector<Run>& own) {
      return std::ranges::equal(own, runs.front(), {}, &Run::count, &Run::count);
    });
    emulator::WorkgroupTrace& folded = result.traces.emplace_back();
    folded.index = trace.index;
    folded.id = trace.id;
    for (std::size_t w = 0; w < trace.waves.size(); ++w) {
      folded.waves.push_back(alike ? fold(trace.waves[w], runs[w], share) : trace.waves[w]);
      result.instructions += folded.waves.back().path.size();
    }
  }
  return result;
}

} // namespace asmevo::timing
