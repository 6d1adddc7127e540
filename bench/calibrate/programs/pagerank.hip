// Sparse matrix (compressed rows) times vector: one row per workgroup of one wave, partial sums in LDS.
#include "gpu.h"

extern "C" __global__ void pagerank(unsigned rows, unsigned* rowStarts, unsigned* columns, float* values, float* x,
                                    float* y) {
  __shared__ float partial[64];
  const int item = (int)(blockDim.x * blockIdx.x + threadIdx.x);
  const int local = (int)threadIdx.x, lane = item & 63, row = item / 64;
  if ((unsigned)row < rows) {
    y[row] = 0;
    const int begin = (int)rowStarts[row], end = (int)rowStarts[row + 1];
    partial[local] = 0;
    for (int at = begin + lane; at < end; at += 64)
      partial[local] += values[at] * x[columns[at]];
    if (lane < 32)
      partial[local] += partial[local + 32];
    if (lane < 16)
      partial[local] += partial[local + 16];
    if (lane < 8)
      partial[local] += partial[local + 8];
    if (lane < 4)
      partial[local] += partial[local + 4];
    if (lane < 2)
      partial[local] += partial[local + 2];
    if (lane < 1)
      partial[local] += partial[local + 1];
    if (lane == 0)
      y[row] += partial[local];
  }
}
