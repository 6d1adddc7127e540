/// What a mnemonic alone says about an instruction, and the corrections to LLVM's register lists.
#pragma once

#include "isa/instruction.h"

#include <string_view>

namespace asmevo::isa {

InstClass classify(std::string_view base);

/// Mends readRanges/writeRanges (filled from LLVM's lists) where LLVM says too little or too much for moving and
/// deleting instructions. Needs everything else of `inst` complete. GFX9 and later: LDS accesses need no M0.
void mendEffects(Instruction& inst, bool gfx9OrLater);

} // namespace asmevo::isa
