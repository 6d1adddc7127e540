/// The hardest harmless edit: one s_nop 0 at the start of every basic block, and the check that the file which came out
/// is the same program plus those.
#pragma once

#include "program/program.h"

namespace asmevo::program {

/// `program` with an s_nop 0 in front of every block that is not opaque.
Result<Program> shifted(const Program& program, isa::Codec& codec);

/// Compares, instruction by instruction, a recovered program with what was recovered from its shifted and rebuilt file:
/// equal but for the inserted s_nop, branch offsets (targets must correspond), pc-relative constants (likewise),
/// padding in front of aligned entries, branch islands, and padding given up by a kernarg-preload prologue. Symbols
/// have to be carried along; descriptors but for the entry offset, and notes, have to be unchanged. The error names the
/// first difference.
Status checkShifted(const object::CodeObject& before, const Program& old, const object::CodeObject& after,
                    const Program& now, isa::Codec& codec);

} // namespace asmevo::program
