/// How far a kernel's LDS accesses can reach, by interval analysis of its integer registers.
#pragma once

#include "optimize/optimize.h"

#include <cstdint>
#include <optional>

namespace asmevo::optimize {

/// Bytes of LDS that some access of the function may touch, from address 0: an upper bound over all inputs, or nothing
/// where an address is not bounded (loaded from memory, computed by instructions outside the analysis, calls, indexed
/// registers).
std::optional<std::uint32_t> ldsReach(const program::Program& program, const program::Function& function,
                                      const MoveContext& context);

} // namespace asmevo::optimize
