#include "program/analysis/wait_lint.h"

#include "program/analysis/call_closure.h"
#include "program/analysis/dataflow.h"

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace asmevo::program {

namespace {

using isa::InstClass;
using isa::RegSet;
using isa::RegUnit;

constexpr std::uint8_t noWaitSeen = 255;

/// Which operations come back in order with each other.
struct Way {
  Stream stream = Stream::none;
  ReturnPath path = ReturnPath::common;
  bool operator==(const Way&) const = default;
};

/// One counter's operations in flight, with who issued them and the waits since.
struct Flight {
  Ages ages;
  RegSet pending;
  RegSet locked; ///< of those, what is still to be read, not written
  std::array<std::uint32_t, isa::regUnitCount> producer{};
  std::array<std::uint8_t, isa::regUnitCount> waited{};
  std::array<Way, isa::regUnitCount> way{};

  void issueInto(RegUnit unit, const CounterUse& use, std::uint32_t instruction) {
    ages.issueInto(unit, use.stream != Stream::none);
    pending.set(unit);
    use.locksSources ? locked.set(unit) : locked.reset(unit);
    producer[unit] = instruction;
    waited[unit] = noWaitSeen;
    way[unit] = {use.stream, use.path};
  }
  /// One more operation of a stream was issued. It stalls while the counter is full: then the oldest one is complete.
  void advance(Stream stream, unsigned limit) {
    pending.forEach([&](RegUnit unit) {
      if (way[unit].stream != stream || ages.isUnordered(unit))
        return;
      if (ages.needed(unit) >= limit)
        forget(unit);
      else
        ages.advance(unit, limit);
    });
  }
  void forget(RegUnit unit) {
    ages.forget(unit);
    pending.reset(unit);
    locked.reset(unit);
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
      if (fresh) {
        way[unit] = other.way[unit];
        if (other.locked.test(unit))
          locked.set(unit);
      } else {
        if (way[unit].stream != other.way[unit].stream && !ages.isUnordered(unit)) {
          ages.issueInto(unit, false); // only a wait for zero covers both
          changed = true;
        }
        if (locked.test(unit) && !other.locked.test(unit)) {
          locked.reset(unit);
          changed = true;
        }
      }
      if (worse) {
        producer[unit] = other.producer[unit];
        way[unit] = other.way[unit];
      }
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
  std::vector<Flight> flight; ///< by position in WaitModel::counters()
  DmaState dma;

  bool join(const LintState& other) {
    if (!other.reached)
      return false;
    if (!reached) {
      *this = other;
      return true;
    }
    bool changed = dma.join(other.dma);
    for (std::size_t c = 0; c < flight.size(); ++c)
      changed |= flight[c].join(other.flight[c]);
    return changed;
  }
};

/// What the analysis asks about an instruction, found out once.
struct Traits {
  RegSet reads, writes;
  CounterUses uses;
  WaitModel::Waits waits;
};

class LintProblem {
 public:
  static constexpr Direction direction = Direction::forward;
  using State = LintState;
  using Engine = Solver<LintProblem>;

  LintProblem(const Program& p, const std::vector<const Function*>& scope, unsigned accum, const WaitModel& m)
      : program(p), accumOffset(accum), model(m), firstInstruction(p.blocks.size()) {
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
    if (state.reached)
      state.flight.resize(model.counters().size());
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
    const Traits& traits = traitsOf(instr.inst);
    if (inst.cls == InstClass::waitcnt) {
      applyWait(traits, state);
      return;
    }
    checkUses(place, inst, traits, state);
    if (inst.cls == InstClass::jump)
      leave(place, instr, state, engine);
    if (inst.cls == InstClass::barrier && state.dma.phase == DmaState::Phase::issued &&
        state.dma.barrier == ~std::uint32_t{0})
      state.dma.barrier = number(place);
    if (traits.uses.count != 0)
      issue(place, inst, traits, state);
  }

  const Traits& traitsOf(isa::InstRef inst) {
    const auto [entry, fresh] = known.try_emplace(inst);
    if (fresh)
      entry->second = {issueReads(*inst, accumOffset), inst->writes(accumOffset), model.usesOf(*inst),
                       model.waitsOf(*inst)};
    return entry->second;
  }

  static std::optional<unsigned> waitFor(const Traits& traits, Counter counter) {
    return traits.waits[static_cast<std::size_t>(counter)];
  }

  void applyWait(const Traits& traits, State& state) const {
    for (std::size_t c = 0; c < state.flight.size(); ++c)
      if (const auto value = waitFor(traits, model.counters()[c]))
        state.flight[c].wait(*value);
    if (const auto value = waitFor(traits, Counter::vm);
        state.dma.phase == DmaState::Phase::issued && value && *value <= state.dma.age)
      state.dma.phase = DmaState::Phase::waited;
  }

  void checkUses(Place place, const isa::Instruction& inst, const Traits& traits, State& state) {
    const bool ldsRead = inst.cls == InstClass::lds && inst.mayLoad;
    if (ldsRead && state.dma.phase == DmaState::Phase::issued) {
      if (findings) {
        const bool atBarrier = state.dma.barrier != ~std::uint32_t{0};
        findings->push_back({WaitFinding::Kind::ldsDma, Counter::vm, placeOf(state.dma.producer),
                             atBarrier ? placeOf(state.dma.barrier) : place, 0, 0, std::nullopt});
      }
      state.dma.phase = DmaState::Phase::waited;
    }
    for (std::size_t c = 0; c < state.flight.size(); ++c) {
      Flight& flight = state.flight[c];
      if (!flight.pending.any() ||
          (!flight.pending.intersects(traits.reads) && !flight.pending.intersects(traits.writes)))
        continue;
      const Counter counter = model.counters()[c];
      const CounterUse* own = nullptr;
      for (const CounterUse& use : traits.uses)
        if (use.counter == counter)
          own = &use;
      RegSet uses = flight.pending & (traits.reads | traits.writes);
      bool reported = false;
      uses.forEach([&](RegUnit unit) {
        const bool locked = flight.locked.test(unit);
        const bool isRead = traits.reads.test(unit) && !locked;
        if (locked && !traits.writes.test(unit))
          return;
        const bool returnsInOrder = own && own->stream != Stream::none && !locked && !flight.ages.isUnordered(unit) &&
                                    flight.way[unit] == Way{own->stream, own->path};
        if (!isRead && returnsInOrder)
          return; // the later load of the same kind returns later
        if (findings && !reported) {
          const auto kind = locked   ? WaitFinding::Kind::overwritesSource
                            : isRead ? WaitFinding::Kind::readsInFlight
                                     : WaitFinding::Kind::overwritesInFlight;
          findings->push_back(
              {kind, counter, placeOf(flight.producer[unit]), place, unit,
               std::min<unsigned>(flight.ages.needed(unit), model.limit(counter)),
               flight.waited[unit] == noWaitSeen ? std::nullopt : std::optional<unsigned>(flight.waited[unit])});
          reported = true;
        }
        flight.forget(unit); // one finding per load and path
      });
    }
  }

  void issue(Place place, const isa::Instruction& inst, const Traits& traits, State& state) const {
    for (std::size_t c = 0; c < state.flight.size(); ++c)
      for (const CounterUse& use : traits.uses) {
        if (use.counter != model.counters()[c])
          continue;
        if (use.stream != Stream::none)
          state.flight[c].advance(use.stream, model.limit(use.counter));
        if (use.locksSources)
          traits.reads.forEach([&](RegUnit unit) {
            if (unit >= isa::vgprBase)
              state.flight[c].issueInto(unit, use, number(place));
          });
        else
          traits.writes.forEach([&](RegUnit unit) { state.flight[c].issueInto(unit, use, number(place)); });
        if (use.counter == Counter::vm && use.stream == Stream::memory && state.dma.phase == DmaState::Phase::issued &&
            ++state.dma.age > model.limit(Counter::vm))
          state.dma.phase = DmaState::Phase::waited;
      }
    if (inst.isLdsDma() && state.dma.phase == DmaState::Phase::none)
      state.dma = {DmaState::Phase::issued, 0, number(place), ~std::uint32_t{0}};
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
    for (std::size_t c = 0; c < result.flight.size(); ++c)
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
  const WaitModel& model;
  std::unordered_map<isa::InstRef, Traits> known;
  std::vector<std::uint32_t> firstInstruction; ///< by block: number of its first instruction in the program
  std::set<BlockId> roots;
  std::map<BlockId, std::vector<BlockId>> calleeOf; ///< called functions (by entry) a block belongs to
  std::map<BlockId, std::set<BlockId>> callers;     ///< by callee entry
  std::map<BlockId, LintState> exits;               ///< by callee entry
  std::vector<WaitFinding>* findings = nullptr;
};

std::vector<WaitFinding> analyse(const Program& program, const std::vector<const Function*>& scope,
                                 unsigned accumOffset, const WaitModel& model) {
  std::vector<BlockId> order;
  std::vector<bool> seen(program.blocks.size());
  for (const Function* function : scope)
    for (const BlockId id : reversePostOrder(program, *function))
      if (!seen[id]) {
        seen[id] = true;
        order.push_back(id);
      }
  LintProblem problem(program, scope, accumOffset, model);
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

std::vector<WaitFinding> uncoveredUses(const Program& program, unsigned accumOffset, const WaitModel& model) {
  std::vector<const Function*> scope;
  scope.reserve(program.functions.size());
  for (const Function& function : program.functions)
    scope.push_back(&function);
  return analyse(program, scope, accumOffset, model);
}

std::vector<WaitFinding> uncoveredUses(const Program& program, const Function& function, unsigned accumOffset,
                                       const WaitModel& model) {
  return analyse(program, callClosure(program, function, UnknownCallees::leaveOut).functions, accumOffset, model);
}

} // namespace asmevo::program
