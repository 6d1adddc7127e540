// out = max(in, 0) in a grid-stride loop.
#include "gpu.h"

extern "C" __global__ void relu(const float* in, float* out, int n) {
  const int stride = (int)(gridDim.x * blockDim.x);
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride)
    out[i] = in[i] > 0.0f ? in[i] : 0.0f;
}
