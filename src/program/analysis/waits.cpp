#include "program/analysis/waits.h"

#include "program/analysis/dataflow.h"
#include "program/analysis/order_points.h"

#include <limits>
#include <map>

namespace asmevo::program {

namespace {

using isa::InstClass;
using isa::Instruction;
using isa::RegSet;
using isa::RegUnit;

constexpr std::size_t orderCount = 3;

/// What was issued at all on some path, waited for or not.
struct Issued {
  std::array<bool, counterCount> any{}, write{}, unordered{};
  bool dma = false;
  bool join(const Issued& other) {
    const Issued before = *this;
    for (std::size_t c = 0; c < counterCount; ++c) {
      any[c] |= other.any[c];
      write[c] |= other.write[c];
      unordered[c] |= other.unordered[c];
    }
    dma |= other.dma;
    return !(before == *this);
  }
  bool operator==(const Issued&) const = default;
};

/// Forward: how many operations followed the youngest one into each register.
struct HistoryState {
  bool reached = false;
  std::array<Ages, counterCount> ages;    ///< whether it is complete or not
  std::array<Ages, counterCount> pending; ///< of those that the present waits leave in flight
  Issued issued;
  bool join(const HistoryState& other) {
    if (!other.reached)
      return false;
    if (!reached) {
      *this = other;
      return true;
    }
    bool changed = issued.join(other.issued);
    for (std::size_t c = 0; c < counterCount; ++c) {
      changed |= ages[c].join(other.ages[c]);
      changed |= pending[c].join(other.pending[c]);
    }
    return changed;
  }
};

struct HistoryProblem {
  static constexpr Direction direction = Direction::forward;
  using State = HistoryState;
  const Program& program;
  const Function& function;
  unsigned accumOffset;

  State initial(BlockId id) const {
    State state;
    state.reached = id == function.entryBlock || function.preloadEntry == id;
    if (state.reached && !function.kernel)
      forgetEverything(state); // callers may have anything in flight
    return state;
  }
  bool join(State& into, const State& from) const { return into.join(from); }
  void transfer(BlockId id, State& state, Solver<HistoryProblem>&) const {
    for (const Instr& instr : program.blocks[id].instrs)
      step(*instr.inst, state);
  }
  void step(const Instruction& inst, State& state) const {
    if (!state.reached)
      return;
    if (inst.base == "s_waitcnt") {
      const isa::WaitCount wait = inst.waitCount();
      for (const Counter counter : {Counter::vm, Counter::lgkm})
        if (!isNoWait(waitFor(wait, counter), counter))
          state.pending[static_cast<std::size_t>(counter)].complete(waitFor(wait, counter));
      return;
    }
    if (inst.cls == InstClass::unknown || (inst.cls == InstClass::jump && flowOf(&inst) == Flow::call)) {
      forgetEverything(state);
      return;
    }
    const Counting counting = countingOf(inst);
    if (!counting.any())
      return;
    const bool write = isSharedWrite(inst);
    for (std::size_t c = 0; c < counterCount; ++c) {
      if (!counting.counts[c])
        continue;
      state.issued.any[c] = true;
      state.issued.write[c] |= write;
      state.issued.unordered[c] |= !counting.inOrder[c];
      if (counting.inOrder[c]) {
        state.ages[c].advance(counterLimit[c]);
        state.pending[c].advance(counterLimit[c]);
      }
    }
    state.issued.dma |= inst.isLdsDma();
    inst.writes(accumOffset).forEach([&](RegUnit unit) {
      for (std::size_t c = 0; c < counterCount; ++c)
        if (counting.counts[c]) {
          state.ages[c].issueInto(unit, counting.inOrder[c]);
          state.pending[c].issueInto(unit, counting.inOrder[c]);
        }
    });
  }
  static void forgetEverything(State& state) {
    for (std::size_t c = 0; c < counterCount; ++c) {
      allUnits().forEach([&](RegUnit unit) {
        state.ages[c].issueInto(unit, false);
        state.pending[c].issueInto(unit, false);
      });
      state.issued.any[c] = state.issued.write[c] = state.issued.unordered[c] = true;
    }
    state.issued.dma = true;
  }
};

/// No ordering point follows.
constexpr int nothingFollows = std::numeric_limits<int>::min();
/// An ordering point follows with no wait in between.
constexpr int unguarded = std::numeric_limits<int>::max();

/// Backward: what later code asks of the waits above a point.
struct DemandState {
  /// Units used later, without a wait in between that completes what was in flight to them.
  std::array<RegSet, counterCount> units;
  /// A wait for n here is subsumed by later waits on every path to an ordering point of the kind if n >= guard.
  std::array<std::array<int, counterCount>, orderCount> guard;
  /// An ordering point follows without a wait for zero in between: operations without order depend on waits above.
  std::array<std::array<bool, counterCount>, orderCount> zeroUnguarded{};

  DemandState() {
    for (auto& byCounter : guard)
      byCounter.fill(nothingFollows);
  }
};

class DemandProblem {
 public:
  static constexpr Direction direction = Direction::backward;
  using State = DemandState;

  DemandProblem(const Program& p, const Function& f, unsigned accum)
      : program(p), accumOffset(accum), history{p, f, accum}, past(p, reversePostOrder(p, f), history) {
    past.run();
    for (const BlockId id : f.blocks)
      for (const Instr& instr : p.blocks[id].instrs)
        unorderedVectors |= instr.inst->cls == InstClass::flat || instr.inst->mods.gds ||
                            (instr.inst->cls == InstClass::jump && flowOf(instr.inst) == Flow::call);
  }

  State initial(BlockId id) const {
    State state;
    const Block& block = program.blocks[id];
    const bool ends = !block.instrs.empty() && flowOf(block.instrs.back().inst) == Flow::end;
    if (block.successors.empty() && !ends)
      demandEverything(state);
    return state;
  }
  bool join(State& into, const State& from) const {
    bool changed = false;
    for (std::size_t c = 0; c < counterCount; ++c) {
      const RegSet before = into.units[c];
      into.units[c] |= from.units[c];
      changed |= !(before == into.units[c]);
      for (std::size_t o = 0; o < orderCount; ++o) {
        if (from.guard[o][c] > into.guard[o][c]) {
          into.guard[o][c] = from.guard[o][c];
          changed = true;
        }
        if (from.zeroUnguarded[o][c] && !into.zeroUnguarded[o][c])
          changed = into.zeroUnguarded[o][c] = true;
      }
    }
    return changed;
  }
  void transfer(BlockId id, State& state, Solver<DemandProblem>&) const {
    walk(id, state, [](std::size_t, isa::WaitCount) {});
  }

  /// Backward over a block; f(i, sufficient) at each s_waitcnt.
  template <class F> void walk(BlockId id, State& state, F&& f) const {
    const Block& block = program.blocks[id];
    // Histories at the waits of the block, first to last.
    std::vector<HistoryState> atWaits;
    HistoryState now = past.at(id);
    for (const Instr& instr : block.instrs) {
      if (instr.inst->base == "s_waitcnt")
        atWaits.push_back(now);
      history.step(*instr.inst, now);
    }
    for (std::size_t i = block.instrs.size(); i-- > 0;) {
      const Instruction& inst = *block.instrs[i].inst;
      if (inst.base == "s_waitcnt") {
        f(i, crossWait(inst, atWaits.back(), state));
        atWaits.pop_back();
      } else {
        step(inst, state);
      }
    }
  }

 private:
  static void demandEverything(State& state) {
    for (std::size_t c = 0; c < counterCount; ++c) {
      state.units[c] = allUnits();
      for (std::size_t o = 0; o < orderCount; ++o) {
        state.guard[o][c] = unguarded;
        state.zeroUnguarded[o][c] = true;
      }
    }
  }

  void step(const Instruction& inst, State& state) const {
    if (inst.cls == InstClass::endpgm) {
      state = State();
      return;
    }
    if (inst.leavesFunction() || inst.cls == InstClass::unknown || !inst.isComplete) {
      demandEverything(state);
      return;
    }
    const Counting counting = countingOf(inst);
    const RegSet reads = issueReads(inst, accumOffset);
    const RegSet writes = inst.writes(accumOffset);
    for (std::size_t c = 0; c < counterCount; ++c) {
      if (counting.inOrder[c] && !unorderedVectors)
        state.units[c].remove(writes); // waiting for this load is waiting for an older one of its kind
      else
        state.units[c] |= writes;
      state.units[c] |= reads;
      for (std::size_t o = 0; o < orderCount; ++o) {
        int& guard = state.guard[o][c];
        if (counting.inOrder[c] && guard != nothingFollows && guard != unguarded)
          guard = std::max(guard - 1, -counterLimit[c]);
        if (ordersAs(inst, static_cast<Order>(o))) {
          guard = unguarded;
          state.zeroUnguarded[o][c] = true;
        }
      }
    }
  }

  /// What the wait must still ask for; `state` becomes what is asked of the waits above.
  isa::WaitCount crossWait(const Instruction& inst, const HistoryState& before, State& state) const {
    const isa::WaitCount present = inst.waitCount();
    isa::WaitCount sufficient;
    sufficient.exp = present.exp;
    for (const Counter counter : {Counter::vm, Counter::lgkm}) {
      const auto c = static_cast<std::size_t>(counter);
      const unsigned value = waitFor(present, counter);
      if (isNoWait(value, counter))
        continue;
      unsigned needed = 255;
      const Ages& ages = before.ages[c];
      const Ages& pending = before.pending[c];
      RegSet covered;
      state.units[c].forEach([&](RegUnit unit) {
        if (!before.reached || !ages.pending(unit))
          return;
        if (ages.needed(unit) >= value) {
          // Completes it on every path, so nothing is asked of the waits above.
          covered.set(unit);
          needed = std::min(needed, ages.needed(unit));
        } else if (pending.pending(unit)) {
          // Completes it on the paths where no earlier wait has; those of the others must go on doing so.
          needed = std::min(needed, std::max(pending.needed(unit), value));
        }
      });
      state.units[c].remove(covered);
      for (std::size_t o = 0; o < orderCount; ++o) {
        int& guard = state.guard[o][c];
        if (guard != nothingFollows) {
          const bool matters = concerns(before.issued, static_cast<Order>(o), c);
          const bool keepsOrder = static_cast<int>(value) < guard;
          const bool keepsZero = value == 0 && state.zeroUnguarded[o][c] && before.issued.unordered[c];
          if (matters && (keepsOrder || keepsZero))
            needed = std::min(needed, value);
          guard = std::min(guard, static_cast<int>(value));
        }
        if (value == 0)
          state.zeroUnguarded[o][c] = false;
      }
      needed = std::max(needed, value);
      const unsigned none = counter == Counter::vm ? 63 : 15;
      const auto final = static_cast<std::uint8_t>(needed > counterLimit[c] ? none : needed);
      (counter == Counter::vm ? sufficient.vm : sufficient.lgkm) = final;
    }
    return sufficient;
  }

  static bool concerns(const Issued& issued, Order order, std::size_t counter) {
    switch (order) {
    case Order::full:
      return issued.any[counter];
    case Order::writes:
      return issued.write[counter];
    case Order::ldsReads:
      return counter == 0 ? issued.dma : false;
    }
    return true;
  }

  const Program& program;
  unsigned accumOffset;
  bool unorderedVectors = false; ///< operations into VGPRs exist that do not return in order
  HistoryProblem history;
  Solver<HistoryProblem> past;
};

} // namespace

std::vector<WaitRequirement> requiredWaits(const Program& program, const Function& function, unsigned accumOffset) {
  bool keepAll = !function.kernel || usesGprIndexing(program, function);
  bool keepLgkm = false, keepExp = false;
  for (const BlockId id : function.blocks) {
    keepAll |= program.blocks[id].opaque;
    for (const Instr& instr : program.blocks[id].instrs) {
      const Instruction& inst = *instr.inst;
      keepLgkm |= inst.cls == InstClass::smem && inst.mayStore;
      // Exports and GDS are all that expcnt counts on gfx9.
      keepExp |=
          inst.base.starts_with("exp") || inst.mods.gds || inst.base.starts_with("ds_gws_") || inst.leavesFunction();
    }
  }
  std::vector<WaitRequirement> result;
  DemandProblem problem(program, function, accumOffset);
  Solver<DemandProblem> solver(program, reversePostOrder(program, function), problem);
  solver.run();
  for (const BlockId id : function.blocks) {
    if (!solver.covers(id))
      continue;
    const std::size_t begin = result.size();
    DemandState state = solver.at(id);
    problem.walk(id, state, [&](std::size_t index, isa::WaitCount sufficient) {
      const isa::WaitCount present = program.blocks[id].instrs[index].inst->waitCount();
      if (!keepExp)
        sufficient.exp = 7;
      if (keepLgkm)
        sufficient.lgkm = present.lgkm;
      if (keepAll)
        sufficient = present;
      result.push_back({{id, static_cast<std::uint32_t>(index)}, present, sufficient});
    });
    std::reverse(result.begin() + static_cast<std::ptrdiff_t>(begin), result.end());
  }
  return result;
}

} // namespace asmevo::program
