#include "program/analysis/flow_path.h"
#include "program/analysis/hazard_traits.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace asmevo::program {

namespace {

using hazard::Matrix;
using hazard::Traits;
using isa::InstClass;
using isa::Instruction;

/// Traits of every instruction that occurs, by interned identity.
class TraitsTable {
 public:
  explicit TraitsTable(HazardTarget t) : target(t) {}
  struct Entry {
    Traits traits;
    unsigned reach = 0;
  };
  const Entry& operator()(isa::InstRef inst) {
    const auto [it, fresh] = entries.try_emplace(inst);
    if (fresh) {
      it->second.traits = hazard::traitsOf(*inst, target);
      it->second.reach = hazard::reachOf(*inst, it->second.traits);
    }
    return it->second;
  }

 private:
  HazardTarget target;
  std::unordered_map<isa::InstRef, Entry> entries;
};

/// Walks back from one consumer along all paths.
class BackwardWalk {
 public:
  BackwardWalk(const Program& p, const CallSites& c, unsigned accum, HazardTarget t, HazardScope s, TraitsTable& table)
      : program(p), sites(c), accumOffset(accum), target(t), scope(s), traits(table) {}

  /// By rule; of all producers in scope withLlvm, else of the one that misses most.
  using Worst = std::map<std::pair<HazardRule, Place>, HazardFinding>;

  /// Counts one instruction as so many states from now on.
  void pretend(Place place, unsigned states) {
    pretended = place;
    pretendedStates = states;
  }

  void from(Place place, Worst& into) {
    consumer = program.blocks[place.block].instrs[place.index].inst;
    consumerPlace = place;
    to = &traits(consumer).traits;
    worst = &into;
    farthest = reachBefore();
    if (farthest == 0)
      return;
    arrived.clear();
    todo.clear();
    scan({place.block, place.index, {}, {}});
    while (!todo.empty()) {
      Stretch stretch = std::move(todo.back());
      todo.pop_back();
      const auto [it, fresh] =
          arrived.try_emplace({Place{stretch.block, stretch.end}, stretch.stack}, stretch.distance);
      if (!fresh) {
        const Distance least = it->second.least(stretch.distance);
        if (least == it->second)
          continue;
        it->second = least;
      }
      stretch.distance = it->second;
      scan(stretch);
    }
  }

 private:
  /// From a point back in time to the consumer.
  struct Distance {
    static constexpr unsigned none = 0x10000;
    unsigned states = 0;          ///< between the point and the consumer's issue
    unsigned toNextMatrix = none; ///< from the issue of the first MFMA after the point to the consumer's issue
    bool dgemm = false;           ///< a DGEMM lies between
    bool accumulatorMove = false; ///< V_ACCVGPR_* directly before the consumer
    bool operator==(const Distance&) const = default;
    Distance least(const Distance& other) const {
      return {std::min(states, other.states), std::min(toNextMatrix, other.toNextMatrix), dgemm || other.dgemm,
              accumulatorMove || other.accumulatorMove};
    }
  };
  /// A block still to be walked, from its end or from a call in it.
  struct Stretch {
    BlockId block = 0;
    std::uint32_t end = 0;
    Distance distance;
    std::vector<Place> stack; ///< calls whose callee the walk is in, innermost last
  };

  unsigned reachBefore() const {
    if (to->valu || to->memory || to->matrix != Matrix::none)
      return maxWaitStates;
    const InstClass c = consumer->cls;
    return c == InstClass::salu || c == InstClass::message || c == InstClass::jump ? 2 : 0;
  }

  void scan(const Stretch& stretch) {
    Distance distance = stretch.distance;
    const auto& instrs = program.blocks[stretch.block].instrs;
    for (std::uint32_t i = stretch.end; i > 0 && distance.states < farthest;) {
      const Instr& earlier = instrs[--i];
      if (flowOf(earlier.inst) == Flow::call) {
        if (earlier.target)
          throughCallee(*earlier.target, {stretch.block, i}, distance, stretch.stack);
        return;
      }
      stepOver(earlier, {stretch.block, i}, distance);
    }
    if (distance.states < farthest)
      before(stretch.block, distance, stretch.stack);
  }

  void stepOver(const Instr& earlier, Place at, Distance& distance) {
    const auto& entry = traits(earlier.inst);
    if (entry.traits.passes != 0 && distance.toNextMatrix != Distance::none)
      distance.states = std::max(distance.states, distance.toNextMatrix + entry.traits.passes - 1);
    check(*earlier.inst, entry, at, distance);
    distance.dgemm |= entry.traits.matrix == Matrix::dgemm;
    distance.accumulatorMove |= distance.states == 0 && (entry.traits.accRead || entry.traits.accWrite);
    distance.states += pretended == at ? pretendedStates : waitStatesOf(*earlier.inst);
    if (entry.traits.passes != 0)
      distance.toNextMatrix = distance.states;
  }

  /// The path came out of a callee: on with its returns.
  void throughCallee(BlockId entry, Place call, const Distance& distance, const std::vector<Place>& stack) {
    for (const BlockId last : sites.returnsOf(entry)) {
      std::vector<Place> deeper = stack;
      deeper.push_back(call);
      todo.push_back(
          {last, static_cast<std::uint32_t>(program.blocks[last].instrs.size()), distance, std::move(deeper)});
    }
  }

  /// On in front of a block: its predecessors, and the call that led here.
  void before(BlockId id, const Distance& distance, const std::vector<Place>& stack) {
    for (const BlockId p : program.blocks[id].predecessors)
      if (program.blocks[p].reachable && !program.blocks[p].opaque)
        todo.push_back({p, static_cast<std::uint32_t>(program.blocks[p].instrs.size()), distance, stack});
    const auto goOn = [&](Place call, std::vector<Place> rest) {
      Distance further = distance;
      stepOver(program.blocks[call.block].instrs[call.index], call, further);
      todo.push_back({call.block, call.index, further, std::move(rest)});
    };
    if (stack.empty()) {
      for (const Place call : sites.callsOf(id))
        goOn(call, {});
    } else if (const Instr& call = program.blocks[stack.back().block].instrs[stack.back().index]; call.target == id) {
      goOn(stack.back(), {stack.begin(), stack.end() - 1});
    }
  }

  void report(HazardRule rule, Place at, unsigned needed, unsigned present) {
    HazardFinding& finding = (*worst)[{rule, scope == HazardScope::withLlvm ? at : Place{}}];
    if (needed - present > finding.needed - finding.present)
      finding = {at, consumerPlace, rule, needed, present};
  }

  void check(const Instruction& producer, const TraitsTable::Entry& entry, Place at, const Distance& distance) {
    const unsigned states = distance.states;
    if (entry.reach <= states)
      return;
    const Hazard hazard = hazard::between(producer, entry.traits, *consumer, *to, accumOffset, target);
    const bool counts = !hazard.llvmOnly || scope == HazardScope::withLlvm ||
                        (scope == HazardScope::documented && hazard.rule == HazardRule::saluM0);
    if (hazard.states > states && counts)
      report(hazard.rule, at, hazard.states, states);
    checkBetween(producer, entry, at, distance);
  }

  /// Rules about three instructions (LLVM GCNHazardRecognizer, workarounds of one target each).
  void checkBetween(const Instruction& producer, const TraitsTable::Entry& entry, Place at, const Distance& distance) {
    if (!entry.traits.valu || !entry.traits.writesVgpr)
      return;
    const auto reads = [&] {
      return consumer->reads(accumOffset).intersects(hazard::vectorWrites(producer, accumOffset));
    };
    if (target == HazardTarget::gfx90a && distance.dgemm && to->memory && distance.states < 2 && reads())
      report(HazardRule::dgemmBetween, at, 2, distance.states);
    // VALU, at most one other, the move, the consumer: something must stand before the consumer.
    if (target == HazardTarget::gfx908 && distance.accumulatorMove && to->memory && distance.states <= 2 &&
        !entry.traits.accRead && !entry.traits.accWrite && reads())
      report(HazardRule::accumulatorBetween, at, distance.states + 1, distance.states);
  }

  const Program& program;
  const CallSites& sites;
  unsigned accumOffset;
  HazardTarget target;
  HazardScope scope;
  TraitsTable& traits;

  isa::InstRef consumer = nullptr;
  Place consumerPlace;
  const Traits* to = nullptr;
  Worst* worst = nullptr;
  std::optional<Place> pretended;
  unsigned pretendedStates = 0;
  unsigned farthest = 0;
  std::map<std::pair<Place, std::vector<Place>>, Distance> arrived; ///< least distances a stretch was begun with
  std::vector<Stretch> todo;
};

/// Instructions that can issue within the longest distance after a place.
std::vector<Place> justAfter(const Program& program, const CallSites& sites, Place start) {
  std::map<Place, unsigned> least; ///< by where a stretch begins
  std::set<Place> found;
  std::vector<std::pair<Place, unsigned>> todo{{{start.block, start.index + 1}, 0}};
  const auto enter = [&](Place at, unsigned states) {
    const auto [entry, fresh] = least.try_emplace(at, states);
    if (fresh || states < entry->second) {
      entry->second = states;
      todo.emplace_back(at, states);
    }
  };
  while (!todo.empty()) {
    auto [at, states] = todo.back();
    todo.pop_back();
    const Block& block = program.blocks[at.block];
    bool leaves = block.opaque;
    for (; at.index < block.instrs.size() && states < maxWaitStates && !leaves; ++at.index) {
      found.insert(at);
      const Instr& instr = block.instrs[at.index];
      states += waitStatesOf(*instr.inst);
      const Flow flow = flowOf(instr.inst);
      leaves = flow == Flow::call || flow == Flow::jump;
      if (flow == Flow::call && instr.target)
        enter({*instr.target, 0}, states);
      if (flow == Flow::jump && !instr.target)
        for (const BlockId entry : sites.ownersOf(at.block))
          for (const Place call : sites.callsOf(entry))
            enter({call.block, call.index + 1}, states);
    }
    if (!leaves && states < maxWaitStates)
      for (const BlockId next : block.successors)
        enter({next, 0}, states);
  }
  return {found.begin(), found.end()};
}

} // namespace

std::vector<NopRequirement> requiredNops(const Program& program, const CallSites& sites, const Function& function,
                                         unsigned accumOffset, HazardTarget target) {
  if (target == HazardTarget::strictest)
    target = HazardTarget::gfx950;
  TraitsTable traits(target);
  std::vector<NopRequirement> result;
  for (const BlockId id : function.blocks)
    for (std::uint32_t i = 0; i < program.blocks[id].instrs.size(); ++i) {
      const Instruction& inst = *program.blocks[id].instrs[i].inst;
      if (inst.cls != InstClass::nop || program.blocks[id].opaque)
        continue;
      NopRequirement nop{{id, i}, waitStatesOf(inst), 0};
      const std::vector<Place> consumers = justAfter(program, sites, nop.place);
      const auto findingsWith = [&](unsigned states) {
        BackwardWalk walk(program, sites, accumOffset, target, HazardScope::withLlvm, traits);
        walk.pretend(nop.place, states);
        std::map<std::tuple<Place, Place, HazardRule>, unsigned> missing;
        for (const Place consumer : consumers) {
          BackwardWalk::Worst worst;
          walk.from(consumer, worst);
          for (const auto& [key, finding] : worst)
            missing[{finding.producer, consumer, finding.rule}] = finding.needed - finding.present;
        }
        return missing;
      };
      const auto now = findingsWith(nop.present);
      while (nop.sufficient < nop.present && findingsWith(nop.sufficient) != now)
        ++nop.sufficient;
      result.push_back(nop);
    }
  return result;
}

std::vector<HazardFinding> unmetWaitStates(const Program& program, const Function& function, unsigned accumOffset,
                                           HazardTarget target, HazardScope scope) {
  return unmetWaitStates(program, CallSites(program), function, accumOffset, target, scope);
}

std::vector<HazardFinding> unmetWaitStates(const Program& program, const CallSites& sites, const Function& function,
                                           unsigned accumOffset, HazardTarget target, HazardScope scope) {
  if (target == HazardTarget::strictest)
    target = HazardTarget::gfx950; // its numbers are nowhere below gfx940's
  TraitsTable traits(target);
  BackwardWalk walk(program, sites, accumOffset, target, scope, traits);
  std::vector<HazardFinding> findings;
  for (const BlockId id : function.blocks) {
    if (program.blocks[id].opaque)
      continue;
    for (std::size_t i = 0; i < program.blocks[id].instrs.size(); ++i) {
      BackwardWalk::Worst worst;
      walk.from({id, static_cast<std::uint32_t>(i)}, worst);
      for (const auto& [key, finding] : worst)
        findings.push_back(finding);
    }
  }
  return findings;
}

} // namespace asmevo::program
