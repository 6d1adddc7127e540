// c = a + b, one element per work-item.
#include "gpu.h"

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n)
    c[i] = a[i] + b[i];
}
