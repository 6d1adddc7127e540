/// Counted waits around a memory operation that goes up.
#pragma once

#include "optimize/optimize.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/in_flight.h"

namespace asmevo::optimize {

/// Changes the counts of the function's waits to what they must be once the operation at `from` stands in front of the
/// instruction at `to` instead: every wait completes at least the other operations that it completes now, on every
/// path, and lets the moved one go on where it can. The operation itself is complete wherever it was before. To be
/// called in front of the move, where `to` dominates `from` and every path from `to` comes to `from` before it comes
/// to `to` again. Positions stay as they are. Operations without order (scalar loads) change no counts.
/// False where a wait cannot be assembled, or the function calls others.
bool recountWaits(program::Program& program, const program::Function& function, program::Place from, program::Place to,
                  program::Counter counter, isa::Codec& codec);

} // namespace asmevo::optimize
