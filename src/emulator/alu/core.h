/// From instruction bodies to loops over lanes and handlers. Included by *_simd.cpp only.
#pragma once

#include "emulator/alu/lanes.h"
#include "emulator/alu/plan.h"

#include <utility>

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace sem = isa::semantics;
using sem::OperandType;

template <class Tag> ASMEVO_LANE auto loadSource(const SourceView& v, std::uint64_t maskIn, unsigned chunk) {
  constexpr OperandType t = Tag::type;
  const std::size_t at = std::size_t{chunk} * v.step;
  const auto dword = [&](unsigned i) { return *reinterpret_cast<const U32x16*>(v.dword[i] + at); };
  if constexpr (t == OperandType::mask) {
    return maskFromBits(static_cast<std::uint16_t>(maskIn >> (16 * chunk)));
  } else if constexpr (t == OperandType::b64 || t == OperandType::f64) {
    return __builtin_convertvector(dword(0), U64x16) | (__builtin_convertvector(dword(1), U64x16) << U64x16(32));
  } else if constexpr (t == OperandType::pkF32 || t == OperandType::pkB32) {
    return sem::Pair<U32x16>{dword(0), dword(1)};
  } else if constexpr (t == OperandType::b128) {
    return sem::Quad<U32x16>{dword(0), dword(1), dword(2), dword(3)};
  } else {
    return dword(0);
  }
}

/// Where results go: to memory at once, under a mask of lanes or not.
template <bool Masked> struct Sink {
  std::uint32_t* const* dst;
  unsigned chunk;
  std::uint16_t lanes;
  std::uint16_t mask = 0;

  ASMEVO_LANE void put(unsigned i, U32x16 x) const {
    auto* to = reinterpret_cast<U32x16*>(dst[i] + 16 * chunk);
    if constexpr (Masked)
      *to = blend(maskFromBits(lanes), x, *to);
    else
      *to = x;
  }
  ASMEVO_LANE void take(U32x16 x) { put(0, x); }
  ASMEVO_LANE void take(U64x16 x) {
    put(0, __builtin_convertvector(x, U32x16));
    put(1, __builtin_convertvector(x >> U64x16(32), U32x16));
  }
  ASMEVO_LANE void take(sem::Pair<U32x16> x) {
    put(0, x.lo);
    put(1, x.hi);
  }
  ASMEVO_LANE void take(sem::Quad<U32x16> x) {
    put(0, x.d0);
    put(1, x.d1);
    put(2, x.d2);
    put(3, x.d3);
  }
  ASMEVO_LANE void take(Mask16 m) { mask = bitsFromMask(m); }
  template <class V> ASMEVO_LANE void take(sem::Out<V, Mask16> x) {
    take(x.value);
    take(x.mask);
  }
};

/// One chunk of 16 lanes: all loads, then the body, then the stores, so that destinations may overlap sources.
template <class Spec, bool Masked, class P, class R, class... A, std::size_t... I>
ASMEVO_LANE std::uint64_t runChunk(const SourceView* src, std::uint32_t* const* dst, std::uint64_t maskIn,
                                   std::uint64_t exec, const P& mode, unsigned chunk, R (*)(A...),
                                   std::index_sequence<I...>) {
  const Lanes<P> d{mode, 16 * chunk};
  Sink<Masked> sink{dst, chunk, static_cast<std::uint16_t>(exec >> (16 * chunk))};
  sink.take(Spec::run(d, loadSource<A>(src[I], maskIn, chunk)...));
  return std::uint64_t{sink.mask} << (16 * chunk);
}

template <class Spec, bool Masked, class P>
ASMEVO_LANE std::uint64_t runAll(const SourceView* src, std::uint32_t* const* dst, std::uint64_t maskIn,
                                 std::uint64_t exec, const P& mode) {
  constexpr auto indices = std::make_index_sequence<sem::Signature<typename Spec::Type>::sources>();
  constexpr typename Spec::Type* type = nullptr;
  std::uint64_t mask = 0;
  if constexpr (Spec::unrolled && !Masked) {
    mask |= runChunk<Spec, Masked>(src, dst, maskIn, exec, mode, 0, type, indices);
    mask |= runChunk<Spec, Masked>(src, dst, maskIn, exec, mode, 1, type, indices);
    mask |= runChunk<Spec, Masked>(src, dst, maskIn, exec, mode, 2, type, indices);
    mask |= runChunk<Spec, Masked>(src, dst, maskIn, exec, mode, 3, type, indices);
  } else {
#pragma clang loop unroll(disable)
    for (unsigned chunk = 0; chunk < 4; ++chunk)
      mask |= runChunk<Spec, Masked>(src, dst, maskIn, exec, mode, chunk, type, indices);
  }
  return mask;
}

/// The core that the general handler calls.
template <class Spec> void core(CoreArgs& args, const ModeState& mode) {
  args.maskOut = runAll<Spec, false>(args.src, args.dst, args.maskIn, ~std::uint64_t{0}, mode);
}

template <class Spec, bool Full, class P>
ASMEVO_LANE void runFast(Wave& wave, const Op* op, const SourceView* src, std::uint64_t exec, const P& mode) {
  constexpr auto info = sem::Signature<typename Spec::Type>::info();
  std::uint32_t* dst[4] = {};
  if constexpr (info.dst != OperandType::mask)
    for (unsigned i = 0; i < sem::typeInfo(info.dst).dwords; ++i)
      dst[i] = wave.lanes(op->dst + i);
  std::uint64_t maskIn = 0;
  if constexpr (Spec::readsMask)
    maskIn = wave.pair(op->maskSrc);
  const std::uint64_t mask = runAll<Spec, !Full>(src, dst, maskIn, exec, mode);
  if constexpr (info.maskOut || info.dst == OperandType::mask) {
    wave.setPair(op->sdst, mask & exec);
    if constexpr (info.dst == OperandType::mask)
      if (op->aux)
        wave.setPair(isa::sreg::execLo, mask & exec);
  }
}

/// Chooses by MODE; false when the general handler must do it.
template <class Spec, bool Full>
ASMEVO_LANE bool runByMode(Wave& wave, const Op* op, const SourceView* src, std::uint64_t exec) {
  if constexpr (Spec::usesMode) {
    const std::uint32_t denormAndRound = wave.mode & (modebit::denormMask | modebit::roundMask);
    if (denormAndRound == modebit::keepAll) {
      runFast<Spec, Full>(wave, op, src, exec, FixedMode<false>::of(wave.mode));
      return true;
    }
    if (denormAndRound == modebit::flush32) {
      runFast<Spec, Full>(wave, op, src, exec, FixedMode<true>::of(wave.mode));
      return true;
    }
    return false;
  } else {
    runFast<Spec, Full>(wave, op, src, exec, FixedMode<false>());
    return true;
  }
}

/// A handler for sources without modifiers. AllVgpr: every one is a VGPR.
template <class Spec, bool AllVgpr> void fast(Wave& wave, const Op* op) {
  using Sig = sem::Signature<typename Spec::Type>;
  constexpr auto info = Sig::info();
  SourceView src[4];
  alignas(64) std::uint32_t scalars[AllVgpr ? 1 : 4][2][16];
  for (unsigned i = 0; i < Sig::sources; ++i) {
    if (info.src[i] == OperandType::mask)
      continue;
    const Src& s = op->src[i];
    const unsigned dwords = sem::typeInfo(info.src[i]).dwords;
    if (AllVgpr || s.kind == SrcKind::vgpr) {
      src[i].step = 16;
      for (unsigned k = 0; k < dwords; ++k)
        src[i].dword[k] = wave.lanes(s.reg + k);
    } else if constexpr (!AllVgpr) {
      if (s.kind == SrcKind::constant) {
        const auto& plan = *static_cast<const AluPlan*>(op->extra);
        for (unsigned k = 0; k < dwords && k < 2; ++k)
          src[i].dword[k] = plan.constants[i][k];
      } else {
        const std::uint64_t value = dwords == 1 ? wave.scalar32(s) : wave.scalar64(s);
        for (unsigned k = 0; k < dwords && k < 2; ++k) {
          *reinterpret_cast<U32x16*>(scalars[i][k]) = U32x16(static_cast<std::uint32_t>(value >> (32 * k)));
          src[i].dword[k] = scalars[i][k];
        }
      }
    }
  }
  const std::uint64_t exec = wave.exec();
  const bool done = exec == ~std::uint64_t{0} ? runByMode<Spec, true>(wave, op, src, exec)
                                              : runByMode<Spec, false>(wave, op, src, exec);
  if (Spec::usesMode && !done) [[unlikely]]
    [[clang::musttail]] return generalHandler(wave, op);
  ASMEVO_NEXT(wave, op);
}

template <class Fn> struct ReadsMask;
template <class R, class... A> struct ReadsMask<R(A...)> {
  static constexpr bool value = ((A::type == OperandType::mask) || ...);
};

template <class Spec> constexpr CoreEntry entryOf(const char* name) {
  CoreEntry e{name, sem::Signature<typename Spec::Type>::info(), RoundField::none, &core<Spec>, nullptr, nullptr};
  if constexpr (Spec::rounds && sem::typeInfo(Spec::dst).isFloat)
    e.round = sem::typeInfo(Spec::dst).elementBits == 32 ? RoundField::f32 : RoundField::f64;
  if constexpr (Spec::handlers) {
    e.allVgpr = &fast<Spec, true>;
    e.anyKind = &fast<Spec, false>;
  }
  return e;
}

/// The first two columns of a row after its name (isa/semantics/table.h).
namespace speed {
struct fast {
  static constexpr bool handlers = true, unrolled = true;
};
struct plain {
  static constexpr bool handlers = false, unrolled = false;
};
} // namespace speed
namespace use {
struct bits { ///< integers and moves
  static constexpr bool usesMode = false, rounds = false;
};
struct mode { ///< floating point: denormals and rounding by MODE
  static constexpr bool usesMode = true, rounds = true;
};
struct nearest { ///< floating point, to nearest-even whatever MODE says
  static constexpr bool usesMode = true, rounds = false;
};
} // namespace use

/// Makes a row of a .def file a spec: a type that core and fast are instantiated with.
#define ASMEVO_SPEC(name, speedName, useName, body, signature, section)                                                \
  struct name : speed::speedName, use::useName {                                                                       \
    using Type = signature;                                                                                            \
    static constexpr bool readsMask = ReadsMask<Type>::value;                                                          \
    static constexpr OperandType dst = Signature<Type>::info().dst;                                                    \
    template <class D, class... A> [[gnu::always_inline]] static auto run(const D& d, A... a) {                        \
      return body(d, a...);                                                                                            \
    }                                                                                                                  \
  };
#define ASMEVO_ENTRY(name, speedName, useName, body, signature, section) entryOf<rows::name>(#name),

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
