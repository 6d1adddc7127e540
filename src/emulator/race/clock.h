/// Logical time of the race detector. Private to the emulator.
///
/// A wave counts its memory instructions in three domains, one for each way in which hardware reports completion. An
/// access is stamped with its number; a Frontier says up to which number everything is complete (and so visible to
/// whoever synchronises with the wave afterwards).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace asmevo::emulator {

/// Waves are numbered in the order in which their workgroups start.
using WaveId = std::uint32_t;

/// vm: vector memory and LDS-DMA, in order, by vmcnt. lds: LDS instructions, in order among themselves, by lgkmcnt.
/// scalar: scalar memory, without order, complete only at lgkmcnt(0).
enum class Domain : std::uint8_t { vm, lds, scalar };
inline constexpr std::size_t domainCount = 3;

/// By domain; stamps start at 1, so 0 covers nothing.
struct Frontier {
  std::array<std::uint32_t, domainCount> upTo{};
  std::uint32_t& operator[](Domain d) { return upTo[static_cast<std::size_t>(d)]; }
  std::uint32_t operator[](Domain d) const { return upTo[static_cast<std::size_t>(d)]; }
  void raise(const Frontier& other) {
    for (std::size_t i = 0; i < domainCount; ++i)
      upTo[i] = std::max(upTo[i], other.upTo[i]);
  }
  bool operator==(const Frontier&) const = default;
};

/// A vector clock: what is known to be complete, by wave. Waves that are not listed are at 0.
class Clock {
 public:
  struct Entry {
    WaveId wave = 0;
    Frontier frontier;
  };

  Frontier of(WaveId wave) const {
    const auto at = std::ranges::lower_bound(list, wave, {}, &Entry::wave);
    return at != list.end() && at->wave == wave ? at->frontier : Frontier{};
  }
  void raise(WaveId wave, const Frontier& frontier);
  void join(const Clock& other);
  bool empty() const { return list.empty(); }
  const std::vector<Entry>& entries() const { return list; } ///< by wave, ascending

 private:
  std::vector<Entry> list;
};

} // namespace asmevo::emulator
