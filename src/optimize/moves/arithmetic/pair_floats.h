/// Two f32 operations on neighbouring registers as one packed one.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& pairFloatsMove();

} // namespace asmevo::optimize
