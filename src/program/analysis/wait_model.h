/// The wait counters of each generation: which there are, how an instruction counts in them, and what each wait
/// instruction waits for (ISA manuals of CDNA1 to CDNA4, RDNA1 to RDNA4, S_WAITCNT and S_WAIT_*; LLVM
/// SIInsertWaitcnts).
///
/// | generation | counters                                           |
/// | gfx9       | vm (loads, stores and atomics), lgkm, exp          |
/// | gfx10, 11  | vm (loads), lgkm, exp, vs (stores)                 |
/// | gfx12      | load, ds, exp, store, sample, bvh, km              |
#pragma once

#include "isa/instruction.h"
#include "object/target.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace asmevo::program {

/// A hardware counter. The first two are named as gfx9 does; gfx12 calls them loadcnt and dscnt.
enum class Counter : std::uint8_t { vm, lgkm, exp, store, sample, bvh, km };
inline constexpr std::size_t waitCounterCount = 7;

/// Operations of one counter and stream count down in the order they were issued; `none`: whenever they like.
enum class Stream : std::uint8_t { none, memory, lds, gds, ldsDirect };
/// Of one stream, only operations of the same unit write their registers in order (gfx10 and 11 count loads and
/// texture samples in one counter).
enum class ReturnPath : std::uint8_t { common, sampler, rayTracing };

/// What an instruction does to a counter.
struct CounterUse {
  Counter counter = Counter::vm;
  Stream stream = Stream::none;
  bool locksSources = false; ///< its source registers are read late and must stay (exports, GDS); it writes nothing
  ReturnPath path = ReturnPath::common;
};

/// At most two: flat operations and GDS.
struct CounterUses {
  std::array<CounterUse, 2> list;
  std::size_t count = 0;
  void add(CounterUse use) { list[count++] = use; }
  const CounterUse* begin() const { return list.data(); }
  const CounterUse* end() const { return list.data() + count; }
};

class WaitModel {
 public:
  enum class Generation : std::uint8_t { gfx9, gfx10, gfx11, gfx12 };
  /// Nothing for processors before gfx9.
  static std::optional<WaitModel> of(const object::Target& target);
  explicit WaitModel(Generation g);

  Generation generation() const { return gen; }
  const std::vector<Counter>& counters() const { return all; }
  /// As s_waitcnt or s_wait_* spells it: "vmcnt", "loadcnt".
  std::string_view name(Counter counter) const;
  /// Largest value a wait can ask for and still mean something; more operations than that may have stalled the issue.
  unsigned limit(Counter counter) const { return limits[static_cast<std::size_t>(counter)]; }

  CounterUses usesOf(const isa::Instruction& inst) const;

  /// By counter, what the instruction waits for; nothing where it does not wait. Not a wait at all: all empty.
  using Waits = std::array<std::optional<unsigned>, waitCounterCount>;
  Waits waitsOf(const isa::Instruction& inst) const;

 private:
  void vectorMemory(const isa::Instruction& inst, CounterUses& out) const;

  Generation gen;
  std::vector<Counter> all;
  std::array<unsigned, waitCounterCount> limits{};
};

} // namespace asmevo::program
