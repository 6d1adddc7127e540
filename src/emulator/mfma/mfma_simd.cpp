// Matrix instructions over one wave's registers: gathers operands into planes (one array of 64 lanes per element of a
// lane), then computes every 16 lanes of every destination register. EXEC plays no part: all lanes take part.
#include "emulator/mfma/mfma_operands.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace {

// f16, bf16, xf32, fp8, bf8

struct Planes {
  alignas(64) float value[maxPerLane * waveLanes];
  alignas(64) float raw[maxPerLane * waveLanes];
  alignas(64) std::int32_t exponent[maxPerLane * waveLanes];
  std::int32_t least = 0, most = 0; ///< exponents of nonzero elements, 0 included
  bool special = false;
};

ASMEVO_INLINE void decodePlanesOf(Element type, const Source& source, unsigned dwords, Planes& planes) {
  const unsigned perDword = 32 / mfma::elementBits(type);
  VI least = VI(0), most = VI(0), special = VI(0);
  for (unsigned d = 0; d < dwords; ++d)
    for (unsigned lane = 0; lane < waveLanes; lane += 16) {
      const VI dword = *reinterpret_cast<const VI*>(source.rows[d] + lane);
      for (unsigned e = 0; e < perDword; ++e) {
        const Decoded x = decodeElement(type, dword, e);
        const unsigned at = (d * perDword + e) * waveLanes + lane;
        *reinterpret_cast<VF*>(planes.value + at) = x.finite;
        *reinterpret_cast<VF*>(planes.raw + at) = x.raw;
        *reinterpret_cast<VI*>(planes.exponent + at) = x.exponent;
        const VI counted = x.finite == 0.0f ? VI(0) : x.exponent;
        least = minimum(least, counted);
        most = maximum(most, counted);
        special |= x.special;
      }
    }
  planes.least = __builtin_reduce_min(least);
  planes.most = __builtin_reduce_max(most);
  planes.special = anySet(special);
}

void decodePlanes(Element type, const Source& source, unsigned dwords, Planes& planes) {
  switch (type) { // one specialised loop per type
  case Element::f16:
    return decodePlanesOf(Element::f16, source, dwords, planes);
  case Element::bf16:
    return decodePlanesOf(Element::bf16, source, dwords, planes);
  case Element::fp8:
    return decodePlanesOf(Element::fp8, source, dwords, planes);
  case Element::bf8:
    return decodePlanesOf(Element::bf8, source, dwords, planes);
  default:
    return decodePlanesOf(Element::xf32, source, dwords, planes);
  }
}

ASMEVO_INLINE void toSignificands(Planes& planes, unsigned perLane) {
  for (unsigned at = 0; at < perLane * waveLanes; at += 16)
    *reinterpret_cast<VF*>(planes.value + at) = significand(loadF(planes.value + at));
}

/// Sixteen elements of D: all groups of k in order. `a` and `b` are offsets of the row and the first column in the
/// planes.
template <int size, bool twoHalves, bool near, bool spread, bool specials>
ASMEVO_INLINE VF dotProduct(const Planes& pa, const Planes& pb, const Steps& steps, unsigned a, unsigned b, VF c) {
  for (unsigned k = 0; k < steps.count; k += size) {
    const std::uint16_t *sa = steps.a + k, *sb = steps.b + k;
    const VF finite = fusedGroup<size, twoHalves, near>([&](int i) { return loadRow<spread>(pa.value + sa[i] + a); },
                                                        [&](int i) { return loadRow<spread>(pa.exponent + sa[i] + a); },
                                                        [&](int i) { return loadF(pb.value + sb[i] + b); },
                                                        [&](int i) { return loadI(pb.exponent + sb[i] + b); }, c);
    if constexpr (specials)
      c = withSpecials<size>([&](int i) { return loadRow<spread>(pa.raw + sa[i] + a); },
                             [&](int i) { return loadF(pb.raw + sb[i] + b); }, c, finite);
    else
      c = finite;
  }
  return c;
}

using DotProduct = void (*)(const Planes&, const Planes&, const Steps&, unsigned a, unsigned b, const std::uint32_t* c,
                            std::uint32_t* d);

/// dotProduct from and to registers. A result that is an infinity or NaN says that one may have been among the running
/// values: it is formed again with the rules for those.
template <int size, bool twoHalves, bool near, bool spread, bool specials>
void dotProductAt(const Planes& pa, const Planes& pb, const Steps& steps, unsigned a, unsigned b,
                  const std::uint32_t* c, std::uint32_t* d) {
  const VF start = floatOf(*reinterpret_cast<const VI*>(c));
  VF result = dotProduct<size, twoHalves, near, spread, specials>(pa, pb, steps, a, b, start);
  if constexpr (!specials)
    if (anySet(nonFinite(result))) [[unlikely]]
      return dotProductAt<size, twoHalves, near, spread, true>(pa, pb, steps, a, b, c, d);
  *reinterpret_cast<VI*>(d) = bitsOf(result);
}

template <int size, bool twoHalves, bool spread> DotProduct dotProductFor(bool near, bool specials) {
  if (near)
    return specials ? dotProductAt<size, twoHalves, true, spread, true>
                    : dotProductAt<size, twoHalves, true, spread, false>;
  return specials ? dotProductAt<size, twoHalves, false, spread, true>
                  : dotProductAt<size, twoHalves, false, spread, false>;
}

/// Products in a group: 16 for 8-bit types (in two halves), 4 for xf32, 8 for 16-bit types, or all of K where that is
/// less.
DotProduct selectDotProduct(const Shape& shape, bool near, bool specials) {
  const bool bytes = mfma::elementBits(shape.a) == 8, spread = shape.side == 4;
  if (bytes)
    return dotProductFor<16, true, false>(near, specials);
  if (shape.a == Element::xf32)
    return dotProductFor<4, false, false>(near, specials);
  if (shape.k < 8)
    return spread ? dotProductFor<4, false, true>(near, specials) : dotProductFor<4, false, false>(near, specials);
  return dotProductFor<8, false, false>(near, specials);
}

/// Exponent range and specials of one or more decoded operands.
struct Range {
  std::int32_t least = 0, most = 0;
  bool special = false;
  void add(const Planes& p) {
    least = p.least < least ? p.least : least;
    most = p.most > most ? p.most : most;
    special |= p.special;
  }
};

/// How the group arithmetic is to be run over operands of these ranges.
struct Method {
  bool near, specials;
};
ASMEVO_INLINE Method chooseMethod(const Range& a, const Range& b) {
  // bf16 and xf32 reach the ends of f32's range; the others never leave it.
  return {a.least >= -nearExponent && a.most <= nearExponent && b.least >= -nearExponent && b.most <= nearExponent,
          a.special || b.special || a.most + b.most >= 127}; // products of 2^128 and more
}

void runGroups(Wave& wave, const Op* op) {
  const Plan& plan = *static_cast<const Plan*>(op->extra);
  const Shape& shape = *plan.shape;
  Source a, b;
  readSources(wave, *op, plan, a, b);
  Planes pa, pb;
  decodePlanes(shape.b, b, shape.dwordsB(), pb);
  Range rangeA, rangeB;
  rangeB.add(pb);
  Accumulator c;
  readAccumulator(wave, *op, shape, c);
  std::uint32_t* d = wave.lanes(op->dst);

  if (shape.side == 4) {
    const Steps steps = denseSteps(shape, 1);
    Source spread;
    Planes rows[4];
    for (unsigned i = 0; i < 4; ++i) { // all of A is read before D, which may lie over it
      spreadRow(a, plan, shape.dwordsA(), i, spread);
      decodePlanes(shape.a, spread, shape.dwordsA(), rows[i]);
      rangeA.add(rows[i]);
    }
    const Method method = chooseMethod(rangeA, rangeB);
    if (!method.near) {
      for (Planes& row : rows)
        toSignificands(row, shape.perLaneA());
      toSignificands(pb, shape.perLaneB());
    }
    const DotProduct dot = selectDotProduct(shape, method.near, method.specials);
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned lane = 0; lane < waveLanes; lane += 16)
        dot(rows[i], pb, steps, lane, lane, c.base + i * c.stride + (c.stride ? lane : 0), d + i * waveLanes + lane);
    return;
  }

  decodePlanes(shape.a, a, shape.dwordsA(), pa);
  rangeA.add(pa);
  const Method method = chooseMethod(rangeA, rangeB);
  if (!method.near) {
    toSignificands(pa, shape.perLaneA());
    toSignificands(pb, shape.perLaneB());
  }
  const DotProduct dot = selectDotProduct(shape, method.near, method.specials);
  if (!shape.sparse) {
    const Steps steps = denseSteps(shape, 1);
    forEachTile(plan, [&](unsigned reg, unsigned lane, unsigned rowAt, unsigned columnAt, unsigned) {
      dot(pa, pb, steps, rowAt, columnAt, c.base + reg * c.stride + (c.stride ? lane : 0), d + reg * waveLanes + lane);
    });
    return;
  }
  alignas(64) std::uint32_t indices[waveLanes];
  __builtin_memcpy(indices, wave.lanes(op->src[2].reg), sizeof indices);
  Plan dense = plan; // abid selects indices here, not blocks
  dense.cbsz = 0;
  forEachTile(dense, [&](unsigned reg, unsigned lane, unsigned rowAt, unsigned columnAt, unsigned row) {
    const Steps steps = sparseSteps(plan, indices, row);
    dot(pa, pb, steps, rowAt, columnAt, c.base + reg * c.stride + lane, d + reg * waveLanes + lane);
  });
}

// f32 and i8: a chain of steps over 32-bit planes

struct WordPlanes {
  alignas(64) std::int32_t value[maxPerLane * waveLanes];
};

/// i8: planes of pairs (elements 2p and 2p + 1 as 16-bit halves), or of single elements.
ASMEVO_INLINE void decodeBytes(const Source& source, unsigned dwords, bool pairs, WordPlanes& planes) {
  for (unsigned d = 0; d < dwords; ++d)
    for (unsigned lane = 0; lane < waveLanes; lane += 16) {
      const VI dword = *reinterpret_cast<const VI*>(source.rows[d] + lane);
      VI x[4];
      for (int e = 0; e < 4; ++e)
        x[e] = (dword << (24 - 8 * e)) >> 24;
      if (pairs) {
        for (int p = 0; p < 2; ++p)
          *reinterpret_cast<VI*>(planes.value + (d * 2 + static_cast<unsigned>(p)) * waveLanes + lane) =
              (x[2 * p] & 0xffff) | (x[2 * p + 1] << 16);
      } else {
        for (int e = 0; e < 4; ++e)
          *reinterpret_cast<VI*>(planes.value + (d * 4 + static_cast<unsigned>(e)) * waveLanes + lane) = x[e];
      }
    }
}

enum class Chain { f32, pairs, bytes };

template <Chain chain> ASMEVO_INLINE void decodeWords(const Source& source, unsigned dwords, WordPlanes& planes) {
  if constexpr (chain == Chain::f32)
    for (unsigned d = 0; d < dwords; ++d)
      __builtin_memcpy(planes.value + d * waveLanes, source.rows[d], waveLanes * sizeof(std::uint32_t));
  else
    decodeBytes(source, dwords, chain == Chain::pairs, planes);
}

template <Chain chain, bool spread>
ASMEVO_INLINE void chainAt(const WordPlanes& pa, const WordPlanes& pb, const Steps& steps, unsigned a, unsigned b,
                           const std::uint32_t* c, std::uint32_t* d) {
  VI acc = *reinterpret_cast<const VI*>(c);
  for (unsigned k = 0; k < steps.count; ++k) {
    const VI x = loadRow<spread>(pa.value + steps.a[k] + a), y = loadI(pb.value + steps.b[k] + b);
    if constexpr (chain == Chain::f32)
      acc = bitsOf(fusedStep(floatOf(x), floatOf(y), floatOf(acc)));
    else if constexpr (chain == Chain::pairs)
      acc = multiplyPairs(x, y, acc);
    else
      acc += x * y; // 15-bit products: no overflow before the wrapping add
  }
  if constexpr (chain == Chain::f32)
    acc = bitsOf(canonicalNan(floatOf(acc)));
  *reinterpret_cast<VI*>(d) = acc;
}

template <Chain chain> void runChain(Wave& wave, const Op* op) {
  const Plan& plan = *static_cast<const Plan*>(op->extra);
  const Shape& shape = *plan.shape;
  Source a, b;
  readSources(wave, *op, plan, a, b);
  WordPlanes pb;
  decodeWords<chain>(b, shape.dwordsB(), pb);
  Accumulator c;
  readAccumulator(wave, *op, shape, c);
  std::uint32_t* d = wave.lanes(op->dst);

  if (shape.side == 4) {
    const Steps steps = denseSteps(shape, chain == Chain::pairs ? 2 : 1);
    Source spread;
    WordPlanes rows[4];
    for (unsigned i = 0; i < 4; ++i) {
      spreadRow(a, plan, shape.dwordsA(), i, spread);
      decodeWords<chain>(spread, shape.dwordsA(), rows[i]);
    }
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned lane = 0; lane < waveLanes; lane += 16)
        chainAt<chain, true>(rows[i], pb, steps, lane, lane, c.base + i * c.stride + (c.stride ? lane : 0),
                             d + i * waveLanes + lane);
    return;
  }

  WordPlanes pa;
  decodeWords<chain>(a, shape.dwordsA(), pa);
  if constexpr (chain == Chain::bytes) {
    alignas(64) std::uint32_t indices[waveLanes];
    __builtin_memcpy(indices, wave.lanes(op->src[2].reg), sizeof indices);
    Plan dense = plan;
    dense.cbsz = 0;
    forEachTile(dense, [&](unsigned reg, unsigned lane, unsigned rowAt, unsigned columnAt, unsigned row) {
      const Steps steps = sparseSteps(plan, indices, row);
      chainAt<chain, false>(pa, pb, steps, rowAt, columnAt, c.base + reg * c.stride + lane, d + reg * waveLanes + lane);
    });
  } else {
    const Steps steps = denseSteps(shape, chain == Chain::pairs ? 2 : 1);
    forEachTile(plan, [&](unsigned reg, unsigned lane, unsigned rowAt, unsigned columnAt, unsigned) {
      chainAt<chain, false>(pa, pb, steps, rowAt, columnAt, c.base + reg * c.stride + (c.stride ? lane : 0),
                            d + reg * waveLanes + lane);
    });
  }
}

// f64

ASMEVO_INLINE VD readDoubles(const std::uint32_t* low, const std::uint32_t* high, bool negate) {
  const VL lo = __builtin_convertvector(*reinterpret_cast<const VI*>(low), VL) & 0xffffffff;
  const VL hi = __builtin_convertvector(*reinterpret_cast<const VI*>(high), VL) << 32;
  const VL bits = lo | hi;
  return doubleOf(negate ? bits ^ VL(static_cast<std::int64_t>(0x8000000000000000u)) : bits);
}

void runDoubles(Wave& wave, const Op* op) {
  const Plan& plan = *static_cast<const Plan*>(op->extra);
  const Shape& shape = *plan.shape;
  Source a, b;
  readSource(wave, op->src[0].reg, 2, a);
  readSource(wave, op->src[1].reg, 2, b);
  alignas(128) double va[waveLanes], vb[waveLanes];
  for (unsigned lane = 0; lane < waveLanes; lane += 16) {
    *reinterpret_cast<VD*>(va + lane) = readDoubles(a.rows[0] + lane, a.rows[1] + lane, plan.negate & 1);
    *reinterpret_cast<VD*>(vb + lane) = readDoubles(b.rows[0] + lane, b.rows[1] + lane, plan.negate & 2);
  }
  Accumulator c;
  readAccumulator(wave, *op, shape, c);
  const std::uint32_t* constantHigh = c.constant[1];
  std::uint32_t* d = wave.lanes(op->dst);
  // Sixteen lanes hold one row of all blocks, whatever the block size: row 4 * pair + lane / 16.
  for (unsigned pair = 0; pair < shape.dwordsD() / 2; ++pair)
    for (unsigned lane = 0; lane < waveLanes; lane += 16) {
      const unsigned row = 4 * pair + lane / 16;
      const bool constant = c.stride == 0;
      const std::uint32_t* low = constant ? c.base : c.base + 2 * pair * waveLanes + lane;
      VD acc = readDoubles(low, constant ? constantHigh : low + waveLanes, plan.negate & 4);
      for (unsigned k = 0; k < 4; ++k) {
        VD x = VD(va[k * 16 + row % shape.side]);
        if (shape.side < 16) // the row of each lane's own block
          for (unsigned j = 0; j < 16; ++j)
            x[static_cast<int>(j)] = va[k * 16 + j / shape.side * shape.side + row];
        acc = fusedStep(x, *reinterpret_cast<const VD*>(vb + k * 16), acc);
      }
      const VL bits = __builtin_bit_cast(VL, canonicalNan(acc));
      *reinterpret_cast<VI*>(d + 2 * pair * waveLanes + lane) = __builtin_convertvector(bits, VI);
      *reinterpret_cast<VI*>(d + (2 * pair + 1) * waveLanes + lane) = __builtin_convertvector(bits >> 32, VI);
    }
}

template <void (*body)(Wave&, const Op*)> void handle(Wave& wave, const Op* op) {
  body(wave, op);
  ASMEVO_NEXT(wave, op);
}

void handleGroups(Wave& wave, const Op* op) {
  if (wave.fastMfma) [[unlikely]]
    fastGroups(wave, op);
  else
    runGroups(wave, op);
  ASMEVO_NEXT(wave, op);
}

} // namespace

Handler mfmaHandler(const mfma::Shape& shape) {
  switch (shape.a) {
  case Element::f64:
    return handle<runDoubles>;
  case Element::f32:
    return handle<runChain<Chain::f32>>;
  case Element::i8:
    return shape.sparse ? handle<runChain<Chain::bytes>> : handle<runChain<Chain::pairs>>;
  default:
    return handleGroups;
  }
}

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
