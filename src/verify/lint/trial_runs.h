/// Does some run of the scalar code take a path that shows a missing wait? Branches of one path may contradict each
/// other: a wait may be missing only where the loop counter is 1 and just set to 0, or the wave's number is 4 of 4.
///
/// Scalar instructions are carried out on made-up inputs: what is loaded, read back from vectors or not known here is
/// drawn at random, the wave's number from the workgroup's size. What such a run shows can happen; what none of them
/// shows may still happen on inputs that were not drawn.
#pragma once

#include "program/analysis/flow_path.h"
#include "program/analysis/wait_lint.h"

#include <vector>

namespace asmevo::verify {

/// By finding: was it seen to happen?
std::vector<bool> seenInTrials(const program::Program& code, const program::Function& root,
                               const std::vector<program::WaitFinding>& findings, const program::WaitModel& model,
                               unsigned wavesPerGroup);

} // namespace asmevo::verify
