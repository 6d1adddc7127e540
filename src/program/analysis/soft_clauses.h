/// Memory instructions that an XNACK replay would execute again with changed addresses.
///
/// Consecutive scalar loads, and consecutive vector memory instructions, form a soft clause that may be replayed as a
/// whole after a page fault. With XNACK enabled none of them may write a register that one of them reads, and a store
/// must not follow loads (LLVM GCNHazardRecognizer::checkSoftClauseHazards, which applies to targets with xnack on or
/// any). Any other instruction in between ends the clause.
#pragma once

#include "program/analysis/wait_lint.h"

#include <vector>

namespace asmevo::program {

struct SoftClauseFinding {
  Place first;  ///< the earliest instruction of the clause that is part of the conflict
  Place second; ///< the instruction that must not follow without something in between
};

/// Conflicts inside the blocks of a function, in order. Clauses are not followed across block borders.
std::vector<SoftClauseFinding> softClauseConflicts(const Program& program, const Function& function,
                                                   unsigned accumOffset);

} // namespace asmevo::program
