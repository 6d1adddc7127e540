/// The arithmetic of the gfx942 matrix core for f16 inputs, in doubles: one fused group of eight products and a running
/// f32. Source of the rules: P. Xie et al., "Bit-Accurate Modeling of GPU Matrix Multiply-Accumulate Units", arXiv
/// 2511.10909.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace asmevo::host {

/// Exponent as the matrix core sees it: a zero has the least one of f32, a subnormal the least one of its format.
inline int matrixExponent(double value, int least) {
  return value == 0 ? -126 : std::max(std::ilogb(value), least);
}

/// c + sum a[k] * b[k] over finite values: products cut toward zero at 24 fraction bits of the largest product
/// exponent; their sum (at 31 bits) and c (at 24 bits) cut toward minus infinity at the larger exponent; then rounded
/// to nearest even.
inline float matrixGroupF16(const std::array<double, 8>& a, const std::array<double, 8>& b, float c) {
  std::array<int, 8> exponents{};
  for (unsigned k = 0; k < 8; ++k)
    exponents[k] = matrixExponent(a[k], -14) + matrixExponent(b[k], -14);
  const int products = *std::max_element(exponents.begin(), exponents.end());
  double sum = 0; // in units of 2^(products - 24): below 2^29, exact
  for (unsigned k = 0; k < 8; ++k)
    sum += std::trunc(std::scalbn(a[k] * b[k], 24 - products));
  const int running = matrixExponent(static_cast<double>(c), -126);
  const int larger = std::max(products, running);
  const double cut = std::floor(std::scalbn(sum, products - 24 - larger + 31));
  const double cutC = std::floor(std::scalbn(static_cast<double>(c), 24 - larger));
  return static_cast<float>(std::scalbn(cut + cutC * 128, larger - 31));
}

} // namespace asmevo::host
