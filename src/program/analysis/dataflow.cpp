#include "program/analysis/dataflow.h"

namespace asmevo::program {

void completeInstructions(Program& program, isa::Codec& codec) {
  for (Block& block : program.blocks)
    for (Instr& instr : block.instrs)
      instr.inst = codec.complete(instr.inst);
}

std::vector<BlockId> reversePostOrder(const Program& program, const Function& function) {
  std::vector<BlockId> order;
  std::vector<bool> seen(program.blocks.size());
  std::vector<std::pair<BlockId, std::size_t>> stack; // block, next successor
  const auto visit = [&](BlockId root) {
    if (root >= program.blocks.size() || seen[root])
      return;
    seen[root] = true;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      const auto& successors = program.blocks[block].successors;
      if (next < successors.size()) {
        const BlockId successor = successors[next++];
        if (!seen[successor]) {
          seen[successor] = true;
          stack.emplace_back(successor, 0);
        }
      } else {
        order.push_back(block);
        stack.pop_back();
      }
    }
  };
  if (function.preloadEntry)
    visit(*function.preloadEntry);
  visit(function.entryBlock);
  return {order.rbegin(), order.rend()};
}

isa::RegSet allUnits() {
  isa::RegSet set;
  set.setRange(0, isa::sreg::count);
  set.setRange(isa::vgprBase, isa::regUnitCount - isa::vgprBase);
  return set;
}

bool usesGprIndexing(const Program& program, const Function& function) {
  for (const BlockId id : function.blocks)
    for (const Instr& instr : program.blocks[id].instrs)
      if (instr.inst->entersGprIdxMode())
        return true;
  return false;
}

bool maySkipVectors(const Program& program, const Function& function) {
  // MODE is hardware register 1, VSKIP its bit 28 (CDNA3 ISA, "Hardware Register Values" and "Mode register").
  const auto setsVskip = [](const isa::Instruction& inst) {
    const unsigned id = inst.simm16 & 0x3f, offset = (inst.simm16 >> 6) & 0x1f, size = (inst.simm16 >> 11) + 1;
    return inst.base == "s_setvskip" ||
           (inst.base.starts_with("s_setreg") && id == 1 && offset <= 28 && 28 < offset + size);
  };
  for (const BlockId id : function.blocks)
    for (const Instr& instr : program.blocks[id].instrs)
      if (setsVskip(*instr.inst))
        return true;
  return false;
}

} // namespace asmevo::program
