/// A function of every element of an array: 16 bytes a work-item, the last few elements one by one.
#pragma once

#include "gpu.h"

/// float4 wherever a float may lie.
using float4u __attribute__((aligned(4))) = float4;

/// The first `count` of four floats, zeros behind them; all four are one access.
static inline __device__ float4 loadUpTo4(const float* from, int count) {
  if (count >= 4)
    return *(const float4u*)from;
  float4 x = 0.0f;
  for (int k = 0; k < 3; ++k)
    if (k < count)
      x[k] = from[k];
  return x;
}
static inline __device__ void storeUpTo4(float* to, float4 x, int count) {
  if (count >= 4) {
    *(float4u*)to = x;
    return;
  }
  for (int k = 0; k < 3; ++k)
    if (k < count)
      to[k] = x[k];
}

template <class F>
static inline __device__ void mapElements(const float* __restrict__ in, float* __restrict__ out, int n, F f) {
  const int i = (int)(blockIdx.x * 256 + threadIdx.x) * 4;
  if (i + 4 <= n) {
    float4 x = *(const float4u*)(in + i);
    for (int k = 0; k < 4; ++k)
      x[k] = f(x[k]);
    *(float4u*)(out + i) = x;
  } else {
    for (int k = i; k < n; ++k)
      out[k] = f(in[k]);
  }
}
