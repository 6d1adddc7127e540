#include "program/analysis/order_points.h"

#include "program/analysis/flow_path.h"
#include "program/analysis/memory_dependence.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace asmevo::program {

namespace {

using isa::InstClass;
using isa::Instruction;

bool isFullOrder(const Instruction& inst) {
  switch (inst.cls) {
  case InstClass::barrier:
  case InstClass::jump:
  case InstClass::unknown:
    return true;
  case InstClass::message:
    return memoryEffect(inst).ordered;
  case InstClass::vmem:
    if (!inst.mayLoad && !inst.mayStore)
      return true; // cache control
    [[fallthrough]];
  case InstClass::flat:
  case InstClass::global:
    return inst.isAtomic() || inst.mods.sc0 || inst.mods.sc1;
  case InstClass::smem:
    return inst.mayStore;
  case InstClass::lds:
    return inst.mods.gds || inst.base.starts_with("ds_gws_");
  default:
    return false;
  }
}

/// One operation that may be in flight.
struct Operation {
  std::uint32_t ways = 0; ///< bit of each counter that must still reach it (zero, where it has no order)
  Counter counter = Counter::vm;
  Stream stream = Stream::none;
  std::uint16_t age = 0; ///< operations of its stream since, least over all paths
  bool operator==(const Operation&) const = default;
};

struct InFlight {
  bool reached = false;
  std::map<Place, Operation> operations;

  /// Changes each operation by `f`, which says whether it is complete now.
  template <class F> void update(F&& f) {
    for (auto at = operations.begin(); at != operations.end();)
      at = f(at->second) ? operations.erase(at) : std::next(at);
  }

  bool join(const InFlight& other) {
    if (!other.reached)
      return false;
    bool changed = !reached;
    reached = true;
    for (const auto& [place, operation] : other.operations) {
      const auto [entry, fresh] = operations.try_emplace(place, operation);
      if (fresh) {
        changed = true;
        continue;
      }
      const Operation before = entry->second;
      entry->second.ways |= operation.ways;
      entry->second.age = std::min(before.age, operation.age);
      changed |= !(before == entry->second);
    }
    return changed;
  }
};

class InFlightProblem {
 public:
  static constexpr Direction direction = Direction::forward;
  using State = InFlight;
  using Engine = Solver<InFlightProblem>;

  InFlightProblem(const Program& p, const WaitModel& m) : program(p), model(m), sites(p) {
    for (const Function& function : p.functions)
      if (function.kernel || sites.callsOf(function.entryBlock).empty()) {
        roots.insert(function.entryBlock);
        if (function.preloadEntry)
          roots.insert(*function.preloadEntry);
      }
  }

  State initial(BlockId id) const {
    State state;
    state.reached = roots.contains(id);
    return state;
  }
  bool join(State& into, const State& from) const { return into.join(from); }
  void transfer(BlockId id, State& state, Engine& engine) {
    for (std::uint32_t i = 0; i < program.blocks[id].instrs.size() && state.reached && !program.blocks[id].opaque;
         ++i) {
      step({id, i}, state);
      leave({id, i}, state, &engine);
    }
  }

  void step(Place place, State& state) const {
    const Instruction& inst = *program.blocks[place.block].instrs[place.index].inst;
    if (inst.cls == InstClass::waitcnt)
      return wait(inst, state);
    const CounterUses uses = model.usesOf(inst);
    if (uses.count == 0)
      return;
    for (const CounterUse& use : uses)
      if (use.stream != Stream::none)
        state.update([&](Operation& op) {
          // More of them than the counter holds stall the wave.
          return op.stream == use.stream && op.counter == use.counter && ++op.age > model.limit(use.counter);
        });
    Operation issued{0, uses.list[0].counter, uses.count == 1 ? uses.list[0].stream : Stream::none, 0};
    for (const CounterUse& use : uses)
      issued.ways |= 1u << static_cast<unsigned>(use.counter);
    state.operations[place] = issued;
  }

  /// Calls and returns. A callee that is not known is taken to wait for everything.
  void leave(Place place, State& state, Engine* engine) {
    const Instr& instr = program.blocks[place.block].instrs[place.index];
    const Flow flow = flowOf(instr.inst);
    if (flow == Flow::call) {
      if (!instr.target) {
        state.operations.clear();
        return;
      }
      if (engine) {
        callers[*instr.target].insert(place.block);
        engine->flow(*instr.target, state);
      }
      state = exits[*instr.target]; // not reached where the callee is not known (yet) to return
    } else if (flow == Flow::jump && !instr.target && engine) {
      for (const BlockId entry : sites.ownersOf(place.block))
        if (exits[entry].join(state))
          for (const BlockId caller : callers[entry])
            engine->touch(caller);
    }
  }

 private:
  void wait(const Instruction& inst, State& state) const {
    const WaitModel::Waits waits = model.waitsOf(inst);
    state.update([&](Operation& op) {
      if (op.stream != Stream::none) {
        const auto value = waits[static_cast<std::size_t>(op.counter)];
        return value && *value <= op.age;
      }
      for (const Counter counter : model.counters())
        if (waits[static_cast<std::size_t>(counter)] == 0u)
          op.ways &= ~(1u << static_cast<unsigned>(counter));
      return op.ways == 0;
    });
  }

  const Program& program;
  const WaitModel& model;
  CallSites sites;
  std::set<BlockId> roots;
  std::map<BlockId, std::set<BlockId>> callers; ///< by callee entry: blocks with calls
  std::map<BlockId, InFlight> exits;            ///< by callee entry
};

} // namespace

bool isSharedWrite(const Instruction& inst) {
  return inst.mayStore && (inst.cls == InstClass::vmem || inst.cls == InstClass::global ||
                           inst.cls == InstClass::flat || inst.cls == InstClass::lds);
}

bool ordersAs(const Instruction& inst, Order order) {
  if (isFullOrder(inst))
    return true;
  switch (order) {
  case Order::full:
    return false;
  case Order::writes:
    return isSharedWrite(inst) && !inst.isLdsDma();
  case Order::ldsReads:
    return inst.cls == InstClass::lds || inst.cls == InstClass::flat;
  }
  return true;
}

std::vector<InFlightPair> inFlightAtOrderPoints(const Program& program, const WaitModel& model) {
  std::vector<BlockId> order;
  std::vector<bool> seen(program.blocks.size());
  for (const Function& function : program.functions)
    for (const BlockId id : reversePostOrder(program, function))
      if (!seen[id]) {
        seen[id] = true;
        order.push_back(id);
      }
  InFlightProblem problem(program, model);
  Solver<InFlightProblem> solver(program, order, problem);
  solver.run();
  std::vector<InFlightPair> pairs;
  for (const BlockId id : solver.blocks()) {
    InFlight state = solver.at(id);
    if (program.blocks[id].opaque)
      continue;
    for (std::uint32_t i = 0; i < program.blocks[id].instrs.size() && state.reached; ++i) {
      const Instr& instr = program.blocks[id].instrs[i];
      const Instruction& inst = *instr.inst;
      const bool followed = inst.cls == InstClass::jump && (instr.target || flowOf(&inst) != Flow::call);
      const bool full = !followed && ordersAs(inst, Order::full), writes = !followed && ordersAs(inst, Order::writes),
                 lds = !followed && ordersAs(inst, Order::ldsReads);
      if (full || writes || lds)
        for (const auto& [place, operation] : state.operations) {
          const Instruction& producer = *program.blocks[place.block].instrs[place.index].inst;
          if (full || (writes && isSharedWrite(producer)) || (lds && producer.isLdsDma()))
            pairs.push_back({place, {id, i}, operation.counter});
        }
      problem.step({id, i}, state);
      problem.leave({id, i}, state, nullptr);
    }
  }
  return pairs;
}

} // namespace asmevo::program
