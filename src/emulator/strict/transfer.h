/// The memory side of one access of a wave, to be repeated later. Private to the emulator.
#pragma once

#include "emulator/memory/lane_access.h"
#include "emulator/observe/observer.h"

#include <array>
#include <cstdint>

namespace asmevo::emulator {

/// Up to four dwords for each of 64 lanes between memory and `data`, dword k of lane i at data[64 * k + i]. Sub-dword
/// elements stand in the low bits of their dword.
struct Transfer {
  alignas(64) std::array<std::uint32_t, 4 * 64> data;
  alignas(64) std::array<std::uint8_t*, 64> host;
  std::array<std::uint64_t, 4> valid{}; ///< by dword
  std::uint64_t exec = 0;
  Space space = Space::global;
  std::uint8_t bytes = 4;
  bool store = false;
  bool toLds = false;   ///< the LDS side of an LDS-DMA
  bool settled = false; ///< the data is there (loads) or in memory (stores)
  bool contiguous = false;

  unsigned dwords() const { return (bytes + 3u) / 4u; }
  void assign(const Wave& wave, const AccessEvent& event);
  /// Memory to data; lanes out of range get 0.
  void gather();
  /// Data to memory, lanes in range.
  void scatter() const;
};

} // namespace asmevo::emulator
