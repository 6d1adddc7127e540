/// Turns of a loop laid out one after the other, each with its own test.
#pragma once

#include "optimize/edit/block_chain.h"

namespace asmevo::optimize {

/// The loop whose body is the whole chain and begins with its first block: every block once, back to the first at the
/// end. `turns` copies; any number of turns still leaves where it did. Nothing where the blocks cannot be copied
/// (tables of targets, references to the program counter) or something else goes back to the first block than the last
/// step. The first copy begins at the header's old id; the program is relinked.
std::optional<program::Program> unrolled(const program::Program& program, const BlockChain& chain, unsigned turns,
                                         isa::Codec& codec);

} // namespace asmevo::optimize
