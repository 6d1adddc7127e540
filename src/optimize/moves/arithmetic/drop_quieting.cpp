#include "optimize/moves/arithmetic/drop_quieting.h"

#include "optimize/moves/arithmetic/copies.h"
#include "optimize/moves/move_support.h"
#include "program/analysis/dataflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace asmevo::optimize {

namespace {

using isa::OperandKind;

/// Operations whose f32 results are quiet whatever they are given, and flushed where MODE says so.
constexpr std::array flushed = {
    std::string_view("v_add_f32"),    std::string_view("v_sub_f32"),    std::string_view("v_subrev_f32"),
    std::string_view("v_mul_f32"),    std::string_view("v_fma_f32"),    std::string_view("v_fmac_f32"),
    std::string_view("v_fmamk_f32"),  std::string_view("v_fmaak_f32"),  std::string_view("v_max_f32"),
    std::string_view("v_min_f32"),    std::string_view("v_max3_f32"),   std::string_view("v_min3_f32"),
    std::string_view("v_pk_add_f32"), std::string_view("v_pk_mul_f32"), std::string_view("v_pk_fma_f32"),
};
/// Those whose results are quiet, and looked at only where denormals are kept.
constexpr std::array quietResults = {
    std::string_view("v_exp_f32"),      std::string_view("v_log_f32"),     std::string_view("v_rcp_f32"),
    std::string_view("v_rsq_f32"),      std::string_view("v_sqrt_f32"),    std::string_view("v_rndne_f32"),
    std::string_view("v_floor_f32"),    std::string_view("v_ceil_f32"),    std::string_view("v_trunc_f32"),
    std::string_view("v_fract_f32"),    std::string_view("v_ldexp_f32"),   std::string_view("v_div_fixup_f32"),
    std::string_view("v_div_fmas_f32"), std::string_view("v_cvt_f32_i32"), std::string_view("v_cvt_f32_u32"),
    std::string_view("v_cvt_f32_f16"),
};

/// A constant that is neither a signalling NaN nor denormal.
bool isQuiet(const isa::Operand& o) {
  if (o.kind == OperandKind::fpImm)
    return true;
  const auto bits = static_cast<std::uint32_t>(o.imm);
  const bool normal = (bits & 0x7f800000) != 0 && (bits & 0x7f800000) != 0x7f800000;
  return o.kind == OperandKind::imm && (normal || (bits & 0x7fffff) == 0 || (bits & 0x7fc00000) == 0x7fc00000);
}

/// Could the instruction change how f32 results are rounded, flushed or quieted: bits 0 to 9 of MODE?
bool changesFloatMode(const isa::Instruction& inst, unsigned accumOffset) {
  if (!inst.writes(accumOffset).test(isa::sreg::mode))
    return false;
  if (!std::string_view(inst.base).starts_with("s_setreg"))
    return true;
  // Register number in bits 5:0, first bit in 10:6 (CDNA3 ISA, S_SETREG_B32).
  const unsigned first = inst.simm16 >> 6 & 31;
  return (inst.simm16 & 63) != 1 || first < 10;
}

/// VGPRs (units) that hold, in every lane that is on, f32 results or constants that are no signalling NaN, followed
/// from the start of a block (CDNA3 ISA, "Floating point denormal and NaN handling": results are quiet).
class QuietUnits {
 public:
  /// `keeps`: MODE flushes no f32 denormals.
  QuietUnits(unsigned accum, bool keeps) : accumOffset(accum), keepsDenormals(keeps) {}
  bool test(const isa::Operand& o) const {
    if (o.kind != OperandKind::vgpr && o.kind != OperandKind::agpr)
      return isQuiet(o);
    return o.dwords == 1 && o.half == 0 && units.test(unitOf(o));
  }
  void step(const isa::Instruction& inst);

 private:
  isa::RegUnit unitOf(const isa::Operand& o) const {
    return isa::vgprUnit(o.kind == OperandKind::agpr ? accumOffset + o.index : o.index);
  }
  bool isResultQuiet(const isa::Instruction& inst) const;

  unsigned accumOffset;
  bool keepsDenormals;
  isa::RegSet units;
};

bool QuietUnits::isResultQuiet(const isa::Instruction& inst) const {
  const auto& operands = inst.operands;
  const isa::Modifiers& m = inst.mods;
  const std::string_view base = inst.base;
  if (operands.empty() || !operands[0].isDef ||
      (operands[0].kind != OperandKind::vgpr && operands[0].kind != OperandKind::agpr))
    return false;
  if (inst.cls == isa::InstClass::lds) // lanes read others that are on, or 0
    return (base == "ds_bpermute_b32" && operands.size() >= 3 && test(operands[2])) ||
           (base == "ds_swizzle_b32" && operands.size() >= 2 && test(operands[1]));
  if (inst.cls != isa::InstClass::valu || (m.isSdwa && m.dstSel != isa::SdwaSel::dword))
    return false;
  bool quiet = std::ranges::find(flushed, base) != flushed.end() ||
               (keepsDenormals && std::ranges::find(quietResults, base) != quietResults.end());
  if ((base == "v_mov_b32" || base.starts_with("v_accvgpr_")) && operands.size() == 2 && !m.isSdwa)
    quiet = test(operands[1]);
  else if (base == "v_cndmask_b32" && operands.size() == 4 && !m.isSdwa)
    quiet = test(operands[1]) && test(operands[2]);
  // Rows that are not written keep what they had; so do lanes without a source.
  if (m.dpp != isa::DppCtrl::none && (!m.boundCtrl || m.rowMask != 0xf || m.bankMask != 0xf))
    quiet = quiet && test(operands[0]);
  return quiet;
}

void QuietUnits::step(const isa::Instruction& inst) {
  const isa::RegSet writes = inst.writes(accumOffset);
  const bool quiet = isResultQuiet(inst);
  units.remove(writes);
  for (unsigned k = 0; quiet && k < inst.operands[0].dwords; ++k)
    units.set(isa::RegUnit(unitOf(inst.operands[0]) + k));
  // A mask that only loses lanes keeps what holds in the others.
  const std::string_view base = inst.base;
  const bool narrows = base == "s_and_saveexec_b64" || base.starts_with("v_cmpx");
  if ((writes.test(isa::sreg::execLo) || writes.test(isa::sreg::execHi)) && !narrows)
    units = {};
  if (inst.cls == isa::InstClass::jump || inst.cls == isa::InstClass::unknown)
    units = {};
}

/// Does MODE keep its rounding, denormal and NaN fields all the time?
bool floatModeStays(const program::Program& program, const program::Function& function, const MoveContext& context) {
  return std::ranges::all_of(function.blocks, [&](program::BlockId id) {
    return std::ranges::none_of(program.blocks[id].instrs, [&](const program::Instr& instr) {
      return instr.inst->cls == isa::InstClass::jump || changesFloatMode(*instr.inst, context.accumOffset);
    });
  });
}

/// The operand whose value the instruction gives back, quieted: max(x, x), min(x, x), 1 * x.
std::optional<std::size_t> quieted(const isa::Instruction& inst) {
  if (inst.cls != isa::InstClass::valu || !isPlain(inst) || inst.operands.size() != 3)
    return std::nullopt;
  const auto& o = inst.operands;
  const auto isOne = [](const isa::Operand& x) {
    return (x.kind == OperandKind::fpImm && x.fp == 1.0) || (x.kind == OperandKind::imm && x.imm == 0x3f800000);
  };
  if ((inst.base == "v_max_f32" || inst.base == "v_min_f32") && o[1].kind == OperandKind::vgpr &&
      o[2].kind == OperandKind::vgpr && o[1].index == o[2].index)
    return 1;
  if (inst.base == "v_mul_f32" && (isOne(o[1]) || isOne(o[2])))
    return isOne(o[1]) ? 2 : 1;
  return std::nullopt;
}

class DropQuietingMove final : public Move {
 public:
  std::string_view name() const override { return "drop-quieting"; }
  std::string_view purpose() const override { return "take max(x, x) of arithmetic results, which are quiet, out"; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    const program::Function* function = kernelFunction(program, context);
    if (!function || !floatModeStays(program, *function, context))
      return {};
    constexpr unsigned kept = 3; // FP_DENORM of f32: in and out (CDNA3 ISA, "MODE register")
    const bool keepsDenormals = (context.kernel.descriptor.floatMode() >> 4 & 3) == kept;
    return proposeForBlocks(program, context, [&](StraightCode& code) {
      const auto& instrs = program.blocks[code.block()].instrs;
      QuietUnits quiet(code.accumOffset(), keepsDenormals);
      std::size_t taken = 0;
      for (std::size_t i = 0; i < code.size(); ++i) {
        const isa::Instruction& original = *instrs[i].inst;
        const auto operand = quieted(original);
        const bool idle = operand && quiet.test(original.operands[*operand]);
        quiet.step(original);
        if (!idle || !code.has(i) || !code.isEditable(i))
          continue;
        // Edits so far may have renamed operands, not changed their values.
        const isa::Instruction& inst = code.at(i);
        const auto target = tupleOf(inst.operands[0]), source = tupleOf(inst.operands[*operand]);
        if (!target || !source)
          continue;
        if (target == source)
          code.remove(i);
        else if (!readFrom(code, i, *target, *source) && !writeTo(code, i, *target, *source))
          continue;
        ++taken;
      }
      return taken ? fmt::format("{} operations that quiet what is quiet taken out", taken) : std::string();
    });
  }
};

} // namespace

const Move& dropQuietingMove() {
  static const DropQuietingMove move;
  return move;
}

} // namespace asmevo::optimize
