/// The shared semantics over terms: the value domain of isa/semantics/domain.h whose values are nodes of a TermTable.
///
/// Integers and masks are the table's bit vectors. Floating point is uninterpreted, one name for each operation and
/// rounding, with MODE among the arguments. Two identities hold bit for bit by the domain's NaN rule (a computed NaN is
/// always the positive quiet NaN without payload): sum and product commute, the two factors of a fused multiply-add
/// too. Minimum and maximum do not (a NaN operand, and the order of zeros, decide by position). x * 1 is no identity:
/// it quiets a NaN and may flush a denormal.
#pragma once

#include "isa/semantics/domain.h"
#include "verify/proof/terms.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace asmevo::verify {

/// Which MODE field rounds the results of an instruction.
enum class Rounding : std::uint8_t { nearest, f32, f64 };

struct TermDomain {
  struct B32 {
    TermId id;
  };
  struct B64 {
    TermId id;
  };
  struct Mask {
    TermId id;
  };

  TermTable& t;
  TermId mode;
  Rounding rounding = Rounding::nearest;

  B32 c32(std::uint32_t x) const { return {t.word(x)}; }
  B64 c64(std::uint64_t x) const { return {t.wide(x)}; }
  Mask cmask(bool x) const { return {t.truth(x)}; }

  template <class V> V add(V a, V b) const { return {t.add(a.id, b.id)}; }
  template <class V> V sub(V a, V b) const { return {t.sub(a.id, b.id)}; }
  template <class V> V mul(V a, V b) const { return {t.mul(a.id, b.id)}; }
  template <class V> V and_(V a, V b) const { return {t.and_(a.id, b.id)}; }
  template <class V> V or_(V a, V b) const { return {t.or_(a.id, b.id)}; }
  template <class V> V xor_(V a, V b) const { return {t.xor_(a.id, b.id)}; }
  template <class V> V not_(V a) const { return {t.not_(a.id)}; }
  template <class V> V shl(V a, V n) const { return {t.shl(a.id, n.id)}; }
  template <class V> V shr(V a, V n) const { return {t.shr(a.id, n.id)}; }
  template <class V> V sar(V a, V n) const { return {t.sar(a.id, n.id)}; }
  template <class V> Mask eq(V a, V b) const { return {t.eq(a.id, b.id)}; }
  template <class V> Mask ne(V a, V b) const { return {t.not_(t.eq(a.id, b.id))}; }
  template <class V> Mask ult(V a, V b) const { return {t.ult(a.id, b.id)}; }
  template <class V> Mask ule(V a, V b) const { return {t.not_(t.ult(b.id, a.id))}; }
  template <class V> Mask slt(V a, V b) const { return {t.slt(a.id, b.id)}; }
  template <class V> Mask sle(V a, V b) const { return {t.not_(t.slt(b.id, a.id))}; }
  template <class V> V select(Mask m, V a, V b) const { return {t.select(m.id, a.id, b.id)}; }
  template <class V> V umin(V a, V b) const { return select(ult(b, a), b, a); }
  template <class V> V umax(V a, V b) const { return select(ult(a, b), b, a); }
  template <class V> V smin(V a, V b) const { return select(slt(b, a), b, a); }
  template <class V> V smax(V a, V b) const { return select(slt(a, b), b, a); }
  template <class V> V popcount(V a) const { return {t.unary(TermOp::popcount, a.id)}; }
  template <class V> V clz(V a) const { return {t.unary(TermOp::clz, a.id)}; }
  template <class V> V ctz(V a) const { return {t.unary(TermOp::ctz, a.id)}; }
  template <class V> V brev(V a) const { return {t.unary(TermOp::brev, a.id)}; }
  B64 zext(B32 a) const { return {t.zext(a.id)}; }
  B64 sext(B32 a) const { return {t.sext(a.id)}; }
  B32 lo(B64 a) const { return {t.lo(a.id)}; }
  B32 hi(B64 a) const { return {t.hi(a.id)}; }
  B64 pack(B32 low, B32 high) const { return {t.pack(low.id, high.id)}; }
  B32 mulHiU(B32 a, B32 b) const { return hi(mul(zext(a), zext(b))); }
  B32 mulHiS(B32 a, B32 b) const { return hi(mul(sext(a), sext(b))); }
  B32 bit(Mask m) const { return {t.bit(m.id)}; }
  B32 lane() const { return {t.lane()}; }

  Mask mand(Mask a, Mask b) const { return {t.and_(a.id, b.id)}; }
  Mask mor(Mask a, Mask b) const { return {t.or_(a.id, b.id)}; }
  Mask mxor(Mask a, Mask b) const { return {t.xor_(a.id, b.id)}; }
  Mask mnot(Mask a) const { return {t.not_(a.id)}; }

  // Rounded operations.
  template <class F, class V> V fadd(F, V a, V b) const { return rounded<F, V>("fadd", ordered<F>(a, b)); }
  template <class F, class V> V fmul(F, V a, V b) const { return rounded<F, V>("fmul", ordered<F>(a, b)); }
  template <class F, class V> V ffma(F, V a, V b, V c) const {
    const auto factors = ordered<F>(a, b);
    return rounded<F, V>("ffma", std::array{factors[0], factors[1], value<F>(c)});
  }
  template <class F, class V> V fldexp(F, V a, B32 n) const {
    return rounded<F, V>("fldexp", std::array{value<F>(a), n.id});
  }
  template <class F, class V> V fexp(F, V a) const { return rounded<F, V>("fexp", std::array{value<F>(a)}); }
  template <class F, class V> V flog(F, V a) const { return rounded<F, V>("flog", std::array{value<F>(a)}); }
  template <class F, class V> V frcp(F, V a) const { return rounded<F, V>("frcp", std::array{value<F>(a)}); }
  template <class F, class V> V frsq(F, V a) const { return rounded<F, V>("frsq", std::array{value<F>(a)}); }
  template <class F, class V> V fsqrt(F, V a) const { return rounded<F, V>("fsqrt", std::array{value<F>(a)}); }
  template <class F, class V> V fsin(F, V a) const { return rounded<F, V>("fsin", std::array{value<F>(a)}); }
  template <class F, class V> V fcos(F, V a) const { return rounded<F, V>("fcos", std::array{value<F>(a)}); }
  // Exact ones.
  template <class F, class V> V ffloor(F, V a) const { return exact<F, V>("ffloor", std::array{value<F>(a)}); }
  template <class F, class V> V fceil(F, V a) const { return exact<F, V>("fceil", std::array{value<F>(a)}); }
  template <class F, class V> V ftrunc(F, V a) const { return exact<F, V>("ftrunc", std::array{value<F>(a)}); }
  template <class F, class V> V frndne(F, V a) const { return exact<F, V>("frndne", std::array{value<F>(a)}); }
  template <class F, class V> V fin(F, V a) const { return exact<F, V>("fin", std::array{value<F>(a)}); }
  // Of a value twice they are what quiets it: of a result of arithmetic under the same MODE they change nothing.
  template <class F, class V> V fmin(F, V a, V b) const {
    if (a.id == b.id && F::bits == 32 && isResult(a.id))
      return a;
    return exact<F, V>("fmin", std::array{value<F>(a), value<F>(b)});
  }
  template <class F, class V> V fmax(F, V a, V b) const {
    if (a.id == b.id && F::bits == 32 && isResult(a.id))
      return a;
    return exact<F, V>("fmax", std::array{value<F>(a), value<F>(b)});
  }
  template <class F, class V> Mask feq(F, V a, V b) const { return exact<F, Mask>("feq", ordered<F>(a, b)); }
  template <class F, class V> Mask flt(F, V a, V b) const {
    return exact<F, Mask>("flt", std::array{value<F>(a), value<F>(b)});
  }
  template <class F, class V> Mask fle(F, V a, V b) const {
    return exact<F, Mask>("fle", std::array{value<F>(a), value<F>(b)});
  }
  template <class F, class V> Mask funord(F, V a, V b) const { return exact<F, Mask>("funord", ordered<F>(a, b)); }

  // Conversions. Widening ones are exact but for denormal inputs, which MODE decides.
  B32 f32FromF16(B32 a) const { return named<B32>("f32FromF16", std::array{half(a)}); }
  B32 f16FromF32(B32 a) const { return namedRounded<B32>("f16FromF32", a.id); }
  B32 f16FromF32Rtz(B32 a) const { return named<B32>("f16FromF32Rtz", std::array{a.id}); }
  B64 f64FromF32(B32 a) const { return named<B64>("f64FromF32", std::array{a.id}); }
  B32 f32FromF64(B64 a) const { return namedRounded<B32>("f32FromF64", a.id); }
  B32 f32FromI32(B32 a) const { return namedRounded<B32>("f32FromI32", a.id); }
  B32 f32FromU32(B32 a) const { return namedRounded<B32>("f32FromU32", a.id); }
  B64 f64FromI32(B32 a) const { return named<B64>("f64FromI32", std::array{a.id}); }
  B64 f64FromU32(B32 a) const { return named<B64>("f64FromU32", std::array{a.id}); }
  B32 i32FromF32(B32 a) const { return named<B32>("i32FromF32", std::array{a.id}); }
  B32 u32FromF32(B32 a) const { return named<B32>("u32FromF32", std::array{a.id}); }
  B32 i32FromF64(B64 a) const { return named<B32>("i32FromF64", std::array{a.id}); }
  B32 u32FromF64(B64 a) const { return named<B32>("u32FromF64", std::array{a.id}); }
  B32 f32FromFp8(B32 a) const { return named<B32>("f32FromFp8", std::array{a.id}); }
  B32 f32FromBf8(B32 a) const { return named<B32>("f32FromBf8", std::array{a.id}); }
  B32 fp8FromF32(B32 a) const { return namedRounded<B32>("fp8FromF32", a.id); }
  B32 bf8FromF32(B32 a) const { return namedRounded<B32>("bf8FromF32", a.id); }
  B32 fp8FromF32Sr(B32 a, B32 random) const { return named<B32>("fp8FromF32Sr", std::array{a.id, random.id}); }
  B32 bf8FromF32Sr(B32 a, B32 random) const { return named<B32>("bf8FromF32Sr", std::array{a.id, random.id}); }
  B64 trigPreop(B64 a, B32 segment) const { return named<B64>("trigPreop", std::array{a.id, segment.id}); }

  /// Clamp and output modifiers, which act on a finished result of format F.
  template <class F, class V> V modified(std::string_view what, V a) const {
    return rounded<F, V>(what, std::array{value<F>(a)});
  }

 private:
  template <class V> static constexpr Sort sortOf() {
    return std::is_same_v<V, B64> ? Sort::wide : std::is_same_v<V, B32> ? Sort::word : Sort::bit;
  }
  /// A 32-bit result of this MODE's f32 arithmetic, or such a value of another lane (0 where that is off).
  bool isResult(TermId id) const {
    const TermTable::Node& node = t.at(id);
    if (node.op == TermOp::permuted)
      return isResult(t.arg(id, 0));
    if (node.op != TermOp::apply || node.argCount == 0 || t.arg(id, 0) != mode)
      return false;
    const std::string_view name = t.name(node.payload);
    constexpr std::array arithmetic = {std::string_view("fadd32."), std::string_view("fmul32."),
                                       std::string_view("ffma32."), std::string_view("fmax32"),
                                       std::string_view("fmin32")};
    return std::ranges::any_of(arithmetic, [&](std::string_view of) { return name.starts_with(of); });
  }
  /// A half is the low 16 bits of its word, whatever is above.
  TermId half(B32 a) const { return t.demanded(a.id, 0xffff); }
  template <class F, class V> TermId value(V a) const {
    if constexpr (F::bits == 16)
      return half(a);
    else
      return a.id;
  }
  template <class F, class V> std::array<TermId, 2> ordered(V a, V b) const {
    const TermId x = value<F>(a), y = value<F>(b);
    return x < y ? std::array{x, y} : std::array{y, x};
  }
  template <class V, std::size_t N> V named(std::string_view name, std::array<TermId, N> arguments) const {
    std::array<TermId, N + 1> all;
    all[0] = mode;
    std::copy(arguments.begin(), arguments.end(), all.begin() + 1);
    return {t.apply(name, sortOf<V>(), all)};
  }
  std::string suffix() const {
    return rounding == Rounding::nearest ? ".n" : rounding == Rounding::f32 ? ".r32" : ".r64";
  }
  template <class V> V namedRounded(std::string_view name, TermId a) const {
    return named<V>(std::string(name) + suffix(), std::array{a});
  }
  template <class F, class V, std::size_t N> V rounded(std::string_view name, std::array<TermId, N> arguments) const {
    return named<V>(std::string(name) + std::to_string(F::bits) + suffix(), arguments);
  }
  template <class F, class V, std::size_t N> V exact(std::string_view name, std::array<TermId, N> arguments) const {
    return named<V>(std::string(name) + std::to_string(F::bits), arguments);
  }
};

} // namespace asmevo::verify
