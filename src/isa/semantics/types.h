/// Operand types of the semantics tables. A row's signature is a function type over the tags below, in printed operand
/// order: `F32(F32, F32, OldF32)` is v_fmac_f32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace asmevo::isa::semantics {

/// How an operand's bits are read: decides inline constants and literals, the width that neg/abs/clamp act on, and the
/// number of registers.
enum class OperandType : std::uint8_t {
  none,
  b8,  ///< low 8 bits (v_cvt_sr_*: a byte of the destination)
  b16, ///< low 16 bits, integer
  f16, ///< low 16 bits
  b32,
  f32,
  b64,
  f64,
  pkB16, ///< two 16-bit integers (VOP3P op_sel, op_sel_hi)
  pkF16, ///< two halfs (VOP3P op_sel, op_sel_hi, neg_lo, neg_hi)
  pkF32, ///< two floats in a register pair (VOP3P)
  pkB32, ///< two dwords in a register pair
  mix,   ///< v_fma_mix: f32, or a half of a register, by op_sel_hi and op_sel
  b128,
  mask,   ///< one bit per lane: an SGPR pair or VCC; of a scalar instruction: SCC
  simm16, ///< 16-bit immediate of SOPK, sign-extended
  uimm16, ///< 16-bit immediate of SOPK, zero-extended
  exec,   ///< the EXEC mask, not printed
};

struct OperandTypeInfo {
  std::uint8_t dwords;      ///< vector registers; of a mask: scalar registers
  std::uint8_t elementBits; ///< width neg, abs and clamp act on
  bool isFloat;
  bool packed; ///< two elements with op_sel / op_sel_hi
};

constexpr OperandTypeInfo typeInfo(OperandType type) {
  switch (type) {
  case OperandType::none:
    return {0, 0, false, false};
  case OperandType::b8:
    return {1, 8, false, false};
  case OperandType::b16:
    return {1, 16, false, false};
  case OperandType::f16:
    return {1, 16, true, false};
  case OperandType::b32:
    return {1, 32, false, false};
  case OperandType::f32:
    return {1, 32, true, false};
  case OperandType::b64:
    return {2, 64, false, false};
  case OperandType::f64:
    return {2, 64, true, false};
  case OperandType::pkB16:
    return {1, 16, false, true};
  case OperandType::pkF16:
    return {1, 16, true, true};
  case OperandType::pkF32:
    return {2, 32, true, true};
  case OperandType::pkB32:
    return {2, 32, false, true};
  case OperandType::mix:
    return {1, 32, true, false};
  case OperandType::b128:
    return {4, 32, false, false};
  case OperandType::mask:
    return {2, 64, false, false};
  case OperandType::simm16:
  case OperandType::uimm16:
    return {0, 32, false, false};
  case OperandType::exec:
    return {2, 64, false, false};
  }
  return {0, 0, false, false};
}

/// What becomes of the bits of a destination register that a 16- or 8-bit result does not cover.
enum class Unwritten : std::uint8_t { zero, keep };

namespace tag {
/// A source or destination; Old: the destination's previous value as a source that is not printed.
template <OperandType T, bool Old = false, Unwritten U = Unwritten::zero> struct Value {
  static constexpr OperandType type = T;
  static constexpr bool old = Old;
  static constexpr Unwritten unwritten = U;
  static constexpr bool maskOut = false, execOut = false;
};
/// A destination register and an SGPR mask (carry-out, v_div_scale's flag).
template <class V> struct WithMask : V {
  static constexpr bool maskOut = true;
};
/// A scalar destination and EXEC and SCC (s_and_saveexec_b64 and its like).
template <class V> struct WithExec : V {
  static constexpr bool maskOut = true, execOut = true;
};
} // namespace tag

using B32 = tag::Value<OperandType::b32>;
using F32 = tag::Value<OperandType::f32>;
using B64 = tag::Value<OperandType::b64>;
using F64 = tag::Value<OperandType::f64>;
using B16 = tag::Value<OperandType::b16>;
using F16 = tag::Value<OperandType::f16>;
using KB8 = tag::Value<OperandType::b8, false, Unwritten::keep>;
using KB16 = tag::Value<OperandType::b16, false, Unwritten::keep>;
using KF16 = tag::Value<OperandType::f16, false, Unwritten::keep>;
using PB16 = tag::Value<OperandType::pkB16>;
using PF16 = tag::Value<OperandType::pkF16>;
using PF32 = tag::Value<OperandType::pkF32>;
using PB32 = tag::Value<OperandType::pkB32>;
using MIX = tag::Value<OperandType::mix>;
using B128 = tag::Value<OperandType::b128>;
using MASK = tag::Value<OperandType::mask>;
using SIMM16 = tag::Value<OperandType::simm16>;
using UIMM16 = tag::Value<OperandType::uimm16>;
using EXEC = tag::Value<OperandType::exec>;
using SCC = MASK;
using OldB32 = tag::Value<OperandType::b32, true>;
using OldB64 = tag::Value<OperandType::b64, true>;
using OldF32 = tag::Value<OperandType::f32, true>;
using OldF64 = tag::Value<OperandType::f64, true>;
using OldF16 = tag::Value<OperandType::f16, true>;
using OldPF16 = tag::Value<OperandType::pkF16, true>;
using B32M = tag::WithMask<B32>;
using F32M = tag::WithMask<F32>;
using B64M = tag::WithMask<B64>;
using F64M = tag::WithMask<F64>;
using B64X = tag::WithExec<B64>;

/// The parts of a signature as values.
struct SignatureInfo {
  OperandType dst = OperandType::none; ///< mask: the only result is a lane mask (v_cmp)
  bool maskOut = false;                ///< also writes a lane mask (scalar: SCC)
  bool execOut = false;                ///< also writes EXEC
  Unwritten unwritten = Unwritten::zero;
  std::uint8_t sources = 0;
  std::array<OperandType, 4> src{};
  std::array<bool, 4> old{}; ///< source is the destination's old value, not printed
};

template <class Fn> struct Signature;
template <class R, class... A> struct Signature<R(A...)> {
  using Result = R;
  static constexpr std::size_t sources = sizeof...(A);
  static constexpr SignatureInfo info() {
    SignatureInfo i;
    i.dst = R::type;
    i.maskOut = R::maskOut;
    i.execOut = R::execOut;
    i.unwritten = R::unwritten;
    i.sources = sizeof...(A);
    std::size_t at = 0;
    ((i.src[at] = A::type, i.old[at] = A::old, ++at), ...);
    return i;
  }
};

/// Value and lane mask (SALU: value and SCC) of one instruction.
template <class V, class M> struct Out {
  V value;
  M mask;
};
template <class V, class M> Out(V, M) -> Out<V, M>;
/// Value, EXEC and SCC.
template <class V, class M> struct ExecOut {
  V value;
  V exec;
  M scc;
};
template <class V, class M> ExecOut(V, V, M) -> ExecOut<V, M>;
/// Two dwords that are not one number.
template <class V> struct Pair {
  V lo, hi;
};
template <class V> Pair(V, V) -> Pair<V>;
template <class V> struct Quad {
  V d0, d1, d2, d3;
};

} // namespace asmevo::isa::semantics

/// Every body is inlined into the reader that instantiates it.
#define ASMEVO_SEM [[gnu::always_inline]] inline auto
