/// How much of the LDS a run used.
#pragma once

#include <algorithm>
#include <cstdint>

namespace asmevo::emulator {

/// LDS that accesses reached, in bytes from a workgroup's address 0. Only active lanes count.
struct LdsExtent {
  static constexpr std::uint32_t nowhere = 0xffffffff;
  std::uint32_t allocated = 0;    ///< to a workgroup: static and dynamic LDS, rounded up to what is given out
  std::uint32_t reached = 0;      ///< end of the highest access inside the allocation
  std::uint32_t beyond = nowhere; ///< lowest address of an access that leaves it: it read 0 or did not write

  /// Of both runs.
  void merge(const LdsExtent& other) {
    allocated = std::max(allocated, other.allocated);
    reached = std::max(reached, other.reached);
    beyond = std::min(beyond, other.beyond);
  }
};

} // namespace asmevo::emulator
