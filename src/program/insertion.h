/// Where another instruction may be put between two without changing what either means.
#pragma once

#include "program/program.h"

#include <vector>

namespace asmevo::program {

/// For every instruction of the block, whether something may be put in front of it: not among the instructions that an
/// s_clause or s_delay_alu counts (RDNA3 ISA, SOPP), nor between a matrix operation and the scales loaded for it
/// (gfx1250). The front of a block that is not opaque is always free.
std::vector<bool> insertionPoints(const Block& block, isa::Codec& codec);

} // namespace asmevo::program
