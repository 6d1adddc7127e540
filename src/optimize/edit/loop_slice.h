/// What of a loop's body decides its addresses and its end: a part that can be run ahead of the rest.
#pragma once

#include "optimize/optimize.h"
#include "program/analysis/liveness.h"

#include <optional>
#include <set>
#include <vector>

namespace asmevo::optimize {

/// A loop of one block, repeated by a scalar condition or, where `leaving` is set, as long as lanes are left.
struct BlockLoop {
  program::BlockId block = 0, exit = 0;
  bool repeatsOnOne = true; ///< s_cbranch_scc1 or s_cbranch_vccnz takes the back edge
  bool testsVcc = false;    ///< s_cbranch_vcc*
  std::size_t length = 0;   ///< of the body, without the branch and what changes EXEC in front of it
  /// First of the two SGPRs with the lanes that leave: the block ends in s_andn2_b64 exec, exec, s[n:n+1] and
  /// s_cbranch_execnz.
  std::optional<unsigned> leaving;
};

/// Nothing where the block is no such loop, or holds something that a part of it cannot be taken out of: calls, EXEC or
/// mode changes, stores to memory that a load may see, indexed registers.
std::optional<BlockLoop> blockLoopAt(const program::Program& program, const program::Function& function,
                                     program::BlockId block, unsigned accumOffset);

/// Acts on each lane by itself, and on scalars: running it again elsewhere under the same EXEC gives the same.
bool isRepeatable(const isa::Instruction& inst);

/// Stores to memory that other waves see, atomics among them.
bool storesToGlobal(const isa::Instruction& inst);

/// Can a store to global memory of the function come before a barrier? Then other waves' stores may be what a load
/// behind the barrier is there for.
bool storesReachBarrier(const program::Program& program, const program::Function& function);

/// Instructions of a body, by position, in order.
struct LoopSlice {
  std::set<std::size_t> work;  ///< pure ALU work that the loads' addresses and the loop's test come from
  std::set<std::size_t> loads; ///< themselves
  /// Those of both whose addresses other loads of the slice bring: to be run behind all the rest, once these have
  /// arrived. What stands in front of them in the body may change nothing of theirs.
  std::set<std::size_t> second;
  isa::RegSet inputs; ///< read before they are written
};

/// The slice for these loads, closed over iterations: what it reads at the start of the next iteration it computes
/// itself. Nothing where something else than ALU work within lanes is needed, or VCC, SCC or M0 of the last iteration.
/// `throughLoads`: loads that bring addresses of `loads` become part of it.
std::optional<LoopSlice> sliceOf(const program::Program& program, const BlockLoop& loop,
                                 const std::set<std::size_t>& loads, unsigned accumOffset, bool throughLoads = false);

} // namespace asmevo::optimize
