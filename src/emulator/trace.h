/// What a traced run hands to the timing model: per wave the path taken and a summary of each memory access. No cycles.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace asmevo::emulator {

enum class Space : std::uint8_t { scalar, global, lds, scratch };

/// One executed memory instruction.
struct MemoryAccess {
  std::uint32_t step = 0; ///< index into WaveTrace::path
  Space space = Space::global;
  bool store = false;
  bool atomic = false;
  bool ldsDma = false; ///< buffer_load ... lds
  std::uint8_t bytesPerLane = 4;
  std::uint8_t activeLanes = 0;
  std::uint32_t firstLine = 0; ///< into WaveTrace::lines: touched 64-byte lines (address / 64), distinct, ascending
  std::uint16_t lineCount = 0;
  std::uint32_t firstLane = 0; ///< LDS: into WaveTrace::ldsAddresses, 64 byte addresses, 0xffffffff for inactive lanes
};

struct WaveTrace {
  std::vector<std::uint32_t> path; ///< byte offset from the code base of every executed instruction, in order
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
