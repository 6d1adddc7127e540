// Each row over the sum of its absolute values: one workgroup of 1024 per row, two passes over it.
#include "kernelbench30/elementwise.h"
#include "kernelbench30/reduce.h"

extern "C" __global__ __launch_bounds__(1024) void p38_l1_norm(const float* __restrict__ in, float* __restrict__ out,
                                                               int columns) {
  __shared__ float partial[16];
  const int t = (int)threadIdx.x;
  const float* row = in + (long)blockIdx.x * columns;
  float* result = out + (long)blockIdx.x * columns;
  const int tail = columns / 4 * 4 + t;

  float sum = 0.0f;
  for (int i = t * 4; i + 4 <= columns; i += 4096) {
    const float4 x = *(const float4u*)(row + i);
    sum += (absolute(x[0]) + absolute(x[1])) + (absolute(x[2]) + absolute(x[3]));
  }
  if (tail < columns)
    sum += absolute(row[tail]);
  sum = groupReduce<16>(sum, partial, Add{});
  const float inverse = 1.0f / sum;

  for (int i = t * 4; i + 4 <= columns; i += 4096) {
    const float4 x = *(const float4u*)(row + i);
    *(float4u*)(result + i) = x * inverse;
  }
  if (tail < columns)
    result[tail] = row[tail] * inverse;
}
