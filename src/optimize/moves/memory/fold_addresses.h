/// 64-bit address arithmetic in front of global loads and stores, done by the access itself: an SGPR pair as base with
/// a zero-extended 32-bit VGPR (the saddr form) and constants in the immediate offset.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& foldAddressesMove();

} // namespace asmevo::optimize
