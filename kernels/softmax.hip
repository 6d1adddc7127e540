// Softmax of each row: one workgroup of 256 per row, tree reductions in LDS.
#include "gpu.h"

extern "C" __global__ __launch_bounds__(256) void softmax(const float* in, float* out, int columns) {
  __shared__ float partial[256];
  const int t = (int)threadIdx.x;
  const float* row = in + (long)blockIdx.x * columns;
  float* result = out + (long)blockIdx.x * columns;

  float largest = -__builtin_inff();
  for (int i = t; i < columns; i += 256)
    largest = row[i] > largest ? row[i] : largest;
  partial[t] = largest;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half)
      partial[t] = partial[t + half] > partial[t] ? partial[t + half] : partial[t];
    __syncthreads();
  }
  largest = partial[0];
  __syncthreads();

  float sum = 0.0f;
  for (int i = t; i < columns; i += 256)
    sum += fastExp(row[i] - largest);
  partial[t] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half)
      partial[t] += partial[t + half];
    __syncthreads();
  }
  sum = partial[0];

  for (int i = t; i < columns; i += 256)
    result[i] = fastExp(row[i] - largest) / sum;
}
