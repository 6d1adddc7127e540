// y = a * x + y, four elements per work-item as one vector, the tail element by element.
#include "gpu.h"

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = 4 * (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 3 < n) {
    const float4 xs = *(const float4*)(x + i);
    float4 ys = *(const float4*)(y + i);
    for (int k = 0; k < 4; ++k)
      ys[k] = __builtin_fmaf(a, xs[k], ys[k]);
    *(float4*)(y + i) = ys;
  } else {
    for (int k = i; k < n; ++k)
      y[k] = __builtin_fmaf(a, x[k], y[k]);
  }
}
