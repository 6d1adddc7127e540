/// Where code addresses can be: the part of a program that control reaches from an s_getpc_b64 or the like.
#pragma once

#include "program/address_state.h"
#include "program/program.h"

#include <vector>

namespace asmevo::program {

struct CounterRegion {
  std::vector<InstrSerial> firstSerial; ///< of each block's instructions
  std::vector<BlockId> sources;         ///< blocks that read a program counter
  std::vector<bool> contains;           ///< by block
  /// Blocks of the region where nothing is known at first: entries, what is also reached in another way than over
  /// edges of the region, and cycles that nothing enters.
  std::vector<BlockId> starts;
};
CounterRegion findCounterRegion(const Program& program, isa::Codec& codec);

/// True where the register may be read after the start of one of these blocks before it is written.
bool isReadBeforeWritten(const Program& program, isa::Codec& codec, std::vector<BlockId> starts, unsigned reg);

} // namespace asmevo::program
