/// What a mnemonic alone says about an instruction, and the corrections to LLVM's register lists.
#pragma once

#include "isa/instruction.h"

#include <string_view>

namespace asmevo::isa {

InstClass classify(std::string_view base);

/// Where generations differ in what instructions touch.
struct EffectRules {
  bool gfx9OrLater = false;  ///< LDS accesses need no M0
  bool gfx10OrLater = false; ///< 16-bit results keep the other half; FLAT_SCRATCH and XNACK_MASK are no SGPRs
  bool vgprBanks = false;    ///< MODE chooses which 256 of 1024 VGPRs an operand names (gfx1250)
  unsigned waveSize = 64;
};

/// Mends readRanges/writeRanges (filled from LLVM's lists) where LLVM says too little or too much for moving and
/// deleting instructions. Needs everything else of `inst` complete.
void mendEffects(Instruction& inst, const EffectRules& rules);

} // namespace asmevo::isa
