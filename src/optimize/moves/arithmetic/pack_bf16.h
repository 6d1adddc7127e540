/// Rounded f32 values that become bf16: selects of whole words in place of shifted or masked ones.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& packBf16Move();

} // namespace asmevo::optimize
