/// What the host itself reaches, measured in the same run: the yardstick of the emulator's figures.
#pragma once

#include "emulator/bind.h"

#include <benchmark/benchmark.h>

#include <ctime>

namespace asmevo::bench {

/// Processor time of this thread, so that a busy machine does not distort ratios.
inline double threadSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Independent FMA chains in host registers: the peak of one thread, in lane operations per second. A host without FMA
/// multiplies and adds.
template <class V, bool fused = true> [[gnu::always_inline]] inline double peakWith() {
  constexpr unsigned chains = 12, rounds = 2000000;
  V acc[chains], a, b;
  for (unsigned i = 0; i < chains; ++i)
    acc[i] = V(static_cast<float>(i));
  a = V(0.999f);
  b = V(0.001f);
  const double start = threadSeconds();
  for (unsigned r = 0; r < rounds; ++r) {
#pragma clang loop unroll(full)
    for (unsigned i = 0; i < chains; ++i)
      if constexpr (fused)
        acc[i] = __builtin_elementwise_fma(acc[i], a, b);
      else
        acc[i] = acc[i] * a + b;
  }
  const double seconds = threadSeconds() - start;
  for (unsigned i = 0; i < chains; ++i)
    benchmark::DoNotOptimize(acc[i]);
  return static_cast<double>(rounds) * chains * static_cast<double>(sizeof(V) / 4) / seconds;
}

using F32x4 = float __attribute__((ext_vector_type(4)));
using F32x8 = float __attribute__((ext_vector_type(8)));
using F32x16 = float __attribute__((ext_vector_type(16)));

[[gnu::target("avx2,fma")]] inline double narrowPeak() {
  return peakWith<F32x8>();
}
[[gnu::target("avx512f,avx512vl,avx512dq,avx512bw")]] inline double widePeak() {
  return peakWith<F32x16>();
}

inline double basePeak() {
  return peakWith<F32x4, false>();
}

inline double hostPeak() {
  static const double value = emulator::atLevel(emulator::bestSimdLevel(), basePeak, narrowPeak, widePeak)();
  return value;
}

} // namespace asmevo::bench
