/// How a program is printed, and the parts of it that can be printed alone.
#pragma once

#include "program/program.h"

#include <cstdint>
#include <optional>
#include <string>

namespace asmevo::program {

/// Blocks [first, last], all of one section.
struct BlockRange {
  BlockId first = 0, last = 0;
  bool operator==(const BlockRange&) const = default;
};

struct PrintOptions {
  /// Every instruction as text, also where LLVM would encode that text otherwise: what `asmevo asm` puts back with the
  /// bytes it came from. Else such instructions are words, so that stock tools make the same bytes.
  bool patchable = false;
  /// Only these blocks: no data, no metadata.
  std::optional<BlockRange> part;
};

Result<std::string> printAssembly(const object::CodeObject& object, const Program& program, isa::Codec& codec,
                                  const PrintOptions& options);

/// The blocks between a kernel's first and its last one. Error (usage) where the kernel has no code.
Result<BlockRange> blocksOfKernel(const object::CodeObject& object, const Program& program, const std::string& kernel);
/// The blocks that hold addresses in [begin, end).
Result<BlockRange> blocksOfAddresses(const Program& program, std::uint64_t begin, std::uint64_t end);
/// A range as the user names it by block numbers; checked to be one of this program and within one section.
Result<BlockRange> blocksByNumber(const Program& program, std::uint64_t first, std::uint64_t last);

/// The comment line that says which part a text is, and its reading.
std::string partMarker(const Program& program, BlockRange part);
struct PartMarker {
  BlockRange part;
  std::uint64_t blocks = 0; ///< of the whole program
};
std::optional<PartMarker> readPartMarker(std::string_view comment);

} // namespace asmevo::program
