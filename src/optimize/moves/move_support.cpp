#include "optimize/moves/move_support.h"

#include <algorithm>

namespace asmevo::optimize {

const program::Function* kernelFunction(const program::Program& program, const MoveContext& context) {
  return program.functionOf(static_cast<std::size_t>(&context.kernel - context.object.kernels().data()));
}

std::vector<program::BlockId> hotBlocks(const program::Function& function, const MoveContext& context,
                                        double minimumShare) {
  std::vector<program::BlockId> blocks;
  for (const HotWindow& window : context.windows)
    if (window.share >= minimumShare && std::ranges::find(function.blocks, window.block) != function.blocks.end())
      blocks.push_back(window.block);
  return blocks;
}

} // namespace asmevo::optimize
