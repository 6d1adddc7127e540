/// Branches around code that does nothing without lanes: a few instructions issued in vain cost less than a jump, and
/// what stands before, between and behind becomes one block.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// May run where the code has it skipped since no lane is on: no effect but on scalar registers, which the caller has
/// to look at (writes). EXEC itself is not judged here.
bool harmlessWithoutLanes(const isa::Instruction& inst);

const Move& dropGuardsMove();

} // namespace asmevo::optimize
