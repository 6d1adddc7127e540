/// Move: loop-invariant scalar work.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Moves scalar ALU instructions whose sources do not change in a natural loop to the end of the block that enters it.
///
///   before:  L: s_lshl_b32 s9, s2, 4; … s_cbranch L      after:  s_lshl_b32 s9, s2, 4; L: … s_cbranch L
const Move& hoistScalarMove();

} // namespace asmevo::optimize
