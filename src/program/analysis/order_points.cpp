#include "program/analysis/order_points.h"

#include "program/analysis/memory_dependence.h"

#include <algorithm>
#include <iterator>
#include <map>

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
};

struct InFlightProblem {
  static constexpr Direction direction = Direction::forward;
  using State = InFlight;
  const Program& program;
  const Function& function;
  const WaitModel& model;

  State initial(BlockId id) const {
    State state;
    state.reached = id == function.entryBlock || function.preloadEntry == id || program.blocks[id].entersByRegister;
    return state;
  }
  bool join(State& into, const State& from) const {
    if (!from.reached)
      return false;
    bool changed = !into.reached;
    into.reached = true;
    for (const auto& [place, operation] : from.operations) {
      const auto [entry, fresh] = into.operations.try_emplace(place, operation);
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
  void transfer(BlockId id, State& state, Solver<InFlightProblem>&) const {
    if (state.reached && !program.blocks[id].opaque)
      for (std::uint32_t i = 0; i < program.blocks[id].instrs.size(); ++i)
        step({id, i}, state);
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

bool isOrderPoint(const Instruction& inst) {
  return ordersAs(inst, Order::writes) || ordersAs(inst, Order::ldsReads);
}

std::vector<InFlightPair> inFlightAtOrderPoints(const Program& program, const Function& function,
                                                const WaitModel& model) {
  InFlightProblem problem{program, function, model};
  Solver<InFlightProblem> solver(program, reversePostOrder(program, function), problem);
  solver.run();
  std::vector<InFlightPair> pairs;
  for (const BlockId id : solver.blocks()) {
    InFlight state = solver.at(id);
    if (!state.reached || program.blocks[id].opaque)
      continue;
    for (std::uint32_t i = 0; i < program.blocks[id].instrs.size(); ++i) {
      const Instruction& inst = *program.blocks[id].instrs[i].inst;
      const bool full = ordersAs(inst, Order::full), writes = ordersAs(inst, Order::writes),
                 lds = ordersAs(inst, Order::ldsReads);
      if (full || writes || lds)
        for (const auto& [place, operation] : state.operations) {
          const Instruction& producer = *program.blocks[place.block].instrs[place.index].inst;
          if (full || (writes && isSharedWrite(producer)) || (lds && producer.isLdsDma()))
            pairs.push_back({place, {id, i}, operation.counter});
        }
      problem.step({id, i}, state);
    }
  }
  return pairs;
}

} // namespace asmevo::program
