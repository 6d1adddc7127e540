/// Move: loads issued as soon as their addresses are ready, over waits, uses and block borders.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// A load that comes late only because its destination was in use, or because code is written in rounds of load, wait
/// and use, is issued where its address is ready, into registers of its own if need be. What its address comes from
/// goes along.
///
///   before:  load a into x; wait; use x; v_add p, q; barrier; L: load [p] into x; wait; use x
///   after:   load a into x; v_add p', q; load [p'] into y; wait for one; use x; barrier; L: wait; use y
///
/// Only to places that every path with the load passes just as often, with the same lanes on, so that no load is issued
/// that would not have been. It passes no store that may write what it reads: by addresses, or by what the dispatch
/// shows (alias_evidence.h), which is said as an assumption. Waits are counted anew on every path.
const Move& hoistLoadsMove();

} // namespace asmevo::optimize
