// sum = left + right. One element per work-item, 256 per workgroup.
#include "gpu.h"

extern "C" __global__ void vectoradd(float* __restrict__ sum, const float* __restrict__ left,
                                     const float* __restrict__ right, int width, int height) {
  const int x = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  const int y = (int)(blockDim.y * blockIdx.y + threadIdx.y);
  const int at = y * width + x;
  if (at < width * height)
    sum[at] = left[at] + right[at];
}
