#include "isa/classify.h"

#include <algorithm>
#include <iterator>

namespace asmevo::isa {

namespace {

using enum InstClass;

struct PrefixClass {
  std::string_view prefix;
  InstClass cls;
};

// First match wins.
constexpr PrefixClass prefixClasses[] = {
    {"v_mfma_", mfma},
    {"v_smfmac_", mfma},
    {"v_", valu},
    {"ds_", lds},
    {"lds_", lds},
    {"buffer_", vmem},
    {"tbuffer_", vmem},
    {"image_", vmem},
    {"tensor_", vmem},
    {"flat_", flat},
    {"global_", global},
    {"cluster_", global},
    {"scratch_", scratch},
    {"s_load_", smem},
    {"s_buffer_", smem},
    {"s_store_", smem},
    {"s_scratch_", smem},
    {"s_atomic_", smem},
    {"s_memtime", smem},
    {"s_memrealtime", smem},
    {"s_atc_probe", smem},
    {"s_prefetch_", smem},
    {"s_gl1_inv", message},
    {"s_get_waveid_", smem},
    {"s_cbranch_i_fork", jump},
    {"s_cbranch_g_fork", jump},
    {"s_cbranch_join", jump},
    {"s_cbranch_", branch},
    {"s_branch", branch},
    {"s_subvector_loop_", branch},
    {"s_setpc_", jump},
    {"s_swappc_", jump},
    {"s_call_", jump},
    {"s_rfe_", jump},
    {"s_set_pc_", jump}, // gfx1250 spells them with _i64
    {"s_swap_pc_", jump},
    {"s_add_pc_", jump},
    {"s_endpgm", endpgm},
    {"s_barrier", barrier},
    {"s_wakeup_barrier", barrier},
    {"s_waitcnt", waitcnt},
    {"s_wait_", waitcnt},
    {"s_nop", nop},
    {"s_sendmsg", message},
    {"s_sleep", message},
    {"s_setprio", message},
    {"s_sethalt", message},
    {"s_setkill", message},
    {"s_trap", message},
    {"s_icache_inv", message},
    {"s_dcache_", message},
    {"s_ttracedata", message},
    {"s_incperflevel", message},
    {"s_decperflevel", message},
    {"s_wakeup", message},
    {"s_inst_prefetch", message},
    {"s_set_inst_prefetch", message},
    {"s_clause", message},
    {"s_code_end", message},
    {"s_delay_alu", message},
    {"exp", message},
    {"export", message},
    {"s_", salu},
};

// Operations that keep a part of their destination: 16-bit ones of GFX9 in VOP3 and those made from MAC and FMAC (LLVM
// AMDGPU: "some instructions changed to preserving the high bits" on GFX9); conversions to fp8 and fp4, which write one
// half or byte (CDNA3 and CDNA4 ISA, OPSEL); one lane; a register found by M0. LLVM does not tie
// V_PK_FMAC_F16 to what it adds to, nor V_CVT_PKACCUM_U8_F32 to the bytes it keeps.
constexpr std::string_view partialWriters[] = {
    "v_mad_f16",        "v_fma_f16",        "v_div_fixup_f16",
    "v_mad_u16",        "v_mad_i16",        "v_med3_f16",
    "v_med3_i16",       "v_med3_u16",       "v_min3_f16",
    "v_min3_i16",       "v_min3_u16",       "v_max3_f16",
    "v_max3_i16",       "v_max3_u16",       "v_add_i16",
    "v_sub_i16",        "v_mad_mixlo_f16",  "v_mad_mixhi_f16",
    "v_fma_mixlo_f16",  "v_fma_mixhi_f16",  "v_cvt_pk_fp8_f32",
    "v_cvt_pk_bf8_f32", "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32",
    "v_movreld_b32",    "v_movrelsd_b32",   "v_writelane_b32",
    "v_mac_f16",        "v_fmac_f16",       "v_madak_f16",
    "v_madmk_f16",      "v_fmaak_f16",      "v_fmamk_f16",
    "v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32", "v_bitop3_b16",
    "v_sat_pk_u8_i16",  "v_pk_fmac_f16",    "v_cvt_pkaccum_u8_f32",
};

/// By the type of the result, which is the first that the mnemonic names ("v_cvt_f16_f32", not "v_cvt_f32_f16"); packed
/// operations write both halves.
bool hasHalfResult(std::string_view base) {
  if (!base.starts_with("v_") || base.starts_with("v_cmp") || base.find("_pk") != std::string_view::npos)
    return false;
  constexpr std::string_view types[] = {"f16", "i16", "u16", "b16", "bf16"};
  constexpr std::string_view wideTypes[] = {"f32", "i32", "u32", "b32", "f64", "i64", "u64", "b64"};
  while (!base.empty()) {
    const std::size_t end = std::min(base.find('_'), base.size());
    const std::string_view part = base.substr(0, end);
    if (std::find(std::begin(types), std::end(types), part) != std::end(types))
      return true;
    if (std::find(std::begin(wideTypes), std::end(wideTypes), part) != std::end(wideTypes))
      return false;
    base.remove_prefix(std::min(end + 1, base.size()));
  }
  return false;
}

template <class Table> bool contains(const Table& table, std::string_view key) {
  return std::find(std::begin(table), std::end(table), key) != std::end(table);
}

void addUnit(std::vector<RegRange>& ranges, unsigned unit, bool kills = false) {
  for (const auto& range : ranges)
    if (range.file == RegRange::File::scalar && range.first <= unit && unit < unsigned{range.first} + range.count)
      return;
  RegRange range;
  range.first = static_cast<std::uint16_t>(unit);
  range.kills = kills;
  ranges.push_back(range);
}

void addScalarRange(std::vector<RegRange>& ranges, unsigned first, unsigned count) {
  RegRange range;
  range.first = static_cast<std::uint16_t>(first);
  range.count = static_cast<std::uint16_t>(count);
  ranges.push_back(range);
}

void removeUnit(std::vector<RegRange>& ranges, std::vector<RegUnit>& implicit, unsigned unit) {
  std::erase_if(ranges, [&](const RegRange& range) {
    return range.file == RegRange::File::scalar && range.first == unit && range.count == 1;
  });
  std::erase(implicit, static_cast<RegUnit>(unit));
}

/// The old value of what is written matters too. Of vector instructions that is the vector register, not the mask.
void readDestination(Instruction& inst) {
  inst.tiedDest = true;
  for (auto range : inst.writeRanges) {
    if (range.file == RegRange::File::scalar &&
        (inst.cls == valu || range.first == sreg::scc || range.first == sreg::mode))
      continue;
    range.kills = false;
    inst.readRanges.push_back(range);
  }
}

/// s_getreg/s_setreg: LLVM knows MODE only.
void mendHardwareRegister(Instruction& inst) {
  constexpr unsigned modeId = 1, idMask = 0x3f; // in every generation
  const bool isMode = (inst.simm16 & idMask) == modeId;
  const unsigned unit = isMode ? sreg::mode : sreg::hwreg;
  if (!isMode) {
    removeUnit(inst.readRanges, inst.implicitReads, sreg::mode);
    removeUnit(inst.writeRanges, inst.implicitWrites, sreg::mode);
  }
  addUnit(inst.readRanges, unit);
  if (inst.base.starts_with("s_setreg"))
    addUnit(inst.writeRanges, unit);
}

/// Moves relative to M0: the register really read or written is the named one plus M0.
void mendIndirect(Instruction& inst) {
  const std::string_view base = inst.base;
  const bool scalar = base.starts_with("s_movrel"), vector = base.starts_with("v_movrel");
  const bool swap = base.starts_with("v_swaprel");
  if (!scalar && !vector && !swap)
    return;
  addUnit(inst.readRanges, sreg::m0);
  // s_movrels, s_movreld, s_movrelsd_2: s and d say which side is indirect.
  const std::string_view sides = base.substr(8, base.find('_', 8) - 8);
  const bool source = swap || sides.find('s') != std::string_view::npos;
  const bool destination = swap || sides.find('d') != std::string_view::npos;
  RegRange all;
  all.file = scalar ? RegRange::File::scalar : RegRange::File::vgpr;
  all.count = scalar ? sreg::vccHi + 1 : 256;
  if (destination)
    for (auto& range : inst.writeRanges)
      range.kills = false;
  if (source)
    inst.readRanges.push_back(all);
  if (destination)
    inst.writeRanges.push_back(all);
}

/// gfx1250 keeps the two high bits of VGPR numbers in MODE (LLVM AMDGPU, S_SET_VGPR_MSB and S_SETREG of MODE[19:12]).
void mendBanks(Instruction& inst) {
  constexpr unsigned firstBit = 12, lastBit = 19;
  const unsigned offset = (inst.simm16 >> 6) & 0x1f, last = offset + (inst.simm16 >> 11);
  const bool setsMode = inst.base.starts_with("s_setreg") && (inst.simm16 & 0x3f) == 1;
  inst.choosesVgprBank = inst.base == "s_set_vgpr_msb" || (setsMode && offset <= lastBit && last >= firstBit);
  if (inst.base == "s_set_vgpr_msb")
    addUnit(inst.readRanges, sreg::mode); // its other bits stay
  const bool namesVgprs = inst.cls == valu || inst.cls == lds || inst.isVectorMemory();
  if (namesVgprs)
    addUnit(inst.readRanges, sreg::mode);
}

bool isPartialSdwa(const Instruction& inst) {
  return inst.mods.isSdwa && inst.mods.dstUnused == SdwaUnused::preserve && inst.mods.dstSel != SdwaSel::dword;
}

} // namespace

InstClass classify(std::string_view base) {
  for (const auto& entry : prefixClasses)
    if (base.starts_with(entry.prefix))
      return entry.cls;
  return unknown;
}

void mendEffects(Instruction& inst, const EffectRules& rules) {
  const std::string_view base = inst.base;
  // LLVM's DS opcodes list M0, which bounds LDS accesses up to VI only; GFX9 keeps it for these (CDNA3 ISA, LDS: M0).
  if (inst.cls == lds && rules.gfx9OrLater && !base.starts_with("lds_")) {
    const bool usesM0 = base.find("addtid") != std::string_view::npos || base.starts_with("ds_gws_") ||
                        base == "ds_append" || base == "ds_consume" || base == "ds_ordered_count";
    if (usesM0)
      addUnit(inst.readRanges, sreg::m0);
    else
      removeUnit(inst.readRanges, inst.implicitReads, sreg::m0);
  }
  if (inst.isLdsDma())
    addUnit(inst.readRanges, sreg::m0);
  if (base.starts_with("s_getreg") || base.starts_with("s_setreg"))
    mendHardwareRegister(inst);
  if (base.starts_with("s_set_gpr_idx_") || base == "s_setvskip") {
    addUnit(inst.readRanges, sreg::mode);
    addUnit(inst.writeRanges, sreg::mode);
  }
  if (base == "s_set_gpr_idx_on" || base == "s_set_gpr_idx_idx" || base == "s_set_gpr_idx_mode") {
    // M0[7:0], M0[15:12] or both are replaced; the rest stays.
    addUnit(inst.readRanges, sreg::m0);
    addUnit(inst.writeRanges, sreg::m0);
  }
  // LLVM gives every SOPC instruction an SCC result; these two have none.
  if (base == "s_setvskip" || base == "s_set_gpr_idx_on")
    removeUnit(inst.writeRanges, inst.implicitWrites, sreg::scc);
  if (base == "s_round_mode" || base == "s_denorm_mode") {
    addUnit(inst.readRanges, sreg::mode);
    addUnit(inst.writeRanges, sreg::mode);
  }
  mendIndirect(inst);
  if (rules.vgprBanks)
    mendBanks(inst);
  // LLVM's lists lack EXEC for operations that it makes late, and MODE for some that round or flush.
  constexpr std::string_view ignoreExec[] = {"v_readlane_b32", "v_writelane_b32", "v_nop", "v_clrexcp", "v_pipeflush"};
  if (inst.cls == valu && !contains(ignoreExec, base))
    for (unsigned half = 0; half < rules.waveSize / 32; ++half)
      addUnit(inst.readRanges, sreg::execLo + half);
  constexpr std::string_view readMode[] = {"v_cvt_pk_bf16_f32",   "v_cvt_pk_f16_f32",  "v_cvt_flr_i32_f32",
                                           "v_cvt_floor_i32_f32", "v_cvt_rpi_i32_f32", "v_cvt_nearest_i32_f32"};
  if (contains(readMode, base))
    addUnit(inst.readRanges, sreg::mode);
  if (base.starts_with("s_subvector_loop_"))
    for (auto* ranges : {&inst.readRanges, &inst.writeRanges})
      addScalarRange(*ranges, sreg::execLo, 2);
  if (base.starts_with("s_subvector_loop_") && !inst.operands.empty()) // the other half of EXEC, kept between passes
    addScalarRange(inst.writeRanges, inst.operands[0].index, 1);
  // A D16 load keeps the other half of its destination (with SRAMECC it may clear it instead: still an input to us).
  const bool isD16Load =
      inst.mayLoad && (base.find("_d16") != std::string_view::npos || inst.text.find(" d16") != std::string::npos);
  // LLVM has one list for all matrix operations; integer ones neither round nor flush.
  if (base.starts_with("v_mfma_i32_") || base.starts_with("v_smfmac_i32_"))
    removeUnit(inst.readRanges, inst.implicitReads, sreg::mode);
  const bool writesDstHigh = inst.mods.opSelPrinted && inst.cls == valu && !inst.operands.empty() &&
                             ((inst.mods.opSel >> (inst.operands.size() - 1)) & 1) && !base.starts_with("v_pk_");
  if (base.starts_with("s_cmov") || base.starts_with("s_bitset") || contains(partialWriters, base) ||
      base.starts_with("v_cvt_scalef32_sr_pk_fp4_") || isPartialSdwa(inst) || writesDstHigh || isD16Load ||
      (rules.gfx10OrLater && inst.cls == valu && hasHalfResult(base)))
    readDestination(inst);
}

} // namespace asmevo::isa
