#include "verify/lint/parts.h"

namespace asmevo::verify {

namespace {

using program::BlockId;

std::vector<bool> reachedFrom(const program::Program& code, BlockId start, BlockId without) {
  std::vector<bool> seen(code.blocks.size());
  std::vector<BlockId> todo{start};
  seen[start] = true;
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    for (const BlockId next : code.blocks[id].successors)
      if (next != without && !seen[next]) {
        seen[next] = true;
        todo.push_back(next);
      }
  }
  return seen;
}

} // namespace

void lintBarriers(LintContext& context, const program::Function& function) {
  const program::Program& code = context.code;
  std::vector<program::Place> barriers;
  for (const BlockId id : function.blocks)
    for (std::uint32_t i = 0; i < code.blocks[id].instrs.size(); ++i)
      if (code.blocks[id].instrs[i].inst->base == "s_barrier")
        barriers.push_back({id, i});
  if (barriers.empty())
    return;
  for (const BlockId id : function.blocks) {
    const program::Block& block = code.blocks[id];
    if (block.instrs.empty() || block.successors.size() != 2 || !block.instrs.back().target)
      continue;
    const program::Instr& branch = block.instrs.back();
    const bool onZero = branch.inst->base == "s_cbranch_execz";
    if (!onZero && branch.inst->base != "s_cbranch_execnz")
      continue;
    const BlockId taken = *branch.target;
    const BlockId other = block.successors[0] == taken ? block.successors[1] : block.successors[0];
    const BlockId idle = onZero ? taken : other, active = onZero ? other : taken;
    const std::vector<bool> fromIdle = reachedFrom(code, idle, id), fromActive = reachedFrom(code, active, id);
    const program::Place branchPlace{id, static_cast<std::uint32_t>(block.instrs.size() - 1)};
    bool idleMeetsOne = false;
    for (const program::Place barrier : barriers)
      idleMeetsOne |= fromIdle[barrier.block];
    // A wave that ends is counted out of barriers; one that goes on to another barrier answers for this one there.
    if (!idleMeetsOne)
      continue;
    for (const program::Place barrier : barriers) {
      if (!fromActive[barrier.block] || fromIdle[barrier.block])
        continue;
      LintFinding finding =
          context.start("barrier", "barrier.divergent", Severity::note, branchPlace, barrier, function);
      finding.message =
          fmt::format("a wave without active lanes leaves at {:#x} and meets another barrier instead: the "
                      "condition must be the same in all waves of a workgroup",
                      finding.producer);
      finding.path = context.addressesOf({id, active, barrier.block});
      context.add(std::move(finding));
    }
  }
}

} // namespace asmevo::verify
