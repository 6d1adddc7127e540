/// Move: loads of a loop issued one iteration earlier.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Loads whose addresses follow from the loop's counters are issued an iteration before the one that they belong to,
/// into two sets of registers in turn, so that a whole iteration hides their latency.
///
///   before:  L: load a[i]; ...; wait; use; i++; if (i < n) goto L
///   after:   load a[0] into x
///            L: if last goto X; load a[i+1] into y; ...; wait; use x
///               if last goto Y; load a[i+1] into x; ...; wait; use y; goto L
///            X: ...; wait; use x; goto out      Y: ...; wait; use y
///
/// The address arithmetic and the loop's own test are run ahead in registers of their own, so that no load is issued
/// that the loop would not have issued: nothing is read beyond the end, whatever the buffers' bounds. Order of
/// everything but the loads is kept. Loops of one block with a scalar test, no stores to global memory (a load might
/// have seen them) and one EXEC throughout.
const Move& prefetchMove();

} // namespace asmevo::optimize
