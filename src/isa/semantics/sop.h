/// Scalar instructions (CDNA3 ISA: SOP1, SOP2, SOPC, SOPK). A mask argument or result is SCC.
#pragma once

#include "isa/semantics/vop_int.h"

namespace asmevo::isa::semantics {

/// Zero of a value's type.
ASMEVO_SEM zeroOf(const auto& d, auto a) {
  return d.xor_(a, a);
}
/// Result with SCC = result is not zero.
ASMEVO_SEM nonZero(const auto& d, auto r) {
  return Out{r, d.ne(r, zeroOf(d, r))};
}
ASMEVO_SEM onesOf(const auto& d, auto a) {
  return d.not_(zeroOf(d, a));
}
ASMEVO_SEM oneOf(const auto& d, auto a) {
  return d.sub(zeroOf(d, a), onesOf(d, a));
}

ASMEVO_SEM sop_mov(const auto&, auto a) {
  return a;
}
ASMEVO_SEM sop_cmov(const auto& d, auto a, auto scc, auto old) {
  return d.select(scc, a, old);
}
ASMEVO_SEM sop_not(const auto& d, auto a) {
  return nonZero(d, d.not_(a));
}
ASMEVO_SEM sop_brev(const auto& d, auto a) {
  return d.brev(a);
}
ASMEVO_SEM sop_abs(const auto& d, auto a) {
  return nonZero(d, d.select(d.slt(a, d.c32(0)), d.sub(d.c32(0), a), a));
}
ASMEVO_SEM sop_sext_i8(const auto& d, auto a) {
  return d.sar(d.shl(a, d.c32(24)), d.c32(24));
}
ASMEVO_SEM sop_sext_i16(const auto& d, auto a) {
  return sext16(d, a);
}
ASMEVO_SEM sop_bcnt0_32(const auto& d, auto a) {
  return nonZero(d, d.popcount(d.not_(a)));
}
ASMEVO_SEM sop_bcnt1_32(const auto& d, auto a) {
  return nonZero(d, d.popcount(a));
}
ASMEVO_SEM sop_bcnt0_64(const auto& d, auto a) {
  return nonZero(d, d.lo(d.popcount(d.not_(a))));
}
ASMEVO_SEM sop_bcnt1_64(const auto& d, auto a) {
  return nonZero(d, d.lo(d.popcount(a)));
}
/// Position of the first set bit from the low end, -1 without one.
ASMEVO_SEM sop_ff1_32(const auto& d, auto a) {
  return ffbl_b32(d, a);
}
ASMEVO_SEM sop_ff0_32(const auto& d, auto a) {
  return ffbl_b32(d, d.not_(a));
}
ASMEVO_SEM sop_ff1_64(const auto& d, auto a) {
  return d.select(d.eq(a, d.c64(0)), d.c32(0xffffffff), d.lo(d.ctz(a)));
}
ASMEVO_SEM sop_ff0_64(const auto& d, auto a) {
  return sop_ff1_64(d, d.not_(a));
}
/// Leading zeros, -1 for zero; the signed forms count leading sign bits.
ASMEVO_SEM sop_flbit_32(const auto& d, auto a) {
  return ffbh_u32(d, a);
}
ASMEVO_SEM sop_flbit_64(const auto& d, auto a) {
  return d.select(d.eq(a, d.c64(0)), d.c32(0xffffffff), d.lo(d.clz(a)));
}
ASMEVO_SEM sop_flbit_i32(const auto& d, auto a) {
  return ffbh_i32(d, a);
}
ASMEVO_SEM sop_flbit_i64(const auto& d, auto a) {
  return sop_flbit_64(d, d.xor_(a, d.sar(a, d.c64(63))));
}
ASMEVO_SEM sop_bitset0_32(const auto& d, auto n, auto old) {
  return d.and_(old, d.not_(d.shl(d.c32(1), n)));
}
ASMEVO_SEM sop_bitset1_32(const auto& d, auto n, auto old) {
  return d.or_(old, d.shl(d.c32(1), n));
}
ASMEVO_SEM sop_bitset0_64(const auto& d, auto n, auto old) {
  return d.and_(old, d.not_(d.shl(d.c64(1), d.zext(n))));
}
ASMEVO_SEM sop_bitset1_64(const auto& d, auto n, auto old) {
  return d.or_(old, d.shl(d.c64(1), d.zext(n)));
}
/// Any bit of each group of four, as all four (wqm) or packed (quadmask).
ASMEVO_SEM anyOfFour32(const auto& d, auto a) {
  auto pairs = d.or_(a, d.shr(a, d.c32(1)));
  return d.and_(d.or_(pairs, d.shr(pairs, d.c32(2))), d.c32(0x11111111));
}
ASMEVO_SEM anyOfFour64(const auto& d, auto a) {
  auto pairs = d.or_(a, d.shr(a, d.c64(1)));
  return d.and_(d.or_(pairs, d.shr(pairs, d.c64(2))), d.c64(0x1111111111111111));
}
ASMEVO_SEM sop_wqm_32(const auto& d, auto a) {
  return nonZero(d, d.mul(anyOfFour32(d, a), d.c32(15)));
}
ASMEVO_SEM sop_wqm_64(const auto& d, auto a) {
  return nonZero(d, d.mul(anyOfFour64(d, a), d.c64(15)));
}
ASMEVO_SEM gatherNibbles(const auto& d, auto bits) {
  auto x = d.and_(d.or_(bits, d.shr(bits, d.c64(3))), d.c64(0x0303030303030303));
  x = d.and_(d.or_(x, d.shr(x, d.c64(6))), d.c64(0x000f000f000f000f));
  x = d.and_(d.or_(x, d.shr(x, d.c64(12))), d.c64(0x000000ff000000ff));
  return d.and_(d.or_(x, d.shr(x, d.c64(24))), d.c64(0xffff));
}
ASMEVO_SEM sop_quadmask_32(const auto& d, auto a) {
  return nonZero(d, d.lo(gatherNibbles(d, d.zext(anyOfFour32(d, a)))));
}
ASMEVO_SEM sop_quadmask_64(const auto& d, auto a) {
  return nonZero(d, gatherNibbles(d, anyOfFour64(d, a)));
}
/// Every bit twice.
ASMEVO_SEM sop_bitreplicate(const auto& d, auto a) {
  auto x = d.zext(a);
  x = d.and_(d.or_(x, d.shl(x, d.c64(16))), d.c64(0x0000ffff0000ffff));
  x = d.and_(d.or_(x, d.shl(x, d.c64(8))), d.c64(0x00ff00ff00ff00ff));
  x = d.and_(d.or_(x, d.shl(x, d.c64(4))), d.c64(0x0f0f0f0f0f0f0f0f));
  x = d.and_(d.or_(x, d.shl(x, d.c64(2))), d.c64(0x3333333333333333));
  x = d.and_(d.or_(x, d.shl(x, d.c64(1))), d.c64(0x5555555555555555));
  return d.or_(x, d.shl(x, d.c64(1)));
}

// Arithmetic with SCC: carry of the unsigned forms, overflow of the signed ones.
ASMEVO_SEM sop_add_u32(const auto& d, auto a, auto b) {
  return add_co(d, a, b);
}
ASMEVO_SEM sop_sub_u32(const auto& d, auto a, auto b) {
  return sub_co(d, a, b);
}
ASMEVO_SEM sop_addc_u32(const auto& d, auto a, auto b, auto scc) {
  return addc_co(d, a, b, scc);
}
ASMEVO_SEM sop_subb_u32(const auto& d, auto a, auto b, auto scc) {
  return subb_co(d, a, b, scc);
}
ASMEVO_SEM sop_add_i32(const auto& d, auto a, auto b) {
  auto r = d.add(a, b);
  return Out{r, d.slt(d.and_(d.xor_(a, r), d.xor_(b, r)), d.c32(0))};
}
ASMEVO_SEM sop_sub_i32(const auto& d, auto a, auto b) {
  auto r = d.sub(a, b);
  return Out{r, d.slt(d.and_(d.xor_(a, b), d.xor_(a, r)), d.c32(0))};
}
ASMEVO_SEM sop_min_i32(const auto& d, auto a, auto b) {
  return Out{d.smin(a, b), d.slt(a, b)};
}
ASMEVO_SEM sop_min_u32(const auto& d, auto a, auto b) {
  return Out{d.umin(a, b), d.ult(a, b)};
}
ASMEVO_SEM sop_max_i32(const auto& d, auto a, auto b) {
  return Out{d.smax(a, b), d.sle(b, a)};
}
ASMEVO_SEM sop_max_u32(const auto& d, auto a, auto b) {
  return Out{d.umax(a, b), d.ule(b, a)};
}
ASMEVO_SEM sop_mul_i32(const auto& d, auto a, auto b) {
  return d.mul(a, b);
}
ASMEVO_SEM sop_mul_hi_u32(const auto& d, auto a, auto b) {
  return d.mulHiU(a, b);
}
ASMEVO_SEM sop_mul_hi_i32(const auto& d, auto a, auto b) {
  return d.mulHiS(a, b);
}
ASMEVO_SEM sop_absdiff_i32(const auto& d, auto a, auto b) {
  auto r = d.sub(a, b);
  return nonZero(d, d.select(d.slt(r, d.c32(0)), d.sub(d.c32(0), r), r));
}
template <unsigned N> ASMEVO_SEM sop_lshl_add(const auto& d, auto a, auto b) {
  auto wide = d.add(d.shl(d.zext(a), d.c64(N)), d.zext(b));
  return Out{d.lo(wide), d.ne(d.hi(wide), d.c32(0))};
}
ASMEVO_SEM sop_cselect(const auto& d, auto a, auto b, auto scc) {
  return d.select(scc, a, b);
}

// Logic.
ASMEVO_SEM sop_and(const auto& d, auto a, auto b) {
  return nonZero(d, d.and_(a, b));
}
ASMEVO_SEM sop_or(const auto& d, auto a, auto b) {
  return nonZero(d, d.or_(a, b));
}
ASMEVO_SEM sop_xor(const auto& d, auto a, auto b) {
  return nonZero(d, d.xor_(a, b));
}
ASMEVO_SEM sop_andn2(const auto& d, auto a, auto b) {
  return nonZero(d, d.and_(a, d.not_(b)));
}
ASMEVO_SEM sop_orn2(const auto& d, auto a, auto b) {
  return nonZero(d, d.or_(a, d.not_(b)));
}
ASMEVO_SEM sop_nand(const auto& d, auto a, auto b) {
  return nonZero(d, d.not_(d.and_(a, b)));
}
ASMEVO_SEM sop_nor(const auto& d, auto a, auto b) {
  return nonZero(d, d.not_(d.or_(a, b)));
}
ASMEVO_SEM sop_xnor(const auto& d, auto a, auto b) {
  return nonZero(d, d.not_(d.xor_(a, b)));
}
ASMEVO_SEM sop_lshl_32(const auto& d, auto a, auto n) {
  return nonZero(d, d.shl(a, n));
}
ASMEVO_SEM sop_lshr_32(const auto& d, auto a, auto n) {
  return nonZero(d, d.shr(a, n));
}
ASMEVO_SEM sop_ashr_32(const auto& d, auto a, auto n) {
  return nonZero(d, d.sar(a, n));
}
ASMEVO_SEM sop_lshl_64(const auto& d, auto a, auto n) {
  return nonZero(d, d.shl(a, d.zext(n)));
}
ASMEVO_SEM sop_lshr_64(const auto& d, auto a, auto n) {
  return nonZero(d, d.shr(a, d.zext(n)));
}
ASMEVO_SEM sop_ashr_64(const auto& d, auto a, auto n) {
  return nonZero(d, d.sar(a, d.zext(n)));
}
ASMEVO_SEM sop_bfm_32(const auto& d, auto width, auto offset) {
  return bfm(d, width, offset);
}
ASMEVO_SEM sop_bfm_64(const auto& d, auto width, auto offset) {
  auto ones = d.sub(d.shl(d.c64(1), d.zext(width)), d.c64(1));
  return d.shl(ones, d.zext(offset));
}
/// Offset in bits 4:0 (64-bit: 5:0), width in 22:16; a width beyond the register takes all that is left.
ASMEVO_SEM fieldMask(const auto& d, auto width) {
  auto w = d.zext(width);
  auto ones = d.sub(d.shl(d.c64(1), w), d.c64(1));
  return d.select(d.ule(d.c64(64), w), d.c64(~std::uint64_t{0}), ones);
}
ASMEVO_SEM fieldWidth(const auto& d, auto control) {
  return d.and_(d.shr(control, d.c32(16)), d.c32(0x7f));
}
ASMEVO_SEM sop_bfe_u32(const auto& d, auto a, auto control) {
  return nonZero(d, d.and_(d.shr(a, control), d.lo(fieldMask(d, fieldWidth(d, control)))));
}
ASMEVO_SEM sop_bfe_u64(const auto& d, auto a, auto control) {
  return nonZero(d, d.and_(d.shr(a, d.zext(control)), fieldMask(d, fieldWidth(d, control))));
}
/// A field's top bit copied upward: flip it, then subtract its weight.
ASMEVO_SEM signExtendField(const auto& d, auto field, auto topBit) {
  return d.sub(d.xor_(field, topBit), topBit);
}
ASMEVO_SEM sop_bfe_i64(const auto& d, auto a, auto control) {
  auto mask = fieldMask(d, fieldWidth(d, control));
  auto field = d.and_(d.sar(a, d.zext(control)), mask);
  auto topBit = d.xor_(mask, d.shr(mask, d.c64(1)));
  return nonZero(d, signExtendField(d, field, topBit));
}
ASMEVO_SEM sop_bfe_i32(const auto& d, auto a, auto control) {
  auto mask = d.lo(fieldMask(d, fieldWidth(d, control)));
  auto field = d.and_(d.sar(a, control), mask);
  auto topBit = d.xor_(mask, d.shr(mask, d.c32(1)));
  return nonZero(d, signExtendField(d, field, topBit));
}
ASMEVO_SEM sop_pack_ll(const auto& d, auto a, auto b) {
  return pack16(d, a, b);
}
ASMEVO_SEM sop_pack_lh(const auto& d, auto a, auto b) {
  return d.or_(lo16(d, a), d.and_(b, d.c32(0xffff0000)));
}
ASMEVO_SEM sop_pack_hh(const auto& d, auto a, auto b) {
  return d.or_(hi16(d, a), d.and_(b, d.c32(0xffff0000)));
}

// Comparisons: SCC.
ASMEVO_SEM sop_cmp_eq(const auto& d, auto a, auto b) {
  return d.eq(a, b);
}
ASMEVO_SEM sop_cmp_lg(const auto& d, auto a, auto b) {
  return d.ne(a, b);
}
ASMEVO_SEM sop_cmp_gt_i(const auto& d, auto a, auto b) {
  return d.slt(b, a);
}
ASMEVO_SEM sop_cmp_ge_i(const auto& d, auto a, auto b) {
  return d.sle(b, a);
}
ASMEVO_SEM sop_cmp_lt_i(const auto& d, auto a, auto b) {
  return d.slt(a, b);
}
ASMEVO_SEM sop_cmp_le_i(const auto& d, auto a, auto b) {
  return d.sle(a, b);
}
ASMEVO_SEM sop_cmp_gt_u(const auto& d, auto a, auto b) {
  return d.ult(b, a);
}
ASMEVO_SEM sop_cmp_ge_u(const auto& d, auto a, auto b) {
  return d.ule(b, a);
}
ASMEVO_SEM sop_cmp_lt_u(const auto& d, auto a, auto b) {
  return d.ult(a, b);
}
ASMEVO_SEM sop_cmp_le_u(const auto& d, auto a, auto b) {
  return d.ule(a, b);
}
ASMEVO_SEM sop_bitcmp0_32(const auto& d, auto a, auto n) {
  return d.eq(d.and_(d.shr(a, n), d.c32(1)), d.c32(0));
}
ASMEVO_SEM sop_bitcmp1_32(const auto& d, auto a, auto n) {
  return d.ne(d.and_(d.shr(a, n), d.c32(1)), d.c32(0));
}
ASMEVO_SEM sop_bitcmp0_64(const auto& d, auto a, auto n) {
  return d.eq(d.and_(d.shr(a, d.zext(n)), d.c64(1)), d.c64(0));
}
ASMEVO_SEM sop_bitcmp1_64(const auto& d, auto a, auto n) {
  return d.ne(d.and_(d.shr(a, d.zext(n)), d.c64(1)), d.c64(0));
}

// EXEC: the destination gets the old value (saveexec) or the new one (wrexec).
ASMEVO_SEM saveExec(const auto& d, auto fresh, auto old) {
  return ExecOut{old, fresh, d.ne(fresh, d.c64(0))};
}
ASMEVO_SEM writeExec(const auto& d, auto fresh) {
  return ExecOut{fresh, fresh, d.ne(fresh, d.c64(0))};
}
ASMEVO_SEM sop_and_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.and_(a, exec), exec);
}
ASMEVO_SEM sop_or_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.or_(a, exec), exec);
}
ASMEVO_SEM sop_xor_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.xor_(a, exec), exec);
}
ASMEVO_SEM sop_andn2_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.and_(a, d.not_(exec)), exec);
}
ASMEVO_SEM sop_orn2_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.or_(a, d.not_(exec)), exec);
}
ASMEVO_SEM sop_nand_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.not_(d.and_(a, exec)), exec);
}
ASMEVO_SEM sop_nor_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.not_(d.or_(a, exec)), exec);
}
ASMEVO_SEM sop_xnor_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.not_(d.xor_(a, exec)), exec);
}
ASMEVO_SEM sop_andn1_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.and_(d.not_(a), exec), exec);
}
ASMEVO_SEM sop_orn1_saveexec(const auto& d, auto a, auto exec) {
  return saveExec(d, d.or_(d.not_(a), exec), exec);
}
ASMEVO_SEM sop_andn1_wrexec(const auto& d, auto a, auto exec) {
  return writeExec(d, d.and_(d.not_(a), exec));
}
ASMEVO_SEM sop_andn2_wrexec(const auto& d, auto a, auto exec) {
  return writeExec(d, d.and_(a, d.not_(exec)));
}

// 16-bit immediates.
ASMEVO_SEM sop_cmovk(const auto& d, auto imm, auto scc, auto old) {
  return d.select(scc, imm, old);
}
ASMEVO_SEM sop_addk(const auto& d, auto imm, auto old) {
  return sop_add_i32(d, old, imm);
}
ASMEVO_SEM sop_mulk(const auto& d, auto imm, auto old) {
  return d.mul(old, imm);
}

} // namespace asmevo::isa::semantics
