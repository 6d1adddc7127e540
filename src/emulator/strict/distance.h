/// Wait states between dependent instructions along the path that a wave takes. Private to the emulator.
#pragma once

#include "emulator/observe/finding_log.h"
#include "emulator/strict/op_info.h"
#include "program/analysis/hazards.h"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace asmevo::emulator {

/// What is known about paths, shared by the waves of a run. Whether a pair is too near depends on nothing but the last
/// `reach` instructions: each such path is judged once, and found again by a hash of it.
class DistanceTable {
 public:
  /// Instructions after which no rule of the tables asks for anything more.
  static constexpr unsigned reach = program::maxWaitStates;

  DistanceTable(program::HazardTarget target, unsigned accumOffset, program::HazardScope scope)
      : target(target), accumOffset(accumOffset), scope(scope), slots(initialSlots) {}

  struct TooNear {
    const Op* producer = nullptr;
    program::HazardRule rule = program::HazardRule::none;
    unsigned needed = 0, present = 0;
  };
  using Verdict = std::vector<TooNear>;

  /// What is wrong with `consumer` behind the `count` instructions of `path`, latest first, whose hash is `hash`.
  /// Null: nothing.
  const Verdict* judge(std::uint64_t hash, const OpInfo* const* path, unsigned count, const OpInfo& consumer);

 private:
  static constexpr std::size_t initialSlots = 1 << 12, maxSlots = 1 << 22;
  struct Slot {
    std::uint64_t hash = 0; ///< 0: free
    std::uint32_t verdict = 0;
  };
  Slot& find(std::uint64_t hash);
  void grow();
  Verdict examine(const OpInfo* const* path, unsigned count, const OpInfo& consumer);
  program::Hazard between(const OpInfo& producer, const OpInfo& consumer);

  program::HazardTarget target;
  unsigned accumOffset;
  program::HazardScope scope;
  std::vector<Slot> slots;
  std::size_t used = 0;
  std::vector<Verdict> verdicts{{}}; ///< number 0: nothing wrong
  std::unordered_map<std::uint64_t, program::Hazard> pairs;
  std::unordered_map<isa::InstRef, unsigned> numbers;
};

/// The last instructions of one wave.
class RecentPath {
 public:
  void step(Wave& wave, const OpInfo& info, const Op* op, DistanceTable& table, FindingLog& log) {
    const std::uint64_t own = mixed(info);
    const DistanceTable::Verdict* verdict = table.judge(hash * factor + own, recent(), count, info);
    if (verdict) [[unlikely]]
      report(wave, op, *verdict, log);
    push(info, own);
  }

 private:
  // A ring in which the latest `reach` entries are contiguous: twice the size, filled from the top down.
  static constexpr unsigned reach = DistanceTable::reach, size = 16 * reach;
  static constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
  static constexpr std::uint64_t power(unsigned n) {
    std::uint64_t value = 1;
    for (unsigned i = 0; i < n; ++i)
      value *= factor;
    return value;
  }
  static std::uint64_t mixed(const OpInfo& info) {
    std::uint64_t z = reinterpret_cast<std::uint64_t>(&info) * 0xbf58476d1ce4e5b9;
    return z ^ (z >> 29);
  }
  const OpInfo* const* recent() const { return entries.data() + top; }
  void push(const OpInfo& info, std::uint64_t own) {
    hash = hash * factor + own;
    if (count == reach)
      hash -= mixed(*entries[top + reach - 1]) * power(reach);
    else
      ++count;
    if (top == 0) {
      std::copy(entries.begin(), entries.begin() + reach, entries.end() - reach);
      top = size - reach;
    }
    entries[--top] = &info;
  }
  static void report(Wave& wave, const Op* op, const DistanceTable::Verdict& verdict, FindingLog& log);

  std::array<const OpInfo*, size> entries{};
  unsigned top = size, count = 0;
  std::uint64_t hash = 0;
};

} // namespace asmevo::emulator
