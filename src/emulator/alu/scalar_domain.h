/// The scalar unit's value domain: host integers. SCC is the mask. No floating point: gfx9's scalar unit has none.
#pragma once

#include "isa/semantics/domain.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace asmevo::emulator {

struct ScalarDomain {
  using B32 = std::uint32_t;
  using B64 = std::uint64_t;
  using Mask = bool;

  static B32 c32(std::uint32_t x) { return x; }
  static B64 c64(std::uint64_t x) { return x; }
  static Mask cmask(bool x) { return x; }
  template <class V> static V add(V a, V b) { return a + b; }
  template <class V> static V sub(V a, V b) { return a - b; }
  template <class V> static V mul(V a, V b) { return a * b; }
  template <class V> static V and_(V a, V b) { return a & b; }
  template <class V> static V or_(V a, V b) { return a | b; }
  template <class V> static V xor_(V a, V b) { return a ^ b; }
  template <class V> static V not_(V a) { return ~a; }
  static B32 shl(B32 a, B32 n) { return a << (n & 31); }
  static B64 shl(B64 a, B64 n) { return a << (n & 63); }
  static B32 shr(B32 a, B32 n) { return a >> (n & 31); }
  static B64 shr(B64 a, B64 n) { return a >> (n & 63); }
  static B32 sar(B32 a, B32 n) { return static_cast<B32>(static_cast<std::int32_t>(a) >> (n & 31)); }
  static B64 sar(B64 a, B64 n) { return static_cast<B64>(static_cast<std::int64_t>(a) >> (n & 63)); }
  template <class V> static Mask eq(V a, V b) { return a == b; }
  template <class V> static Mask ne(V a, V b) { return a != b; }
  template <class V> static Mask ult(V a, V b) { return a < b; }
  template <class V> static Mask ule(V a, V b) { return a <= b; }
  template <class V> static Mask slt(V a, V b) { return signedOf(a) < signedOf(b); }
  template <class V> static Mask sle(V a, V b) { return signedOf(a) <= signedOf(b); }
  template <class V> static V select(Mask m, V a, V b) { return m ? a : b; }
  template <class V> static V umin(V a, V b) { return std::min(a, b); }
  template <class V> static V umax(V a, V b) { return std::max(a, b); }
  template <class V> static V smin(V a, V b) { return slt(b, a) ? b : a; }
  template <class V> static V smax(V a, V b) { return slt(a, b) ? b : a; }
  template <class V> static V popcount(V a) { return static_cast<V>(std::popcount(a)); }
  template <class V> static V clz(V a) { return static_cast<V>(std::countl_zero(a)); }
  template <class V> static V ctz(V a) { return static_cast<V>(std::countr_zero(a)); }
  static B32 brev(B32 a) { return __builtin_bitreverse32(a); }
  static B64 brev(B64 a) { return __builtin_bitreverse64(a); }
  static B64 zext(B32 a) { return a; }
  static B64 sext(B32 a) { return static_cast<B64>(static_cast<std::int64_t>(static_cast<std::int32_t>(a))); }
  static B32 lo(B64 a) { return static_cast<B32>(a); }
  static B32 hi(B64 a) { return static_cast<B32>(a >> 32); }
  static B64 pack(B32 low, B32 high) { return low | static_cast<B64>(high) << 32; }
  static B32 mulHiU(B32 a, B32 b) { return hi(zext(a) * zext(b)); }
  static B32 mulHiS(B32 a, B32 b) { return hi(sext(a) * sext(b)); }
  static B32 bit(Mask m) { return m; }
  static Mask mand(Mask a, Mask b) { return a && b; }
  static Mask mor(Mask a, Mask b) { return a || b; }
  static Mask mxor(Mask a, Mask b) { return a != b; }
  static Mask mnot(Mask a) { return !a; }

 private:
  static std::int32_t signedOf(B32 a) { return static_cast<std::int32_t>(a); }
  static std::int64_t signedOf(B64 a) { return static_cast<std::int64_t>(a); }
};

} // namespace asmevo::emulator
