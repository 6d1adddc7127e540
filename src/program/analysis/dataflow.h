/// What all analyses share: block order, and one solver.
#pragma once

#include "program/program.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace asmevo::program {

/// Where an instruction stands.
struct Place {
  BlockId block = 0;
  std::uint32_t index = 0;
  bool operator==(const Place&) const = default;
  auto operator<=>(const Place&) const = default;
};

/// Fills in operands and effects of every instruction (Codec::complete). All analyses need it; instructions that are
/// not complete look as if they touched no register.
void completeInstructions(Program& program, isa::Codec& codec);

/// Reachable blocks of a function, each before its successors but for retreating edges; the entry comes first.
std::vector<BlockId> reversePostOrder(const Program& program, const Function& function);

/// The whole unit set: what may be live where control leaves our sight.
isa::RegSet allUnits();

/// True if code of the function can use VGPRs that no operand names (isa::Instruction::entersGprIdxMode).
bool usesGprIndexing(const Program& program, const Function& function);
/// True if code of the function may switch vector instructions off (S_SETVSKIP, or S_SETREG of MODE).
bool maySkipVectors(const Program& program, const Function& function);

enum class Direction { forward, backward };

/// Fixpoint of a monotone problem over the blocks in `order` (for backward problems give the reverse post-order too).
/// Problem has
///   static constexpr Direction direction;
///   using State = ...;                                  // value at a block's beginning (backward: at its end)
///   State initial(BlockId) const;                       // bottom, or what holds at entries (backward: exits)
///   bool join(State& into, const State& from) const;    // true if `into` changed
///   void transfer(BlockId, State&, Solver&);            // across the block
/// A transfer may send a state elsewhere (calls) by Solver::flow and have a block done again by Solver::touch.
template <class Problem> class Solver {
 public:
  using State = Problem::State;

  Solver(const Program& program, std::vector<BlockId> order, Problem& problem)
      : program(program), problem(problem), order(std::move(order)), position(program.blocks.size(), none) {
    if constexpr (Problem::direction == Direction::backward)
      std::reverse(this->order.begin(), this->order.end());
    dirty.assign(this->order.size(), true);
    states.reserve(this->order.size());
    for (std::size_t i = 0; i < this->order.size(); ++i) {
      position[this->order[i]] = static_cast<std::uint32_t>(i);
      states.push_back(problem.initial(this->order[i]));
    }
  }

  void run() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (!dirty[i])
          continue;
        dirty[i] = false;
        again = true;
        State state = states[i];
        problem.transfer(order[i], state, *this);
        const Block& block = program.blocks[order[i]];
        for (const BlockId next : Problem::direction == Direction::forward ? block.successors : block.predecessors)
          flow(next, state);
      }
    }
  }

  bool covers(BlockId block) const { return block < position.size() && position[block] != none; }
  void flow(BlockId block, const State& state) {
    if (covers(block) && problem.join(states[position[block]], state))
      dirty[position[block]] = true;
  }
  void touch(BlockId block) {
    if (covers(block))
      dirty[position[block]] = true;
  }
  const State& at(BlockId block) const { return states[position[block]]; }
  const std::vector<BlockId>& blocks() const { return order; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  const Program& program;
  Problem& problem;
  std::vector<BlockId> order;
  std::vector<std::uint32_t> position;
  std::vector<State> states;
  std::vector<bool> dirty;
};

} // namespace asmevo::program
