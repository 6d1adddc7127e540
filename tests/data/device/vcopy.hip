// c = a, one double per work-item, with the parameters of rocprofiler-compute's vcopy sample, whose counters on real
// chips are known: `b` only keeps `a` and `c` apart.
#include "gpu.h"

extern "C" __global__ void vcopy(const double* a, const double* b, double* c, int n) {
  (void)b;
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n)
    c[i] = a[i];
}
