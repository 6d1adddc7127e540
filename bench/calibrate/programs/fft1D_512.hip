// 512-point complex FFTs in place: 64 work-items with eight points each, three radix-8 steps with exchanges through LDS.
#include "gpu.h"

using float2 = float __attribute__((ext_vector_type(2)));

static inline __device__ float2 times(float2 a, float2 b) {
  return float2{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

/// cos and sin of phi, |phi| below some thousand: reduced by multiples of pi/2 in three parts, then polynomials.
static inline __device__ float2 unit(float phi) {
  const float turns = __builtin_rintf(phi * 0.636619772f);
  float r = __builtin_fmaf(turns, -1.57079601f, phi);
  r = __builtin_fmaf(turns, -3.13916473e-7f, r);
  r = __builtin_fmaf(turns, -5.39030253e-15f, r);
  const float s = r * r;
  float sine = __builtin_fmaf(s, __builtin_fmaf(s, __builtin_fmaf(s, 2.718311493989822e-6f, -1.98393348360966317347e-4f),
                                                8.3333293858894631756e-3f),
                              -0.166666666416265235595f);
  sine = __builtin_fmaf(r * s, sine, r);
  float cosine = __builtin_fmaf(
      s, __builtin_fmaf(s, __builtin_fmaf(s, 2.43904487962774090654e-5f, -1.38867637746099294692e-3f), 4.16666233237390631894e-2f),
      -0.499999997251031003120f);
  cosine = __builtin_fmaf(s, cosine, 1.0f);
  const int quadrant = (int)turns;
  float c = quadrant & 1 ? sine : cosine, d = quadrant & 1 ? cosine : sine;
  if ((quadrant + 1) & 2)
    c = -c;
  if (quadrant & 2)
    d = -d;
  return float2{c, d};
}

static inline __device__ void butterfly(float2& a, float2& b) {
  const float2 old = a;
  a = old + b;
  b = old - b;
}

static inline __device__ void radix4(float2& a, float2& b, float2& c, float2& d) {
  butterfly(a, c);
  butterfly(b, d);
  d = times(d, float2{0.0f, -1.0f});
  butterfly(a, b);
  butterfly(c, d);
}

/// Results in bit-reversed order.
static inline __device__ void radix8(float2 (&v)[8]) {
  for (int i = 0; i < 4; ++i)
    butterfly(v[i], v[i + 4]);
  v[5] = times(v[5], float2{1.0f, -1.0f}) * 0.707106781f;
  v[6] = times(v[6], float2{0.0f, -1.0f});
  v[7] = times(v[7], float2{-1.0f, -1.0f}) * 0.707106781f;
  radix4(v[0], v[1], v[2], v[3]);
  radix4(v[4], v[5], v[6], v[7]);
}

static inline __device__ int reversed(int i) {
  return (i & 1) << 2 | (i & 2) | i >> 2;
}

static inline __device__ void twiddle(float2 (&v)[8], int index, int points) {
  for (int i = 1; i < 8; ++i)
    v[i] = times(v[i], unit(-6.28318531f * (float)reversed(i) / (float)points * (float)index));
}

/// Exchange through LDS, real parts first. The last barrier may be left out when no write follows.
static inline __device__ void exchange(float2 (&v)[8], float* to, int toStride, float* from, int fromStride,
                                       bool lastBarrier) {
  for (int i = 0; i < 8; ++i)
    to[i * toStride] = v[reversed(i)].x;
  __syncthreads();
  for (int i = 0; i < 8; ++i)
    v[i].x = from[i * fromStride];
  __syncthreads();
  for (int i = 0; i < 8; ++i)
    to[i * toStride] = v[reversed(i)].y;
  __syncthreads();
  for (int i = 0; i < 8; ++i)
    v[i].y = from[i * fromStride];
  if (lastBarrier)
    __syncthreads();
}

extern "C" __global__ __launch_bounds__(64, 1) void fft1D_512(float2* work) {
  __shared__ float shared[8 * 8 * 9];
  const int item = (int)threadIdx.x, high = item >> 3, low = item & 7;
  float2 v[8];
  work = work + (int)(blockIdx.x * 512) + item;
  for (int i = 0; i < 8; ++i)
    v[i] = work[i * 64];
  radix8(v);
  twiddle(v, item, 512);
  exchange(v, &shared[high * 8 + low], 66, &shared[low * 66 + high], 8, true);
  radix8(v);
  twiddle(v, high, 64);
  exchange(v, &shared[high * 8 + low], 8 * 9, &shared[high * 8 * 9 + low], 8, false);
  radix8(v);
  for (int i = 0; i < 8; ++i)
    work[i * 64] = v[reversed(i)];
}
