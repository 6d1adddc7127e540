/// What the traces alone say of each instruction: lanes at work, memory asked for against memory moved.
#pragma once

#include "timing/timing.h"

#include <vector>

namespace asmevo::timing {

/// Fills activeLanes, requests, sectors, bytesUsed and conflictClk of the estimate's instructions from the traced
/// executions, carried over to all issued ones.
void addTracedFacts(Estimate& estimate, const std::vector<emulator::WorkgroupTrace>& traces);

} // namespace asmevo::timing
