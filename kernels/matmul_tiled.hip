// C[M,N] = A[M,K] * B[K,N] in f32: 16x16 tiles of A and B through LDS, edges padded with zeros.
#include "gpu.h"

extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float aTile[16][16];
  __shared__ float bTile[16][16];
  const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
  const int row = (int)blockIdx.y * 16 + ty;
  const int column = (int)blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += 16) {
    aTile[ty][tx] = row < m && k0 + tx < k ? a[row * k + k0 + tx] : 0.0f;
    bTile[ty][tx] = column < n && k0 + ty < k ? b[(k0 + ty) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum = __builtin_fmaf(aTile[ty][i], bTile[i][tx], sum);
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}
