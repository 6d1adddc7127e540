// LayerNorm of long rows. Many workgroups share a row, so there are two kernels: sums of the values and of their
// squares by workgroup, and what they give applied to the row with its weights.
#include "kernelbench30/elementwise.h"
#include "kernelbench30/reduce.h"

// Workgroup x of row y takes every gridDim.x-th piece of 1024 values.
extern "C" __global__ __launch_bounds__(256) void p40_layer_norm_sums(const float* __restrict__ in,
                                                                      float* __restrict__ sums, int columns) {
  __shared__ float partial[2][4];
  const float* row = in + (long)blockIdx.y * columns;
  float4 sum = 0.0f, squares = 0.0f;
  const int stride = (int)gridDim.x * 1024;
  for (int i = (int)(blockIdx.x * 256 + threadIdx.x) * 4; i < columns; i += stride) {
    const float4 x = loadUpTo4(row + i, columns - i);
    sum += x;
    for (int k = 0; k < 4; ++k)
      squares[k] = __builtin_fmaf(x[k], x[k], squares[k]);
  }
  const float total = groupReduce<4>((sum[0] + sum[1]) + (sum[2] + sum[3]), partial[0], Add{});
  const float totalSquares = groupReduce<4>((squares[0] + squares[1]) + (squares[2] + squares[3]), partial[1], Add{});
  if (threadIdx.x == 0) {
    float* to = sums + 2 * ((long)blockIdx.y * gridDim.x + blockIdx.x);
    to[0] = total;
    to[1] = totalSquares;
  }
}

// `parts` pairs of sums a row, at most 256.
extern "C" __global__
__launch_bounds__(256) void p40_layer_norm(const float* __restrict__ in, const float* __restrict__ sums,
                                           const float* __restrict__ weight, const float* __restrict__ bias,
                                           float* __restrict__ out, int columns, int parts, float epsilon) {
  __shared__ float partial[2][4];
  const int t = (int)threadIdx.x;
  const float* pair = sums + 2 * ((long)blockIdx.y * parts + t);
  const float mean = groupReduce<4>(t < parts ? pair[0] : 0.0f, partial[0], Add{}) / (float)columns;
  const float meanSquare = groupReduce<4>(t < parts ? pair[1] : 0.0f, partial[1], Add{}) / (float)columns;
  const float factor = rsqrt_hw(__builtin_fmaf(-mean, mean, meanSquare) + epsilon);

  const float* row = in + (long)blockIdx.y * columns;
  float* result = out + (long)blockIdx.y * columns;
  const int stride = (int)gridDim.x * 1024;
  for (int i = (int)(blockIdx.x * 256 + threadIdx.x) * 4; i < columns; i += stride) {
    const float4 x = loadUpTo4(row + i, columns - i);
    const float4 w = loadUpTo4(weight + i, columns - i);
    const float4 b = loadUpTo4(bias + i, columns - i);
    float4 y;
    for (int k = 0; k < 4; ++k)
      y[k] = __builtin_fmaf((x[k] - mean) * factor, w[k], b[k]);
    storeUpTo4(result + i, y, columns - i);
  }
}
