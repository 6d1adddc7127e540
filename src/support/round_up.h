/// Rounding of sizes, offsets and register counts to granules.
#pragma once

#include <type_traits>

namespace asmevo {

/// The least multiple of `granule`, which is not 0, that is not below `value`. Unsigned; wraps where none fits T.
template <class T> constexpr T roundUp(T value, std::type_identity_t<T> granule) {
  static_assert(std::is_unsigned_v<T>);
  return (value + granule - 1) / granule * granule;
}

} // namespace asmevo
