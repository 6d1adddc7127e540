/// Move: s_setprio around the matrix instructions, or the loads, of a hot block.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Lets the wave that is inside a stretch of matrix instructions (or of loads) issue before the others of its SIMD, so
/// that waves drift apart: one computes while another loads.
///
///   before:  ds_read…; v_mfma…; v_mfma…      after:  ds_read…; s_setprio 1; v_mfma…; v_mfma…; s_setprio 0
///
/// Priority changes the order in which waves issue and nothing else (CDNA3 ISA, S_SETPRIO). Kernels that set it
/// themselves or start with another one (PRIORITY of the descriptor) are left alone, and so are SIMDs with one wave.
const Move& raisePriorityMove();

} // namespace asmevo::optimize
