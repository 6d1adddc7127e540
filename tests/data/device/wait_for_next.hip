// Every workgroup waits until the next one has published its value; only all of them together come to an end.
#include "gpu.h"

extern "C" __global__ void wait_for_next(unsigned* values) {
  if (threadIdx.x != 0)
    return;
  unsigned* const mine = values + blockIdx.x;
  unsigned next = 1;
  if (blockIdx.x + 1 < gridDim.x)
    do
      next = __hip_atomic_load(mine + 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
    while (next == 0);
  __hip_atomic_store(mine, next * 2, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
