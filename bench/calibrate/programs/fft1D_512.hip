// 512-point complex FFTs in place: 64 work-items with eight points each, three radix-8 steps with exchanges through
// LDS.
#include "gpu.h"

using float2 = float __attribute__((ext_vector_type(2)));

static inline __device__ float2 times(float2 a, float2 b) {
  return float2{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

/// An angle as quadrant and rest in [-pi/4, pi/4]. Large ones take a longer way, as a library's sine and cosine do.
static inline __device__ float reduce(float phi, int& quadrant) {
  constexpr float someLarge = 131072.0f;
  if (__builtin_fabsf(phi) < someLarge) {
    const float turns = __builtin_rintf(phi * 0.636619772f);
    float rest = __builtin_fmaf(turns, -1.57079601f, phi);
    rest = __builtin_fmaf(turns, -3.13916473e-7f, rest);
    rest = __builtin_fmaf(turns, -5.39030253e-15f, rest);
    quadrant = (int)turns;
    return rest;
  }
  const double turns = __builtin_rint((double)phi * 0.63661977236758134308);
  double rest = __builtin_fma(turns, -1.5707963267948965580, (double)phi);
  rest = __builtin_fma(turns, -6.1232339957367658e-17, rest);
  quadrant = (int)(turns - 4.0 * __builtin_floor(turns * 0.25));
  return (float)rest;
}

static inline __device__ float sineOfRest(float rest) {
  const float s = rest * rest;
  float sum = __builtin_fmaf(s, 2.71831149e-6f, -1.98393348e-4f);
  sum = __builtin_fmaf(s, sum, 8.33332939e-3f);
  sum = __builtin_fmaf(s, sum, -0.166666666f);
  return __builtin_fmaf(rest * s, sum, rest);
}

static inline __device__ float cosineOfRest(float rest) {
  const float s = rest * rest;
  float sum = __builtin_fmaf(s, 2.43904488e-5f, -1.38867638e-3f);
  sum = __builtin_fmaf(s, sum, 4.16666233e-2f);
  sum = __builtin_fmaf(s, sum, -0.499999997f);
  return __builtin_fmaf(s, sum, 1.0f);
}

static inline __device__ float withSign(float value, bool negative) {
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, value) ^ (negative ? 0x80000000u : 0u));
}

static inline __device__ float finiteOnly(float value, float of) {
  return __builtin_isfinite(of) ? value : __builtin_nanf("");
}

static inline __device__ float cosine(float phi) {
  int quadrant;
  const float rest = reduce(phi, quadrant);
  const float value = quadrant & 1 ? -sineOfRest(rest) : cosineOfRest(rest);
  return finiteOnly(withSign(value, quadrant & 2), phi);
}

static inline __device__ float sine(float phi) {
  int quadrant;
  const float rest = reduce(phi, quadrant);
  const float value = quadrant & 1 ? cosineOfRest(rest) : sineOfRest(rest);
  return finiteOnly(withSign(value, quadrant & 2), phi);
}

static inline __device__ float2 unit(float phi) {
  return float2{cosine(phi), sine(phi)};
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
