// C = A * B: 8x8 work-items, each a 4x4 block of C. A's tile goes through a global scratch buffer that all workgroups
// share, and every workgroup reads A's first 32 rows, as in the measured program. `depth` columns of A are used.
#include "gpu.h"

extern "C" __global__ void matrixmultiplication(float4* a, float4* b, float4* c, int widthA, float4* scratch,
                                                int depth) {
  const int x = (int)threadIdx.x, y = (int)threadIdx.y, side = (int)blockDim.x;
  const int column = (int)(blockDim.x * blockIdx.x) + x, row = (int)(blockDim.y * blockIdx.y) + y;
  const int pitch = (int)(gridDim.x * blockDim.x), pitchA = widthA / 4;
  const int slot = x + side * (y * 4);
  float4 sum[4] = {};

  const int tiles = depth / 4 / side;
  for (int tile = 0; tile < tiles; ++tile) {
    const int fromA = tile * side + x + (y * 4) * pitchA;
    scratch[slot] = a[fromA];
    scratch[slot + side] = a[fromA + pitchA];
    scratch[slot + 2 * side] = a[fromA + 2 * pitchA];
    scratch[slot + 3 * side] = a[fromA + 3 * pitchA];
    __syncthreads();

    const int fromB = column + tile * side * 4 * pitch;
    for (int j = 0; j < side * 4; j += 4) {
      float4 left[4], right[4];
      for (int i = 0; i < 4; ++i)
        left[i] = scratch[j / 4 + (y * 4 + i) * side];
      for (int i = 0; i < 4; ++i)
        right[i] = b[fromB + (j + i) * pitch];
      for (int i = 0; i < 4; ++i)
        sum[i] += left[i].x * right[0] + left[i].y * right[1] + left[i].z * right[2] + left[i].w * right[3];
    }
    __syncthreads();
  }
  const int to = column + row * 4 * pitch;
  for (int i = 0; i < 4; ++i)
    c[to + i * pitch] = sum[i];
}
