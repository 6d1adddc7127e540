// y = A^T (A x): the sums start from what the buffers hold (zero). A row or a column per work-item, 256 per workgroup,
// the running sum in memory. `steps` of the sum's terms are done; `pitch` is the length of a row.
#include "gpu.h"

extern "C" __global__ void atax_rows(float* a, float* factor, float* sum, int rows, int pitch, int steps) {
  const int i = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  if (i < rows) {
    for (int j = 0; j < steps; ++j)
      sum[i] += a[i * pitch + j] * factor[j];
  }
}

extern "C" __global__ void atax_columns(float* a, float* sum, float* factor, int columns, int pitch, int steps) {
  const int j = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  if (j < columns) {
    for (int i = 0; i < steps; ++i)
      sum[j] += a[i * pitch + j] * factor[i];
  }
}

extern "C" __global__ void atax_clear(float* out, int count) {
  const int i = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  if (i < count)
    out[i] = 0;
}
