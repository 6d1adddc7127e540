/// A modelled run's events under the names of the hardware's performance counters (rocprofiler, gfx942), for comparison
/// with measured ones and for readers who know those names.
#pragma once

#include "timing/compute_unit.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace asmevo::timing {

/// Counter values of the whole dispatch; sums over instances carry "_sum" as rocprofiler's do. `scale`: dispatch to
/// simulated part. Only counters that follow from the program and the caches' state are here.
std::vector<std::pair<std::string, double>> hardwareCounters(const std::vector<StaticInst>& code,
                                                             std::span<const InstructionCounters> counters,
                                                             const Traffic& traffic, double scale);

} // namespace asmevo::timing
