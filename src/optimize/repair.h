/// Wait states after an edit: no pair of instructions may end up nearer than the hazard tables ask, unless K0 already
/// had such a pair as near.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Inserts s_nops into `edited` where the edit left too few wait states compared with `original`. False if that cannot
/// be done (assembly failure or no fixpoint).
bool repairWaitStates(const program::Program& original, program::Program& edited, const MoveContext& context);

/// Has the kernel's function pairs nearer than the tables ask as it is? What stands in for them may be told from them
/// no more once blocks have gone elsewhere.
bool hasUnmetWaitStates(const program::Program& program, const MoveContext& context);

} // namespace asmevo::optimize
