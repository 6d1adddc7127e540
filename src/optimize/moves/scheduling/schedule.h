/// Move: list scheduling of a basic block.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Reorders the instructions of one hot block so that memory operations issue early and their latency, and the matrix
/// pipe's, is filled with independent work.
///
///   before:  ds_read a; s_waitcnt lgkmcnt(0); mfma a; v_add…      after:  ds_read a; v_add…; s_waitcnt lgkmcnt(0);
///   mfma a
///
/// Register dependences, the order of operations within each wait counter, memory order, barriers and required wait
/// states are kept; waits are re-derived as exactly the completions they stood for.
const Move& scheduleMove();

} // namespace asmevo::optimize
