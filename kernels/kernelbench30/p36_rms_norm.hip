// RMSNorm over the features of images [image][feature][pixel]: each value over the root of its pixel's mean square. A
// workgroup takes 256 pixels, four a lane; its four waves share the features, of which up to 64 stay in registers.
#include "kernelbench30/device_math.h"
#include "kernelbench30/elementwise.h"

extern "C" __global__ __launch_bounds__(256) void p36_rms_norm(const float* __restrict__ in, float* __restrict__ out,
                                                               int features, int pixels, float epsilon) {
  __shared__ float4 partial[4][64];
  const int lane = (int)threadIdx.x % 64;
  const int wave = (int)threadIdx.x / 64;
  const int pixel = (int)(blockIdx.x * 256) + lane * 4;
  const int count = pixels - pixel;
  const long base = (long)blockIdx.y * features * pixels + pixel;

  float4 x[16];
  float4 squares = 0.0f;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const int feature = 4 * k + wave;
    x[k] = feature < features ? loadUpTo4(in + base + (long)feature * pixels, count) : 0.0f;
    for (int j = 0; j < 4; ++j)
      squares[j] = __builtin_fmaf(x[k][j], x[k][j], squares[j]);
  }
  partial[wave][lane] = squares;
  __syncthreads();
  squares = (partial[0][lane] + partial[1][lane]) + (partial[2][lane] + partial[3][lane]);
  float4 factor;
  for (int j = 0; j < 4; ++j)
    factor[j] = rsqrt_hw(squares[j] / (float)features + epsilon);
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const int feature = 4 * k + wave;
    if (feature < features)
      storeUpTo4(out + base + (long)feature * pixels, x[k] * factor, count);
  }
}
