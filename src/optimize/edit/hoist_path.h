/// How far up a load may go: over instructions, side paths and block borders, with the arithmetic of its address.
#pragma once

#include "isa/registers.h"
#include "optimize/optimize.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/dominators.h"
#include "program/analysis/in_flight.h"

#include <array>
#include <functional>
#include <optional>
#include <vector>

namespace asmevo::optimize {

/// Registers that operations in flight will write, in front of every instruction of a program.
class Pending {
 public:
  Pending(const program::Program& program, const program::Function& function, unsigned accumOffset);
  /// In front of each instruction of a block; one more element for its end.
  std::vector<isa::RegSet> before(program::BlockId block) const;

 private:
  const program::Program& program;
  unsigned accumOffset;
  std::vector<std::array<program::Ages, program::counterCount>> atEntry; ///< by block
};

/// A place that the load may go in front of, and the address work that has to go along: positions from the nearest to
/// the load to the farthest.
struct HoistStep {
  program::Place place;
  std::size_t chain = 0; ///< so many of HoistPath::chain
};

struct HoistPath {
  std::vector<HoistStep> steps;          ///< nearest first
  std::vector<program::Place> chain;     ///< lane-wise ALU work, nearest to the load first
  std::vector<program::BlockId> crossed; ///< blocks that lie between the load and the farthest place, both included
};

struct HoistRules {
  bool overBlocks = true; ///< may the load leave its block?
  std::size_t mostChain = 40;
  std::size_t mostCrossed = 4000; ///< instructions looked at
  /// May the load go up over this instruction, as far as memory goes? Asked of waits and of all that touch memory or
  /// order it.
  std::function<bool(program::Place)> mayCross;
};

/// Blocks on the way between two places, and whether every path from `above` comes to `below` before it comes back, and
/// the other way round.
class HoistWay {
 public:
  HoistWay(const program::Program& program, const program::Function& function);
  /// Blocks strictly between the two, on all ways from `above` to `below`. Nothing where one may be executed without
  /// the other, or more often than the other.
  std::optional<std::vector<program::BlockId>> between(program::BlockId above, program::BlockId below) const;
  std::optional<program::BlockId> nextAbove(program::BlockId block) const { return dominators.immediate(block); }

 private:
  std::vector<bool> reachable(program::BlockId from, program::BlockId without, bool& reachesFrom) const;
  const program::Program& program;
  program::Dominators dominators;
  program::PostDominators postDominators;
};

/// Everything that is no matter of EXEC and of registers to spare: places that every path with the load passes exactly
/// as often, where what its address comes from is ready.
HoistPath hoistPathOf(const program::Program& program, const HoistWay& way, const Pending& pending, program::Place load,
                      unsigned accumOffset, const HoistRules& rules);

/// Acts on each lane by itself, and on scalars: doing it elsewhere, under the same EXEC and with the same sources,
/// gives the same.
bool isLaneWise(const isa::Instruction& inst);

} // namespace asmevo::optimize
