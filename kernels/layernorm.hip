// LayerNorm of each row: one wave per row, butterfly reductions through ds_bpermute.
#include "gpu.h"

static inline __device__ float waveSum(float x) {
  for (unsigned distance = 32; distance > 0; distance /= 2)
    x += __shfl_xor(x, distance);
  return x;
}

extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, int rows,
                                     int columns, float epsilon) {
  const int lane = (int)threadIdx.x;
  const int row = (int)(blockIdx.x * blockDim.y + threadIdx.y);
  if (row >= rows)
    return;
  const float* in = x + (long)row * columns;
  float* out = y + (long)row * columns;

  float sum = 0.0f;
  for (int i = lane; i < columns; i += 64)
    sum += in[i];
  const float mean = waveSum(sum) / (float)columns;

  float squares = 0.0f;
  for (int i = lane; i < columns; i += 64) {
    const float d = in[i] - mean;
    squares = __builtin_fmaf(d, d, squares);
  }
  const float variance = waveSum(squares) / (float)columns;
  const float scale = rsqrt_hw(variance + epsilon);

  for (int i = lane; i < columns; i += 64)
    out[i] = __builtin_fmaf((in[i] - mean) * scale, gamma[i], beta[i]);
}
