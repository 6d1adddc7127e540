// Sums of a vector, one for each workgroup: a grid-stride loop, then a tree in LDS.
#include "gpu.h"

extern "C" __global__ void block_sum(const float* in, float* out, int n) {
  __shared__ float sums[256];
  const int item = (int)threadIdx.x;
  float sum = 0.0f;
  for (int i = (int)(blockIdx.x * blockDim.x) + item; i < n; i += (int)(gridDim.x * blockDim.x))
    sum += in[i];
  sums[item] = sum;
  __syncthreads();
  for (int width = 128; width > 0; width /= 2) {
    if (item < width)
      sums[item] += sums[item + width];
    __syncthreads();
  }
  if (item == 0)
    out[blockIdx.x] = sums[0];
}
