/// Address parts of vector memory ops, per host instruction set. Included by the *_simd.cpp files of this folder.
#pragma once

#include "emulator/memory/lane_access.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

/// Checks guest addresses in access.at, faults on the first bad lane, then turns them into host addresses.
bool admitGlobal(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access);

bool resolveGlobal(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access); ///< 64-bit VGPR address
bool resolveGlobalScalar(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access); ///< SGPR base + VGPR
bool resolveFlat(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access);
bool resolveScratch(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access);
bool resolveBuffer(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access);
/// LDS: address VGPR + aux, 32 bits.
bool resolveLds(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access);
/// LDS at given byte addresses. Lanes out of range read 0 and do not write.
void resolveLdsAt(Wave& wave, const std::uint32_t* addresses, const AccessShape& shape, LaneAccess& access);

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
