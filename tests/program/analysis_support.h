/// Programs built in memory from a few lines of assembly, for the analyses.
#pragma once

#include "isa/codec.h"
#include "program/program.h"

#include <memory>
#include <string>

namespace asmevo::program::test {

/// A program with one kernel and, after lines "func name:", device functions.
struct Listing {
  std::unique_ptr<isa::Codec> codec;
  Program program;
  const Function& kernel() const { return program.functions.front(); }
  /// Block and index of the instruction with that number (from 0, in the order of the text).
  std::pair<BlockId, std::uint32_t> place(std::size_t number) const;
  const isa::Instruction& at(std::size_t number) const;
  std::size_t numberOf(BlockId block, std::uint32_t index) const;
};

/// One instruction or label ("loop:") a line; a branch names its target after @ ("s_cbranch_scc1 @loop"), a call
/// likewise ("s_swappc_b64 s[30:31], s[2:3] @f"). Addresses are those of the encodings laid end to end from 0x1000.
Listing listing(const std::string& text, const std::string& processor = "gfx942");
/// The same with a codec of the caller's; `codec` of the result stays empty.
Listing listing(const std::string& text, isa::Codec& codec);

} // namespace asmevo::program::test
