// One step of the heat equation on a 2D grid: a five-point stencil, the rim kept as it is.
#include "gpu.h"

extern "C" __global__ void heat_step(const float* in, float* out, int width, int height, float rate) {
  const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height)
    return;
  const int at = y * width + x;
  const float here = in[at];
  float result = here;
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
    const float around = in[at - 1] + in[at + 1] + in[at - width] + in[at + width];
    result = __builtin_fmaf(rate, around - 4.0f * here, here);
  }
  out[at] = result;
}
