/// What the address part of a vector memory instruction hands to its data part. Private to the emulator. Functions are
/// forced inline: files compiled for several instruction sets include this.
#pragma once

#include "emulator/wave.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace asmevo::emulator {

inline constexpr std::uint64_t allLanes = ~std::uint64_t{0};

/// Host addresses of all lanes. Every valid dword has been checked to lie inside the guest's memory.
struct LaneAccess {
  alignas(64) std::uint64_t at[64]; ///< host address, for lanes of `exec` with a valid dword
  std::uint64_t exec = 0;
  std::array<std::uint64_t, 4> valid{}; ///< per dword of the access: lanes of `exec` that are in range; others read 0
  bool allValid = true;                 ///< valid[i] == exec for every dword
  bool contiguous = false;              ///< all 64 lanes valid and at[i] == at[0] + i * bytes per lane
};

/// Calls f(lane) for every set bit, ascending.
template <class F> [[gnu::always_inline]] inline void forLanes(std::uint64_t mask, F&& f) {
  if (mask == allLanes) {
    for (unsigned lane = 0; lane < 64; ++lane)
      f(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1)
    f(static_cast<unsigned>(std::countr_zero(mask)));
}

[[gnu::always_inline]] inline std::uint8_t* hostPointer(std::uint64_t address) {
  return reinterpret_cast<std::uint8_t*>(address); // NOLINT(performance-no-int-to-ptr): lanes hold host addresses
}
template <class T> [[gnu::always_inline]] inline T readHost(std::uint64_t address) {
  T value;
  std::memcpy(&value, hostPointer(address), sizeof value);
  return value;
}
template <class T> [[gnu::always_inline]] inline void writeHost(std::uint64_t address, T value) {
  std::memcpy(hostPointer(address), &value, sizeof value);
}

/// Size and direction of an access, for range checks and messages.
struct AccessShape {
  unsigned bytes = 4; ///< per lane
  bool store = false; ///< stores and atomics
  bool atomic = false;
  bool whole = false; ///< formatted: in a buffer's range entirely or not at all
};

/// Keeps account of an access to LDS (LdsExtent); returns whether it is in range.
[[gnu::always_inline]] inline bool noteLds(Wave& wave, std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  if (end > wave.ldsBytes) [[unlikely]] {
    if (address < wave.ldsBeyond)
      wave.ldsBeyond = static_cast<std::uint32_t>(address);
    return false;
  }
  if (end > wave.ldsReached)
    wave.ldsReached = static_cast<std::uint32_t>(end);
  return true;
}

/// Host address of a guest address: add it.
[[gnu::always_inline]] inline std::uint64_t arenaBias(const Wave& wave) {
  return reinterpret_cast<std::uint64_t>(wave.memory->host(GuestMemory::baseAddress, 0)) - GuestMemory::baseAddress;
}
/// Address parts. Each fills `access` and returns true, or stops the wave with a fault and returns false.
using Resolver = bool (*)(Wave&, const Op*, const AccessShape&, LaneAccess&);

/// Operands of vector memory ops. src[0]: address VGPRs (kind none: off), src[1]: data VGPRs, src[2]: SGPR base or
/// resource descriptor, src[3]: buffer soffset. aux: instruction offset, sign-extended. The resolvers: resolve.h.

/// Buffer addressing by flags in src[3].dwords.
inline constexpr std::uint8_t bufferOffen = 1, bufferIdxen = 2, bufferTyped = 4; ///< typed: a format instruction

/// Tell the wave's trace and its observers of an access before it touches memory; call only when Wave::reports.
void reportVector(Wave& wave, const Op* op, const AccessShape& shape, const LaneAccess& access, bool ldsDma = false);
void reportLds(Wave& wave, const Op* op, const AccessShape& shape, const LaneAccess& access,
               const std::uint32_t* addresses);
/// The LDS side of an LDS-DMA: a dword per lane from `base` on. The trace knows it by the memory side.
void reportLdsDma(Wave& wave, const Op* op, std::uint64_t exec, std::uint32_t base);
/// `shape.bytes`: those in range.
void reportScalar(Wave& wave, const Op* op, const AccessShape& shape, std::uint64_t guestAddress);
/// Traces an LDS operation without observing it.
void traceLds(Wave& wave, const Op* op, const AccessShape& shape, std::uint64_t exec, const std::uint32_t* addresses);

/// The wave's memory fault for one lane. `why` may be empty.
void failAccess(Wave& wave, const Op* op, const AccessShape& shape, unsigned lane, std::uint64_t guestAddress,
                std::string_view why);
/// The same for scratch: `offset` bytes into the work-item's private segment.
void failPrivate(Wave& wave, const Op* op, const AccessShape& shape, unsigned lane, std::uint32_t offset);
/// Refuses what a buffer descriptor asks for.
void failDescriptor(Wave& wave, const Op* op, std::string_view what);

} // namespace asmevo::emulator
