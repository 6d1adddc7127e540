/// How often a profiled program runs its blocks.
#pragma once

#include "optimize/optimize.h"

#include <cstdint>
#include <vector>

namespace asmevo::optimize {

/// Waves that entered each block, by id: the issues of its first instruction that K0 has; 0 where it has none.
std::vector<std::uint64_t> blockCounts(const program::Program& program, const timing::Estimate& profile);

} // namespace asmevo::optimize
