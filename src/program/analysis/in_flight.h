/// Memory operations that have not returned: how they count, and the state of both counters at a point of a program.
/// Rules of gfx9 and gfx940 (facts of the CDNA3 ISA, chapter "Manually Inserted Wait States", and LLVM AMDGPUUsage
/// "Memory Model gfx942"):
/// - vmcnt counts buffer, global, scratch and flat operations, loads, stores and atomics alike; they return in order,
/// but
///   for flat ones that turn out to be LDS accesses.
/// - lgkmcnt counts LDS, GDS, scalar memory, flat operations and messages. LDS operations return in order among
///   themselves, everything else in any order.
/// An operation A is complete once the counter is at most the number of in-order operations of A's kind issued after A:
/// were A outstanding, so would those be. Operations without order are complete only at zero.
#pragma once

#include "program/analysis/wait_model.h"
#include "program/program.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace asmevo::program {

/// Of gfx9's counters, those that registers of compute kernels depend on: vm and lgkm.
inline constexpr std::size_t counterCount = 2;
/// Largest value a wait can ask for and still mean something; more operations than that may have stalled the issue.
inline constexpr std::array<std::uint8_t, counterCount> counterLimit{62, 14};

/// How an instruction counts on gfx9.
struct Counting {
  std::array<bool, counterCount> counts{};
  std::array<bool, counterCount> inOrder{};
  bool any() const { return counts[0] || counts[1]; }
};
Counting countingOf(const isa::Instruction& inst);

/// Value of a wait for one counter; 63 and 15 mean none.
inline unsigned waitFor(const isa::WaitCount& wait, Counter counter) {
  return counter == Counter::vm ? wait.vm : wait.lgkm;
}
inline bool isNoWait(unsigned value, Counter counter) {
  return value > counterLimit[static_cast<std::size_t>(counter)];
}

/// Registers an instruction reads when it issues: a load's destination that is an input only because part of it stays
/// (D16, tied operands) is not among them, since loads of one kind return in order.
isa::RegSet issueReads(const isa::Instruction& inst, unsigned accumOffset);

/// Age of the youngest operation in flight into each unit, worst over all paths.
class Ages {
 public:
  static constexpr std::uint8_t idle = 255;

  Ages() { value.fill(idle); }
  bool pending(std::size_t unit) const { return value[unit] != idle; }
  /// The counter value that is low enough for the unit's operation to be complete.
  unsigned needed(std::size_t unit) const { return value[unit] == 0 ? 0u : value[unit] - 1u; }
  bool isUnordered(std::size_t unit) const { return value[unit] == 0; }
  void issueInto(std::size_t unit, bool inOrder) { value[unit] = inOrder ? 1 : 0; }
  void forget(std::size_t unit) { value[unit] = idle; }
  /// One more in-order operation was issued.
  void advance(std::uint8_t limit) {
    for (auto& v : value)
      v = static_cast<std::uint8_t>(v != 0 && v <= limit ? v + 1 : v);
  }
  void advance(std::size_t unit, unsigned limit) {
    if (value[unit] != 0 && value[unit] <= limit)
      ++value[unit];
  }
  /// A wait for `limit`: what must be complete by then is.
  void complete(unsigned limit) {
    for (auto& v : value)
      if (v != idle && (v == 0 ? 0u : v - 1u) >= limit)
        v = idle;
  }
  bool join(const Ages& other) {
    bool changed = false;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::uint8_t merged = std::min(value[i], other.value[i]);
      changed |= merged != value[i];
      value[i] = merged;
    }
    return changed;
  }
  bool operator==(const Ages&) const = default;

 private:
  // 0: in flight without order; 1 + n: n in-order operations of the same kind followed; idle.
  std::array<std::uint8_t, isa::regUnitCount> value;
};

} // namespace asmevo::program
