// 3x3 convolution of each channel with its own filter, without padding. A work-item makes four results below each
// other, so that each of the six rows of input serves up to three of them. A workgroup is 64 columns by 4 such pieces.
#include "gpu.h"

extern "C" __global__ __launch_bounds__(256) void p82_depthwise_conv(const float* __restrict__ in,
                                                                     const float* __restrict__ filters,
                                                                     float* __restrict__ out, int channels, int height,
                                                                     int width) {
  const int outHeight = height - 2, outWidth = width - 2;
  const int image = (int)blockIdx.z;
  const int top = (int)(blockIdx.y * 4 + threadIdx.y) * 4;
  const int column = (int)(blockIdx.x * 64 + threadIdx.x);
  if (top >= outHeight || column >= outWidth)
    return;
  const float* filter = filters + image % channels * 9;
  const float* from = in + (long)image * height * width + column;
  float sums[4] = {};
#pragma unroll
  for (int row = 0; row < 6; ++row) {
    // Below the last row it is read once more; its results are not stored.
    const float* line = from + (long)(top + row < height ? top + row : height - 1) * width;
    for (int j = 0; j < 3; ++j)
      for (int result = 0; result < 4; ++result)
        if (row - result >= 0 && row - result < 3)
          sums[result] = __builtin_fmaf(line[j], filter[(row - result) * 3 + j], sums[result]);
  }
  float* to = out + ((long)image * outHeight + top) * outWidth + column;
#pragma unroll
  for (int result = 0; result < 4; ++result)
    if (top + result < outHeight)
      to[result * outWidth] = sums[result];
}
