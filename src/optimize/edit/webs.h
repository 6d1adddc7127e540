/// Webs: definitions and uses inside one block that must name the same registers, and may as well name others.
#pragma once

#include "optimize/edit/registers.h"

#include <cstdint>
#include <vector>

namespace asmevo::optimize {

/// A value's life, or several that some instruction sees together. Every definition and every use of it is an operand
/// in `places`; nothing outside the block sees the registers.
struct Web {
  struct Place {
    std::uint32_t instr = 0, operand = 0; ///< position in the block; in Instruction::operands
  };
  RegisterTuple registers; ///< all it covers
  unsigned step = 1;       ///< it may move by multiples of this
  std::vector<Place> places;
  std::uint32_t begin = 0, end = 0; ///< first definition, last use, as positions in the block
  bool loaded = false;              ///< defined by memory operations
  /// Something else held one of the registers earlier in the block: in this order of instructions the definition waits
  /// for the last use of it.
  bool reuses = false;
};

/// Webs of a block that begin and end in it, by first definition. A VGPR written where lanes may be off is one with its
/// old value. `waves` as for the kit.
std::vector<Web> websOf(const program::Program& program, const program::Function& function, program::BlockId block,
                        const RegisterKit& kit, WholeWaves waves);

/// Gives the web registers starting at `first` in `block`. Error: the block is left as it was.
Status moveWeb(program::Block& block, const Web& web, unsigned first, isa::Codec& codec);

/// Gives registers of their own to as many webs as there are free ones over the block, loaded ones first, of those that
/// reuse a register. Number of webs that got some.
std::size_t spreadWebs(program::Block& block, std::vector<Web> webs, const RegisterKit& kit, isa::RegSet& busy,
                       isa::Codec& codec, bool loadedOnly);

} // namespace asmevo::optimize
