// Finite impulse response filter: one sample per work-item, 256 per workgroup.
#include "gpu.h"

extern "C" __global__ void fir(float* out, float* coefficients, float* in, float* history, unsigned taps) {
  const unsigned at = blockDim.x * blockIdx.x + threadIdx.x;
  float sum = 0;
  for (unsigned i = 0; i < taps; ++i) {
    if (at >= i)
      sum = sum + coefficients[i] * in[at - i];
    else
      sum = sum + coefficients[i] * history[taps - (i - at)];
  }
  out[at] = sum;
}
