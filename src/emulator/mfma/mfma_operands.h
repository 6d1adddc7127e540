/// Operands of matrix instructions: how elements are gathered from one wave's registers. Included only by the
/// mfma_*_simd.cpp files.
#pragma once

#include "emulator/mfma/mfma_arithmetic.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

using mfma::Element;
using mfma::Plan;
using mfma::Shape;

constexpr unsigned waveLanes = 64;
constexpr unsigned maxPerLane = 16; ///< elements of k in one lane: B of the 8-bit SMFMAC
constexpr unsigned maxK = 64;
constexpr unsigned maxDwords = 4;

/// The registers of one source, possibly with lanes permuted.
struct Source {
  const std::uint32_t* rows[maxDwords];
  alignas(64) std::uint32_t permuted[maxDwords][waveLanes];
};

ASMEVO_INLINE void readSource(const Wave& wave, unsigned reg, unsigned dwords, Source& source) {
  for (unsigned d = 0; d < dwords; ++d)
    source.rows[d] = wave.lanes(reg + d);
}

ASMEVO_INLINE void permuteB(Source& source, unsigned dwords, unsigned blgp) {
  for (unsigned d = 0; d < dwords; ++d) {
    for (unsigned lane = 0; lane < waveLanes; ++lane)
      source.permuted[d][lane] = source.rows[d][mfma::permutedLaneB(lane, blgp)];
    source.rows[d] = source.permuted[d];
  }
}

/// A and B, with B's lanes permuted as the plan says.
ASMEVO_INLINE void readSources(const Wave& wave, const Op& op, const Plan& plan, Source& a, Source& b) {
  const Shape& shape = *plan.shape;
  readSource(wave, op.src[0].reg, shape.dwordsA(), a);
  readSource(wave, op.src[1].reg, shape.dwordsB(), b);
  if (plan.blgp)
    permuteB(b, shape.dwordsB(), plan.blgp);
}

/// Row i of A of every 4x4 block, spread over the lanes of the block's columns.
ASMEVO_INLINE void spreadRow(const Source& from, const Plan& plan, unsigned dwords, unsigned i, Source& to) {
  const Shape& shape = *plan.shape;
  const unsigned step = shape.lanesPerStep();
  for (unsigned d = 0; d < dwords; ++d) {
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      const unsigned block = lane % step / shape.side;
      to.permuted[d][lane] =
          from.rows[d][lane - lane % step + mfma::broadcastBlockA(block, plan.cbsz, plan.abid) * shape.side + i];
    }
    to.rows[d] = to.permuted[d];
  }
}

/// Where each step of k is found in the planes, as an index into them without the row or column.
struct Steps {
  unsigned count = 0;
  std::uint16_t a[maxK], b[maxK];
};

ASMEVO_INLINE Steps denseSteps(const Shape& shape, unsigned elementsPerStep) {
  Steps steps;
  const unsigned perLane = shape.perLaneB() / elementsPerStep;
  steps.count = shape.k / elementsPerStep;
  for (unsigned k = 0; k < steps.count; ++k)
    steps.a[k] = steps.b[k] =
        static_cast<std::uint16_t>((k % perLane) * waveLanes + (k / perLane) * shape.lanesPerStep());
  return steps;
}

/// SMFMAC: the elements of B that row `i` of A selects. `indices`: the index register's lanes.
ASMEVO_INLINE Steps sparseSteps(const Plan& plan, const std::uint32_t* indices, unsigned i) {
  const Shape& shape = *plan.shape;
  Steps steps;
  const unsigned perLane = shape.perLaneA(), set = plan.abid * perLane * 2;
  steps.count = shape.k / 2u;
  for (unsigned k = 0; k < steps.count; ++k) {
    const unsigned e = k % perLane, lane = k / perLane * shape.side;
    const unsigned index = indices[lane + i] >> (set + 2 * e) & 3;
    steps.a[k] = static_cast<std::uint16_t>(e * waveLanes + lane);
    steps.b[k] = static_cast<std::uint16_t>((e / 2 * 4 + index) * waveLanes + lane);
  }
  return steps;
}

/// The accumulator's source: registers, or a constant's lanes (stride 0).
struct Accumulator {
  const std::uint32_t* base = nullptr;
  unsigned stride = waveLanes;
  alignas(64) std::uint32_t constant[2][waveLanes];
  alignas(64) std::uint32_t copy[32][waveLanes];
};

ASMEVO_INLINE void readAccumulator(const Wave& wave, const Op& op, const Shape& shape, Accumulator& c) {
  const unsigned count = shape.dwordsD();
  if (shape.sparse) {
    c.base = wave.lanes(op.dst);
  } else if (op.src[2].kind == SrcKind::constant) {
    for (unsigned lane = 0; lane < waveLanes; ++lane) {
      c.constant[0][lane] = static_cast<std::uint32_t>(op.src[2].constant);
      c.constant[1][lane] = static_cast<std::uint32_t>(op.src[2].constant >> 32);
    }
    c.base = c.constant[0];
    c.stride = 0;
  } else {
    const unsigned reg = op.src[2].reg;
    c.base = wave.lanes(reg);
    const bool overlaps = reg != op.dst && reg < op.dst + count && op.dst < reg + count;
    if (overlaps) { // a destination written early must not be read back as C
      for (unsigned r = 0; r < count; ++r)
        for (unsigned lane = 0; lane < waveLanes; ++lane)
          c.copy[r][lane] = c.base[r * waveLanes + lane];
      c.base = c.copy[0];
    }
  }
}

/// Calls f(register, first lane, A's row offset, B's column offset) for every 16 lanes of D (32-bit, side 16 or 32).
template <class F> ASMEVO_INLINE void forEachTile(const Plan& plan, F&& f) {
  const unsigned side = plan.shape->side, perBlock = side * side / waveLanes;
  for (unsigned block = 0; block < plan.shape->blocks; ++block) {
    const unsigned blockA = mfma::broadcastBlockA(block, plan.cbsz, plan.abid);
    for (unsigned r = 0; r < perBlock; ++r)
      for (unsigned lane = 0; lane < waveLanes; lane += 16) {
        const unsigned row = 4 * (r / 4 * (waveLanes / side) + lane / side) + r % 4;
        f(block * perBlock + r, lane, blockA * side + row, block * side + lane % side, row);
      }
  }
}

template <bool spread> ASMEVO_INLINE VF loadRow(const float* p) {
  if constexpr (spread)
    return loadF(p);
  else
    return VF(*p);
}
template <bool spread> ASMEVO_INLINE VI loadRow(const std::int32_t* p) {
  if constexpr (spread)
    return loadI(p);
  else
    return VI(*p);
}

/// The shorter arithmetic of mfma_fast_simd.cpp, for f16, bf16, xf32, fp8 and bf8.
void fastGroups(Wave& wave, const Op* op);

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
