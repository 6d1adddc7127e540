/// The common case of vector memory: all 64 lanes active, unobserved, one element after the other. Found with a few
/// vector compares, moved with shuffles, no branch per lane. Everything else takes the resolvers of lane_access.h.
/// Included by the *_simd.cpp files
/// of this folder.
#pragma once

#include "emulator/memory/buffer_resource.h"
#include "emulator/memory/resolve.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace contiguous {

using Dwords = std::uint32_t __attribute__((ext_vector_type(8)));
using Quad = std::uint32_t __attribute__((ext_vector_type(4)));

inline Dwords at(const void* p) {
  Dwords x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline void put(void* p, Dwords x) {
  std::memcpy(p, &x, sizeof x);
}
inline Quad quad(const std::uint8_t* p) {
  Quad x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

/// lanes[i] == lanes[0] + i * stride for all 64, without wrapping.
inline bool isStrided(const std::uint32_t* lanes, std::uint32_t stride) {
  const Dwords steps = Dwords{0, 1, 2, 3, 4, 5, 6, 7} * Dwords(stride);
  Dwords expected = steps + Dwords(lanes[0]), different = Dwords(0);
  for (unsigned i = 0; i < 64; i += 8) {
    different |= at(lanes + i) ^ expected;
    expected += Dwords(8 * stride);
  }
  return __builtin_reduce_or(different) == 0 && lanes[0] <= 0xffffffffu - 63 * stride;
}
inline bool allEqual(const std::uint32_t* lanes) {
  Dwords different = Dwords(0);
  for (unsigned i = 0; i < 64; i += 8)
    different |= at(lanes + i) ^ Dwords(lanes[0]);
  return __builtin_reduce_or(different) == 0;
}

/// 64 elements of N dwords, one after the other, to N registers.
template <unsigned N> void load(std::uint32_t* to, const std::uint8_t* from) {
  if constexpr (N == 1) {
    std::memcpy(to, from, 256);
  } else if constexpr (N == 2) {
    for (unsigned lane = 0; lane < 64; lane += 8) {
      const Dwords a = at(from + 8 * lane), b = at(from + 8 * lane + 32);
      put(to + lane, __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14));
      put(to + 64 + lane, __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15));
    }
  } else if constexpr (N == 4) {
    for (unsigned lane = 0; lane < 64; lane += 8) {
      const std::uint8_t* p = from + 16 * lane;
      // Halves of each vector: lane i and lane i + 4.
      const auto pair = [&](unsigned i) {
        return __builtin_shufflevector(quad(p + 16 * i), quad(p + 16 * i + 64), 0, 1, 2, 3, 4, 5, 6, 7);
      };
      const Dwords a = pair(0), b = pair(1), c = pair(2), d = pair(3);
      const Dwords ab01 = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
      const Dwords ab23 = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
      const Dwords cd01 = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
      const Dwords cd23 = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
      put(to + lane, __builtin_shufflevector(ab01, cd01, 0, 1, 8, 9, 4, 5, 12, 13));
      put(to + 64 + lane, __builtin_shufflevector(ab01, cd01, 2, 3, 10, 11, 6, 7, 14, 15));
      put(to + 128 + lane, __builtin_shufflevector(ab23, cd23, 0, 1, 8, 9, 4, 5, 12, 13));
      put(to + 192 + lane, __builtin_shufflevector(ab23, cd23, 2, 3, 10, 11, 6, 7, 14, 15));
    }
  } else {
    alignas(64) std::uint32_t block[64 * N];
    std::memcpy(block, from, sizeof block);
    for (unsigned k = 0; k < N; ++k)
      for (unsigned lane = 0; lane < 64; ++lane)
        to[k * 64 + lane] = block[lane * N + k];
  }
}

template <unsigned N> void store(std::uint8_t* to, const std::uint32_t* from) {
  if constexpr (N == 1) {
    std::memcpy(to, from, 256);
  } else if constexpr (N == 2) {
    for (unsigned lane = 0; lane < 64; lane += 8) {
      const Dwords a = at(from + lane), b = at(from + 64 + lane);
      std::uint8_t* const p = to + 8 * lane;
      put(p, __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
      put(p + 32, __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
    }
  } else if constexpr (N == 4) {
    for (unsigned lane = 0; lane < 64; lane += 8) {
      const Dwords a = at(from + lane), b = at(from + 64 + lane);
      const Dwords c = at(from + 128 + lane), d = at(from + 192 + lane);
      const Dwords ab01 = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13); // lanes 0, 1 and 4, 5
      const Dwords ab23 = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
      const Dwords cd01 = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
      const Dwords cd23 = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
      std::uint8_t* const p = to + 16 * lane;
      put(p, __builtin_shufflevector(ab01, cd01, 0, 1, 8, 9, 2, 3, 10, 11));
      put(p + 32, __builtin_shufflevector(ab23, cd23, 0, 1, 8, 9, 2, 3, 10, 11));
      put(p + 64, __builtin_shufflevector(ab01, cd01, 4, 5, 12, 13, 6, 7, 14, 15));
      put(p + 96, __builtin_shufflevector(ab23, cd23, 4, 5, 12, 13, 6, 7, 14, 15));
    }
  } else {
    alignas(64) std::uint32_t block[64 * N];
    for (unsigned k = 0; k < N; ++k)
      for (unsigned lane = 0; lane < 64; ++lane)
        block[lane * N + k] = from[k * 64 + lane];
    std::memcpy(to, block, sizeof block);
  }
}

} // namespace contiguous

/// Host address of lane 0 when all lanes' elements lie one after the other, wholly in range; else null.
template <Resolver R> std::uint8_t* contiguousHost(Wave& wave, const Op* op, const AccessShape& shape) {
  constexpr bool perLane64 = R == resolveGlobal || R == resolveFlat;
  if (wave.exec() != allLanes || wave.reports || op->src[0].kind == SrcKind::none)
    return nullptr;
  const std::uint32_t* lanes = wave.lanes(op->src[0].reg);
  if constexpr (R == resolveBuffer) {
    if (op->src[3].dwords != bufferOffen)
      return nullptr;
  }
  if (!contiguous::isStrided(lanes, shape.bytes))
    return nullptr;
  const std::uint64_t bytes = std::uint64_t{64} * shape.bytes;
  std::uint64_t address = 0;
  if constexpr (R == resolveLds) {
    const std::uint64_t first = std::uint64_t{lanes[0]} + static_cast<std::uint32_t>(op->aux);
    if (first + bytes > wave.ldsBytes)
      return nullptr;
    noteLds(wave, first, bytes);
    return wave.lds + first;
  } else if constexpr (R == resolveGlobalScalar) {
    address = wave.pair(op->src[2].reg) + op->aux + lanes[0];
  } else if constexpr (perLane64) {
    if (!contiguous::allEqual(lanes + 64))
      return nullptr;
    address = (lanes[0] | std::uint64_t{lanes[64]} << 32) + op->aux;
  } else if constexpr (R == resolveBuffer) {
    const BufferResource resource(wave, op->src[2].reg);
    const std::uint64_t soffset = wave.scalar32(op->src[3]), relative = op->aux + lanes[0];
    if (!resource.linear() || soffset + relative + bytes > resource.records)
      return nullptr;
    address = resource.base + soffset + relative;
  } else {
    return nullptr;
  }
  return shape.store ? wave.memory->hostForStore(address, bytes) : wave.memory->host(address, bytes);
}

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
