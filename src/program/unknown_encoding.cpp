#include "program/unknown_encoding.h"

#include <cstring>
#include <string_view>

namespace asmevo::program {

namespace {

/// An encoding family: the instruction's top bits, its size, and whether sources in the second dword may be literals.
struct Family {
  std::uint32_t mask, value;
  unsigned bytes;
  bool mayHaveLiteral = false;
};

// Instruction formats of the Vega, CDNA3, RDNA2, RDNA3 and RDNA4 ISA documents, "Microcode Formats"; the 16-byte and
// VOPD3 forms of gfx1250 from LLVM's AMDGPU instruction formats (VOP3PX2, VOPD3). VOP1, VOP2 and VOPC are absent: there
// every opcode number is one dword and its literal, and an unknown one has no length that can be relied on.
constexpr Family gcn[] = {
    {0xfc000000, 0xc0000000, 8}, // SMEM
    {0xfc000000, 0xc4000000, 8}, // EXP
    {0xfc000000, 0xd0000000, 8}, // VOP3, VOP3P
    {0xfc000000, 0xd4000000, 4}, // VINTRP
    {0xfc000000, 0xd8000000, 8}, // DS
    {0xfc000000, 0xdc000000, 8}, // FLAT, GLOBAL, SCRATCH
    {0xfc000000, 0xe0000000, 8}, // MUBUF
    {0xfc000000, 0xe8000000, 8}, // MTBUF
    {0xfc000000, 0xf0000000, 8}, // MIMG
};
constexpr Family rdna1[] = {
    {0xff000000, 0xcc000000, 8, true}, // VOP3P
    {0xfc000000, 0xd4000000, 8, true}, // VOP3
    {0xfc000000, 0xd8000000, 8},       // DS
    {0xfc000000, 0xdc000000, 8},       // FLAT
    {0xfc000000, 0xe0000000, 8},       // MUBUF
    {0xfc000000, 0xe8000000, 8},       // MTBUF
    {0xfc000000, 0xf4000000, 8},       // SMEM
    {0xfc000000, 0xf8000000, 8},       // EXP
};
constexpr Family rdna3[] = {
    {0xff000000, 0xcc000000, 8, true}, // VOP3P
    {0xff000000, 0xcd000000, 8},       // VINTERP
    {0xfc000000, 0xd4000000, 8, true}, // VOP3
    {0xfc000000, 0xd8000000, 8},       // DS
    {0xfc000000, 0xdc000000, 8},       // FLAT, GLOBAL, SCRATCH
    {0xfc000000, 0xe0000000, 8},       // MUBUF
    {0xfc000000, 0xe8000000, 8},       // MTBUF
    {0xfc000000, 0xf4000000, 8},       // SMEM
    {0xfc000000, 0xf8000000, 8},       // EXP
};
constexpr Family rdna4[] = {
    {0xffff0000, 0xcc350000, 16},      // VOP3PX2: scales, then the matrix operation itself
    {0xffff0000, 0xcc3a0000, 16},      // VOP3PX2
    {0xff000000, 0xcc000000, 8, true}, // VOP3P
    {0xff000000, 0xcd000000, 8},       // VINTERP
    {0xff000000, 0xcf000000, 12},      // VOPD3
    {0xfc000000, 0xc4000000, 12},      // VBUFFER
    {0xfc000000, 0xd0000000, 12},      // VIMAGE, TENSOR
    {0xfc000000, 0xd4000000, 8, true}, // VOP3
    {0xfc000000, 0xd8000000, 8},       // VDS
    {0xfc000000, 0xe4000000, 12},      // VSAMPLE
    {0xfc000000, 0xec000000, 12},      // VFLAT, VGLOBAL, VSCRATCH
    {0xfc000000, 0xf4000000, 8},       // SMEM
    {0xfc000000, 0xf8000000, 8},       // VEXPORT
};

std::span<const Family> familiesOf(std::string_view processor) {
  if (processor.starts_with("gfx10"))
    return rdna1;
  if (processor.starts_with("gfx11"))
    return rdna3;
  if (processor.starts_with("gfx12"))
    return rdna4;
  if (processor.starts_with("gfx8") || processor.starts_with("gfx9"))
    return gcn;
  return {};
}

constexpr unsigned literalSource = 255;

/// Whether one of the three 9-bit sources in the second dword of VOP3 and VOP3P is a literal.
bool namesLiteral(std::uint32_t second) {
  for (unsigned shift = 0; shift < 27; shift += 9)
    if (((second >> shift) & 0x1ff) == literalSource)
      return true;
  return false;
}

} // namespace

UnknownEncoding unknownEncoding(std::span<const std::uint8_t> bytes, const object::Target& target) {
  std::uint32_t words[2] = {};
  if (bytes.size() < 8)
    return {};
  std::memcpy(words, bytes.data(), sizeof words);
  for (const Family& family : familiesOf(target.processor)) {
    if ((words[0] & family.mask) != family.value)
      continue;
    const unsigned size = family.bytes + (family.mayHaveLiteral && namesLiteral(words[1]) ? 4 : 0);
    // A scalar load can write the registers that a later jump takes, but does not itself jump.
    return size <= bytes.size() ? UnknownEncoding{size, true} : UnknownEncoding{};
  }
  return {};
}

} // namespace asmevo::program
