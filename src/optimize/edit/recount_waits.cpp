#include "optimize/edit/recount_waits.h"

#include "optimize/edit/waits.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

using program::Place;

/// More operations than any wait can tell.
constexpr unsigned many = 64;

/// In-order operations of the counter since the one that moves was issued, the moved one not counted.
struct Since {
  bool reached = false;
  unsigned oldPlace = many; ///< fewest on any path, as the program is
  unsigned newPlace = many; ///< most on any path, as it will be
  bool between = false;     ///< behind the new place and in front of the old one

  bool operator==(const Since&) const = default;
};

struct Counting {
  static constexpr program::Direction direction = program::Direction::forward;
  using State = Since;
  const program::Program& program;
  const program::Function& function;
  Place from, to;
  std::size_t counter;
  /// Fewest operations between two issues of the moved one.
  unsigned apart = many;

  State initial(program::BlockId id) const {
    State state;
    state.reached = id == function.entryBlock || function.preloadEntry == id;
    return state;
  }
  bool join(State& into, const State& from_) const {
    if (!from_.reached)
      return false;
    const State before = into;
    if (!into.reached) {
      into = from_;
    } else {
      into.oldPlace = std::min(into.oldPlace, from_.oldPlace);
      into.newPlace = std::max(into.newPlace, from_.newPlace);
      into.between = into.between && from_.between;
    }
    return !(before == into);
  }
  void transfer(program::BlockId id, State& state, program::Solver<Counting>&) {
    walk(id, state, [](std::size_t, const State&) {});
  }
  /// f(i, state) at each s_waitcnt.
  template <class F> void walk(program::BlockId id, State& state, F&& f) {
    const auto& instrs = program.blocks[id].instrs;
    for (std::size_t i = 0; state.reached && i < instrs.size(); ++i) {
      const Place here{id, static_cast<std::uint32_t>(i)};
      if (here == to) {
        state.newPlace = 0;
        state.between = true;
      }
      const isa::Instruction& inst = *instrs[i].inst;
      if (inst.base == "s_waitcnt") {
        f(i, state);
        continue;
      }
      if (here == from) {
        apart = std::min(apart, state.oldPlace);
        state.oldPlace = 0;
        state.between = false;
        continue;
      }
      const program::Counting counting = program::countingOf(inst);
      if (!counting.counts[counter] || !counting.inOrder[counter])
        continue;
      state.oldPlace = std::min(state.oldPlace + 1, many);
      state.newPlace = std::min(state.newPlace + 1, many);
    }
  }
};

} // namespace

bool recountWaits(program::Program& program, const program::Function& function, Place from, Place to,
                  program::Counter counter, isa::Codec& codec) {
  const auto c = static_cast<std::size_t>(counter);
  if (!program::countingOf(*program.blocks[from.block].instrs[from.index].inst).inOrder[c])
    return true;
  for (const program::BlockId id : function.blocks)
    for (const program::Instr& instr : program.blocks[id].instrs)
      if (program::flowOf(instr.inst) == program::Flow::call || instr.inst->cls == isa::InstClass::unknown)
        return false;
  Counting problem{program, function, from, to, c};
  program::Solver<Counting> solver(program, program::reversePostOrder(program, function), problem);
  solver.run();
  bool fine = true;
  for (const program::BlockId id : solver.blocks()) {
    Since state = solver.at(id);
    auto& instrs = program.blocks[id].instrs;
    problem.walk(id, state, [&](std::size_t i, const Since& at) {
      isa::WaitCount wait = instrs[i].inst->waitCount();
      const unsigned present = program::waitFor(wait, counter);
      if (program::isNoWait(present, counter))
        return;
      // Of the `present` youngest operations, so many may be issues of the moved one.
      const unsigned own = at.oldPlace < present ? 1 + (present - 1 - at.oldPlace) / (problem.apart + 1) : 0;
      unsigned count = present - std::min(own, present);
      // The moved one may be among the youngest, over and above the others, where it was not to be complete anyway.
      if (at.newPlace <= count && (at.between || own > 0))
        ++count;
      count = std::min<unsigned>(count, program::counterLimit[c]);
      if (count == present)
        return;
      (counter == program::Counter::vm ? wait.vm : wait.lgkm) = static_cast<std::uint8_t>(count);
      const auto assembled = codec.assemble(waitText(wait));
      if (!assembled) {
        fine = false;
        return;
      }
      instrs[i].inst = codec.complete(*assembled);
    });
  }
  return fine;
}

} // namespace asmevo::optimize
