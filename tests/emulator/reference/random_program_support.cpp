#include "emulator/reference/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace asmevo::emulator::reference {

namespace {

// Lines with holes:
//   {d} {d2} {d3} {d4} {d16}  VGPR destination, that many registers     {v} {v2} ...   VGPR source
//   {i} {f} {j}               32-bit integer, float or 64-bit source: VGPR, SGPR (one a line) or inline constant
//   {w}                       64-bit float source                       {g}  VGPR with a random sign and absolute value
//   {g2}                      the same of a pair                        {h}  as {g}, for forms without VOP3's |x|
//   {s} {s2} {c} {c2}         SGPR destinations; scalar sources: SGPR, constant, literal
//   {k} simm16   {m} mask: VCC or an SGPR pair   {a} {a2} {a4} {a16} AGPRs, {=} the same again   {n:LOW:HIGH:STEP} a
//   number {dpp} {sdwa1} {sdwa2} {sel2} {om} {opsel3} {opsel4} {pk2} {pk3} {pkn2} {pkn3}   modifiers
struct Line {
  Class cls;
  std::string text;
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> list;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end != 0)
      list.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

class Lines {
 public:
  std::vector<Line> all;

  void add(Class c, std::string_view names, std::string_view form) {
    for (const std::string& name : words(names))
      all.push_back({c, name + std::string(form)});
  }
};

void scalarLines(Lines& t) {
  constexpr auto c = Class::scalar;
  t.add(c,
        "s_add_u32 s_sub_u32 s_add_i32 s_sub_i32 s_addc_u32 s_subb_u32 s_min_i32 s_min_u32 s_max_i32 s_max_u32 "
        "s_cselect_b32 s_and_b32 s_or_b32 s_xor_b32 s_andn2_b32 s_orn2_b32 s_nand_b32 s_nor_b32 s_xnor_b32 s_lshl_b32 "
        "s_lshr_b32 s_ashr_i32 s_bfm_b32 s_mul_i32 s_mul_hi_u32 s_mul_hi_i32 s_bfe_u32 s_bfe_i32 s_absdiff_i32 "
        "s_lshl1_add_u32 s_lshl2_add_u32 s_lshl3_add_u32 s_lshl4_add_u32 s_pack_ll_b32_b16 s_pack_lh_b32_b16 "
        "s_pack_hh_b32_b16",
        " {s}, {c}, {c0}");
  t.add(c, "s_cselect_b64 s_and_b64 s_or_b64 s_xor_b64 s_andn2_b64 s_orn2_b64 s_nand_b64 s_nor_b64 s_xnor_b64",
        " {s2}, {c2}, {c2}");
  t.add(c, "s_lshl_b64 s_lshr_b64 s_ashr_i64 s_bfe_u64 s_bfe_i64", " {s2}, {c2}, {c0}");
  t.add(c, "s_bfm_b64", " {s2}, {c0}, {c0}");
  t.add(c,
        "s_mov_b32 s_cmov_b32 s_not_b32 s_wqm_b32 s_quadmask_b32 s_brev_b32 s_bcnt0_i32_b32 s_bcnt1_i32_b32 "
        "s_ff0_i32_b32 s_ff1_i32_b32 s_flbit_i32_b32 s_flbit_i32 s_sext_i32_i8 s_sext_i32_i16 s_bitset0_b32 "
        "s_bitset1_b32 s_abs_i32",
        " {s}, {c}");
  t.add(c, "s_bcnt0_i32_b64 s_bcnt1_i32_b64 s_ff0_i32_b64 s_ff1_i32_b64 s_flbit_i32_b64 s_flbit_i32_i64", " {s}, {c2}");
  t.add(c, "s_mov_b64 s_cmov_b64 s_not_b64 s_wqm_b64 s_quadmask_b64 s_brev_b64", " {s2}, {c2}");
  t.add(c, "s_bitset0_b64 s_bitset1_b64 s_bitreplicate_b64_b32", " {s2}, {c}");
  t.add(c,
        "s_and_saveexec_b64 s_or_saveexec_b64 s_xor_saveexec_b64 s_andn2_saveexec_b64 s_orn2_saveexec_b64 "
        "s_nand_saveexec_b64 s_nor_saveexec_b64 s_xnor_saveexec_b64 s_andn1_saveexec_b64 s_orn1_saveexec_b64 "
        "s_andn1_wrexec_b64 s_andn2_wrexec_b64",
        " {s2}, {c2}");
  t.add(c,
        "s_cmp_eq_i32 s_cmp_lg_i32 s_cmp_gt_i32 s_cmp_ge_i32 s_cmp_lt_i32 s_cmp_le_i32 s_cmp_eq_u32 s_cmp_lg_u32 "
        "s_cmp_gt_u32 s_cmp_ge_u32 s_cmp_lt_u32 s_cmp_le_u32 s_bitcmp0_b32 s_bitcmp1_b32",
        " {c}, {c0}");
  t.add(c, "s_cmp_eq_u64 s_cmp_lg_u64", " {c2}, {c2}");
  t.add(c, "s_bitcmp0_b64 s_bitcmp1_b64", " {c2}, {c0}");
  t.add(c,
        "s_movk_i32 s_cmovk_i32 s_addk_i32 s_mulk_i32 s_cmpk_eq_i32 s_cmpk_lg_i32 s_cmpk_gt_i32 s_cmpk_ge_i32 "
        "s_cmpk_lt_i32 s_cmpk_le_i32",
        " {s}, {k}");
  t.add(c, "s_cmpk_eq_u32 s_cmpk_lg_u32 s_cmpk_gt_u32 s_cmpk_ge_u32 s_cmpk_lt_u32 s_cmpk_le_u32",
        " {s}, {n:0:65535:1}");
  for (int i = 0; i < 6; ++i) // keeps lanes alive
    t.add(c, "s_mov_b64", " exec, -1");
}

constexpr std::string_view intVop1 = "v_mov_b32 v_not_b32 v_bfrev_b32 v_ffbh_u32 v_ffbl_b32 v_ffbh_i32";
constexpr std::string_view intVop2 =
    "v_add_u32 v_sub_u32 v_subrev_u32 v_and_b32 v_or_b32 v_xor_b32 v_xnor_b32 v_lshlrev_b32 v_lshrrev_b32 "
    "v_ashrrev_i32 "
    "v_min_i32 v_max_i32 v_min_u32 v_max_u32 v_mul_u32_u24 v_mul_i32_i24 v_mul_hi_u32_u24 v_mul_hi_i32_i24";
constexpr std::string_view shortVop2 =
    "v_add_u16 v_sub_u16 v_subrev_u16 v_mul_lo_u16 v_lshlrev_b16 v_lshrrev_b16 v_ashrrev_i16 v_min_u16 v_max_u16 "
    "v_min_i16 v_max_i16";
constexpr std::string_view floatVop1 =
    "v_floor_f32 v_ceil_f32 v_trunc_f32 v_rndne_f32 v_rcp_f32 v_sqrt_f32 v_cvt_f32_i32 v_cvt_f32_u32 v_cvt_i32_f32 "
    "v_cvt_u32_f32 v_cvt_f32_f16 v_cvt_f16_f32 v_cvt_f32_ubyte0 v_cvt_f32_ubyte1 v_cvt_f32_ubyte2 v_cvt_f32_ubyte3 "
    "v_frexp_mant_f32 v_frexp_exp_i32_f32 v_floor_f16 v_ceil_f16 v_trunc_f16 v_rndne_f16 v_rcp_f16 v_sqrt_f16 "
    "v_frexp_mant_f16 v_frexp_exp_i16_f16 v_cvt_f16_u16 v_cvt_f16_i16 v_cvt_u16_f16 v_cvt_i16_f16";
constexpr std::string_view floatVop2 = "v_add_f32 v_sub_f32 v_subrev_f32 v_mul_f32 v_min_f32 v_max_f32 v_add_f16 "
                                       "v_sub_f16 v_subrev_f16 v_mul_f16 v_min_f16 "
                                       "v_max_f16";

void vectorLines(Lines& t) {
  t.add(Class::integer, intVop1, "_e32 {d}, {i}");
  t.add(Class::integer, intVop2, "_e32 {d}, {i}, {v}");
  t.add(Class::integer, shortVop2, "_e32 {d}, {v}, {v}");
  t.add(Class::integer, intVop2, "_e64 {d}, {i}, {i}");
  t.add(Class::integer,
        "v_add_i32 v_sub_i32 v_mul_lo_u32 v_mul_hi_u32 v_mul_hi_i32 v_bfm_b32 v_bcnt_u32_b32 v_mbcnt_lo_u32_b32 "
        "v_mbcnt_hi_u32_b32 v_cvt_pk_u16_u32 v_cvt_pk_i16_i32",
        " {d}, {i}, {i}");
  t.add(Class::integer,
        "v_mad_u32_u24 v_mad_i32_i24 v_add3_u32 v_lshl_add_u32 v_add_lshl_u32 v_lshl_or_b32 v_and_or_b32 v_or3_b32 "
        "v_xad_u32 v_bfe_u32 v_bfe_i32 v_bfi_b32 v_alignbit_b32 v_alignbyte_b32 v_perm_b32 v_min3_i32 v_max3_i32 "
        "v_med3_i32 v_min3_u32 v_max3_u32 v_med3_u32 v_lerp_u8 v_sad_u8 v_sad_hi_u8 v_sad_u16 v_sad_u32",
        " {d}, {i}, {i}, {i}");
  t.add(Class::integer, "v_mad_u32_u16 v_mad_i32_i16 v_mad_u16 v_mad_i16", " {d}, {v}, {v}, {v}{opsel4}");
  t.add(Class::integer, "v_dot4_i32_i8 v_dot4_u32_u8 v_dot8_i32_i4 v_dot8_u32_u4 v_dot2_i32_i16 v_dot2_u32_u16",
        " {d}, {v}, {v}, {v}");
  t.add(Class::integer, "v_cndmask_b32_e64", " {d}, {v}, {v}, {m}");
  t.add(Class::integer, "v_cndmask_b32_e32", " {d}, {v}, {v}, vcc");

  t.add(Class::floating, floatVop1, "_e32 {d}, {v}");
  t.add(Class::floating, "v_floor_f32 v_ceil_f32 v_trunc_f32 v_rndne_f32 v_cvt_f16_f32 v_cvt_i32_f32 v_frexp_mant_f32",
        "_e64 {d}, {g}");
  t.add(Class::floating, floatVop2, "_e32 {d}, {f}, {v}");
  t.add(Class::floating, floatVop2, "_e64 {d}, {g}, {g}{om}");
  t.add(Class::floating, "v_fmac_f32_e32", " {d}, {f}, {v}");
  t.add(Class::floating, "v_fma_f32", " {d}, {g}, {g}, {g}{om}");
  t.add(Class::floating, "v_fma_f32", " {d}, {f}, {v}, {f}");
  t.add(Class::floating, "v_min3_f32 v_max3_f32", " {d}, {g}, {g}, {g}");
  t.add(Class::floating, "v_fma_f16", " {d}, {v}, {v}, {v}{opsel4}");
  t.add(Class::floating, "v_ldexp_f32", " {d}, {g}, {i}");
  t.add(Class::floating, "v_ldexp_f16_e32", " {d}, {v}, {v}");
  t.add(Class::floating, "v_cvt_pkrtz_f16_f32", " {d}, {f}, {v}");
  t.add(Class::floating, "v_fmaak_f32", " {d}, {v}, {v}, 0x40490fdb");
  t.add(Class::floating, "v_fmamk_f32", " {d}, {v}, 0xc2280000, {v}");

  t.add(Class::packed,
        "v_pk_add_u16 v_pk_add_i16 v_pk_sub_u16 v_pk_sub_i16 v_pk_mul_lo_u16 v_pk_min_u16 v_pk_max_u16 v_pk_min_i16 "
        "v_pk_max_i16 v_pk_lshlrev_b16 v_pk_lshrrev_b16 v_pk_ashrrev_i16",
        " {d}, {v}, {v}{pk2}");
  t.add(Class::packed, "v_pk_mad_u16 v_pk_mad_i16", " {d}, {v}, {v}, {v}{pk3}");
  t.add(Class::packed, "v_pk_add_f16 v_pk_mul_f16 v_pk_min_f16 v_pk_max_f16", " {d}, {v}, {v}{pk2}{pkn2}");
  t.add(Class::packed, "v_pk_fma_f16", " {d}, {v}, {v}, {v}{pk3}{pkn3}");
  t.add(Class::packed, "v_pk_add_f32 v_pk_mul_f32", " {d2}, {v2}, {v2}{pk2}{pkn2}");
  t.add(Class::packed, "v_pk_fma_f32", " {d2}, {v2}, {v2}, {v2}{pk3}{pkn3}");
  t.add(Class::packed, "v_pk_add_f32 v_pk_mul_f32", " {d2}, {v2}, s[{n:20:40:2}:+1]");

  t.add(Class::wide, "v_lshlrev_b64 v_lshrrev_b64 v_ashrrev_i64", " {d2}, {i}, {v2}");
  t.add(Class::wide, "v_lshl_add_u64", " {d2}, {v2}, {n:0:4:1}, {j}");
  t.add(Class::wide, "v_mov_b64_e32", " {d2}, {j}");
  t.add(Class::wide, "v_mad_u64_u32 v_mad_i64_i32", " {d2}, {s2}, {v}, {i}, {v2}");
  t.add(Class::wide, "v_add_f64 v_mul_f64 v_min_f64 v_max_f64", " {d2}, {g2}, {w}{om}");
  t.add(Class::wide, "v_fma_f64", " {d2}, {g2}, {g2}, {w}");
  t.add(Class::wide, "v_fmac_f64_e32", " {d2}, {v2}, {v2}");
  t.add(Class::wide, "v_ldexp_f64", " {d2}, {v2}, {v}");
  t.add(Class::wide, "v_floor_f64 v_ceil_f64 v_trunc_f64 v_rndne_f64 v_frexp_mant_f64", "_e32 {d2}, {v2}");
  t.add(Class::wide, "v_cvt_f64_f32 v_cvt_f64_i32 v_cvt_f64_u32", "_e32 {d2}, {v}");
  t.add(Class::wide, "v_cvt_f32_f64 v_cvt_i32_f64 v_cvt_u32_f64 v_frexp_exp_i32_f64", "_e32 {d}, {v2}");

  const auto compares = [&](std::string_view conditions, std::string_view kinds, std::string_view e32,
                            std::string_view e64) {
    for (const std::string& condition : words(conditions))
      for (const std::string& kind : words(kinds)) {
        t.add(Class::compare, "v_cmp_" + condition + "_" + kind, e32);
        t.add(Class::compare, "v_cmp_" + condition + "_" + kind, e64);
        t.add(Class::compare, "v_cmpx_" + condition + "_" + kind, e64);
      }
  };
  constexpr std::string_view whole = "f lt eq le gt ne ge t";
  constexpr std::string_view real = "f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru";
  compares(whole, "i32 u32", "_e32 vcc, {i}, {v}", "_e64 {s2}, {i}, {i}");
  compares(whole, "i16 u16", "_e32 vcc, {v}, {v}", "_e64 {s2}, {v}, {v}");
  compares(whole, "i64 u64", "_e32 vcc, {j}, {v2}", "_e64 {s2}, {v2}, {j}");
  compares(real, "f32", "_e32 vcc, {f}, {v}", "_e64 {s2}, {g}, {g}");
  compares(real, "f16", "_e32 vcc, {v}, {v}", "_e64 {s2}, {g}, {g}");
  compares(real, "f64", "_e32 vcc, {v2}, {v2}", "_e64 {s2}, {g2}, {g2}");
  compares("class", "f32 f16", "_e32 vcc, {v}, {v}", "_e64 {s2}, {g}, {v}");
  compares("class", "f64", "_e32 vcc, {v2}, {v}", "_e64 {s2}, {g2}, {v}");

  t.add(Class::carry, "v_add_co_u32 v_sub_co_u32 v_subrev_co_u32", "_e32 {d}, vcc, {i}, {v}");
  t.add(Class::carry, "v_addc_co_u32 v_subb_co_u32 v_subbrev_co_u32", "_e32 {d}, vcc, {v}, {v}, vcc");
  t.add(Class::carry, "v_add_co_u32 v_sub_co_u32 v_subrev_co_u32", "_e64 {d}, {s2}, {i}, {i}");
  t.add(Class::carry, "v_addc_co_u32 v_subb_co_u32 v_subbrev_co_u32", "_e64 {d}, {s2}, {v}, {v}, {m}");
  t.add(Class::carry, "v_add_co_u32", "_e64 {d}, {s2}, {v}, {v} clamp");

  t.add(Class::lane, "v_readlane_b32", " {s}, {v}, {n:0:63:1}");
  t.add(Class::lane, "v_readlane_b32", " {s}, {v}, s{n:20:60:1}");
  t.add(Class::lane, "v_readfirstlane_b32", " {s}, {v}");
  t.add(Class::lane, "v_writelane_b32", " {d}, s{n:20:60:1}, {n:0:63:1}");
  t.add(Class::lane, "v_swap_b32", " {d}, {d}");
  t.add(Class::lane, "v_accvgpr_read_b32", " {d}, {a}");
  t.add(Class::lane, "v_accvgpr_write_b32", " {a}, {v}");
  t.add(Class::lane, "v_accvgpr_mov_b32", " {a}, {a}");
  t.add(Class::lane, "ds_swizzle_b32", " {d}, {v} offset:{n:0:32767:1}");
  t.add(Class::lane, "ds_swizzle_b32", " {d}, {v} offset:{n:32768:33023:1}");
  t.add(Class::lane, "ds_permute_b32 ds_bpermute_b32", " {d}, {v}, {v} offset:{n:0:252:4}");

  t.add(Class::dpp, intVop1, "_dpp {d}, {v}{dpp}");
  t.add(Class::dpp, "v_mov_b32", "_dpp {d}, {v}{dpp}");
  t.add(Class::dpp, intVop2, "_dpp {d}, {v}, {v}{dpp}");
  t.add(Class::dpp, "v_add_f32 v_mul_f32 v_max_f32 v_min_f32 v_sub_f32 v_add_f16 v_mul_f16", "_dpp {d}, {h}, {h}{dpp}");
  t.add(Class::dpp, "v_floor_f32 v_cvt_f32_u32 v_cvt_f32_f16 v_rcp_f32", "_dpp {d}, {v}{dpp}");
  t.add(Class::dpp, "v_mov_b64", "_dpp {d2}, {v2} row_newbcast:{n:0:15:1} row_mask:{n:0:15:1} bank_mask:{n:0:15:1}");
  t.add(Class::dpp, "v_add_co_u32", "_dpp {d}, vcc, {v}, {v} row_ror:{n:1:15:1} row_mask:0xf bank_mask:0xf");

  t.add(Class::sdwa, intVop1, "_sdwa {d}, {v}{sdwa1}");
  t.add(Class::sdwa, intVop2, "_sdwa {d}, {v}, {v}{sdwa2}");
  t.add(Class::sdwa, "v_add_f32 v_mul_f32 v_add_f16 v_mul_f16 v_max_f16 v_sub_f16", "_sdwa {d}, {h}, {h}{sdwa2}");
  t.add(Class::sdwa, "v_cvt_f32_u32 v_cvt_f32_i32 v_cvt_f32_f16 v_cvt_f16_f32", "_sdwa {d}, {v}{sdwa1}");
  t.add(Class::sdwa, "v_cmp_eq_u32 v_cmp_lt_i32 v_cmp_ge_u32", "_sdwa {s2}, {v}, {v}{sel2}");
  t.add(Class::sdwa, "v_cmp_lt_f16 v_cmp_gt_f32", "_sdwa vcc, {v}, {v}{sel2}");
}

void memoryLines(Lines& t) {
  constexpr auto lds = Class::lds, vm = Class::vectorMemory, at = Class::memoryAtomic;
  t.add(lds, "ds_read_b32 ds_read_u16_d16 ds_read_u16_d16_hi", " {d}, v{n:0:2:1} offset:{n:0:2048:4}");
  t.add(lds, "ds_read_u8 ds_read_i8 ds_read_u8_d16 ds_read_u8_d16_hi ds_read_i8_d16 ds_read_i8_d16_hi",
        " {d}, v{n:0:2:1} offset:{n:0:2000:1}");
  t.add(lds, "ds_read_u16 ds_read_i16", " {d}, v{n:0:2:1} offset:{n:0:2000:2}");
  t.add(lds, "ds_read_b64", " {d2}, v{n:0:2:1} offset:{n:0:4096:8}");
  t.add(lds, "ds_read_b96", " {d3}, v{n:0:1:1} offset:{n:0:3072:16}");
  t.add(lds, "ds_read_b128", " {d4}, v{n:0:1:1} offset:{n:0:4096:16}");
  t.add(lds, "ds_read2_b32 ds_read2st64_b32", " {d2}, v{n:0:2:1} offset0:{n:0:30:1} offset1:{n:0:255:1}");
  t.add(lds, "ds_read2_b64 ds_read2st64_b64", " {d4}, v{n:0:2:1} offset0:{n:0:8:1} offset1:{n:0:255:1}");
  t.add(lds, "ds_write_b32", " v{n:0:1:1}, {v} offset:{n:0:4096:4}");
  t.add(lds, "ds_write_b8 ds_write_b8_d16_hi", " v{n:0:1:1}, {v} offset:{n:0:2000:1}");
  t.add(lds, "ds_write_b16 ds_write_b16_d16_hi", " v{n:0:1:1}, {v} offset:{n:0:2000:2}");
  t.add(lds, "ds_write_b64", " v{n:0:1:1}, {v2} offset:{n:0:2048:8}");
  t.add(lds, "ds_write_b96", " v{n:0:1:1}, {v3} offset:{n:0:2048:16}");
  t.add(lds, "ds_write_b128", " v{n:0:1:1}, {v4} offset:{n:0:3072:16}");
  t.add(lds, "ds_write2_b32", " v{n:0:1:1}, {v}, {v} offset0:{n:0:3:1} offset1:{n:0:3:1}");
  t.add(lds, "ds_write2st64_b64", " v{n:0:1:1}, {v2}, {v2} offset0:{n:0:3:1} offset1:{n:4:7:1}");
  t.add(
      lds,
      "ds_add_u32 ds_sub_u32 ds_rsub_u32 ds_inc_u32 ds_dec_u32 ds_min_i32 ds_max_i32 ds_min_u32 ds_max_u32 ds_and_b32 "
      "ds_or_b32 ds_xor_b32",
      " v{n:0:2:1}, {v} offset:{n:0:3600:4}");
  t.add(lds,
        "ds_add_rtn_u32 ds_sub_rtn_u32 ds_rsub_rtn_u32 ds_inc_rtn_u32 ds_dec_rtn_u32 ds_min_rtn_i32 ds_max_rtn_i32 "
        "ds_min_rtn_u32 ds_max_rtn_u32 ds_and_rtn_b32 ds_or_rtn_b32 ds_xor_rtn_b32 ds_wrxchg_rtn_b32",
        " {d}, v{n:0:2:1}, {v} offset:{n:0:3600:4}");
  t.add(lds, "ds_mskor_b32 ds_cmpst_b32", " v{n:0:2:1}, {v}, {v} offset:{n:0:2000:4}");
  t.add(lds, "ds_mskor_rtn_b32 ds_cmpst_rtn_b32", " {d}, v{n:0:2:1}, {v}, {v} offset:{n:0:2000:4}");
  t.add(
      lds,
      "ds_add_u64 ds_sub_u64 ds_rsub_u64 ds_inc_u64 ds_dec_u64 ds_min_i64 ds_max_i64 ds_min_u64 ds_max_u64 ds_and_b64 "
      "ds_or_b64 ds_xor_b64",
      " v{n:0:2:1}, {v2} offset:{n:0:2000:8}");
  t.add(lds, "ds_add_rtn_u64 ds_inc_rtn_u64 ds_max_rtn_i64 ds_xor_rtn_b64 ds_wrxchg_rtn_b64",
        " {d2}, v{n:0:2:1}, {v2} offset:{n:0:2000:8}");
  t.add(lds, "ds_cmpst_rtn_b64 ds_mskor_rtn_b64", " {d2}, v{n:0:2:1}, {v2}, {v2} offset:{n:0:2000:8}");

  constexpr std::string_view loads = "ubyte sbyte ushort sshort dword ubyte_d16 ubyte_d16_hi sbyte_d16 sbyte_d16_hi "
                                     "short_d16 short_d16_hi";
  struct Space {
    std::string_view prefix;  ///< of the mnemonic
    std::string_view loadAt;  ///< addresses of a load: behind its destination
    std::string_view storeAt; ///< before a store's data
    std::string_view tail;    ///< behind both
    int bytes;                ///< offsets
  };
  constexpr Space spaces[] = {
      {"global", "v[{n:56:58:2}:+1]", "v[56:57]", ", off offset:{n:-2000:2000:1}{cache}", 0},
      {"global", "v{n:0:2:1}", "v{n:0:1:1}", ", s[0:1] offset:{n:-2000:2000:1}", 0},
      {"flat", "v[{n:56:60:2}:+1]", "v[{n:56:60:4}:+1]", " offset:{n:0:2000:4}", 0},
      {"flat", "v[62:63]", "v[62:63]", " offset:{n:0:32:1}", 0},
      {"scratch", "v3", "v3", ", off offset:{n:0:40:1}", 0},
      {"scratch", "off", "off", ", s13 offset:{n:0:40:1}", 0},
      {"buffer", "v{n:0:2:1}, s[4:7], {bo}", "v{n:0:1:1}, s[4:7], {bo}", " offen offset:{n:0:1000:4}", 0},
      {"buffer", "v[{n:14:14:1}:+1], s[8:11], 0", "v[14:15], s[8:11], 0", " idxen offen offset:{n:0:28:4}", 0},
      {"buffer", "v14, s[8:11], s12", "v14, s[8:11], s12", " idxen offset:{n:0:28:4}", 0},
      {"buffer", "off, s[4:7], s12", "off, s[4:7], s12", " offset:{n:0:1480:4}", 0}};
  for (const Space& s : spaces) {
    const std::string prefix(s.prefix), tail(s.tail);
    const bool buffer = prefix == "buffer";
    const auto load = [&](std::string_view names, std::string_view to) {
      for (const std::string& name : words(names))
        t.add(vm, prefix + "_load_" + name, fmt::format(" {}, {}{}", to, s.loadAt, tail));
    };
    const auto store = [&](std::string_view names, std::string_view from) {
      for (const std::string& name : words(names))
        t.add(vm, prefix + "_store_" + name,
              buffer ? fmt::format(" {}, {}{}", from, s.storeAt, tail)
                     : fmt::format(" {}, {}{}", s.storeAt, from, tail));
    };
    load(loads, "{d}");
    load("dwordx2", "{d2}");
    load("dwordx3", "{d3}");
    load("dwordx4", "{d4}");
    if (prefix == "buffer" && s.storeAt.starts_with("off"))
      continue; // all lanes would write one place
    store("byte byte_d16_hi short short_d16_hi dword", "{v}");
    store("dwordx2", "{v2}");
    store("dwordx3", "{v3}");
    store("dwordx4", "{v4}");
  }

  // Elements side by side, which an implementation may move all at once.
  t.add(lds, "ds_read_b32", " {d}, v4 offset:{n:0:9000:4}");
  t.add(lds, "ds_read_b64", " {d2}, v5 offset:{n:0:9000:8}");
  t.add(lds, "ds_read_b96", " {d3}, v6 offset:{n:0:4096:16}");
  t.add(lds, "ds_write_b32", " v4, {v} offset:{n:0:9000:4}");
  t.add(lds, "ds_write_b64", " v5, {v2} offset:{n:0:9000:8}");
  t.add(lds, "ds_write_b96", " v6, {v3} offset:{n:0:4096:16}");
  t.add(vm, "global_load_dword", " {d}, v4, s[0:1] offset:{n:-2000:2000:1}");
  t.add(vm, "global_load_dwordx2", " {d2}, v5, s[0:1] offset:{n:-2000:2000:1}");
  t.add(vm, "global_load_dwordx3", " {d3}, v6, s[0:1] offset:{n:-2000:2000:1}");
  t.add(vm, "global_store_dword", " v[8:9], {v}, off offset:{n:-2000:2000:1}");
  t.add(vm, "global_store_dwordx2", " v[10:11], {v2}, off offset:{n:-2000:2000:1}");
  t.add(vm, "flat_load_dword", " {d}, v[8:9] offset:{n:0:2000:1}");
  t.add(vm, "flat_store_dwordx2", " v[10:11], {v2} offset:{n:0:2000:1}");
  t.add(vm, "buffer_load_dword", " {d}, v4, s[4:7], {bo} offen offset:{n:0:1400:4}");
  t.add(vm, "buffer_load_dwordx2", " {d2}, v5, s[4:7], {bo} offen offset:{n:0:1400:4}");
  t.add(vm, "buffer_store_dword", " {v}, v4, s[4:7], {bo} offen offset:{n:0:1400:4}");
  t.add(vm, "buffer_store_dwordx2", " {v2}, v5, s[4:7], {bo} offen offset:{n:0:1400:4}");

  constexpr std::string_view operations = "swap add sub smin umin smax umax and or xor inc dec";
  for (const std::string& operation : words(operations)) {
    t.add(at, "global_atomic_" + operation, " v[{n:56:58:2}:+1], {v}, off offset:{n:-1024:1024:4}");
    t.add(at, "global_atomic_" + operation, " {d}, v{n:0:2:1}, {v}, s[0:1] offset:{n:-1024:1024:4} sc0");
    t.add(at, "global_atomic_" + operation + "_x2", " {d2}, v{n:0:2:1}, {v2}, s[0:1] offset:{n:-1024:1024:8} sc0");
    t.add(at, "flat_atomic_" + operation, " {d}, v[{n:56:60:2}:+1], {v} offset:{n:0:1024:4} sc0");
    t.add(at, "buffer_atomic_" + operation, " {v}, v{n:0:2:1}, s[4:7], 0 offen offset:{n:0:1000:4}");
    t.add(at, "buffer_atomic_" + operation, " {d}, v{n:0:2:1}, s[4:7], 0 offen offset:{n:0:1000:4} sc0");
    t.add(at, "buffer_atomic_" + operation + "_x2", " {d2}, v{n:0:2:1}, s[4:7], 0 offen offset:{n:0:1000:8} sc0");
  }
  t.add(at, "global_atomic_cmpswap", " {d}, v{n:0:2:1}, {v2}, s[0:1] offset:{n:-1024:1024:4} sc0");
  t.add(at, "global_atomic_cmpswap_x2", " {d2}, v{n:0:2:1}, {v4}, s[0:1] offset:{n:-1024:1024:8} sc0");
  t.add(at, "global_atomic_add_f32 global_atomic_pk_add_f16", " v{n:0:2:1}, {v}, s[0:1] offset:{n:-1024:1024:4}");
  t.add(at, "global_atomic_add_f64", " v{n:0:2:1}, {v2}, s[0:1] offset:{n:-1024:1024:8}");

  constexpr auto sm = Class::scalarMemory;
  t.add(sm, "s_load_dword", " {s}, s[0:1], {n:-1000:1000:4}");
  t.add(sm, "s_load_dwordx2", " {s2}, s[0:1], {n:-1000:1000:4}");
  t.add(sm, "s_load_dwordx4", " s[{n:20:44:4}:+3], s[0:1], {n:-1000:1000:4}");
  t.add(sm, "s_load_dwordx8", " s[{n:20:44:4}:+7], s[0:1], {n:-1000:1000:4}");
  t.add(sm, "s_load_dwordx16", " s[{n:20:44:4}:+15], s[0:1], s12");
  t.add(sm, "s_buffer_load_dword", " {s}, s[4:7], {n:0:1600:4}");
  t.add(sm, "s_buffer_load_dwordx4", " s[{n:20:44:4}:+3], s[4:7], {n:0:1600:4}");
}

void matrixLines(Lines& t) {
  constexpr auto mx = Class::matrix;
  t.add(mx, "v_mfma_f32_16x16x4_f32", " {d4}, {v}, {v}, {v4}");
  t.add(mx, "v_mfma_f32_16x16x16_f16 v_mfma_f32_16x16x16_bf16", " {a4}, {v2}, {v2}, {a4}");
  t.add(mx, "v_mfma_f32_16x16x16_f16", " {d4}, {v2}, {a2}, {n:0:64:1}");
  t.add(mx, "v_mfma_f32_16x16x8_xf32", " {d4}, {v2}, {v2}, {v4}");
  t.add(mx, "v_mfma_i32_16x16x32_i8", " {d4}, {v2}, {v2}, {v4}");
  t.add(mx,
        "v_mfma_f32_16x16x32_fp8_fp8 v_mfma_f32_16x16x32_fp8_bf8 v_mfma_f32_16x16x32_bf8_fp8 "
        "v_mfma_f32_16x16x32_bf8_bf8",
        " {a4}, {v2}, {v2}, {a4}");
  t.add(mx, "v_mfma_f32_4x4x1_16b_f32", " {d4}, {v}, {v}, {v4}");
  t.add(mx, "v_mfma_f32_4x4x4_16b_f16 v_mfma_f32_4x4x4_16b_bf16", " {d4}, {v2}, {v2}, {v4}");
  t.add(mx, "v_mfma_i32_4x4x4_16b_i8", " {d4}, {v}, {v}, {v4}");
  t.add(mx, "v_mfma_f32_32x32x8_f16 v_mfma_f32_32x32x8_bf16", " {a16}, {v2}, {v2}, {=}");
  t.add(mx, "v_mfma_f32_32x32x2_f32", " {a16}, {v}, {v}, {=}");
  t.add(mx, "v_mfma_f32_16x16x1_4b_f32", " {a16}, {v}, {v}, {=}");
  t.add(mx, "v_mfma_f64_4x4x4_4b_f64", " {d2}, {v2}, {v2}, {v2}");
  t.add(mx, "v_mfma_f64_16x16x4_f64", " {a8}, {v2}, {v2}, {=}");
}

const std::array<std::vector<std::string>, classCount>& templates() {
  static const auto table = [] {
    Lines t;
    scalarLines(t);
    vectorLines(t);
    memoryLines(t);
    matrixLines(t);
    std::array<std::vector<std::string>, classCount> byClass;
    for (Line& line : t.all)
      byClass[static_cast<unsigned>(line.cls)].push_back(std::move(line.text));
    return byClass;
  }();
  return table;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random(seed) {}

  std::uint64_t below(std::uint64_t n) { return random() % n; }
  template <class T, std::size_t n> T pick(const T (&list)[n]) { return list[below(n)]; }

  std::uint32_t word() {
    static constexpr std::uint32_t edges[] = {0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x7f800000,
                                              0xff800000, 0x7fc00000, 0x7f800001, 0x00800000, 0x007fffff, 0x80000001,
                                              0x7f7fffff, 0x3f800000, 0xbf800000, 0x3c003c00, 0x7c007e00, 0xfc000400,
                                              0x03ff8001, 0x7bfffbff, 0x00000020, 0x0000003f, 0x4f000000, 0xcf000000,
                                              0x4f800000, 0x477fe000, 0x33800000, 0x80808080, 0x7f7f7f7f, 0x00010000};
    switch (below(5)) {
    case 0:
      return pick(edges);
    case 1:
      return static_cast<std::uint32_t>(below(200)) - 100;
    case 2: // an ordinary f32
      return static_cast<std::uint32_t>(below(2) << 31 | (120 + below(16)) << 23 | below(1 << 23));
    case 3: // two ordinary f16
      return static_cast<std::uint32_t>((random() & 0x83ff83ff) + ((10 + below(10)) << 10) + ((10 + below(10)) << 26));
    default:
      return static_cast<std::uint32_t>(random());
    }
  }

  std::string line(std::string_view text) {
    usedScalar = false;
    literalAllowed = true;
    std::string out;
    while (!text.empty()) {
      const std::size_t open = text.find('{');
      out += text.substr(0, open);
      if (open == text.npos)
        break;
      const std::size_t close = text.find('}', open);
      out += hole(std::string(text.substr(open + 1, close - open - 1)));
      text.remove_prefix(close + 1);
    }
    // "v[{n}:+1]": the end of a range counts from its start.
    for (std::size_t plus; (plus = out.find(":+")) != out.npos;) {
      const std::size_t start = out.rfind('[', plus) + 1;
      const int first = std::stoi(out.substr(start, plus - start)), more = std::stoi(out.substr(plus + 2));
      const std::size_t end = out.find(']', plus);
      out = out.substr(0, plus) + fmt::format(":{}", first + more) + out.substr(end);
    }
    return out;
  }

 private:
  std::string range(char file, unsigned low, unsigned high, unsigned count) {
    const unsigned step = count == 1 ? 1 : 2;
    const unsigned first = low + static_cast<unsigned>(below((high - low - count + 1) / step + 1)) * step;
    return count == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + count - 1);
  }
  std::string vgpr(unsigned count) { return range('v', 16, 55, count); }
  std::string sgpr(unsigned count) { return range('s', 20, 60, count); }
  std::string scalarOnce(unsigned count) {
    if (std::exchange(usedScalar, true))
      return vgpr(count);
    return below(5) == 0 && count == 2 ? "vcc" : sgpr(count);
  }
  std::string integer() { return std::to_string(static_cast<int>(below(81)) - 16); }
  std::string inlineFloat() {
    static constexpr const char* values[] = {
        "0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494309189532"};
    return pick(values);
  }
  std::string withSign(const std::string& reg) {
    switch (below(4)) {
    case 0:
      return "-" + reg;
    case 1:
      return "|" + reg + "|";
    case 2:
      return "-|" + reg + "|";
    default:
      return reg;
    }
  }
  std::string bits(const char* name, unsigned count) {
    std::string out = fmt::format(" {}:[", name);
    for (unsigned i = 0; i < count; ++i)
      out += fmt::format("{}{}", i ? "," : "", below(2));
    return out + "]";
  }
  std::string dpp() {
    static constexpr const char* controls[] = {"row_mirror", "row_half_mirror", "row_bcast:15", "row_bcast:31",
                                               "wave_shl:1", "wave_shr:1",      "wave_rol:1",   "wave_ror:1"};
    static constexpr const char* shifts[] = {"row_shl", "row_shr", "row_ror"};
    std::string out = " ";
    switch (below(4)) {
    case 0:
      out += fmt::format("quad_perm:[{},{},{},{}]", below(4), below(4), below(4), below(4));
      break;
    case 1:
      out += fmt::format("{}:{}", pick(shifts), 1 + below(15));
      break;
    case 2:
      out += fmt::format("row_newbcast:{}", below(16));
      break;
    default:
      out += pick(controls);
      break;
    }
    out += fmt::format(" row_mask:{:#x} bank_mask:{:#x}", below(2) ? 15 : below(16), below(2) ? 15 : below(16));
    return below(2) ? out + " bound_ctrl:0" : out;
  }
  std::string select() {
    static constexpr const char* selects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
    return pick(selects);
  }
  std::string sdwa(unsigned sources, bool destination) {
    static constexpr const char* unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    std::string out;
    if (destination)
      out += fmt::format(" dst_sel:{} dst_unused:{}", select(), pick(unused));
    for (unsigned i = 0; i < sources; ++i)
      out += fmt::format(" src{}_sel:{}", i, select());
    return out;
  }

  std::string hole(const std::string& name) {
    if (name.starts_with("n:")) {
      const std::size_t second = name.find(':', 2), third = name.find(':', second + 1);
      const int low = std::stoi(name.substr(2)), high = std::stoi(name.substr(second + 1)),
                step = std::stoi(name.substr(third + 1));
      return std::to_string(low + static_cast<int>(below(static_cast<unsigned>((high - low) / step + 1))) * step);
    }
    if (name == "=")
      return accumulator;
    if (name == "dpp")
      return dpp();
    if (name == "sdwa1")
      return sdwa(1, true);
    if (name == "sdwa2")
      return sdwa(2, true);
    if (name == "sel2")
      return sdwa(2, false);
    if (name == "pk2")
      return below(2) ? bits("op_sel", 2) + bits("op_sel_hi", 2) : "";
    if (name == "pk3")
      return below(2) ? bits("op_sel", 3) + bits("op_sel_hi", 3) : "";
    if (name == "pkn2")
      return below(2) ? bits("neg_lo", 2) + bits("neg_hi", 2) : "";
    if (name == "pkn3")
      return below(2) ? bits("neg_lo", 3) + bits("neg_hi", 3) : "";
    if (name == "opsel4")
      return below(2) ? bits("op_sel", 4) : "";
    if (name == "cache")
      return below(4) ? "" : " nt";
    if (name == "bo")
      return below(2) ? "0" : "s12";
    if (name == "om") {
      static constexpr const char* modifiers[] = {"", "", "", " clamp", " mul:2", " mul:4", " div:2", " clamp div:2"};
      return pick(modifiers);
    }
    if (name == "k")
      return std::to_string(static_cast<int>(below(65536)) - 32768);
    if (name == "m")
      return scalarOnce(2).starts_with("v[") ? "vcc" : (below(3) ? sgpr(2) : "vcc");
    if (name == "g")
      return withSign(vgpr(1));
    if (name == "g2")
      return withSign(vgpr(2));
    if (name == "h")
      return withSign(vgpr(1));
    switch (name[0]) {
    case 'i':
      return below(3) ? vgpr(1) : below(2) ? scalarOnce(1) : integer();
    case 'f':
      return below(3) ? vgpr(1) : below(2) ? scalarOnce(1) : inlineFloat();
    case 'j':
      return below(3) ? vgpr(2) : below(2) ? scalarOnce(2) : integer();
    case 'w':
      return below(3) ? withSign(vgpr(2)) : below(2) ? scalarOnce(2) : inlineFloat();
    case 'c': {
      const bool wide = name == "c2";
      if (below(3))
        return below(6) == 0 && wide ? "vcc" : sgpr(wide ? 2 : 1);
      if (below(3) == 0 && !wide && std::exchange(literalAllowed, false))
        return fmt::format("{:#x}", word() | 0x10000);
      return integer();
    }
    default:
      break;
    }
    const unsigned count = name.size() > 1 ? static_cast<unsigned>(std::stoi(name.substr(1))) : 1;
    switch (name[0]) {
    case 's':
      return sgpr(count);
    case 'a':
      return accumulator = range('a', 0, 31, count);
    default:
      return vgpr(count); // d, v
    }
  }

  std::mt19937_64 random;
  std::string accumulator; ///< the AGPRs that {a...} gave last
  bool usedScalar = false, literalAllowed = true;
};

} // namespace

const char* className(Class c) {
  static constexpr const char* names[] = {"scalar",  "integer",       "float",         "packed",        "64-bit",
                                          "compare", "carry",         "lane",          "DPP",           "SDWA",
                                          "LDS",     "vector memory", "memory atomic", "scalar memory", "matrix"};
  return names[static_cast<unsigned>(c)];
}

RandomProgram randomProgram(std::uint64_t seed, std::uint64_t memoryBase) {
  Generator g(seed * 0x9e3779b97f4a7c15 + 1);
  RandomProgram program;
  Machine& m = program.start;
  m.v.resize(96);
  for (auto& reg : m.v) {
    const bool alike = g.below(8) == 0;
    const std::uint32_t value = g.word();
    for (std::uint32_t& lane : reg)
      lane = alike ? value : g.word();
  }
  for (std::uint32_t& s : m.s)
    s = g.word();
  m.scc = static_cast<std::uint32_t>(g.below(2));
  m.setPair(Machine::execLo, g.below(3) ? ~std::uint64_t{0} : g.below(~0u) << 32 | g.below(~0u));
  if (g.below(2)) { // rounding, denormals, DX10_CLAMP and IEEE in all combinations
    static constexpr std::uint32_t denormals[] = {0x00, 0x30, 0xc0, 0xf0};
    m.mode =
        static_cast<std::uint32_t>(g.below(16)) | denormals[g.below(4)] | static_cast<std::uint32_t>(g.below(4) << 8);
  }
  m.lds.resize(8192);
  m.memory.resize(memoryBytes);
  m.memoryBase = memoryBase;
  m.scratchPerLane = 64;
  m.scratch.resize(64 * 64);
  for (auto* bytes : {&m.lds, &m.memory, &m.scratch})
    for (std::size_t i = 0; i < bytes->size(); i += 4) {
      const std::uint32_t x = g.word();
      std::memcpy(bytes->data() + i, &x, 4);
    }
  const std::uint64_t base = memoryBase + memoryBytes / 2;
  m.setPair(0, base);
  m.setPair(4, base);
  m.s[6] = 1500;
  m.s[7] = 0x00020000;
  m.setPair(8, base | std::uint64_t{48} << 48);
  m.s[10] = 32;
  m.s[11] = 0x00020000;
  m.s[12] = 48;
  m.s[13] = static_cast<std::uint32_t>(g.below(3)) * 4;
  m.setPair(2, 0);
  const unsigned turn = static_cast<unsigned>(g.below(64)), odd = 2 * static_cast<unsigned>(g.below(32)) + 1;
  for (unsigned lane = 0; lane < 64; ++lane) {
    m.v[0][lane] = 16 * lane;
    m.v[1][lane] = 16 * ((lane * odd + turn) % 64);
    m.v[2][lane] = static_cast<std::uint32_t>(g.below(128)) * 8;
    for (unsigned k = 1; k <= 3; ++k)
      m.v[3 + k][lane] = 4 * k * lane;
    m.write(8, lane, base + 4 * lane, 2);
    m.write(10, lane, base + 8 * lane, 2);
    m.v[3][lane] = static_cast<std::uint32_t>(g.below(3)) * 4;
    m.v[14][lane] = (lane * odd + turn) % 64; // an index: half of them out of range
    m.v[15][lane] = static_cast<std::uint32_t>(g.below(2)) * 4;
    m.write(56, lane, base + m.v[1][lane], 2);
    m.write(58, lane, base + m.v[2][lane], 2);
    m.write(60, lane, Machine::sharedAperture + m.v[1][lane], 2);
    m.write(62, lane, Machine::privateAperture + 16, 2);
  }
  const std::size_t length = 20 + g.below(41);
  const auto& byClass = templates();
  while (program.lines.size() < length) {
    auto c = static_cast<Class>(g.below(classCount));
    if (c == Class::matrix && g.below(4) != 0)
      c = Class::floating; // matrix instructions cost the reference most
    const auto& list = byClass[static_cast<unsigned>(c)];
    program.lines.push_back(g.line(list[g.below(list.size())]));
    program.classes.push_back(c);
  }
  return program;
}

std::vector<std::string> templateMnemonics() {
  std::set<std::string> names;
  for (const auto& list : templates())
    for (const std::string& text : list)
      names.insert(text.substr(0, text.find(' ')));
  return {names.begin(), names.end()};
}

} // namespace asmevo::emulator::reference
