/// Long traces made short: most of a loop's equal iterations left out.
#pragma once

#include "emulator/trace.h"

#include <cstdint>
#include <vector>

namespace asmevo::timing {

struct FoldedTraces {
  std::vector<emulator::WorkgroupTrace> traces;
  std::uint64_t instructions = 0; ///< left, over all traces
};

/// Keeps `share` of the iterations of every run of equal ones (same path), at least `fewestKept`: half from its start,
/// half from its end, so that neither the loop's beginning nor its end is missed. A workgroup whose waves do not repeat
/// alike stays whole, since leaving out other barriers in one wave than in another would make them wait forever.
FoldedTraces foldLoops(const std::vector<emulator::WorkgroupTrace>& traces, double share);
inline constexpr std::uint32_t fewestKept = 8;

} // namespace asmevo::timing
