// Convolution with a small mask over a padded picture: one pixel per work-item, 64 per workgroup.
#include "gpu.h"

extern "C" __global__ void simpleconvolution(unsigned* in, float* mask, int* out, unsigned width, unsigned height,
                                             unsigned maskWidth, unsigned maskHeight, unsigned pitch) {
  const unsigned item = blockDim.x * blockIdx.x + threadIdx.x;
  const unsigned x = item % width, y = item / width;
  if (x >= width || y >= height)
    return;
  float sum = 0;
  int maskRow = 0;
  for (unsigned row = y; row < y + maskHeight; ++row, ++maskRow) {
    int maskColumn = 0;
    for (unsigned column = x; column < x + maskWidth; ++column, ++maskColumn)
      sum += (float)in[row * pitch + column] * mask[(unsigned)maskRow * maskWidth + (unsigned)maskColumn];
  }
  sum += 0.5f;
  out[item] = (int)sum;
}
