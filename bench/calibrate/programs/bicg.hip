// q = A p, s = A^T r: the kernels clear their sums. A row or a column per work-item, 256 per workgroup, the running
// sum in memory. `steps` of the sum's terms are done; `pitch` is the length of a row.
#include "gpu.h"

extern "C" __global__ void bicg_rows(float* a, float* factor, float* sum, int rows, int pitch, int steps) {
  const int i = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  if (i < rows) {
    sum[i] = 0;
    for (int j = 0; j < steps; ++j)
      sum[i] += a[i * pitch + j] * factor[j];
  }
}

extern "C" __global__ void bicg_columns(float* a, float* sum, float* factor, int columns, int pitch, int steps) {
  const int j = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  if (j < columns) {
    sum[j] = 0;
    for (int i = 0; i < steps; ++i)
      sum[j] += a[i * pitch + j] * factor[i];
  }
}
