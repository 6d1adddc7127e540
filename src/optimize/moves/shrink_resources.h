/// Move: declared registers and LDS cut to what the code uses, where that raises occupancy.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Lowers the VGPR total, accum_offset and static LDS size of the descriptor to the highest register any instruction of
/// the object names and the highest LDS byte any address can reach, when an occupancy step is crossed. LDS shrinks only
/// where every LDS address of the kernel is bounded by interval analysis.
///
///   before:  512 VGPRs declared, v0..v101 used, 1 wave per SIMD      after:  104 VGPRs, 4 waves per SIMD
const Move& shrinkResourcesMove();

} // namespace asmevo::optimize
