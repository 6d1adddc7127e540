#include "program/analysis/soft_clauses.h"

namespace asmevo::program {

namespace {

using isa::InstClass;
using isa::Instruction;

enum class ClauseKind { none, scalar, vector };

ClauseKind kindOf(const Instruction& inst) {
  if (inst.cls == InstClass::smem)
    return ClauseKind::scalar;
  return inst.isVectorMemory() ? ClauseKind::vector : ClauseKind::none;
}

} // namespace

std::vector<SoftClauseFinding> softClauseConflicts(const Program& program, const Function& function,
                                                   unsigned accumOffset) {
  std::vector<SoftClauseFinding> findings;
  for (const BlockId id : function.blocks) {
    const auto& instrs = program.blocks[id].instrs;
    std::uint32_t begin = 0;
    ClauseKind kind = ClauseKind::none;
    for (std::uint32_t i = 0; i < instrs.size(); ++i) {
      const Instruction& inst = *instrs[i].inst;
      if (kindOf(inst) != kind || kind == ClauseKind::none) {
        kind = kindOf(inst);
        begin = i;
        continue;
      }
      for (std::uint32_t j = begin; j < i; ++j) {
        const Instruction& earlier = *instrs[j].inst;
        const isa::RegSet written = earlier.writes(accumOffset) | inst.writes(accumOffset);
        const bool overlaps = written.intersects(earlier.reads(accumOffset) | inst.reads(accumOffset));
        const bool storeAfterLoad = inst.mayStore && earlier.writes(accumOffset).any();
        if (!overlaps && !storeAfterLoad)
          continue;
        findings.push_back({{id, j}, {id, i}});
        // Reported where the clause has to be broken; what follows starts afresh.
        begin = i;
        break;
      }
    }
  }
  return findings;
}

} // namespace asmevo::program
