#include "program/pc_reference.h"

#include <cstring>

namespace asmevo::program {

namespace {

constexpr unsigned literalEncoding = 255;
constexpr unsigned literal64Encoding = 254; ///< gfx1250

std::uint32_t dword(const isa::Instruction& inst, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, inst.encoding.data() + at, sizeof word);
  return word;
}

/// Inline integer constants (CDNA3 ISA, scalar source operands): 128..192 are 0..64, 193..208 are -1..-16.
std::optional<std::uint64_t> inlineInteger(unsigned encoding) {
  if (encoding >= 128 && encoding <= 192)
    return encoding - 128;
  if (encoding >= 193 && encoding <= 208)
    return ~std::uint64_t{encoding - 193};
  return std::nullopt;
}

constexpr std::uint32_t sop1Prefix = 0x17d; ///< bits 31:23; 0x17e is SOPC, 0x17f SOPP
constexpr std::uint32_t sopkPrefix = 0xb;   ///< bits 31:28

} // namespace

bool isSop1(const isa::Instruction& inst) {
  return dword(inst, 0) >> 23 == sop1Prefix;
}

bool isSop2(const isa::Instruction& inst) {
  const std::uint32_t word = dword(inst, 0);
  return word >> 30 == 2 && word >> 28 != sopkPrefix;
}

ScalarSource scalarSource(const isa::Instruction& inst, unsigned which) {
  ScalarSource source{(dword(inst, 0) >> (which * 8)) & 0xff, std::nullopt};
  if (source.encoding == literalEncoding && inst.size == 8)
    source.constant = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(dword(inst, 4))});
  else if (source.encoding == literal64Encoding && inst.size == 12)
    source.constant = dword(inst, 4) | std::uint64_t{dword(inst, 8)} << 32;
  else
    source.constant = inlineInteger(source.encoding);
  return source;
}

unsigned scalarDestination(const isa::Instruction& inst) {
  return (dword(inst, 0) >> 16) & 0x7f;
}

std::optional<ScalarConstant> scalarConstant(const isa::Instruction& inst) {
  const unsigned sources = isSop1(inst) ? 1 : isSop2(inst) ? 2 : 0;
  std::optional<ScalarConstant> found;
  for (unsigned i = 0; i < sources; ++i) {
    const ScalarSource source = scalarSource(inst, i);
    if (!source.constant)
      continue;
    const bool isLiteral = inst.size > 4 && source.encoding >= literal64Encoding;
    if (found && found->isLiteral == isLiteral)
      return std::nullopt;
    if (!found || isLiteral)
      found = ScalarConstant{*source.constant, isLiteral, i == 1, isLiteral ? inst.size - 4u : 0};
  }
  return found;
}

std::vector<std::uint8_t> withLiteral(const isa::Instruction& inst, const ScalarConstant& old, std::uint64_t value,
                                      bool wide) {
  const bool needs64 = wide && value >> 31 != 0;
  const unsigned shift = old.isSource1 ? 8 : 0;
  const std::uint32_t encoding = needs64 || (wide && old.bytes == 8) ? literal64Encoding : literalEncoding;
  const std::uint32_t word = (dword(inst, 0) & ~(0xffu << shift)) | (encoding << shift);
  std::vector<std::uint8_t> bytes(encoding == literal64Encoding ? 12 : 8);
  std::memcpy(bytes.data(), &word, sizeof word);
  std::memcpy(bytes.data() + 4, &value, bytes.size() - 4);
  return bytes;
}

bool isGetpc(const isa::Instruction& inst) {
  return inst.base == "s_getpc_b64" || inst.base == "s_get_pc_i64";
}

std::optional<Sop2Constant> sop2Constant(const isa::Instruction& inst) {
  if (!isSop2(inst) || inst.size > 8)
    return std::nullopt;
  const auto constant = scalarConstant(inst);
  if (!constant)
    return std::nullopt;
  return Sop2Constant{static_cast<std::uint32_t>(constant->value), constant->isLiteral, constant->isSource1};
}

} // namespace asmevo::program
