/// Loads of several dwords of which some are never read: only the ones that are.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& narrowLoadsMove();

} // namespace asmevo::optimize
