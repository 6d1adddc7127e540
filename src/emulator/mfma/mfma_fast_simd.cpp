// The short form of the floating-point matrix instructions: a chain of f32 fused multiply-adds over k. Not what the
// hardware computes: results differ from the bit-exact form by roundings. For a search's cheap gates only
// (RunOptions::fastMfma).
#include "emulator/mfma/mfma_operands.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace {

struct FloatPlanes {
  alignas(64) float value[maxPerLane * waveLanes];
};

void toFloats(Element type, const Source& source, unsigned dwords, FloatPlanes& planes) {
  const auto convert = [&](Element fixed) {
    const unsigned perDword = 32 / mfma::elementBits(fixed);
    for (unsigned d = 0; d < dwords; ++d)
      for (unsigned lane = 0; lane < waveLanes; lane += 16) {
        const VI dword = *reinterpret_cast<const VI*>(source.rows[d] + lane);
        for (unsigned e = 0; e < perDword; ++e)
          *reinterpret_cast<VF*>(planes.value + (d * perDword + e) * waveLanes + lane) =
              decodeElement(fixed, dword, e).raw;
      }
  };
  switch (type) { // one specialised loop per type
  case Element::f16:
    return convert(Element::f16);
  case Element::bf16:
    return convert(Element::bf16);
  case Element::fp8:
    return convert(Element::fp8);
  case Element::bf8:
    return convert(Element::bf8);
  default:
    return convert(Element::xf32);
  }
}

/// Registers r to r + 3 of 16 lanes of D: four rows that share every element of B.
ASMEVO_INLINE void fourRows(const FloatPlanes& a, const FloatPlanes& b, const Steps& steps, unsigned rowAt,
                            unsigned columnAt, const std::uint32_t* c, std::size_t cStep, std::uint32_t* d) {
  VF sum[4];
#pragma clang loop unroll(full)
  for (unsigned r = 0; r < 4; ++r)
    sum[r] = floatOf(*reinterpret_cast<const VI*>(c + r * cStep));
  for (unsigned k = 0; k < steps.count; ++k) {
    const VF column = loadF(b.value + steps.b[k] + columnAt);
    const float* row = a.value + steps.a[k] + rowAt;
#pragma clang loop unroll(full)
    for (unsigned r = 0; r < 4; ++r)
      sum[r] = fusedStep(VF(row[r]), column, sum[r]);
  }
#pragma clang loop unroll(full)
  for (unsigned r = 0; r < 4; ++r)
    *reinterpret_cast<VI*>(d + r * waveLanes) = bitsOf(canonicalNan(sum[r]));
}

void fastSmall(const Plan& plan, const Source& a, const FloatPlanes& b, const Accumulator& c, std::uint32_t* d) {
  const Shape& shape = *plan.shape;
  const Steps steps = denseSteps(shape, 1);
  Source spread;
  FloatPlanes rows[4];
  for (unsigned i = 0; i < 4; ++i) {
    spreadRow(a, plan, shape.dwordsA(), i, spread);
    toFloats(shape.a, spread, shape.dwordsA(), rows[i]);
  }
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned lane = 0; lane < waveLanes; lane += 16) {
      VF sum = floatOf(*reinterpret_cast<const VI*>(c.base + i * c.stride + (c.stride ? lane : 0)));
      for (unsigned k = 0; k < steps.count; ++k)
        sum = fusedStep(loadF(rows[i].value + steps.a[k] + lane), loadF(b.value + steps.b[k] + lane), sum);
      *reinterpret_cast<VI*>(d + i * waveLanes + lane) = bitsOf(canonicalNan(sum));
    }
}

void fastSparse(const Wave& wave, const Op* op, const FloatPlanes& a, const FloatPlanes& b, const Accumulator& c,
                std::uint32_t* d) {
  const Plan& plan = *static_cast<const Plan*>(op->extra);
  alignas(64) std::uint32_t indices[waveLanes];
  __builtin_memcpy(indices, wave.lanes(op->src[2].reg), sizeof indices);
  Plan dense = plan; // abid selects indices here, not blocks
  dense.cbsz = 0;
  forEachTile(dense, [&](unsigned reg, unsigned lane, unsigned rowAt, unsigned columnAt, unsigned row) {
    const Steps steps = sparseSteps(plan, indices, row);
    VF sum = floatOf(*reinterpret_cast<const VI*>(c.base + reg * c.stride + lane));
    for (unsigned k = 0; k < steps.count; ++k)
      sum = fusedStep(VF(a.value[steps.a[k] + rowAt]), loadF(b.value + steps.b[k] + columnAt), sum);
    *reinterpret_cast<VI*>(d + reg * waveLanes + lane) = bitsOf(canonicalNan(sum));
  });
}

} // namespace

void fastGroups(Wave& wave, const Op* op) {
  const Plan& plan = *static_cast<const Plan*>(op->extra);
  const Shape& shape = *plan.shape;
  Source a, b;
  readSources(wave, *op, plan, a, b);
  FloatPlanes pa, pb;
  toFloats(shape.b, b, shape.dwordsB(), pb);
  Accumulator c;
  readAccumulator(wave, *op, shape, c);
  std::uint32_t* d = wave.lanes(op->dst);
  if (shape.side == 4)
    return fastSmall(plan, a, pb, c, d);
  toFloats(shape.a, a, shape.dwordsA(), pa);
  if (shape.sparse)
    return fastSparse(wave, op, pa, pb, c, d);
  const Steps steps = denseSteps(shape, 1);
  // Tiles come in order of their registers: those of registers 4n to 4n + 3 lie on four rows that follow each other.
  forEachTile(plan, [&](unsigned reg, unsigned lane, unsigned rowAt, unsigned columnAt, unsigned) {
    if (reg % 4 == 0)
      fourRows(pa, pb, steps, rowAt, columnAt, c.base + reg * c.stride + (c.stride ? lane : 0), c.stride,
               d + reg * waveLanes + lane);
  });
}

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
