/// Move: over-conservative waits.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Weakens every s_waitcnt of the kernel to what is needed on all paths and deletes those that wait for nothing.
///
///   before:  load a; load b; s_waitcnt vmcnt(0); use a; use b      after:  … s_waitcnt vmcnt(1); use a; s_waitcnt
///   vmcnt(0); use b
const Move& relaxWaitsMove();

} // namespace asmevo::optimize
