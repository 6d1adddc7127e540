// A pass of a bitonic sort: one pair per work-item, 64 per workgroup.
#include "gpu.h"

extern "C" __global__ void bitonicsort(unsigned* array, const unsigned stage, const unsigned pass,
                                       const unsigned ascending) {
  const unsigned item = blockDim.x * blockIdx.x + threadIdx.x;
  const unsigned distance = 1u << (stage - pass);
  const unsigned left = item % distance + item / distance * (2 * distance), right = left + distance;
  const unsigned a = array[left], b = array[right];
  unsigned up = ascending;
  if (item / (1u << stage) % 2 == 1)
    up = 1 - up;
  const unsigned more = a > b ? a : b, less = a > b ? b : a;
  if (up) {
    array[left] = less;
    array[right] = more;
  } else {
    array[left] = more;
    array[right] = less;
  }
}
