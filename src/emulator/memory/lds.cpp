#include "emulator/memory/atomics.h"
#include "emulator/memory/bind_memory.h"
#include "emulator/memory/handlers.h"

#include <string>
#include <string_view>

namespace asmevo::emulator {

namespace {

/// Byte offsets of the two elements of a read2/write2/wrxchg2 form, in Op::aux.
constexpr std::uint64_t packOffsets(std::uint32_t first, std::uint32_t second) {
  return first | std::uint64_t{second} << 32;
}

/// Source lane of ds_swizzle_b32 by its offset field (CDNA3 ISA, DS_SWIZZLE_B32: FFT, rotate, quad and bit-mask modes).
unsigned swizzleSource(unsigned offset, unsigned lane) {
  const unsigned half = lane & 32, in = lane & 31;
  if (offset >= 0xe000) {
    const unsigned mask = offset & 31;
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit)
      reversed |= (in >> bit & 1) << (4 - bit);
    return half | (reversed >> std::popcount(mask)) | (in & mask);
  }
  if (offset >= 0xc000) {
    const unsigned amount = offset >> 5 & 31, mask = offset & 31;
    const unsigned rotated = (offset >> 10 & 1 ? in - amount : in + amount) & 31;
    return half | (in & mask) | (rotated & ~mask & 31);
  }
  if (offset >= 0x8000)
    return (lane & 60) | (offset >> (2 * (lane & 3)) & 3);
  return half | ((((in & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) & 31);
}

/// "ds_add_rtn_u32" to "add_u32" and whether it returns the old value.
std::string atomicName(std::string_view base, bool& returns) {
  std::string name(base.substr(3));
  const std::size_t at = name.find("_rtn");
  returns = at != std::string::npos;
  if (returns)
    name.erase(at, 4);
  return name;
}

} // namespace

Status bindLds(const isa::Instruction& inst, const BindContext& context, Op& op) {
  if (inst.mods.gds)
    return refused("{}: global data share is not modelled", inst.base);
  // Bytes 0 and 1 of a DS encoding are offset0 and offset1, together the 16-bit offset (CDNA3 ISA, "DS").
  const std::uint32_t offset0 = inst.encoding[0], offset1 = inst.encoding[1], offset = offset0 | offset1 << 8;
  OperandReader reader(inst, context);
  op.aux = offset;
  const LdsHandlers& handlers = *atLevel(context.simd, &scalar::ldsHandlers, &avx2::ldsHandlers, &avx512::ldsHandlers);
  const LdsForm* found = findForm(handlers.forms, &LdsForm::name, inst.base);
  if (!found) {
    bool returns = false;
    const std::string name = atomicName(inst.base, returns);
    const AtomicForm* form = findLdsAtomic(name);
    if (!form)
      return refused("{} is not modelled", inst.base);
    if (returns && !reader.takeDestination(op))
      return refused("{}: no destination", inst.base);
    ASMEVO_CHECK(reader.takeVector(op.src[0], 1));
    for (unsigned i = 0; i < form->dataOperands; ++i)
      ASMEVO_CHECK(reader.takeVector(op.src[1 + i], form->bytes / 4));
    if (isNone(op.src[0]) || isNone(op.src[1]))
      return refused("{}: an operand is missing", inst.base);
    op.src[3].constant = name.starts_with("cmpst");
    op.extra = form;
    op.fn = name == "condxchg32_b64" ? handlers.atomicAligned : returns ? handlers.atomicReturning : handlers.atomic;
    return {};
  }
  const LdsForm& form = *found;
  if (form.reads && !reader.takeDestination(op))
    return refused("{}: no destination", inst.base);
  if (form.address == LdsAddress::vgpr)
    ASMEVO_CHECK(reader.takeVector(op.src[0], 1));
  for (unsigned i = 0; i < form.dataOperands; ++i)
    ASMEVO_CHECK(reader.takeVector(op.src[1 + i], form.dataDwords));
  if (form.pairUnit != 0 && form.reads && form.dataOperands == 2 && offset0 == offset1)
    return refused("{} with equal offsets is one exchange of undocumented data", inst.base);
  if (form.pairUnit != 0)
    op.aux = packOffsets(offset0 * form.pairUnit, offset1 * form.pairUnit);
  if (inst.base == "ds_swizzle_b32") {
    std::array<std::uint8_t, 64> source{};
    for (unsigned lane = 0; lane < 64; ++lane)
      source[lane] = static_cast<std::uint8_t>(swizzleSource(offset, lane));
    op.extra = context.arena->make(source);
  }
  op.fn = form.fn;
  return {};
}

} // namespace asmevo::emulator
