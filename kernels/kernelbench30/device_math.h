/// Single-precision functions for the kernels, with a libm's accuracy (a few ulp) and written so that device and host
/// round alike: fused operations are spelled out, and the hardware approximations used are correctly rounded on both.
#pragma once

#include "gpu.h"

/// v_max_f32 and v_min_f32 of the IEEE mode: a NaN loses, +0 is above -0.
#ifdef ASMEVO_HOST
inline float maximum(float a, float b) {
  if (a != a || b != b)
    return a != a ? b : a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
inline float minimum(float a, float b) {
  return -maximum(-a, -b);
}
/// v_log_f32: the logarithm to base 2, correctly rounded.
inline float log2_hw(float x) {
  return static_cast<float>(std::log2(static_cast<double>(withoutDenormals(x))));
}
/// x * 2^n for |n| below 2^30.
inline float scale(float x, int n) {
  return std::ldexp(x, n);
}
#else
static inline __device__ float maximum(float a, float b) {
  return __builtin_fmaxf(a, b);
}
static inline __device__ float minimum(float a, float b) {
  return __builtin_fminf(a, b);
}
static inline __device__ float log2_hw(float x) {
  return __builtin_amdgcn_logf(x);
}
static inline __device__ float scale(float x, int n) {
  return __builtin_amdgcn_ldexpf(x, n);
}
#endif

static inline __device__ float infinity() {
  return __builtin_inff();
}
static inline __device__ float absolute(float x) {
  return __builtin_fabsf(x);
}

/// e^x: x / ln 2 in two floats, its fraction through v_exp_f32.
static inline __device__ float exponential(float x) {
  const float high = x * 0x1.715476p+0f;
  const float low = __builtin_fmaf(x, 0x1.4ae0bep-26f, __builtin_fmaf(x, 0x1.715476p+0f, -high));
  const float whole = __builtin_rintf(high);
  const float inside = scale(exp2_hw(high - whole + low), (int)whole);
  const float result = x < -104.0f ? 0.0f : inside;
  return x > 88.7228394f ? infinity() : result;
}

/// ln x for x >= 2^-126, with the product by ln 2 in two floats.
static inline __device__ float logarithm(float x) {
  const float y = log2_hw(x);
  const float high = y * 0x1.62e430p-1f;
  const float low = __builtin_fmaf(y, -0x1.05c610p-29f, __builtin_fmaf(y, 0x1.62e430p-1f, -high));
  return absolute(y) < infinity() ? high + low : y;
}

/// ln(1 + x) for x >= 0: what 1 + x loses to rounding comes back through the derivative.
static inline __device__ float logarithmOnePlus(float x) {
  const float u = 1.0f + x;
  const float lost = x - (u - 1.0f);
  const float result = __builtin_fmaf(lost, rcp_hw(u), logarithm(u));
  return x < 0x1p-12f ? __builtin_fmaf(-0.5f * x, x, x) : result;
}

/// e^x - 1 for x <= 0.
static inline __device__ float exponentialMinusOne(float x) {
  const float whole = __builtin_rintf(maximum(x, -40.0f) * 0x1.715476p+0f);
  const float r = __builtin_fmaf(whole, 0x1.05c610p-29f, __builtin_fmaf(whole, -0x1.62e430p-1f, maximum(x, -40.0f)));
  float p = __builtin_fmaf(r, 0x1.a17dfap-13f, 0x1.6d4324p-10f);
  p = __builtin_fmaf(r, p, 0x1.1110acp-7f);
  p = __builtin_fmaf(r, p, 0x1.5554eap-5f);
  p = __builtin_fmaf(r, p, 0x1.555556p-3f);
  p = __builtin_fmaf(r, p, 0.5f);
  p = __builtin_fmaf(r * r, p, r);
  const float power = scale(1.0f, (int)whole);
  const float result = __builtin_fmaf(power, p, power - 1.0f);
  return x != x ? x : result;
}

/// tanh x: an odd polynomial up to 0.625, from there by e^2x.
static inline __device__ float hyperbolicTangent(float x) {
  const float y = absolute(x);
  const float z = y * y;
  float p = __builtin_fmaf(z, -0x1.90a27ap-8f, 0x1.583ab4p-6f);
  p = __builtin_fmaf(z, p, -0x1.b92c2ep-5f);
  p = __builtin_fmaf(z, p, 0x1.110e3ep-3f);
  p = __builtin_fmaf(z, p, -0x1.555552p-2f);
  const float small = __builtin_fmaf(y * z, p, y);
  const float large = __builtin_fmaf(-2.0f, rcp_hw(exponential(2.0f * y) + 1.0f), 1.0f);
  return __builtin_copysignf(y < 0.625f ? small : large, x);
}

/// The error function: an odd polynomial up to 1, from there 1 - e^-q(x).
static inline __device__ float errorFunction(float x) {
  const float y = absolute(x);
  float result;
  if (y < 1.0f) {
    const float z = y * y;
    float p = __builtin_fmaf(z, 0x1.4ae4bap-14f, -0x1.a485e4p-11f);
    p = __builtin_fmaf(z, p, 0x1.5419f4p-8f);
    p = __builtin_fmaf(z, p, -0x1.b7fbb4p-6f);
    p = __builtin_fmaf(z, p, 0x1.ce2d20p-4f);
    p = __builtin_fmaf(z, p, -0x1.81273ep-2f);
    p = __builtin_fmaf(z, p, 0x1.06eba8p-3f);
    result = __builtin_fmaf(y, p, y);
  } else {
    float q = __builtin_fmaf(y, 0x1.676fdap-16f, -0x1.cb634ap-12f);
    q = __builtin_fmaf(y, q, 0x1.12759cp-8f);
    q = __builtin_fmaf(y, q, -0x1.9c3f96p-6f);
    q = __builtin_fmaf(y, q, 0x1.bbc4bcp-4f);
    q = __builtin_fmaf(y, q, 0x1.443f1cp-1f);
    q = __builtin_fmaf(y, q, 0x1.212980p+0f);
    q = __builtin_fmaf(y, q, -0x1.784accp-13f);
    result = y > 4.0f ? 1.0f : 1.0f - exponential(-q);
    result = y != y ? y : result;
  }
  return __builtin_copysignf(result, x);
}

/// 1 / (1 + e^-x); zero where that is denormal.
static inline __device__ float logistic(float x) {
  return rcp_hw(1.0f + exponential(-x));
}
