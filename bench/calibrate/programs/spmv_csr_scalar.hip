// Sparse matrix (compressed rows) times vector: one row per work-item, 256 per workgroup.
#include "gpu.h"

extern "C" __global__ void spmv_csr_scalar(const float* __restrict__ values, const float* __restrict__ vector,
                                           const int* __restrict__ columns, const int* __restrict__ rowStarts,
                                           const int rows, float* __restrict__ out) {
  const int row = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  if (row < rows) {
    float sum = 0;
    const int end = rowStarts[row + 1];
    for (int at = rowStarts[row]; at < end; ++at)
      sum += values[at] * vector[columns[at]];
    out[row] = sum;
  }
}
