/// From instruction bodies to loops over lanes and handlers. Included by *_simd.cpp only.
#pragma once

#include "emulator/alu/lanes.h"
#include "emulator/alu/plan.h"

#include <utility>

#include <immintrin.h>

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace sem = isa::semantics;
using sem::OperandType;

/// Reads sources as they lie in their views.
struct PlainLoader {
  const SourceView* src;
  std::uint64_t maskIn;

  ASMEVO_LANE U32x16 dword(unsigned index, unsigned k, unsigned chunk) const {
    const SourceView& v = src[index];
    return *reinterpret_cast<const U32x16*>(v.dword[k] + std::size_t{chunk} * v.step);
  }
};

ASMEVO_LANE U32x16 permuted(U32x16 x, U32x16 lane) {
#if defined(__AVX512F__)
  return __builtin_bit_cast(
      U32x16, _mm512_permutexvar_epi32(__builtin_bit_cast(__m512i, lane), __builtin_bit_cast(__m512i, x)));
#elif !defined(__AVX2__)
  U32x16 moved;
  for (unsigned i = 0; i < 16; ++i)
    moved[i] = x[lane[i]];
  return moved;
#else
  struct Halves {
    __m256i low, high;
  };
  const auto from = __builtin_bit_cast(Halves, x);
  const auto index = __builtin_bit_cast(Halves, lane);
  const auto half = [&](__m256i i) {
    const __m256i upper = _mm256_slli_epi32(i, 28); // bit 3 of the lane becomes the sign
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(_mm256_permutevar8x32_epi32(from.low, i)),
                                                _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(from.high, i)),
                                                _mm256_castsi256_ps(upper)));
  };
  return __builtin_bit_cast(U32x16, Halves{half(index.low), half(index.high)});
#endif
}

/// Applies DPP within rows to source 0, and abs and neg to every source, on the way in.
struct ModifiedLoader {
  const SourceView* src;
  std::uint64_t maskIn;
  const AluPlan& plan;

  ASMEVO_LANE U32x16 dword(unsigned index, unsigned k, unsigned chunk) const {
    const SourceView& v = src[index];
    U32x16 x = *reinterpret_cast<const U32x16*>(v.dword[k] + std::size_t{chunk} * v.step);
    if (index == 0 && plan.dpp) {
      const U32x16 moved = permuted(x, *reinterpret_cast<const U32x16*>(plan.dppIndex[chunk]));
      x = blend(maskFromBits(static_cast<std::uint16_t>(plan.dppValid >> (16 * chunk))), moved, U32x16(0));
    }
    if (k < 2)
      x = (x & U32x16(plan.src[index].keep[k])) ^ U32x16(plan.src[index].flip[k]);
    return x;
  }
};

template <class Tag, class Loader> ASMEVO_LANE auto loadSource(const Loader& from, unsigned index, unsigned chunk) {
  constexpr OperandType t = Tag::type;
  const auto dword = [&](unsigned k) { return from.dword(index, k, chunk); };
  if constexpr (t == OperandType::mask) {
    return maskFromBits(static_cast<std::uint16_t>(from.maskIn >> (16 * chunk)));
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
template <class Spec, bool Masked, class Loader, class P, class R, class... A, std::size_t... I>
ASMEVO_LANE std::uint64_t runChunk(const Loader& from, std::uint32_t* const* dst, std::uint64_t lanes, const P& mode,
                                   unsigned chunk, R (*)(A...), std::index_sequence<I...>) {
  const Lanes<P> d{mode, 16 * chunk};
  Sink<Masked> sink{dst, chunk, static_cast<std::uint16_t>(lanes >> (16 * chunk))};
  sink.take(Spec::run(d, loadSource<A>(from, I, chunk)...));
  return std::uint64_t{sink.mask} << (16 * chunk);
}

template <class Spec, bool Masked, class Loader, class P>
ASMEVO_LANE std::uint64_t runAll(const Loader& from, std::uint32_t* const* dst, std::uint64_t lanes, const P& mode) {
  constexpr auto indices = std::make_index_sequence<sem::Signature<typename Spec::Type>::sources>();
  constexpr typename Spec::Type* type = nullptr;
  std::uint64_t mask = 0;
  if constexpr (Spec::unrolled && !Masked) {
    mask |= runChunk<Spec, Masked>(from, dst, lanes, mode, 0, type, indices);
    mask |= runChunk<Spec, Masked>(from, dst, lanes, mode, 1, type, indices);
    mask |= runChunk<Spec, Masked>(from, dst, lanes, mode, 2, type, indices);
    mask |= runChunk<Spec, Masked>(from, dst, lanes, mode, 3, type, indices);
  } else {
#pragma clang loop unroll(disable)
    for (unsigned chunk = 0; chunk < 4; ++chunk)
      mask |= runChunk<Spec, Masked>(from, dst, lanes, mode, chunk, type, indices);
  }
  return mask;
}

/// The core that the general handler calls.
template <class Spec> void core(CoreArgs& args, const ModeState& mode) {
  args.maskOut = runAll<Spec, false>(PlainLoader{args.src, args.maskIn}, args.dst, ~std::uint64_t{0}, mode);
}

template <class Spec, bool Full, class Loader, class P>
ASMEVO_LANE void runFast(Wave& wave, const Op* op, const Loader& from, std::uint64_t lanes, const P& mode) {
  constexpr auto info = sem::Signature<typename Spec::Type>::info();
  std::uint32_t* dst[4] = {};
  if constexpr (info.dst != OperandType::mask)
    for (unsigned i = 0; i < sem::typeInfo(info.dst).dwords; ++i)
      dst[i] = wave.lanes(op->dst + i);
  const std::uint64_t mask = runAll<Spec, !Full>(from, dst, lanes, mode);
  if constexpr (info.maskOut || info.dst == OperandType::mask) {
    wave.setPair(op->sdst, mask & lanes);
    if constexpr (info.dst == OperandType::mask)
      if (op->aux)
        wave.setPair(isa::sreg::execLo, mask & lanes);
  }
}

/// Chooses by MODE; false when the general handler must do it.
template <class Spec, bool Full, class Loader>
ASMEVO_LANE bool runByMode(Wave& wave, const Op* op, const Loader& from, std::uint64_t lanes) {
  if constexpr (Spec::usesMode) {
    const std::uint32_t denormAndRound = wave.mode & (modebit::denormMask | modebit::roundMask);
    if (denormAndRound == modebit::keepAll) {
      runFast<Spec, Full>(wave, op, from, lanes, FixedMode<false>::of(wave.mode));
      return true;
    }
    if (denormAndRound == modebit::flush32) {
      runFast<Spec, Full>(wave, op, from, lanes, FixedMode<true>::of(wave.mode));
      return true;
    }
    return false;
  } else {
    runFast<Spec, Full>(wave, op, from, lanes, FixedMode<false>());
    return true;
  }
}

struct ScalarSplats {
  alignas(64) std::uint32_t lanes[4][2][16];
};

/// Where source `index` lies; scalars are spread over a chunk.
ASMEVO_LANE void findSource(const Wave& wave, const Op* op, unsigned index, unsigned dwords, SourceView& view,
                            ScalarSplats& splats) {
  const Src& s = op->src[index];
  if (s.kind == SrcKind::vgpr) {
    view.step = 16;
    for (unsigned k = 0; k < dwords; ++k)
      view.dword[k] = wave.lanes(s.reg + k);
  } else if (s.kind == SrcKind::constant) {
    const auto& plan = *static_cast<const AluPlan*>(op->extra);
    view.step = 0;
    for (unsigned k = 0; k < dwords && k < 2; ++k)
      view.dword[k] = plan.constants[index][k];
  } else {
    const std::uint64_t value = dwords == 1 ? wave.scalar32(s) : wave.scalar64(s);
    view.step = 0;
    for (unsigned k = 0; k < dwords && k < 2; ++k) {
      *reinterpret_cast<U32x16*>(splats.lanes[index][k]) = U32x16(static_cast<std::uint32_t>(value >> (32 * k)));
      view.dword[k] = splats.lanes[index][k];
    }
  }
}

/// A handler for sources without modifiers. AllVgpr: every one is a VGPR.
template <class Spec, bool AllVgpr> void fast(Wave& wave, const Op* op) {
  using Sig = sem::Signature<typename Spec::Type>;
  constexpr auto info = Sig::info();
  SourceView src[4];
  ScalarSplats splats;
  for (unsigned i = 0; i < Sig::sources; ++i) {
    if (info.src[i] == OperandType::mask)
      continue;
    const unsigned dwords = sem::typeInfo(info.src[i]).dwords;
    if constexpr (AllVgpr) {
      src[i].step = 16;
      for (unsigned k = 0; k < dwords; ++k)
        src[i].dword[k] = wave.lanes(op->src[i].reg + k);
    } else {
      findSource(wave, op, i, dwords, src[i], splats);
    }
  }
  const std::uint64_t exec = wave.exec();
  const PlainLoader from{src, Spec::readsMask ? wave.pair(op->maskSrc) : 0};
  const bool done = exec == ~std::uint64_t{0} ? runByMode<Spec, true>(wave, op, from, exec)
                                              : runByMode<Spec, false>(wave, op, from, exec);
  if (Spec::usesMode && !done) [[unlikely]]
    [[clang::musttail]] return generalHandler(wave, op);
  ASMEVO_NEXT(wave, op);
}

/// A handler for the common modifiers: abs and neg, op_sel of register pairs, DPP within rows when EXEC is all ones.
template <class Spec> void modified(Wave& wave, const Op* op) {
  using Sig = sem::Signature<typename Spec::Type>;
  constexpr auto info = Sig::info();
  const auto& plan = *static_cast<const AluPlan*>(op->extra);
  std::uint64_t lanes = wave.exec();
  if (plan.dpp) {
    if (lanes != ~std::uint64_t{0}) [[unlikely]]
      [[clang::musttail]] return generalHandler(wave, op);
    lanes = plan.dppZero ? plan.dppRows : plan.dppRows & plan.dppValid;
  }
  SourceView src[4];
  ScalarSplats splats;
  for (unsigned i = 0; i < Sig::sources; ++i) {
    if (info.src[i] == OperandType::mask)
      continue;
    const unsigned dwords = sem::typeInfo(info.src[i]).dwords;
    findSource(wave, op, i, dwords, src[i], splats);
    if (info.src[i] == OperandType::pkF32 || info.src[i] == OperandType::pkB32) {
      const std::uint32_t* const pair[2] = {src[i].dword[0], src[i].dword[1]};
      src[i].dword[0] = pair[plan.src[i].high];
      src[i].dword[1] = pair[plan.src[i].highHi];
    }
  }
  const ModifiedLoader from{src, Spec::readsMask ? wave.pair(op->maskSrc) : 0, plan};
  if (!runByMode<Spec, false>(wave, op, from, lanes)) [[unlikely]]
    [[clang::musttail]] return generalHandler(wave, op);
  ASMEVO_NEXT(wave, op);
}

template <class Fn> struct ReadsMask;
template <class R, class... A> struct ReadsMask<R(A...)> {
  static constexpr bool value = ((A::type == OperandType::mask) || ...);
};

template <class Spec> constexpr CoreEntry entryOf(const char* name) {
  CoreEntry e{name,   sem::Signature<typename Spec::Type>::info(), RoundField::none, &core<Spec>, nullptr, nullptr,
              nullptr};
  if constexpr (Spec::rounds && sem::typeInfo(Spec::dst).isFloat)
    e.round = sem::typeInfo(Spec::dst).elementBits == 32 ? RoundField::f32 : RoundField::f64;
  if constexpr (Spec::handlers) {
    e.allVgpr = &fast<Spec, true>;
    e.anyKind = &fast<Spec, false>;
    e.modified = &modified<Spec>;
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
