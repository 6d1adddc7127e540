/// Move: deletion of dead and redundant instructions.
#pragma once

#include "optimize/optimize.h"

namespace asmevo::optimize {

/// Deletes ALU instructions whose results nobody reads, ALU instructions that write what the register already holds,
/// and branches to the next instruction. Wait states the deleted instruction provided are restored with s_nop.
///
///   before:  s_mov_b32 s4, 0; …; s_mov_b32 s4, 0; v_mov v9, v1 (v9 dead)      after:  s_mov_b32 s4, 0; …
const Move& deadCodeMove();

} // namespace asmevo::optimize
