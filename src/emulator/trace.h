/// What a traced run hands to the timing model: per wave the path taken and a summary of each memory access. No cycles.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace asmevo::emulator {

enum class Space : std::uint8_t { scalar, global, lds, scratch };

inline constexpr std::uint8_t policyNt = 1, policySc0 = 2, policySc1 = 4;

/// One executed memory instruction.
struct MemoryAccess {
  std::uint32_t step = 0; ///< index into WaveTrace::path
  Space space = Space::global;
  bool store = false;
  bool atomic = false;
  bool ldsDma = false;          ///< buffer_load ... lds
  bool returns = true;          ///< data comes back to the wave: loads, atomics with a result
  bool kernarg = false;         ///< scalar: inside the kernel argument segment
  std::uint8_t cachePolicy = 0; ///< policyNt, policySc0, policySc1 (scalar: policySc0 for glc)
  std::uint8_t bytesPerLane = 4;
  std::uint8_t activeLanes = 0;
  std::uint32_t firstLine = 0; ///< into WaveTrace::lines: touched 64-byte lines (address / 64), distinct, ascending
  std::uint16_t lineCount = 0;
  /// 64-byte blocks the address unit looks up one after the other: it takes 16 lanes at once for up to 4 bytes a lane,
  /// else 4 lanes, and each distinct block of such a group is one lookup. 0: not known.
  std::uint16_t lookups = 0;
  std::uint16_t passes = 1;    ///< atomics: lanes of the most wanted dword, which take turns
  std::uint32_t firstLane = 0; ///< LDS: into WaveTrace::ldsAddresses, 64 byte addresses, 0xffffffff for inactive lanes
};

/// From `step` on, EXEC holds `lanes` ones.
struct LaneChange {
  std::uint32_t step = 0;
  std::uint8_t lanes = 64;
};

struct WaveTrace {
  std::vector<std::uint32_t> path; ///< byte offset from the code base of every executed instruction, in order
  std::vector<LaneChange> lanes;   ///< ascending; 64 lanes before the first
  std::vector<MemoryAccess> accesses;
  std::vector<std::uint64_t> lines;
  std::vector<std::uint32_t> ldsAddresses;
};

struct WorkgroupTrace {
  std::uint64_t index = 0; ///< in dispatch order: x fastest
  std::array<std::uint32_t, 3> id{};
  std::vector<WaveTrace> waves;
};

} // namespace asmevo::emulator
