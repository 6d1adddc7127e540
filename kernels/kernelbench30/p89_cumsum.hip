// Running sums along each row: one workgroup of 256 per row, 1024 values a turn, whose total is carried on.
#include "kernelbench30/elementwise.h"
#include "kernelbench30/reduce.h"

extern "C" __global__ __launch_bounds__(256) void p89_cumsum(const float* __restrict__ in, float* __restrict__ out,
                                                             int columns) {
  __shared__ float waveTotals[2][4];
  const int t = (int)threadIdx.x;
  const unsigned lane = __lane_id();
  const float* row = in + (long)blockIdx.x * columns;
  float* result = out + (long)blockIdx.x * columns;
  float carry = 0.0f;
  int buffer = 0;
  for (int start = 0; start < columns; start += 1024) {
    const int i = start + t * 4;
    float4 x = loadUpTo4(row + i, columns - i);
    x[1] += x[0];
    x[2] += x[1];
    x[3] += x[2];
    float sum = x[3];
    for (unsigned distance = 1; distance < 64; distance *= 2) {
      const float left = __shfl(sum, lane - distance);
      sum += lane >= distance ? left : 0.0f;
    }
    if (lane == 63)
      waveTotals[buffer][t / 64] = sum;
    __syncthreads();
    float before = carry;
    for (int wave = 0; wave < 4; ++wave) {
      before += wave < t / 64 ? waveTotals[buffer][wave] : 0.0f;
      carry += waveTotals[buffer][wave];
    }
    const float left = __shfl(sum, lane - 1);
    before += lane > 0 ? left : 0.0f;
    storeUpTo4(result + i, x + before, columns - i);
    buffer = 1 - buffer;
  }
}
