#include "optimize/edit/waits.h"

#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/waits.h"

#include <algorithm>

namespace asmevo::optimize {

std::string waitText(const isa::WaitCount& wait) {
  std::string text = "s_waitcnt";
  if (wait.vm < 63)
    text += fmt::format(" vmcnt({})", wait.vm);
  if (wait.exp < 7)
    text += fmt::format(" expcnt({})", wait.exp);
  if (wait.lgkm < 15)
    text += fmt::format(" lgkmcnt({})", wait.lgkm);
  return text;
}

bool weakenWaits(program::Program& program, const program::Function& function, const MoveContext& context,
                 std::size_t& changed, bool vectorOnly) {
  auto required = program::requiredWaits(program, function, context.accumOffset);
  std::ranges::sort(required, std::greater<>{},
                    [](const program::WaitRequirement& r) { return std::pair(r.place.block, r.place.index); });
  for (auto& r : required) {
    if (vectorOnly) {
      r.sufficient.lgkm = r.present.lgkm;
      r.sufficient.exp = r.present.exp;
    }
    if (r.present == r.sufficient)
      continue;
    auto& instrs = program.blocks[r.place.block].instrs;
    const auto at = instrs.begin() + r.place.index;
    ++changed;
    if (r.sufficient == isa::WaitCount{}) {
      instrs.erase(at);
      continue;
    }
    auto wait = context.codec.assemble(waitText(r.sufficient));
    if (!wait)
      return false;
    at->inst = context.codec.complete(*wait);
  }
  return true;
}

bool settle(const program::Program& original, program::Program& edited, const MoveContext& context, bool vectorOnly) {
  edited.relink();
  const program::Function* after = kernelFunction(edited, context);
  std::size_t weakened = 0;
  if (!after || !weakenWaits(edited, *after, context, weakened, vectorOnly))
    return false;
  const auto uncovered = [&](const program::Program& which) {
    return program::uncoveredUses(which, *kernelFunction(which, context), context.accumOffset).size();
  };
  return uncovered(edited) <= uncovered(original) && repairWaitStates(original, edited, context);
}

} // namespace asmevo::optimize
