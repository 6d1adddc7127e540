/// Which registers may still be read.
///
/// Promises: a unit that is not live is read on no path before it is wholly written. Exact for straight moves of
/// control but for infeasible paths; calls, returns and places unknown keep everything alive. Writes in some lanes or
/// of some bits end no life.
#pragma once

#include "program/program.h"

#include <vector>

namespace asmevo::program {

/// By block id of the whole program; blocks outside the function are empty.
struct Liveness {
  std::vector<isa::RegSet> liveIn, liveOut;
};

/// Live units of a function. A VGPR write ends the life of the old value only where it is in `kills` or EXEC is
/// provably all ones (exec_mask.h). At s_endpgm nothing is live; where control leaves our
/// sight (calls, s_setpc without known target, s_trap, opaque words) everything is.
/// `wholeWaves`: see ExecMask.
Liveness liveness(const Program& program, const Function& function, unsigned accumOffset, bool wholeWaves = false);

/// Units whose values matter: read by something that does more than write registers, or by what such a value comes
/// from. A counter that only counts itself is live and not useful. No result here is wider than liveness()'s.
Liveness usefulness(const Program& program, const Function& function, unsigned accumOffset, bool wholeWaves = false);

/// Live units in front of every instruction of a block; one more element for its end.
std::vector<isa::RegSet> liveBefore(const Program& program, const Function& function, const Liveness& liveness,
                                    BlockId block, unsigned accumOffset, bool wholeWaves = false);

/// Uses of values inside one block.
struct DefUse {
  static constexpr std::uint32_t entry = ~std::uint32_t{0};
  struct Use {
    std::uint32_t definition = entry; ///< index of the instruction that wrote the unit last, or `entry`
    std::uint32_t user = 0;           ///< index of the reader
    isa::RegUnit unit = 0;
  };
  std::vector<Use> uses; ///< by user, then unit
};
DefUse blockDefUse(const Block& block, unsigned accumOffset);

} // namespace asmevo::program
