// Mean over windows of 3x3 that do not overlap. A workgroup is 64 columns by 4 rows of the result; blockIdx.z counts
// the images.
#include "gpu.h"

extern "C" __global__ __launch_bounds__(256) void p45_average_pool(const float* __restrict__ in,
                                                                   float* __restrict__ out, int height, int width,
                                                                   int outHeight, int outWidth) {
  constexpr int window = 3;
  const int image = (int)blockIdx.z;
  const int row = (int)(blockIdx.y * 4 + threadIdx.y);
  const int column = (int)(blockIdx.x * 64 + threadIdx.x);
  if (row >= outHeight || column >= outWidth)
    return;
  const float* from = in + ((long)image * height + row * window) * width + column * window;
  float sum = 0.0f;
  for (int i = 0; i < window; ++i)
    for (int j = 0; j < window; ++j)
      sum += from[i * width + j];
  out[((long)image * outHeight + row) * outWidth + column] = sum * (1.0f / 9.0f);
}
