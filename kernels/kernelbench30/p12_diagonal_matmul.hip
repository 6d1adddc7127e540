// diag(d) * B: row i of B times d[i]. A row of workgroups per row of the matrix, 16 bytes a work-item.
#include "kernelbench30/elementwise.h"

extern "C" __global__ __launch_bounds__(256) void p12_diagonal_matmul(const float* __restrict__ d,
                                                                      const float* __restrict__ b,
                                                                      float* __restrict__ c, int columns) {
  const int column = (int)(blockIdx.x * 256 + threadIdx.x) * 4;
  const float factor = d[blockIdx.y];
  const float* from = b + (long)blockIdx.y * columns;
  float* to = c + (long)blockIdx.y * columns;
  if (column + 4 <= columns) {
    *(float4u*)(to + column) = *(const float4u*)(from + column) * factor;
  } else {
    for (int k = column; k < columns; ++k)
      to[k] = from[k] * factor;
  }
}
