#include "program/analysis/wait_lint.h"

#include "program/analysis/call_closure.h"
#include "program/analysis/dataflow.h"

#include <map>
#include <set>
#include <tuple>

namespace asmevo::program {

namespace {

using isa::InstClass;
using isa::RegSet;
using isa::RegUnit;

constexpr std::uint8_t noWaitSeen = 255;

/// One counter's operations in flight, with who issued them and the waits since.
struct Flight {
  Ages ages;
  RegSet pending;
  std::array<std::uint32_t, isa::regUnitCount> producer{};
  std::array<std::uint8_t, isa::regUnitCount> waited{};

  void issueInto(RegUnit unit, bool inOrder, std::uint32_t instruction) {
    ages.issueInto(unit, inOrder);
    pending.set(unit);
    producer[unit] = instruction;
    waited[unit] = noWaitSeen;
  }
  void forget(RegUnit unit) {
    ages.forget(unit);
    pending.reset(unit);
  }
  void wait(unsigned value) {
    pending.forEach([&](RegUnit unit) {
      if (ages.needed(unit) >= value)
        forget(unit);
      else
        waited[unit] = waited[unit] == noWaitSeen ? static_cast<std::uint8_t>(value)
                                                  : std::min(waited[unit], static_cast<std::uint8_t>(value));
    });
  }
  bool join(const Flight& other) {
    bool changed = false;
    other.pending.forEach([&](RegUnit unit) {
      const bool fresh = !pending.test(unit);
      const bool worse = fresh || other.ages.needed(unit) < ages.needed(unit) ||
                         (other.ages.isUnordered(unit) && !ages.isUnordered(unit));
      if (worse)
        producer[unit] = other.producer[unit];
      const std::uint8_t mergedWait = fresh ? other.waited[unit] : std::max(waited[unit], other.waited[unit]);
      if (worse || waited[unit] != mergedWait)
        changed = true;
      waited[unit] = mergedWait;
      pending.set(unit);
    });
    return ages.join(other.ages) || changed;
  }
};

/// The first LDS-DMA of a path: is there one, and did any wait complete it?
struct DmaState {
  enum class Phase : std::uint8_t { none, issued, waited };
  Phase phase = Phase::none;
  std::uint8_t age = 0; ///< in-order vector memory operations since, least over all paths
  std::uint32_t producer = 0;
  std::uint32_t barrier = ~std::uint32_t{0}; ///< first barrier passed while not waited for

  bool join(const DmaState& other) {
    const DmaState before = *this;
    if (other.phase == Phase::issued && (phase != Phase::issued || other.age < age)) {
      const std::uint32_t seen = phase == Phase::issued ? std::min(barrier, other.barrier) : other.barrier;
      *this = other;
      barrier = seen;
    } else if (phase == Phase::none) {
      *this = other;
    } else if (phase == Phase::issued && other.phase == Phase::issued) {
      barrier = std::min(barrier, other.barrier);
    }
    return before.phase != phase || before.age != age || before.barrier != barrier || before.producer != producer;
  }
};

struct LintState {
  bool reached = false;
  std::array<Flight, counterCount> flight;
  DmaState dma;

  bool join(const LintState& other) {
    if (!other.reached)
      return false;
    if (!reached) {
      *this = other;
      return true;
    }
    bool changed = dma.join(other.dma);
    for (std::size_t c = 0; c < counterCount; ++c)
      changed |= flight[c].join(other.flight[c]);
    return changed;
  }
};

class LintProblem {
 public:
  static constexpr Direction direction = Direction::forward;
  using State = LintState;
  using Engine = Solver<LintProblem>;

  LintProblem(const Program& p, const std::vector<const Function*>& scope, unsigned accum)
      : program(p), accumOffset(accum), firstInstruction(p.blocks.size()) {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < p.blocks.size(); ++i) {
      firstInstruction[i] = count;
      count += static_cast<std::uint32_t>(p.blocks[i].instrs.size());
    }
    std::set<BlockId> called;
    for (const Function* function : scope)
      for (const BlockId id : function->blocks)
        for (const Instr& instr : p.blocks[id].instrs)
          if (instr.target && flowOf(instr.inst) == Flow::call)
            called.insert(*instr.target);
    for (const Function* function : scope) {
      if (function->kernel || !called.contains(function->entryBlock)) {
        roots.insert(function->entryBlock);
        if (function->preloadEntry)
          roots.insert(*function->preloadEntry);
      }
      if (called.contains(function->entryBlock))
        for (const BlockId id : function->blocks)
          calleeOf[id].push_back(function->entryBlock);
    }
  }

  State initial(BlockId id) const {
    State state;
    state.reached = roots.contains(id);
    return state;
  }
  bool join(State& into, const State& from) const { return into.join(from); }

  void transfer(BlockId id, State& state, Engine& engine) {
    if (!state.reached)
      return;
    const Block& block = program.blocks[id];
    if (block.opaque)
      return;
    for (std::size_t i = 0; i < block.instrs.size() && state.reached; ++i)
      step({id, static_cast<std::uint32_t>(i)}, block.instrs[i], state, &engine);
  }

  /// Findings of one block, from its state at the beginning.
  void report(BlockId id, State state, std::vector<WaitFinding>& out) {
    findings = &out;
    const Block& block = program.blocks[id];
    if (!block.opaque)
      for (std::size_t i = 0; i < block.instrs.size() && state.reached; ++i)
        step({id, static_cast<std::uint32_t>(i)}, block.instrs[i], state, nullptr);
    findings = nullptr;
  }

 private:
  void step(Place place, const Instr& instr, State& state, Engine* engine) {
    const isa::Instruction& inst = *instr.inst;
    if (inst.cls == InstClass::waitcnt) {
      applyWait(inst, state);
      return;
    }
    const Counting counting = countingOf(inst);
    checkUses(place, inst, counting, state);
    if (inst.cls == InstClass::jump)
      leave(place, instr, state, engine);
    if (inst.cls == InstClass::barrier && state.dma.phase == DmaState::Phase::issued &&
        state.dma.barrier == ~std::uint32_t{0})
      state.dma.barrier = number(place);
    if (counting.any())
      issue(place, inst, counting, state);
  }

  void applyWait(const isa::Instruction& inst, State& state) const {
    const isa::WaitCount wait = inst.waitCount();
    for (const Counter counter : {Counter::vm, Counter::lgkm}) {
      const unsigned value = waitFor(wait, counter);
      if (!isNoWait(value, counter))
        state.flight[static_cast<std::size_t>(counter)].wait(value);
    }
    if (state.dma.phase == DmaState::Phase::issued && !isNoWait(wait.vm, Counter::vm) && wait.vm <= state.dma.age)
      state.dma.phase = DmaState::Phase::waited;
  }

  void checkUses(Place place, const isa::Instruction& inst, const Counting& counting, State& state) {
    const bool ldsRead = inst.cls == InstClass::lds && inst.mayLoad;
    if (ldsRead && state.dma.phase == DmaState::Phase::issued) {
      if (findings) {
        const bool atBarrier = state.dma.barrier != ~std::uint32_t{0};
        findings->push_back({WaitFinding::Kind::ldsDma, Counter::vm, placeOf(state.dma.producer),
                             atBarrier ? placeOf(state.dma.barrier) : place, 0, 0, std::nullopt});
      }
      state.dma.phase = DmaState::Phase::waited;
    }
    if (!state.flight[0].pending.any() && !state.flight[1].pending.any())
      return;
    const RegSet reads = issueReads(inst, accumOffset);
    const RegSet writes = inst.writes(accumOffset);
    for (const Counter counter : {Counter::vm, Counter::lgkm}) {
      Flight& flight = state.flight[static_cast<std::size_t>(counter)];
      const auto c = static_cast<std::size_t>(counter);
      if (!flight.pending.intersects(reads) && !flight.pending.intersects(writes))
        continue;
      RegSet uses = flight.pending & (reads | writes);
      bool reported = false;
      uses.forEach([&](RegUnit unit) {
        const bool isRead = reads.test(unit);
        const bool returnsInOrder = counting.inOrder[c] && !flight.ages.isUnordered(unit);
        if (!isRead && returnsInOrder)
          return; // the later load of the same kind returns later
        if (findings && !reported) {
          findings->push_back(
              {isRead ? WaitFinding::Kind::readsInFlight : WaitFinding::Kind::overwritesInFlight, counter,
               placeOf(flight.producer[unit]), place, unit,
               std::min<unsigned>(flight.ages.needed(unit), counterLimit[c]),
               flight.waited[unit] == noWaitSeen ? std::nullopt : std::optional<unsigned>(flight.waited[unit])});
          reported = true;
        }
        flight.forget(unit); // one finding per load and path
      });
    }
  }

  void issue(Place place, const isa::Instruction& inst, const Counting& counting, State& state) const {
    for (std::size_t c = 0; c < counterCount; ++c)
      if (counting.inOrder[c])
        state.flight[c].ages.advance(counterLimit[c]);
    if (counting.inOrder[0] && state.dma.phase == DmaState::Phase::issued && state.dma.age < counterLimit[0])
      ++state.dma.age;
    if (inst.isLdsDma() && state.dma.phase == DmaState::Phase::none)
      state.dma = {DmaState::Phase::issued, 0, number(place), ~std::uint32_t{0}};
    inst.writes(accumOffset).forEach([&](RegUnit unit) {
      for (std::size_t c = 0; c < counterCount; ++c)
        if (counting.counts[c])
          state.flight[c].issueInto(unit, counting.inOrder[c], number(place));
    });
  }

  /// Calls go through the callee where it is known; s_setpc without target returns to all callers.
  void leave(Place place, const Instr& instr, State& state, Engine* engine) {
    if (flowOf(instr.inst) == Flow::call) {
      const bool known = instr.target && calls(*instr.target, engine);
      if (!known) {
        for (Flight& flight : state.flight)
          flight = Flight();
        state.dma = {};
        return;
      }
      if (engine) {
        callers[*instr.target].insert(place.block);
        engine->flow(*instr.target, state);
      }
      afterCall(*instr.target, state);
      return;
    }
    if (!instr.target && engine)
      if (const auto entries = calleeOf.find(place.block); entries != calleeOf.end())
        for (const BlockId entry : entries->second)
          if (exits[entry].join(state))
            for (const BlockId caller : callers[entry])
              engine->touch(caller);
  }

  bool calls(BlockId entry, const Engine* engine) const { return !engine || engine->covers(entry); }

  /// What is in flight when the call returns: of the caller's operations those that some path of the callee leaves in
  /// flight, and the callee's own.
  void afterCall(BlockId entry, State& state) {
    const auto found = exits.find(entry);
    if (found == exits.end() || !found->second.reached) {
      state.reached = false; // not known (yet) to return
      return;
    }
    State result = found->second;
    for (std::size_t c = 0; c < counterCount; ++c)
      result.flight[c].pending.forEach([&](RegUnit unit) {
        const bool ours = state.flight[c].pending.test(unit);
        const bool theirs = calleeOf.contains(placeOf(result.flight[c].producer[unit]).block);
        if (!ours && !theirs)
          result.flight[c].forget(unit); // of another caller
      });
    state = result;
  }

  std::uint32_t number(Place place) const { return firstInstruction[place.block] + place.index; }
  Place placeOf(std::uint32_t instruction) const {
    const auto after = std::upper_bound(firstInstruction.begin(), firstInstruction.end(), instruction);
    const auto block = static_cast<BlockId>(after - firstInstruction.begin() - 1);
    return {block, instruction - firstInstruction[block]};
  }

  const Program& program;
  unsigned accumOffset;
  std::vector<std::uint32_t> firstInstruction; ///< by block: number of its first instruction in the program
  std::set<BlockId> roots;
  std::map<BlockId, std::vector<BlockId>> calleeOf; ///< called functions (by entry) a block belongs to
  std::map<BlockId, std::set<BlockId>> callers;     ///< by callee entry
  std::map<BlockId, LintState> exits;               ///< by callee entry
  std::vector<WaitFinding>* findings = nullptr;
};

std::vector<WaitFinding> analyse(const Program& program, const std::vector<const Function*>& scope,
                                 unsigned accumOffset) {
  std::vector<BlockId> order;
  std::vector<bool> seen(program.blocks.size());
  for (const Function* function : scope)
    for (const BlockId id : reversePostOrder(program, *function))
      if (!seen[id]) {
        seen[id] = true;
        order.push_back(id);
      }
  LintProblem problem(program, scope, accumOffset);
  Solver<LintProblem> solver(program, order, problem);
  solver.run();
  std::vector<WaitFinding> findings;
  for (const BlockId id : solver.blocks())
    problem.report(id, solver.at(id), findings);
  std::sort(findings.begin(), findings.end(), [](const WaitFinding& a, const WaitFinding& b) {
    return std::tie(a.consumer.block, a.consumer.index, a.counter, a.unit) <
           std::tie(b.consumer.block, b.consumer.index, b.counter, b.unit);
  });
  return findings;
}

} // namespace

std::vector<WaitFinding> uncoveredUses(const Program& program, unsigned accumOffset) {
  std::vector<const Function*> scope;
  scope.reserve(program.functions.size());
  for (const Function& function : program.functions)
    scope.push_back(&function);
  return analyse(program, scope, accumOffset);
}

std::vector<WaitFinding> uncoveredUses(const Program& program, const Function& function, unsigned accumOffset) {
  return analyse(program, callClosure(program, function, UnknownCallees::leaveOut).functions, accumOffset);
}

} // namespace asmevo::program
