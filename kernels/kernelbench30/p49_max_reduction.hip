// Maximum over the middle dimension of [batch][rows][columns]: a workgroup takes 64 columns, and its 16 waves every
// 16th row.
#include "kernelbench30/reduce.h"

extern "C" __global__ __launch_bounds__(1024) void p49_max_reduction(const float* __restrict__ in,
                                                                     float* __restrict__ out, int rows, int columns) {
  __shared__ float partial[16][64];
  const int column = (int)(blockIdx.x * 64 + threadIdx.x);
  const Maximum combine{};
  float result = -infinity();
  if (column < columns) {
    const float* from = in + (long)blockIdx.y * rows * columns + column;
    for (int row = (int)threadIdx.y; row < rows; row += 16)
      result = combine(result, from[(long)row * columns]);
  }
  partial[threadIdx.y][threadIdx.x] = result;
  __syncthreads();
  if (threadIdx.y == 0 && column < columns) {
    for (int wave = 1; wave < 16; ++wave)
      result = combine(result, partial[wave][threadIdx.x]);
    out[(long)blockIdx.y * columns + column] = result;
  }
}
