#include "verify/lint/thread_values.h"

#include <algorithm>
#include <string_view>

namespace asmevo::verify {

namespace {

using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
namespace sreg = isa::sreg;

/// Integer operations on one to three dwords, as the ISA manuals define them.
std::optional<std::uint32_t> compute(std::string_view base, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  constexpr std::uint32_t low24 = 0xffffff;
  if (base == "v_mov_b32")
    return a;
  if (base == "v_lshlrev_b32")
    return b << (a & 31);
  if (base == "v_lshrrev_b32")
    return b >> (a & 31);
  if (base == "v_and_b32")
    return a & b;
  if (base == "v_or_b32")
    return a | b;
  if (base == "v_xor_b32")
    return a ^ b;
  if (base == "v_add_u32")
    return a + b;
  if (base == "v_sub_u32")
    return a - b;
  if (base == "v_subrev_u32")
    return b - a;
  if (base == "v_mul_lo_u32")
    return a * b;
  if (base == "v_mul_u32_u24")
    return (a & low24) * (b & low24);
  if (base == "v_mad_u32_u24")
    return (a & low24) * (b & low24) + c;
  if (base == "v_lshl_add_u32")
    return (a << (b & 31)) + c;
  if (base == "v_add_lshl_u32")
    return (a + b) << (c & 31);
  if (base == "v_lshl_or_b32")
    return (a << (b & 31)) | c;
  if (base == "v_and_or_b32")
    return (a & b) | c;
  if (base == "v_or3_b32")
    return a | b | c;
  if (base == "v_add3_u32")
    return a + b + c;
  if (base == "v_bfe_u32")
    return (c & 31) == 0 ? 0 : (a >> (b & 31)) & ((std::uint32_t{1} << (c & 31)) - 1);
  return std::nullopt;
}

} // namespace

ThreadState::ThreadState(ThreadValues ids, unsigned accum) : threads(ids.size()), accumOffset(accum) {
  vectors[0] = std::move(ids);
}

std::optional<ThreadValues> ThreadState::valueOf(const Operand& operand) const {
  if (operand.dwords != 1 || operand.half != 0 || operand.neg || operand.abs || operand.sext)
    return std::nullopt;
  if (operand.kind == OperandKind::imm)
    return ThreadValues(threads, static_cast<std::uint32_t>(operand.imm));
  if (operand.kind == OperandKind::vgpr) {
    const auto found = vectors.find(operand.index);
    return found == vectors.end() ? std::nullopt : std::optional(found->second);
  }
  if (operand.kind == OperandKind::sgpr)
    if (const auto found = constants.find(operand.index); found != constants.end())
      return ThreadValues(threads, found->second);
  return std::nullopt;
}

std::optional<ThreadValues> ThreadState::resultOf(const Instruction& inst) const {
  const isa::Modifiers& mods = inst.mods;
  const bool plain = inst.cls == InstClass::valu && mods.dpp == isa::DppCtrl::none && !mods.isSdwa && !mods.clamp &&
                     mods.omod == 0 && !mods.opSelPrinted;
  if (!plain || !full || inst.operands.size() < 2 || inst.operands.size() > 4 ||
      inst.operands[0].kind != OperandKind::vgpr || inst.operands[0].dwords != 1)
    return std::nullopt;
  std::array<ThreadValues, 3> sources;
  for (std::size_t i = 1; i < inst.operands.size(); ++i) {
    auto value = valueOf(inst.operands[i]);
    if (!value || inst.operands[i].isDef)
      return std::nullopt;
    sources[i - 1] = *std::move(value);
  }
  for (ThreadValues& source : sources)
    source.resize(threads);
  ThreadValues result(threads);
  for (std::size_t t = 0; t < threads; ++t) {
    const auto value = compute(inst.base, sources[0][t], sources[1][t], sources[2][t]);
    if (!value)
      return std::nullopt;
    result[t] = *value;
  }
  return result;
}

void ThreadState::stepScalars(const Instruction& inst, const isa::RegSet& writes) {
  const bool vector = inst.cls == InstClass::valu || inst.cls == InstClass::lds || inst.isVectorMemory();
  const bool differs = vector || inst.reads(accumOffset).intersects(perWave) || inst.base.starts_with("s_getreg") ||
                       inst.base.starts_with("s_memtime") || inst.base.starts_with("s_memrealtime") ||
                       inst.base.starts_with("s_atomic") || inst.isAtomic() || inst.leavesFunction();
  writes.forEach([&](isa::RegUnit unit) {
    if (unit >= isa::vgprBase)
      return;
    constants.erase(unit);
    versions[unit] = ++latest;
    differs ? perWave.set(unit) : perWave.reset(unit);
  });
  if (inst.base == "s_mov_b32" && inst.operands.size() == 2 && inst.operands[1].kind == OperandKind::imm)
    constants[inst.operands[0].index] = static_cast<std::uint32_t>(inst.operands[1].imm);
}

void ThreadState::step(const Instruction& inst) {
  const auto result = resultOf(inst);
  const isa::RegSet writes = inst.writes(accumOffset);
  if (writes.test(sreg::execLo) || writes.test(sreg::execHi))
    full = inst.base == "s_mov_b64" && inst.operands.size() == 2 && inst.operands[1].kind == OperandKind::imm &&
           inst.operands[1].imm == -1;
  stepScalars(inst, writes);
  writes.forEach([&](isa::RegUnit unit) {
    if (unit >= isa::vgprBase)
      vectors.erase(unit - isa::vgprBase);
  });
  if (inst.entersGprIdxMode() || inst.leavesFunction() || !inst.isComplete)
    vectors.clear();
  if (result)
    vectors[inst.operands[0].index] = *result;
}

} // namespace asmevo::verify
