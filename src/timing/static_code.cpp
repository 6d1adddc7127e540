#include "timing/static_code.h"

#include "isa/matrix_cost.h"

#include <algorithm>
#include <string_view>

namespace asmevo::timing {
namespace {

using isa::InstClass;
using isa::Instruction;
using isa::OperandKind;

bool oneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// Quarter-rate functions. f32 and f16 forms measured alike (pyhip gfx942: v_exp_f32, v_rcp_f32).
bool isTranscendental(std::string_view base) {
  constexpr std::string_view functions[] = {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"};
  return std::any_of(std::begin(functions), std::end(functions), [&](auto f) { return base.starts_with(f); });
}

bool isPackedF32(std::string_view base) {
  return oneOf(base, {"v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32", "v_pk_mov_b32"});
}

/// VALU never seen sharing a slot, and f64 and dot products, which no trace holds.
bool neverPairs(std::string_view base) {
  constexpr std::string_view prefixes[] = {"v_pk_", "v_dot", "v_cvt_pk_", "v_permlane", "v_bitop3_b16"};
  if (isTranscendental(base) || base.find("f64") != std::string_view::npos)
    return true;
  if (base.starts_with("v_cmp") && base.ends_with("64"))
    return true;
  return std::any_of(std::begin(prefixes), std::end(prefixes), [&](auto p) { return base.starts_with(p); });
}

/// The light operations: they share with every one that shares at all.
constexpr std::string_view pairsWithAny[] = {
    "v_mul_f32",     "v_mov_b32",      "v_or_b32",           "v_fma_f32",          "v_fmac_f32",
    "v_add_f32",     "v_sub_f32",      "v_subrev_f32",       "v_and_b32",          "v_not_b32",
    "v_xor_b32",     "v_add_u32",      "v_sub_u32",          "v_subrev_u32",       "v_lshrrev_b32",
    "v_ashrrev_i32", "v_div_fmas_f32", "v_accvgpr_read_b32", "v_readfirstlane_b32"};

Pairing pairingOf(const Instruction& inst) {
  const std::string_view base = inst.base;
  if (neverPairs(base))
    return Pairing::never;
  // SDWA forms are seen with light operations only, light as they are without.
  if (inst.mods.isSdwa)
    return Pairing::narrow;
  if (base == "v_cndmask_b32")
    return Pairing::select;
  const bool light = std::find(std::begin(pairsWithAny), std::end(pairsWithAny), base) != std::end(pairsWithAny);
  return light ? Pairing::any : Pairing::narrow;
}

void addTouched(StaticInst& s, VgprRange range) {
  if (s.readCount < s.touched.size())
    s.touched[s.readCount++] = range;
}

VgprRange rangeOf(const isa::Operand& operand, unsigned accumOffset) {
  const unsigned base = operand.kind == OperandKind::agpr ? accumOffset : 0;
  const unsigned first = base + operand.index;
  constexpr unsigned limit = 512;
  if (first >= limit)
    return {};
  return {static_cast<std::uint16_t>(first),
          static_cast<std::uint16_t>(std::min<unsigned>(operand.dwords, limit - first))};
}

bool isVector(const isa::Operand& operand) {
  return operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr;
}

void analyseMfma(StaticInst& s, const Instruction& inst, unsigned accumOffset, const Parameters& p) {
  s.category = Category::mfma;
  const isa::MatrixCost cost = isa::matrixCost(inst, p.matrixCore).value_or(isa::MatrixCost{8, true});
  s.passes = cost.passes;
  s.xdl = cost.xdl;
  // Printed form: D, A, B, C (MFMA) or D, A, B, index (SMFMAC, which accumulates into D).
  unsigned position = 0;
  for (const isa::Operand& operand : inst.operands) {
    const unsigned index = position++;
    if (!isVector(operand))
      continue;
    const VgprRange range = rangeOf(operand, accumOffset);
    if (index == 0) {
      s.destination = range;
      if (inst.base.starts_with("v_smfmac"))
        s.sourceC = range;
    } else if (index == 1 || index == 2) {
      s.sourceBytes = std::max<std::uint8_t>(s.sourceBytes, static_cast<std::uint8_t>(operand.dwords * 4));
      addTouched(s, range);
    } else if (index == 3 && !inst.base.starts_with("v_smfmac")) {
      s.sourceC = range;
    } else {
      addTouched(s, range);
    }
  }
}

void analyseValu(StaticInst& s, const Instruction& inst, unsigned accumOffset, const Parameters& p) {
  s.category = Category::valu;
  const std::string_view base = inst.base;
  const bool f64Function = isTranscendental(base) && base.ends_with("_f64");
  s.pipeClk = static_cast<std::uint16_t>(f64Function              ? p.valuTransF64Issue
                                         : isTranscendental(base) ? p.valuTransIssue
                                                                  : p.valuIssue);
  s.pairing = pairingOf(inst);
  s.packedOrDot = isPackedF32(base) || base.starts_with("v_dot");
  const isa::RegSet writes = inst.writes(accumOffset);
  writes.forEach([&](isa::RegUnit unit) {
    if (unit < isa::sreg::scc)
      s.writesScalar = true;
  });
  for (const isa::Operand& operand : inst.operands)
    if (isVector(operand))
      addTouched(s, rangeOf(operand, accumOffset));
}

void analyseMemory(StaticInst& s, const Instruction& inst, unsigned accumOffset) {
  for (const isa::Operand& operand : inst.operands)
    if (isVector(operand))
      addTouched(s, rangeOf(operand, accumOffset));
  if (inst.cls == InstClass::lds) {
    s.category = Category::lds;
    s.lgkmWeight = 1;
    // Permutes through the LDS crossbar send data with the address as writes do; ds_swizzle has no address.
    s.isLdsWrite =
        inst.mayStore || oneOf(inst.base, {"ds_bpermute_b32", "ds_permute_b32"}) || inst.base.starts_with("ds_write");
    return;
  }
  s.category = Category::vmem;
  s.isFlat = inst.cls == InstClass::flat;
  s.vmWeight = 1;
  s.lgkmWeight = s.isFlat ? 1 : 0;
}

void analyseBranch(StaticInst& s, const Instruction& inst) {
  s.category = Category::branch;
  s.conditional = inst.isConditional || inst.base.starts_with("s_cbranch");
  s.readsVcc = oneOf(inst.base, {"s_cbranch_vccz", "s_cbranch_vccnz"});
  s.readsScalarResult = s.conditional || inst.cls == InstClass::jump;
}

StaticInst analyse(const Instruction& inst, unsigned accumOffset, const Parameters& p) {
  StaticInst s;
  s.valid = true;
  s.size = inst.size;
  s.opcode = inst.opcode;
  s.argument = inst.simm16;
  switch (inst.cls) {
  case InstClass::mfma:
    analyseMfma(s, inst, accumOffset, p);
    break;
  case InstClass::valu:
  case InstClass::unknown:
    analyseValu(s, inst, accumOffset, p);
    break;
  case InstClass::salu:
    s.category = Category::scalar;
    s.isSalu = true;
    break;
  case InstClass::smem:
    s.category = Category::scalar;
    s.scalarMemory = true;
    // lgkmcnt counts 1 for a dword, 2 for more (facts: cdna3.md section 3.4).
    s.lgkmWeight = !inst.operands.empty() && inst.operands.front().dwords > 1 ? 2 : 1;
    break;
  case InstClass::vmem:
  case InstClass::flat:
  case InstClass::global:
  case InstClass::scratch:
  case InstClass::lds:
    analyseMemory(s, inst, accumOffset);
    break;
  case InstClass::branch:
  case InstClass::jump:
    analyseBranch(s, inst);
    break;
  case InstClass::endpgm:
    s.internal = Internal::end;
    break;
  case InstClass::barrier:
    s.internal = Internal::barrier;
    break;
  case InstClass::waitcnt:
    s.internal = Internal::waitcnt;
    s.wait = inst.waitCount();
    break;
  case InstClass::nop:
    s.internal = Internal::nop;
    break;
  case InstClass::message:
    s.internal = inst.base == "s_sleep"     ? Internal::sleep
                 : inst.base == "s_setprio" ? Internal::setprio
                                            : Internal::none;
    break;
  }
  // Caps keep a nonsensical immediate from dominating the model: the fields are 4, 7 and 2 bits wide.
  if (s.internal == Internal::nop)
    s.argument &= 15;
  else if (s.internal == Internal::sleep)
    s.argument &= 127;
  else if (s.internal == Internal::setprio)
    s.argument &= 3;
  return s;
}

} // namespace

std::vector<StaticInst> analyseCode(const std::vector<isa::InstRef>& code, unsigned accumOffset,
                                    const Parameters& parameters) {
  std::vector<StaticInst> result(code.size());
  for (std::size_t i = 0; i < code.size(); ++i)
    if (code[i])
      result[i] = analyse(*code[i], accumOffset, parameters);
  return result;
}

} // namespace asmevo::timing
