/// Forward dataflow of facts: "this register still holds what that instruction computed, from registers that have not
/// changed since"; of a VGPR in the lanes of EXEC. Facts of VGPRs outlast changes of EXEC where they were made under
/// the kernel's first EXEC and no lane has come on that was off then (program/analysis/exec_relation.h). They are what
/// lets the proof follow values across blocks (hoisted or removed recomputations).
#pragma once

#include "program/program.h"

#include <map>
#include <vector>

namespace asmevo::verify {

/// Per block, by block id: for each unit the pure ALU instruction whose result it holds at the block's entry.
using FactMap = std::map<isa::RegUnit, const program::Instr*>;

std::vector<FactMap> availableFacts(const program::Program& program, const program::Function& function,
                                    unsigned accumOffset);

} // namespace asmevo::verify
