/// Two integer VALU instructions made one: shifts, additions and bit operations that a three-operand instruction does
/// at once, bytes picked by V_PERM_B32, fields by V_BFE.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& fuseIntegerMove();

} // namespace asmevo::optimize
