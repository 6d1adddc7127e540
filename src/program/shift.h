/// The hardest harmless edits: s_nop 0 at the start of every basic block, and long runs of it in random places; and the
/// check that the file which came out is the same program plus those.
#pragma once

#include "program/program.h"

namespace asmevo::program {

/// `program` with an s_nop 0 in front of every block that is not opaque.
Result<Program> shifted(const Program& program, isa::Codec& codec);

/// Runs of s_nop 0 in random places, wherever an instruction may stand (insertionPoints) but for the first 256 bytes of
/// kernels with preloaded arguments, which cannot grow.
struct RandomNops {
  std::size_t nops = 512;  ///< in each place
  std::size_t places = 96; ///< in the whole program, as far as there are so many
  std::uint64_t seed = 1;
};
Result<Program> scattered(const Program& program, isa::Codec& codec, const RandomNops& random);

/// Compares, instruction by instruction, an edited program (originals with their old addresses, plus s_nop 0) with what
/// was recovered from the file it was rebuilt to: equal but for branch offsets (targets must correspond), pc-relative
/// constants and tables of code addresses (likewise), padding in front of aligned entries, branch islands, and padding
/// given up by a kernarg-preload prologue. Symbols have to be carried along; descriptors but for the entry offset,
/// notes, and data but for addresses in it, have to be unchanged. The error names the first difference.
Status checkShifted(const object::CodeObject& before, const Program& edited, const object::CodeObject& after,
                    const Program& now, isa::Codec& codec);

} // namespace asmevo::program
