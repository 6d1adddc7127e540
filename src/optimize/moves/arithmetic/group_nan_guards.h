/// NaN guards of f32 to bf16 rounding tested for many values at once: the code without guards runs where no value is a
/// NaN, a copy of the old code where one is.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& groupNanGuardsMove();

} // namespace asmevo::optimize
