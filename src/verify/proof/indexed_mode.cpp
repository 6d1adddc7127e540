#include "verify/proof/indexed_mode.h"

#include "program/analysis/dataflow.h"

namespace asmevo::verify {

std::vector<bool> indexedAtEntry(const program::Program& program, const program::Function& function) {
  std::vector<bool> indexed(program.blocks.size(), program::maySkipVectors(program, function));
  if (!program::usesGprIndexing(program, function))
    return indexed;
  for (bool changed = true; changed;) {
    changed = false;
    for (const program::BlockId id : function.blocks) {
      bool on = indexed[id];
      for (const auto& instr : program.blocks[id].instrs)
        if (instr.inst->entersGprIdxMode())
          on = true;
        else if (instr.inst->base == "s_set_gpr_idx_off")
          on = false;
      if (!on)
        continue;
      for (const program::BlockId next : program.blocks[id].successors)
        if (!indexed[next]) {
          indexed[next] = true;
          changed = true;
        }
    }
  }
  return indexed;
}

} // namespace asmevo::verify
