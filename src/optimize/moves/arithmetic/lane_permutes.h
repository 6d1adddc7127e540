/// Lane exchanges over LDS made by DPP, which takes no trip to LDS and back.
#pragma once

#include "optimize/optimize.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::optimize {

/// By lane: the lane it reads.
using LanePattern = std::array<std::uint8_t, 64>;

/// Modifiers of the V_MOV_B32_DPP ("quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:0") that together, all of
/// the same source, make every lane read the lane of the pattern, whichever are on; one or two. Nothing where they
/// do not exist.
std::optional<std::vector<std::string>> dppMoves(const LanePattern& pattern);

const Move& lanePermutesMove();

} // namespace asmevo::optimize
