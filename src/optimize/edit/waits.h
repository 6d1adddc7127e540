/// Waits after an edit: written strong, then made as weak as every path allows.
#pragma once

#include "isa/instruction.h"
#include "optimize/optimize.h"

#include <cstddef>
#include <string>

namespace asmevo::optimize {

/// "s_waitcnt vmcnt(3)"; counters at their maximum are left out.
std::string waitText(const isa::WaitCount& wait);

/// Gives every wait of the function the weakest counts that suffice (program/analysis/waits.h) and drops idle ones.
/// `changed` counts them. False where a wait cannot be assembled. `vectorOnly`: vmcnt alone.
bool weakenWaits(program::Program& program, const program::Function& function, const MoveContext& context,
                 std::size_t& changed, bool vectorOnly = false);

/// Ends an edit: links anew, weakens waits, restores wait states. False where a register would be used before it has
/// arrived, and was not so in `original`. `context`: with the accumOffset that the edit was made with.
bool settle(const program::Program& original, program::Program& edited, const MoveContext& context,
            bool vectorOnly = false);

} // namespace asmevo::optimize
