// Maximum over windows of 2x2 taps, three apart, at every second place of images padded by one. A workgroup is 64
// columns by 4 rows of the result; blockIdx.y counts blocks of rows within images.
#include "kernelbench30/device_math.h"

extern "C" __global__ __launch_bounds__(256) void p42_max_pool(const float* __restrict__ in, float* __restrict__ out,
                                                               int height, int width, int outHeight, int outWidth) {
  constexpr int window = 2, stride = 2, padding = 1, dilation = 3;
  const int image = (int)blockIdx.z;
  const int row = (int)(blockIdx.y * 4 + threadIdx.y);
  const int column = (int)(blockIdx.x * 64 + threadIdx.x);
  if (row >= outHeight || column >= outWidth)
    return;
  const float* from = in + (long)image * height * width;
  float largest = -infinity();
  for (int i = 0; i < window; ++i) {
    const int y = row * stride - padding + i * dilation;
    for (int j = 0; j < window; ++j) {
      const int x = column * stride - padding + j * dilation;
      if (y >= 0 && y < height && x >= 0 && x < width)
        largest = maximum(largest, from[y * width + x]);
    }
  }
  out[((long)image * outHeight + row) * outWidth + column] = largest;
}
