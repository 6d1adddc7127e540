// y = A * x, one workgroup of 512 per row: 16 bytes of A and x per work-item and turn.
#include "kernelbench30/elementwise.h"
#include "kernelbench30/reduce.h"

extern "C" __global__ __launch_bounds__(512) void p04_matrix_vector(const float* __restrict__ a,
                                                                    const float* __restrict__ x, float* __restrict__ y,
                                                                    int columns) {
  __shared__ float partial[8];
  const int t = (int)threadIdx.x;
  const float* row = a + (long)blockIdx.x * columns;
  float4 sum = 0.0f;
  for (int i = t * 4; i + 4 <= columns; i += 2048) {
    const float4 left = *(const float4u*)(row + i);
    const float4 right = *(const float4u*)(x + i);
    for (int k = 0; k < 4; ++k)
      sum[k] = __builtin_fmaf(left[k], right[k], sum[k]);
  }
  float total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  const int tail = columns / 4 * 4 + t;
  if (tail < columns)
    total = __builtin_fmaf(row[tail], x[tail], total);
  total = groupReduce<8>(total, partial, Add{});
  if (t == 0)
    y[blockIdx.x] = total;
}
