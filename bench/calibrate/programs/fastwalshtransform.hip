// A pass of the fast Walsh transform: one butterfly per work-item, 256 per workgroup.
#include "gpu.h"

extern "C" __global__ void fastwalshtransform(float* array, const int step) {
  const unsigned item = blockDim.x * blockIdx.x + threadIdx.x;
  const unsigned within = item % (unsigned)step;
  const unsigned first = 2 * (unsigned)step * (item / (unsigned)step) + within, second = first + (unsigned)step;
  const float a = array[first], b = array[second];
  array[first] = a + b;
  array[second] = a - b;
}
