// out[x][y] = in[y][x] through a 32x32 LDS tile, a padding column against bank conflicts; 32x8 work-items.
#include "gpu.h"

extern "C" __global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[32][33];
  const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
  const int x = (int)blockIdx.x * 32 + tx;
  for (int i = 0; i < 32; i += 8) {
    const int y = (int)blockIdx.y * 32 + ty + i;
    if (x < width && y < height)
      tile[ty + i][tx] = in[y * width + x];
  }
  __syncthreads();
  const int column = (int)blockIdx.y * 32 + tx;
  for (int i = 0; i < 32; i += 8) {
    const int row = (int)blockIdx.x * 32 + ty + i;
    if (column < height && row < width)
      out[row * height + column] = tile[tx][ty + i];
  }
}
