#include "emulator/strict/op_info.h"

#include "isa/semantics/table.h"
#include "program/analysis/hazards.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace asmevo::emulator {

namespace {

using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
namespace sreg = isa::sreg;

struct LoadName {
  std::string_view name;
  LoadForm form;
};
using Kind = LoadForm::Kind;
using Part = LoadForm::Part;

/// By what follows "buffer_load_", "global_load_", "flat_load_", "scratch_load_" or "ds_read_".
constexpr LoadName loadNames[] = {
    {"dword", {Kind::dwords}},
    {"dwordx2", {Kind::dwords}},
    {"dwordx3", {Kind::dwords}},
    {"dwordx4", {Kind::dwords}},
    {"b32", {Kind::dwords}},
    {"b64", {Kind::dwords}},
    {"b96", {Kind::dwords}},
    {"b128", {Kind::dwords}},
    {"addtid_b32", {Kind::dwords}},
    {"ubyte", {Kind::small, 1, false}},
    {"u8", {Kind::small, 1, false}},
    {"sbyte", {Kind::small, 1, true}},
    {"i8", {Kind::small, 1, true}},
    {"ushort", {Kind::small, 2, false}},
    {"u16", {Kind::small, 2, false}},
    {"sshort", {Kind::small, 2, true}},
    {"i16", {Kind::small, 2, true}},
    {"ubyte_d16", {Kind::small, 1, false, Part::low}},
    {"u8_d16", {Kind::small, 1, false, Part::low}},
    {"ubyte_d16_hi", {Kind::small, 1, false, Part::high}},
    {"u8_d16_hi", {Kind::small, 1, false, Part::high}},
    {"sbyte_d16", {Kind::small, 1, true, Part::low}},
    {"i8_d16", {Kind::small, 1, true, Part::low}},
    {"sbyte_d16_hi", {Kind::small, 1, true, Part::high}},
    {"i8_d16_hi", {Kind::small, 1, true, Part::high}},
    {"short_d16", {Kind::small, 2, false, Part::low}},
    {"u16_d16", {Kind::small, 2, false, Part::low}},
    {"short_d16_hi", {Kind::small, 2, false, Part::high}},
    {"u16_d16_hi", {Kind::small, 2, false, Part::high}},
};

LoadForm loadFormOf(const Instruction& inst) {
  if (!inst.mayLoad || inst.isAtomic() || inst.mods.tfe)
    return {};
  if (inst.base.starts_with("ds_read2"))
    return {Kind::dwords};
  for (const std::string_view lead : {"_load_", "_read_"})
    if (const std::size_t at = inst.base.find(lead); at != std::string::npos) {
      const std::string_view rest = std::string_view(inst.base).substr(at + lead.size());
      const auto found = std::ranges::find(loadNames, rest, &LoadName::name);
      return found == std::end(loadNames) ? LoadForm{} : found->form;
    }
  return {};
}

bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> heads) {
  return std::ranges::any_of(heads, [&](std::string_view head) { return text.starts_with(head); });
}

Flow scalarFlow(std::string_view base) {
  if (startsWithAny(base, {"s_mov_b", "s_not_b", "s_xor_b", "s_xnor_b", "s_cmov_b"}))
    return Flow::bits;
  if (startsWithAny(base, {"s_and_b", "s_andn2_b", "s_nand_b"}))
    return Flow::bitAnd;
  if (startsWithAny(base, {"s_or_b", "s_orn2_b", "s_nor_b"}))
    return Flow::bitOr;
  if (startsWithAny(base, {"s_cselect_"}))
    return Flow::scalarSelect;
  if (base.ends_with("_saveexec_b64"))
    return base.starts_with("s_and_") || base.starts_with("s_andn2_") ? Flow::saveExecAnd : Flow::saveExec;
  return Flow::scalar;
}

/// Handled half by half (Taint::halves).
constexpr std::string_view halfwise[] = {
    "v_mov_b32",     "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32", "v_and_b32",
    "v_or_b32",      "v_xor_b32",          "v_not_b32",           "v_lshlrev_b32",     "v_lshrrev_b32",
    "v_lshl_or_b32", "v_and_or_b32",       "v_or3_b32",           "v_perm_b32"};

/// The halves that each source gives, by SDWA selects and 16-bit operand types.
void markSourceHalves(const Instruction& inst, OpInfo& info) {
  using isa::SdwaSel;
  using isa::semantics::OperandType;
  if (inst.cls != InstClass::valu)
    return;
  const auto* row = isa::semantics::findOpcode(inst.base);
  for (std::size_t i = 0; i < info.sourceHalves.size(); ++i) {
    std::uint8_t halves = 3;
    if (inst.mods.isSdwa && i < inst.mods.srcSel.size()) {
      const SdwaSel select = inst.mods.srcSel[i];
      if (select != SdwaSel::dword)
        halves = select == SdwaSel::word1 || select == SdwaSel::byte2 || select == SdwaSel::byte3 ? 2 : 1;
    } else if (row && i < row->signature.sources) {
      const OperandType type = row->signature.src[i];
      if (type == OperandType::b16 || type == OperandType::f16 || type == OperandType::b8)
        halves = inst.mods.opSelPrinted && (inst.mods.opSel >> i & 1) ? 2 : 1;
    }
    info.sourceHalves[i] = halves;
    info.selectsHalves |= halves != 3;
  }
}

Flow flowOf(const Instruction& inst) {
  const std::string_view base = inst.base;
  switch (inst.cls) {
  case InstClass::salu:
    return startsWithAny(base, {"s_movrel", "s_setreg", "s_getreg", "s_set_gpr_idx", "s_setvskip", "s_getpc"})
               ? Flow::none
               : scalarFlow(base);
  case InstClass::mfma:
    return Flow::matrix;
  case InstClass::valu:
    if (base.starts_with("v_movrel"))
      return Flow::none;
    if (base.starts_with("v_readlane"))
      return Flow::readLane;
    if (base.starts_with("v_readfirstlane"))
      return Flow::readFirstLane;
    if (base.starts_with("v_writelane"))
      return Flow::writeLane;
    if (base.starts_with("v_permlane"))
      return Flow::allLanes;
    if (inst.mods.dpp != isa::DppCtrl::none)
      return Flow::dpp;
    if (startsWithAny(base, {"v_mad_u64_u32", "v_mad_i64_i32", "v_lshlrev_b64", "v_lshl_add_u64"}))
      return Flow::wideLow;
    if ((base.starts_with("v_pk_") && base.ends_with("_f32")) || base == "v_pk_mov_b32" || base == "v_mov_b64")
      return Flow::pairs;
    if (!inst.mods.isSdwa && std::ranges::find(halfwise, base) != std::end(halfwise))
      return Flow::halves;
    if (base.starts_with("v_cndmask"))
      return Flow::select;
    return Flow::lanes;
  case InstClass::smem:
  case InstClass::vmem:
  case InstClass::flat:
  case InstClass::global:
  case InstClass::scratch:
  case InstClass::lds:
    return Flow::memory;
  default:
    return Flow::none;
  }
}

bool isWholeWave(Flow flow) {
  return flow == Flow::readLane || flow == Flow::readFirstLane || flow == Flow::writeLane || flow == Flow::dpp ||
         flow == Flow::allLanes || flow == Flow::matrix;
}

/// Where a partial result goes. 16-bit and packed 8-bit conversions keep the half that op_sel or SDWA does not name.
void markKeptHalves(const Instruction& inst, OpInfo& info) {
  if (info.load.part != Part::whole) {
    (info.load.part == Part::low ? info.keepsHigh : info.keepsLow) = true;
    return;
  }
  if (inst.cls != InstClass::valu || !inst.tiedDest || startsWithAny(inst.base, {"v_writelane", "v_movrel"}))
    return;
  using isa::SdwaSel;
  if (inst.mods.isSdwa) {
    if (inst.mods.dstUnused != isa::SdwaUnused::preserve || inst.mods.dstSel == SdwaSel::dword)
      return;
    const bool high =
        inst.mods.dstSel == SdwaSel::word1 || inst.mods.dstSel == SdwaSel::byte2 || inst.mods.dstSel == SdwaSel::byte3;
    (high ? info.keepsLow : info.keepsHigh) = true;
    return;
  }
  if (inst.mods.dpp != isa::DppCtrl::none || startsWithAny(inst.base, {"v_fmac", "v_mac", "v_dot", "v_pk_fmac"}))
    return;
  const bool toHigh = inst.base.find("mixhi") != std::string::npos ||
                      (inst.mods.opSelPrinted && (inst.mods.opSel >> (inst.operands.size() - 1) & 1));
  (toHigh ? info.keepsLow : info.keepsHigh) = true;
}

/// Bits of an s_set_gpr_idx_on mode, at M0[15:12] (CDNA3 ISA, "VGPR Indexing"): SRC0 to SRC2, DST.
constexpr unsigned indexModeShift = 12, indexDestination = 3;

} // namespace

const OpInfo& OpInfoTable::make(std::uint64_t at, const Op* op) {
  if (at >= table.size())
    table.resize(at + at / 2 + 64);
  auto info = std::make_unique<OpInfo>();
  const Instruction& inst = *op->inst;
  info->op = op;
  info->reads = program::issueReads(inst, accumOffset);
  info->writes = inst.writes(accumOffset);
  info->touched = info->reads | info->writes;
  info->counting = program::countingOf(inst);
  info->counted = info->counting.any() && inst.cls != InstClass::message;
  info->isWait = inst.cls == InstClass::waitcnt;
  info->isLds = inst.cls == InstClass::lds;
  info->isScalarMemory = inst.cls == InstClass::smem;
  info->isFlat = inst.cls == InstClass::flat;
  info->isDma = inst.isLdsDma();
  info->isAtomic = inst.isAtomic();
  info->mayStore = inst.mayStore;
  info->load = loadFormOf(inst);
  info->flow = flowOf(inst);
  info->wholeWave =
      isWholeWave(info->flow) ||
      (info->isLds && !info->isAtomic &&
       (inst.base.find("permute") != std::string::npos || inst.base.find("swizzle") != std::string::npos));
  info->waitStates = static_cast<std::uint8_t>(program::waitStatesOf(inst));
  markKeptHalves(inst, *info);
  markSourceHalves(inst, *info);
  for (const Operand& operand : inst.operands) {
    const unsigned end = operand.index + operand.dwords;
    if (operand.kind == OperandKind::sgpr && operand.index < sreg::flatScratchLo && end > sgprs)
      info->sgprsBeyond = static_cast<std::uint16_t>(end);
    if (operand.kind == OperandKind::vgpr && end > accumOffset)
      info->vectorsAboveAccum = true;
  }
  table[at] = std::move(info);
  return *table[at];
}

const OpInfo& OpInfoTable::indexed(const Wave& wave, const OpInfo& info) {
  shifted = info;
  const std::uint32_t m0 = wave.sgpr[sreg::m0];
  const unsigned index = m0 & 0xff;
  unsigned source = 0;
  for (const Operand& operand : info.op->inst->operands) {
    const unsigned bit = operand.isDef ? indexDestination : source++;
    if (operand.kind != OperandKind::vgpr || (m0 >> (indexModeShift + bit) & 1) == 0)
      continue;
    isa::RegSet& set = operand.isDef ? shifted.writes : shifted.reads;
    for (unsigned k = 0; k < operand.dwords; ++k)
      set.reset(isa::vgprBase + operand.index + k);
    const unsigned first = isa::vgprBase + operand.index + index;
    if (first + operand.dwords <= isa::regUnitCount)
      set.setRange(first, operand.dwords);
  }
  shifted.touched = shifted.reads | shifted.writes;
  return shifted;
}

} // namespace asmevo::emulator
