// A loop of about 200 instructions: eight loads, and a polynomial of each.
#include "gpu.h"

extern "C" __global__ void long_loop(const float* x, float* y, int trips) {
  const unsigned lane = blockIdx.x * 256 + threadIdx.x;
  const unsigned stride = gridDim.x * 256;
  float sum = 0.0f;
#pragma clang loop unroll(disable)
  for (int t = 0; t < trips; ++t)
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float value = x[(t * 8 + i) * stride + lane];
      float p = 0.5f;
#pragma unroll
      for (int k = 0; k < 20; ++k)
        p = __builtin_fmaf(p, value, (float)(k - 9) * 0.125f);
      sum += p;
    }
  y[lane] = sum;
}
