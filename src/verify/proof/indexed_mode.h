/// Where registers may not be what operands name.
#pragma once

#include "program/program.h"

#include <vector>

namespace asmevo::verify {

/// By block id: VGPR indexing (s_set_gpr_idx_on/mode) may be on at the block's entry, or vector instructions may be
/// skipped (s_setvskip) anywhere in the function. In such a block, up to s_set_gpr_idx_off, operands do not say what
/// vector instructions do.
std::vector<bool> indexedAtEntry(const program::Program& program, const program::Function& function);

} // namespace asmevo::verify
