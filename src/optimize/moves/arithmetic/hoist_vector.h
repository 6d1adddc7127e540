/// Vector work that gives the same in every turn of a loop, done once in front of it in registers nobody else uses.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& hoistVectorMove();

} // namespace asmevo::optimize
