/// What the encoding family of an undecodable dword alone tells about it.
#pragma once

#include "object/target.h"

#include <cstdint>
#include <span>

namespace asmevo::program {

struct UnknownEncoding {
  /// Bytes of the instruction that starts here, if its family settles that: they belong together. Else 4.
  unsigned bytes = 4;
  /// It neither branches nor reads the program counter, and control goes on behind it: only scalar ALU families can do
  /// otherwise. False also where the family is unallocated.
  bool isVector = false;
};

UnknownEncoding unknownEncoding(std::span<const std::uint8_t> bytes, const object::Target& target);

} // namespace asmevo::program
