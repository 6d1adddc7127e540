/// Move: declared registers and LDS cut to what the code uses, where that raises occupancy.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Lowers the VGPR total, accum_offset and static LDS size of the descriptor (and of the metadata) to the highest
/// register that any instruction of the kernel and of what it calls names, and to the highest LDS byte that any address
/// can reach, where an occupancy step is crossed. No instruction changes: AGPRs keep their numbers, only the place of
/// their part of the file moves.
///
/// It proposes the smallest cut that gives the occupancy of all cuts together: a cut of registers alone can be proved,
/// one of LDS is at best exact. Where only both together get there, the registers alone follow if they cross a step.
///
/// Where analysis does not bound the LDS, launches may have been seen to reach less than is declared
/// (launch_evidence.h): then the proposal keeps the most LDS that gives the same occupancy, and assumes that no launch
/// reaches more. Not where launches add LDS of their own.
///
/// Refused: registers that no operand names (S_SET_GPR_IDX, V_MOVREL, unknown callees), an LDS address that neither
/// interval analysis (lds_bounds.h) nor what launches do bounds below the declared size, code that reads its own
/// allocation (HW_REG_GPR_ALLOC, HW_REG_LDS_ALLOC).
///
///   before:  512 VGPRs declared, v0..v101 used, 1 wave per SIMD      after:  104 VGPRs, 4 waves per SIMD
const Move& shrinkResourcesMove();

} // namespace asmevo::optimize
