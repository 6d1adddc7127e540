/// Reductions over a wave and over a workgroup.
#pragma once

#include "device_math.h"

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Maximum {
  __device__ float operator()(float a, float b) const { return maximum(a, b); }
};

/// `x` combined over the 64 lanes, in every lane.
template <class F> static inline __device__ float waveReduce(float x, F f) {
  for (unsigned distance = 32; distance > 0; distance /= 2)
    x = f(x, __shfl_xor(x, distance));
  return x;
}

/// `x` combined over the workgroup, in every work-item. `partial` has a place for each wave and may be used again
/// after the next barrier.
template <int waves, class F> static inline __device__ float groupReduce(float x, float* partial, F f) {
  x = waveReduce(x, f);
  const unsigned t = threadIdx.x;
  if (t % 64 == 0)
    partial[t / 64] = x;
  __syncthreads();
  float all = partial[0];
  for (int w = 1; w < waves; ++w)
    all = f(all, partial[w]);
  return all;
}
