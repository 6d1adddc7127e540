// Counts per bin: private bins in dynamic LDS, merged into global memory with atomics.
#include "gpu.h"

extern "C" __global__ void histogram(const unsigned* values, unsigned* counts, int n, unsigned bins) {
  DYNAMIC_SHARED(unsigned, local);
  for (unsigned i = threadIdx.x; i < bins; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  const int stride = (int)(gridDim.x * blockDim.x);
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride)
    atomicAdd(&local[values[i] % bins], 1u);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < bins; i += blockDim.x)
    if (local[i] != 0)
      atomicAdd(&counts[i], local[i]);
}
