/// Quieting of values that are quiet.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& dropQuietingMove();

} // namespace asmevo::optimize
