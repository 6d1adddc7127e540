// Convolution as im2col and a matrix multiplication in 16x16 tiles through LDS: d = alpha a b + beta c.
#include "im2col.h"

extern "C" __global__ void conv2d_gemm(int m, int n, int k, float alpha, float beta, const float* a, const float* b,
                                       const float* c, float* d) {
  __shared__ float left[16][16];
  __shared__ float right[16][16];
  const int x = (int)threadIdx.x, y = (int)threadIdx.y;
  const int row = (int)((blockDim.y * blockIdx.y + threadIdx.y) / blockDim.y) * 16 + y;
  const int column = (int)((blockDim.x * blockIdx.x + threadIdx.x) / blockDim.x) * 16 + x;

  d[row * n + column] = 0;
  float sum = 0;
  for (int tile = 0; tile < (k - 1) / 16 + 1; ++tile) {
    left[y][x] = tile * 16 + x < k && row < m ? a[row * k + tile * 16 + x] : 0;
    right[y][x] = tile * 16 + y < k && column < n ? b[(tile * 16 + y) * n + column] : 0;
    __syncthreads();
    for (int j = 0; j < 16; ++j)
      if (j + 16 * tile < k)
        sum += left[y][j] * right[j][x];
    __syncthreads();
  }
  if (row < m && column < n)
    d[row * n + column] = alpha * sum + beta * c[row * n + column];
}
