/// Chips near a chip: how far a conclusion from the model rests on numbers that nobody knows to a few per cent.
#pragma once

#include "timing/timing.h"

#include <span>
#include <string_view>

namespace asmevo::timing {

/// Latencies (clk from a request to its result) and bandwidths (bytes per clk or second, clk per request) of a chip
/// file. Counts, capacities, clocks and what the instruction set fixes (issue slots, MFMA passes) are not among them.
std::span<const std::string_view> perturbedParameters();

/// The chip with each of those parameters multiplied by a factor of its own, uniform in [1 - share, 1 + share], and
/// held to what the model accepts. Equal seeds give equal chips. `name` becomes "mi300x~3".
Chip perturbed(const Chip& chip, std::uint64_t seed, double share = 0.25);

} // namespace asmevo::timing
