/// A straight view of blocks that branches only skip, or leave: one instruction after the other, each with the lanes it
/// acts on and the branches it may be skipped by.
///
/// Promises: whenever control reaches a step, it has come through every step before it in order, but for those whose
/// guards skipped them; and the lanes of a step are, at run time, exactly its ChainLanes worked out anew.
#pragma once

#include "program/analysis/liveness.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace asmevo::optimize {

/// A value that EXEC has over part of a chain.
struct ChainLanes {
  enum class How {
    start,     ///< as at the chain's start
    masked,    ///< the parent's, and a mask
    cleared,   ///< the parent's, and not a mask
    unskipped, ///< the parent's; none where a scalar branch skips (EXEC itself stays: vector code is not reached)
    picked,    ///< the parent's or none, by SCC
  };
  How how = How::start;
  std::size_t parent = 0;
  std::size_t step = 0;    ///< that makes them
  std::size_t operand = 0; ///< of that instruction, with the mask
};

/// A branch that skips what follows it, up to a block of the chain or (never closed) to somewhere outside.
struct ChainGuard {
  std::size_t parent = 0; ///< guard around it; 0 is no guard
  std::size_t step = 0;   ///< the branch
  program::BlockId join = 0;
  std::size_t inner = 0, outer = 0; ///< lanes behind and in front of the branch
};

struct ChainStep {
  program::BlockId block = 0;
  std::size_t index = 0; ///< in the block
  const isa::Instruction* inst = nullptr;
  std::size_t lanes = 0; ///< of BlockChain::lanes
  std::size_t guard = 0; ///< innermost of BlockChain::guards
};

struct BlockChain {
  std::vector<ChainStep> steps;
  std::vector<ChainLanes> lanes;        ///< 0: at the start
  std::vector<ChainGuard> guards;       ///< 0: none
  std::vector<program::BlockId> blocks; ///< in order
  std::optional<program::BlockId> next; ///< where it ends for not being followed further

  bool lanesWithin(std::size_t lanes, std::size_t outer) const; ///< the same, or made of them
  bool guardWithin(std::size_t guard, std::size_t outer) const;
};

/// Steps of ALU work whose results nobody reads in the lanes, and behind the skips, that they are made in: where every
/// read stands behind another write that has at least its lanes. Liveness, which knows no lanes, calls such registers
/// live. `live`: of the program; `full`: of each step, whether all lanes are on.
std::vector<bool> deadSteps(const program::Program& program, const program::Function& function, const BlockChain& chain,
                            const program::Liveness& live, const std::vector<bool>& full, unsigned accumOffset);

/// The chain from the start of a block. It ends in front of what is not understood: other ways in, calls, EXEC set to
/// something else than a part of it or what it was, mode changes, indexed registers.
/// With the blocks of a loop given, it stays in them: it ends at a branch back to `start` (which is then `next`) even
/// where that branch may also leave.
BlockChain chainFrom(const program::Program& program, const program::Function& function, program::BlockId start,
                     unsigned accumOffset, std::span<const program::BlockId> loop = {});

} // namespace asmevo::optimize
