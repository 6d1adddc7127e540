// Transpose in blocks of 64x64 floats through LDS: 16x16 work-items, each with a 4x4 block as four float4. Workgroups
// go over the matrix along diagonals.
#include "gpu.h"

extern "C" __global__ void matrixtranspose(float4* __restrict__ out, float4* __restrict__ in, unsigned width,
                                           unsigned height, unsigned blocksPerRow) {
  DYNAMIC_SHARED(float4, tile); // 64 rows of 16 float4
  const unsigned x = threadIdx.x, y = threadIdx.y, side = blockDim.x;
  const unsigned blockRow = blockIdx.x, blockColumn = (blockIdx.x + blockIdx.y) % blocksPerRow;

  const unsigned from = blockColumn * side + x + (blockRow * side + y) * width * 4;
  unsigned at = y * side * 4 + x;
  tile[at] = in[from];
  tile[at + side] = in[from + width];
  tile[at + 2 * side] = in[from + 2 * width];
  tile[at + 3 * side] = in[from + 3 * width];
  __syncthreads();

  const unsigned to = blockRow * side + x + (blockColumn * side + y) * height * 4;
  at = x * side * 4 + y;
  const float4 a = tile[at], b = tile[at + side], c = tile[at + 2 * side], d = tile[at + 3 * side];
  out[to] = float4{a.x, b.x, c.x, d.x};
  out[to + height] = float4{a.y, b.y, c.y, d.y};
  out[to + 2 * height] = float4{a.z, b.z, c.z, d.z};
  out[to + 3 * height] = float4{a.w, b.w, c.w, d.w};
}
