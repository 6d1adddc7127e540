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

bool isPureAlu(const isa::Instruction& inst) {
  const auto starts = [&](std::string_view prefix) {
    return std::string_view(inst.base).substr(0, prefix.size()) == prefix;
  };
  const bool alu =
      inst.cls == isa::InstClass::salu || inst.cls == isa::InstClass::valu || inst.cls == isa::InstClass::mfma;
  return alu && !inst.mayLoad && !inst.mayStore && !starts("s_getpc") && !starts("s_setreg") && !starts("s_getreg") &&
         !starts("s_set_gpr_idx") && !starts("s_setvskip") && !starts("s_movrel") && !starts("v_movrel") &&
         !starts("s_sethalt") && !starts("s_cbranch");
}

} // namespace asmevo::optimize
