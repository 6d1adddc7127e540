/// C = A * B in f32 on the matrix cores: workgroups of four waves make 128x128 of C from tiles of 128x16 of A and
/// 16x128 of B in LDS; the next tiles are on their way to registers meanwhile. Edges of any size are padded with zeros.
#pragma once

#include "kernelbench30/elementwise.h"

/// v_mfma_f32_32x32x2_f32: a holds A[lane % 32][lane / 32], b holds B[lane / 32][lane % 32]; element 4 * g + j of the
/// result is row 8 * g + 4 * (lane / 32) + j, column lane % 32. A chain of fused multiply-adds.
#ifdef ASMEVO_HOST
inline float16 mfma32x32x2(float a, float b, float16 c) {
  const auto both =
      asmevo::host::gather(std::uint64_t{std::bit_cast<std::uint32_t>(a)} << 32 | std::bit_cast<std::uint32_t>(b));
  const unsigned lane = __lane_id();
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned k = 0; k < 2; ++k) {
      const unsigned row = 8 * (i / 4) + 4 * (lane / 32) + i % 4;
      c[i] = __builtin_fmaf(std::bit_cast<float>(static_cast<std::uint32_t>(both[32 * k + row] >> 32)),
                            std::bit_cast<float>(static_cast<std::uint32_t>(both[32 * k + lane % 32])), c[i]);
    }
  return c;
}
#else
static inline __device__ float16 mfma32x32x2(float a, float b, float16 c) {
  return __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 0);
}
#endif

constexpr int tileSize = 128, tileDepth = 16;
/// A row of a tile in LDS, padded so that the transposed stores of A spread over the banks.
constexpr int tileStride = tileSize + 4;

/// Where a work-item's two float4 of a 16x128 tile lie when rows of the tile are rows of the matrix.
struct RowTile {
  static __device__ void load(float4 (&x)[2], const float* matrix, int depth, int extent, int k0, int first) {
    const int t = (int)threadIdx.x;
    for (int half = 0; half < 2; ++half) {
      const int k = k0 + t / 32 + 8 * half, column = first + t % 32 * 4;
      x[half] = k < depth ? loadUpTo4(matrix + (long)k * extent + column, extent - column) : 0.0f;
    }
  }
  static __device__ void store(const float4 (&x)[2], float (*tile)[tileStride]) {
    const int t = (int)threadIdx.x;
    for (int half = 0; half < 2; ++half)
      *(float4*)&tile[t / 32 + 8 * half][t % 32 * 4] = x[half];
  }
};

/// The same when rows of the tile are columns of the matrix: four values along the depth, stored transposed.
struct ColumnTile {
  static __device__ void load(float4 (&x)[2], const float* matrix, int depth, int extent, int k0, int first) {
    const int t = (int)threadIdx.x;
    for (int half = 0; half < 2; ++half) {
      const int row = first + t / 4 + 64 * half, k = k0 + t % 4 * 4;
      x[half] = row < extent ? loadUpTo4(matrix + (long)row * depth + k, depth - k) : 0.0f;
    }
  }
  static __device__ void store(const float4 (&x)[2], float (*tile)[tileStride]) {
    const int t = (int)threadIdx.x;
    for (int half = 0; half < 2; ++half)
      for (int j = 0; j < 4; ++j)
        tile[t % 4 * 4 + j][t / 4 + 64 * half] = x[half][j];
  }
};

/// `a` is [m][k] with ColumnTile and [k][m] with RowTile, `b` [k][n], `c` [m][n].
template <class ATile>
static inline __device__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                     int m, int n, int k) {
  alignas(16) __shared__ float aTile[tileDepth][tileStride];
  alignas(16) __shared__ float bTile[tileDepth][tileStride];
  const int lane = (int)threadIdx.x % 64, wave = (int)threadIdx.x / 64;
  const int firstRow = (int)blockIdx.y * tileSize, firstColumn = (int)blockIdx.x * tileSize;
  const int waveRow = wave / 2 * 64, waveColumn = wave % 2 * 64;

  float16 sums[2][2] = {};
  float4 nextA[2], nextB[2];
  ATile::load(nextA, a, k, m, 0, firstRow);
  RowTile::load(nextB, b, k, n, 0, firstColumn);
  for (int k0 = 0; k0 < k; k0 += tileDepth) {
    ATile::store(nextA, aTile);
    RowTile::store(nextB, bTile);
    __syncthreads();
    if (k0 + tileDepth < k) {
      ATile::load(nextA, a, k, m, k0 + tileDepth, firstRow);
      RowTile::load(nextB, b, k, n, k0 + tileDepth, firstColumn);
    }
#pragma unroll
    for (int i = 0; i < tileDepth; i += 2) {
      const int depth = i + lane / 32;
      float left[2], right[2];
      for (int part = 0; part < 2; ++part) {
        left[part] = aTile[depth][waveRow + 32 * part + lane % 32];
        right[part] = bTile[depth][waveColumn + 32 * part + lane % 32];
      }
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 2; ++x)
          sums[y][x] = mfma32x32x2(left[y], right[x], sums[y][x]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int y = 0; y < 2; ++y)
#pragma unroll
    for (int x = 0; x < 2; ++x)
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int row = firstRow + waveRow + 32 * y + 8 * (i / 4) + 4 * (lane / 32) + i % 4;
        const int column = firstColumn + waveColumn + 32 * x + lane % 32;
        if (row < m && column < n)
          c[(long)row * n + column] = sums[y][x][i];
      }
}
