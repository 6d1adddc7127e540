// out = max(in, 0). One element per work-item, 256 per workgroup.
#include "gpu.h"

extern "C" __global__ void relu(int count, float* in, float* out) {
  const int at = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  if (at < count)
    out[at] = in[at] > 0 ? in[at] : 0;
}
