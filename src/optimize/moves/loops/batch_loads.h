/// Move: the loads of several iterations issued together.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// A loop that waits for one load a turn waits for several turns' loads at once: it is unrolled, the loads of all
/// copies in front, each into registers of its own, and the rest of the iterations behind them in their order.
///
///   before:  L: load a[i]; wait; use; i++; if (i < n) goto L
///   after:   L: load a[i] into x0; if last goto T; load a[i+1] into x1; if last goto T; ... ; load a[i+k] into xk
///            wait; use x0; use x1; ... ; use xk; if (i < n) goto L, else out
///            T: as many uses as there were loads, then out
///
/// Each load stands behind the loop's own test, so that none is issued that the loop would not have issued. Loops of
/// one block with a scalar test, or such that lanes leave one by one (s_andn2_b64 exec; s_cbranch_execnz): there every
/// iteration runs with the EXEC that it had. No stores to global memory or LDS in the loop.
const Move& batchLoadsMove();

} // namespace asmevo::optimize
