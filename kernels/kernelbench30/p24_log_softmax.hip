// LogSoftmax of each row: one workgroup of 1024 per row, three passes over it.
#include "kernelbench30/elementwise.h"
#include "kernelbench30/reduce.h"

extern "C" __global__ __launch_bounds__(1024) void p24_log_softmax(const float* __restrict__ in,
                                                                   float* __restrict__ out, int columns) {
  __shared__ float partial[2][16];
  const int t = (int)threadIdx.x;
  const float* row = in + (long)blockIdx.x * columns;
  float* result = out + (long)blockIdx.x * columns;
  const int tail = columns / 4 * 4 + t;

  float largest = -infinity();
  for (int i = t * 4; i + 4 <= columns; i += 4096) {
    const float4 x = *(const float4u*)(row + i);
    largest = maximum(largest, maximum(maximum(x[0], x[1]), maximum(x[2], x[3])));
  }
  if (tail < columns)
    largest = maximum(largest, row[tail]);
  largest = groupReduce<16>(largest, partial[0], Maximum{});

  float sum = 0.0f;
  for (int i = t * 4; i + 4 <= columns; i += 4096) {
    const float4 x = *(const float4u*)(row + i);
    for (int k = 0; k < 4; ++k)
      sum += exponential(x[k] - largest);
  }
  if (tail < columns)
    sum += exponential(row[tail] - largest);
  sum = groupReduce<16>(sum, partial[1], Add{});
  const float shift = largest + logarithm(sum);

  const auto value = [=](float x) { return x - shift; };
  for (int i = t * 4; i + 4 <= columns; i += 4096) {
    float4 x = *(const float4u*)(row + i);
    for (int k = 0; k < 4; ++k)
      x[k] = value(x[k]);
    *(float4u*)(result + i) = x;
  }
  if (tail < columns)
    result[tail] = value(row[tail]);
}
