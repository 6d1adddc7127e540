// One partial sum per workgroup: grid-stride accumulation, DPP reduction in each wave, LDS across the waves.
#include "gpu.h"

extern "C" __global__ void reduce_dpp(const float* in, float* sums, int n) {
  __shared__ float waveSums[16];
  const int t = (int)threadIdx.x;
  const int stride = (int)(gridDim.x * blockDim.x);
  float sum = 0.0f;
  for (int i = (int)(blockIdx.x * blockDim.x) + t; i < n; i += stride)
    sum += in[i];
  sum = waveSumDpp(sum);
  if (t % 64 == 63)
    waveSums[t / 64] = sum;
  __syncthreads();
  if (t == 0) {
    float total = 0.0f;
    for (int w = 0; w < (int)blockDim.x / 64; ++w)
      total += waveSums[w];
    sums[blockIdx.x] = total;
  }
}
