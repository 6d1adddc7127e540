/// The handler for every form that the fast handlers leave: modifiers, DPP, SDWA, op_sel, clamp, other MODE settings.
/// Sources are prepared into plain lanes, the opcode's core runs on all 64, and the result is finished and written
/// under the mask of lanes.
#include "emulator/alu/core.h"

#include <immintrin.h>

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace {

/// MXCSR round mode for the life of the object. The fences keep arithmetic inside.
class RoundMode {
 public:
  ASMEVO_LANE explicit RoundMode(std::uint32_t guestRound) {
    // Guest: 0 nearest, 1 up, 2 down, 3 to zero. Host: 0 nearest, 1 down, 2 up, 3 to zero.
    constexpr unsigned host[] = {0, 2, 1, 3};
    changed = guestRound != 0;
    if (changed) [[unlikely]] {
      old = _mm_getcsr();
      _mm_setcsr((old & ~0x6000u) | host[guestRound & 3] << 13);
      asm volatile("" ::: "memory");
    }
  }
  ASMEVO_LANE ~RoundMode() {
    if (changed) [[unlikely]] {
      asm volatile("" ::: "memory");
      _mm_setcsr(old);
    }
  }
  RoundMode(const RoundMode&) = delete;
  RoundMode& operator=(const RoundMode&) = delete;

 private:
  unsigned old = 0;
  bool changed = false;
};

struct Buffers {
  alignas(64) std::uint32_t src[4][2][64];
  alignas(64) std::uint32_t scalar[4][2][16];
  alignas(64) std::uint32_t dst[4][64];
};

/// Lanes that may read their DPP source: it exists and is active.
std::uint64_t readableLanes(const AluPlan& plan, std::uint64_t exec) {
  if (exec == ~std::uint64_t{0})
    return plan.dppValid;
  std::uint64_t active = 0;
  for (unsigned i = 0; i < 64; ++i)
    active |= (exec >> plan.dppLane[i] & 1) << i;
  return active & plan.dppValid;
}

ASMEVO_LANE U32x16 at(const std::uint32_t* p, unsigned chunk, unsigned step) {
  return *reinterpret_cast<const U32x16*>(p + std::size_t{chunk} * step);
}

/// Applies f to each chunk of a source's dword, into the buffer.
template <class F> ASMEVO_LANE void transform(SourceView& view, unsigned dword, std::uint32_t* out, F f) {
  for (unsigned chunk = 0; chunk < 4; ++chunk)
    *reinterpret_cast<U32x16*>(out + 16 * chunk) = f(at(view.dword[dword], chunk, view.step));
  view.dword[dword] = out;
}

void selectField(SourceView& view, std::uint32_t* out, isa::SdwaSel sel, bool sext) {
  unsigned shift = 0, width = 32;
  switch (sel) {
  case isa::SdwaSel::byte0:
  case isa::SdwaSel::byte1:
  case isa::SdwaSel::byte2:
  case isa::SdwaSel::byte3:
    shift = 8 * static_cast<unsigned>(sel);
    width = 8;
    break;
  case isa::SdwaSel::word0:
    width = 16;
    break;
  case isa::SdwaSel::word1:
    shift = 16;
    width = 16;
    break;
  case isa::SdwaSel::dword:
    break;
  }
  const unsigned up = 32 - width - shift, down = 32 - width;
  transform(view, 0, out, [&](U32x16 x) {
    const U32x16 high = x << U32x16(up);
    return sext ? (U32x16)((I32x16)high >> I32x16(static_cast<std::int32_t>(down))) : high >> U32x16(down);
  });
}

/// The two halves of a packed 16-bit source.
void selectHalves(SourceView& view, std::uint32_t* out, const SourcePlan& s) {
  const unsigned low = s.high ? 16 : 0, high = s.highHi ? 16 : 0;
  const std::uint32_t flip = (s.neg ? 0x8000u : 0u) | (s.negHi ? 0x80000000u : 0u);
  transform(view, 0, out, [&](U32x16 x) {
    return (((x >> U32x16(low)) & U32x16(0xffff)) | ((x >> U32x16(high)) << U32x16(16))) ^ U32x16(flip);
  });
}

/// abs, then neg, on the sign bit of the element.
void applySign(SourceView& view, std::uint32_t* out, unsigned dword, std::uint32_t signBit, bool abs, bool neg) {
  const std::uint32_t keep = abs ? ~signBit : ~0u, flip = neg ? signBit : 0u;
  transform(view, dword, out, [&](U32x16 x) { return (x & U32x16(keep)) ^ U32x16(flip); });
}

void prepare(SourceView& view, Buffers& buffers, unsigned index, const AluPlan& plan, std::uint64_t readable,
             const ModeState& mode) {
  const SourcePlan& s = plan.src[index];
  const sem::OperandTypeInfo info = sem::typeInfo(s.type);
  auto& out = buffers.src[index];
  if (s.dpp)
    for (unsigned k = 0; k < info.dwords && k < 2; ++k) {
      const std::uint32_t* from = view.dword[k];
      for (unsigned lane = 0; lane < 64; ++lane)
        out[k][lane] = readable >> lane & 1 ? from[plan.dppLane[lane]] : 0;
      view.dword[k] = out[k];
      view.step = 16;
    }
  const unsigned step = view.step;
  bool changed = false;
  if (s.sdwa != isa::SdwaSel::dword || s.sext) {
    selectField(view, out[0], s.sdwa, s.sext);
    view.step = 16;
    changed = true;
  }
  if (s.packedSelect) {
    if (info.dwords == 2) { // op_sel picks dwords; both planes may be the same
      const std::uint32_t* low = view.dword[s.high ? 1 : 0];
      const std::uint32_t* high = view.dword[s.highHi ? 1 : 0];
      view.dword[0] = low;
      view.dword[1] = high;
      if (s.neg || s.negHi) {
        applySign(view, out[0], 0, 0x80000000u, false, s.neg);
        applySign(view, out[1], 1, 0x80000000u, false, s.negHi);
        view.step = 16;
      }
      return;
    }
    selectHalves(view, out[0], s);
    view.step = 16;
    return;
  }
  if (s.type == OperandType::mix) {
    if (s.mixHalf) {
      const Lanes<ModeState> d{mode, 0};
      const unsigned shift = s.high ? 16 : 0;
      transform(view, 0, out[0], [&](U32x16 x) { return d.f32FromF16(x >> U32x16(shift)); });
      view.step = 16;
    }
  } else if (s.high) {
    transform(view, 0, out[0], [](U32x16 x) { return x >> U32x16(16); });
    view.step = 16;
  }
  if (s.abs || s.neg) {
    const bool wide = info.dwords == 2;
    if (wide && !changed && !s.dpp) { // the low dword keeps its step: copy it
      view.step = step;
      transform(view, 0, out[0], [](U32x16 x) { return x; });
    }
    applySign(view, out[wide ? 1 : 0], wide ? 1 : 0, info.elementBits == 16 ? 0x8000u : 0x80000000u, s.abs, s.neg);
    view.step = 16;
  }
}

/// Multiplies by 2, 4 or 1/2 where MODE lets it: no output denormals of this type, not IEEE. -0 becomes +0.
template <class F, class V> ASMEVO_LANE V scaled(const Lanes<ModeState>& d, F f, V x, unsigned omod) {
  constexpr std::uint64_t factors[] = {0, flt::powerOfTwo<F>(1), flt::powerOfTwo<F>(2), flt::powerOfTwo<F>(-1)};
  const V r = d.fmul(f, x, d.bitsLike(f, x, factors[omod & 3]));
  return blend(maskOf((r & d.bitsLike(f, x, flt::absMask<F>)) == d.bitsLike(f, x, 0)), d.bitsLike(f, x, 0), r);
}

/// To [0, 1]; a NaN becomes 0 by DX10_CLAMP, else stays.
template <class F, class V> ASMEVO_LANE V clamped(const Lanes<ModeState>& d, F f, V x) {
  const V zero = d.bitsLike(f, x, 0), one = d.bitsLike(f, x, flt::powerOfTwo<F>(0));
  const V bits = F::bits == 16 ? x & d.bitsLike(f, x, 0xffff) : x;
  const Mask16 nan = maskOf((bits & d.bitsLike(f, x, flt::absMask<F>)) > d.bitsLike(f, x, flt::infinity<F>));
  const Mask16 negative = maskOf((bits & d.bitsLike(f, x, flt::signBit<F>)) != zero);
  V r = blend(maskOf(bits > one), one, bits);
  r = blend(negative, zero, r);
  return blend(nan, d.mode.dx10Clamp ? zero : bits, r);
}

template <class F>
void modifyDwords(const AluPlan& plan, const Lanes<ModeState>& d, std::uint32_t* lanes, F f, bool scale) {
  for (unsigned chunk = 0; chunk < 4; ++chunk) {
    auto* p = reinterpret_cast<U32x16*>(lanes + 16 * chunk);
    U32x16 x = *p;
    if (plan.dst == OperandType::pkF16) {
      U32x16 low = x & U32x16(0xffff), high = x >> U32x16(16);
      if (plan.clamp) {
        low = clamped(d, f, low);
        high = clamped(d, f, high);
      }
      *p = low | (high << U32x16(16));
      continue;
    }
    if (scale)
      x = scaled(d, f, x, plan.omod);
    if (plan.clamp)
      x = clamped(d, f, x);
    *p = x;
  }
}

void modifyDoubles(const AluPlan& plan, const Lanes<ModeState>& d, Buffers& buffers, bool scale) {
  for (unsigned chunk = 0; chunk < 4; ++chunk) {
    auto* low = reinterpret_cast<U32x16*>(buffers.dst[0] + 16 * chunk);
    auto* high = reinterpret_cast<U32x16*>(buffers.dst[1] + 16 * chunk);
    U64x16 x = d.pack(*low, *high);
    if (scale)
      x = scaled(d, flt::F64{}, x, plan.omod);
    if (plan.clamp)
      x = clamped(d, flt::F64{}, x);
    *low = d.lo(x);
    *high = d.hi(x);
  }
}

void modifyResult(const AluPlan& plan, const ModeState& mode, Buffers& buffers) {
  const Lanes<ModeState> d{mode, 0};
  const auto info = sem::typeInfo(plan.dst);
  const bool scale = plan.omod != 0 && !mode.ieee && (info.elementBits == 32 ? mode.out32 : mode.out64);
  if (info.elementBits == 64)
    return modifyDoubles(plan, d, buffers, scale);
  for (unsigned k = 0; k < info.dwords; ++k)
    if (info.elementBits == 32)
      modifyDwords(plan, d, buffers.dst[k], flt::F32{}, scale);
    else
      modifyDwords(plan, d, buffers.dst[k], flt::F16{}, scale);
}

/// Puts a narrow result into its field of the register.
ASMEVO_LANE U32x16 inserted(const AluPlan& plan, U32x16 result, U32x16 old) {
  const std::uint32_t width = plan.resultBits == 32 ? ~0u : (1u << plan.resultBits) - 1;
  const std::uint32_t field = width << plan.resultShift;
  const U32x16 placed = (result & U32x16(width)) << U32x16(plan.resultShift);
  if (plan.insertPad)
    return placed;
  if (plan.insertSext) {
    const unsigned up = 32u - plan.resultBits - plan.resultShift;
    const I32x16 high = (I32x16)(placed << U32x16(up)) >> I32x16(static_cast<std::int32_t>(up));
    return (U32x16)high;
  }
  return placed | (old & U32x16(~field));
}

} // namespace

void generalHandler(Wave& wave, const Op* op) {
  const auto& plan = *static_cast<const AluPlan*>(op->extra);
  const std::uint64_t exec = wave.exec();
  ModeState mode = ModeState::of(wave.mode);
  const std::uint32_t round = plan.round == RoundField::none  ? 0
                              : plan.round == RoundField::f32 ? wave.mode & 3
                                                              : wave.mode >> 2 & 3;
  mode.nearest = round == 0;
  Buffers buffers;
  CoreArgs args;
  std::uint64_t lanes = exec, readable = ~std::uint64_t{0};
  if (plan.dpp) {
    readable = readableLanes(plan, exec);
    lanes &= plan.dppRows;
    if (!plan.dppZero)
      lanes &= readable;
  }

  for (unsigned i = 0; i < plan.sources; ++i) {
    const SourcePlan& s = plan.src[i];
    if (s.type == OperandType::mask) {
      args.maskIn = wave.pair(op->maskSrc);
      continue;
    }
    const Src& from = op->src[i];
    SourceView& view = args.src[i];
    const unsigned dwords = sem::typeInfo(s.type).dwords;
    if (from.kind == SrcKind::vgpr) {
      view.step = 16;
      for (unsigned k = 0; k < dwords; ++k)
        view.dword[k] = wave.lanes(from.reg + k);
    } else if (from.kind == SrcKind::constant) {
      for (unsigned k = 0; k < 2; ++k)
        view.dword[k] = plan.constants[i][k];
    } else {
      const std::uint64_t value = dwords == 1 ? wave.scalar32(from) : wave.scalar64(from);
      for (unsigned k = 0; k < 2; ++k) {
        *reinterpret_cast<U32x16*>(buffers.scalar[i][k]) = U32x16(static_cast<std::uint32_t>(value >> (32 * k)));
        view.dword[k] = buffers.scalar[i][k];
      }
    }
    if (s.prepare)
      prepare(view, buffers, i, plan, readable, mode);
  }

  const bool vectorResult = plan.dst != OperandType::mask;
  const unsigned dwords = vectorResult ? sem::typeInfo(plan.dst).dwords : 0;
  const bool direct = lanes == ~std::uint64_t{0} && !plan.insert && !plan.clamp && !plan.omod;
  for (unsigned k = 0; k < dwords; ++k)
    args.dst[k] = direct ? wave.lanes(op->dst + k) : buffers.dst[k];
  {
    const RoundMode rounding(round);
    plan.core(args, mode);
    if (!direct && (plan.clamp || plan.omod))
      modifyResult(plan, mode, buffers);
  }
  if (!direct)
    for (unsigned k = 0; k < dwords; ++k)
      for (unsigned chunk = 0; chunk < 4; ++chunk) {
        auto* to = reinterpret_cast<U32x16*>(wave.lanes(op->dst + k) + 16 * chunk);
        U32x16 result = at(buffers.dst[k], chunk, 16);
        if (plan.insert)
          result = inserted(plan, result, *to);
        *to = blend(maskFromBits(static_cast<std::uint16_t>(lanes >> (16 * chunk))), result, *to);
      }
  if (plan.maskOut) {
    wave.setPair(op->sdst, args.maskOut & lanes);
    if (plan.execOut)
      wave.setPair(isa::sreg::execLo, args.maskOut & lanes);
  }
  ASMEVO_NEXT(wave, op);
}

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
