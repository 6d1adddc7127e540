// C = alpha * A * B + beta * C: tiles of 32x32 in LDS, two by two results for each work-item.
#include "gpu.h"

extern "C" __global__ void small_gemm(const float* a, const float* b, float* c, int m, int n, int k, float alpha,
                                      float beta) {
  __shared__ float aTile[32][33];
  __shared__ float bTile[32][33];
  const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
  const int row0 = (int)blockIdx.y * 32, column0 = (int)blockIdx.x * 32;
  float sum[2][2] = {};
  for (int k0 = 0; k0 < k; k0 += 32) {
    for (int i = ty; i < 32; i += 16)
      for (int j = tx; j < 32; j += 16) {
        aTile[i][j] = row0 + i < m && k0 + j < k ? a[(row0 + i) * k + k0 + j] : 0.0f;
        bTile[i][j] = k0 + i < k && column0 + j < n ? b[(k0 + i) * n + column0 + j] : 0.0f;
      }
    __syncthreads();
    for (int kk = 0; kk < 32; ++kk)
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          sum[i][j] = __builtin_fmaf(aTile[ty + 16 * i][kk], bTile[kk][tx + 16 * j], sum[i][j]);
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const int row = row0 + ty + 16 * i, column = column0 + tx + 16 * j;
      if (row < m && column < n)
        c[row * n + column] = __builtin_fmaf(alpha, sum[i][j], beta * c[row * n + column]);
    }
}
