/// Block layout by the profile: what a wave rarely enters stands behind the function, so that the way most waves take
/// has no taken branch.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// The program with its blocks in another order: `order` holds every id once. Who falls through to whom is the
/// caller's. Links are stale until relink().
void reorderBlocks(program::Program& program, const std::vector<program::BlockId>& order);

const Move& straightenMove();

} // namespace asmevo::optimize
