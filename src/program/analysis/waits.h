/// How weak each s_waitcnt of a function may become.
///
/// A wait is kept strong enough for
/// - every register use that it is the last wait in front of, on some path: read or overwrite of a destination in
/// flight;
/// - what it guarantees to others: at barriers, atomics, cache control, accesses with scope bits, messages, calls and
///   returns, everything that some wait had completed before stays completed; at stores and LDS writes the same for
///   earlier writes (a store may be a flag); at LDS reads for earlier LDS-DMA.
/// All waits of a function may be weakened together.
#pragma once

#include "program/analysis/in_flight.h"
#include "program/analysis/wait_lint.h"

#include <vector>

namespace asmevo::program {

struct WaitRequirement {
  Place place;               ///< of an s_waitcnt
  isa::WaitCount present;    ///< what it asks for now
  isa::WaitCount sufficient; ///< the weakest that does; never stronger than `present`
};

/// Every s_waitcnt of the function, in block order. Where code is not understood (device functions, whose callers are
/// not looked at; indirect VGPR access; scalar stores, for lgkmcnt) the present value is taken to be needed.
std::vector<WaitRequirement> requiredWaits(const Program& program, const Function& function, unsigned accumOffset);

} // namespace asmevo::program
