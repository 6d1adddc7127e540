/// Small things several moves need.
#pragma once

#include "optimize/optimize.h"

#include <string_view>
#include <vector>

namespace asmevo::optimize {

/// Address range of a block in K0 (inserted instructions have no address).
inline std::pair<std::uint64_t, std::uint64_t> addressRange(const program::Block& block) {
  std::uint64_t begin = block.address, end = block.address;
  for (const auto& instr : block.instrs)
    if (instr.address != program::noAddress)
      end = std::max(end, instr.address + instr.inst->size);
  return {begin, end};
}

/// The function of the context's kernel in `program`, or null.
const program::Function* kernelFunction(const program::Program& program, const MoveContext& context);

/// Blocks of the function worth editing, hottest first: those of the profile's windows that hold at least
/// `minimumShare` of the time. Blocks of called functions are not among them: their callers are not looked at.
std::vector<program::BlockId> hotBlocks(const program::Function& function, const MoveContext& context,
                                        double minimumShare);

} // namespace asmevo::optimize
