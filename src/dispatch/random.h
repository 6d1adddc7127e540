/// The generators of dispatch.json, defined so that any language can make the same data (docs/dispatch.md).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace asmevo::dispatch {

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state(seed) {}

  std::uint64_t next() { return mix(state += 0x9e3779b97f4a7c15); }
  /// The top 53 bits / 2^53: in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state;
};

/// Standard normals by Box-Muller: two draws make two values, the cosine first. A first draw of 0 counts as 2^-53.
class NormalSource {
 public:
  explicit NormalSource(std::uint64_t seed) : draws(seed) {}

  double next() {
    if (havePending) {
      havePending = false;
      return pending;
    }
    const double radius = std::sqrt(-2 * std::log(std::fmax(draws.unit(), 0x1p-53)));
    const double angle = 2 * std::numbers::pi * draws.unit();
    pending = radius * std::sin(angle);
    havePending = true;
    return radius * std::cos(angle);
  }

 private:
  SplitMix64 draws;
  double pending = 0;
  bool havePending = false;
};

} // namespace asmevo::dispatch
