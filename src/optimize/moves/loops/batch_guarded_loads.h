/// Loads that stand behind each other's waits, in blocks that lanes or a scalar test may skip, or in turns of a loop:
/// issued together.
///
/// Two shapes. Conditional blocks one after the other (`if (in range) x = max(x, p[i])`, four times): the later ones'
/// masks, addresses and loads are worked out again in front of the first. Loops of any number of blocks, scalar skips
/// and exits inside included: laid out several times, and the same done over all turns; loads whose addresses come from
/// other loads of the turn stay, but the first of each turn's chain (the index that points at the rest) is there when
/// its turn begins.
/// What is issued ahead is issued for the very lanes that K0 loads in (edit/chain_replay.h).
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

const Move& batchGuardedLoadsMove();

} // namespace asmevo::optimize
