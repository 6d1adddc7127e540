/// Traces made ready for replay: accesses in step order, cache lines numbered densely with who touches them, LDS bank
/// cycles computed once.
#pragma once

#include "emulator/trace.h"
#include "support/result.h"
#include "timing/static_code.h"

#include <cstdint>
#include <vector>

namespace asmevo::timing {

/// A touched 128-byte line: dense id and which of its two 64-byte sectors.
struct LineRef {
  std::uint32_t id = 0;
  std::uint8_t sectors = 0; ///< bit 0: lower half, bit 1: upper half
};

/// PreparedAccess::stride of an access whose counterpart in other workgroups is not known.
inline constexpr std::int16_t unknownStride = -1;

struct PreparedAccess {
  std::uint32_t step = 0;
  emulator::Space space = emulator::Space::global;
  bool store = false, atomic = false;
  bool ldsDma = false;
  bool returns = true;          ///< data comes back
  bool kernarg = false;         ///< scalar: kernel arguments
  std::uint8_t cachePolicy = 0; ///< emulator::policyNt ...
  std::uint8_t bytesPerLane = 4;
  std::uint8_t activeLanes = 0;
  std::uint16_t sectorCount = 0; ///< 64-byte sectors touched
  std::uint16_t lineCount = 0;   ///< 128-byte lines touched
  std::uint16_t lookups = 0;     ///< emulator::MemoryAccess::lookups
  std::uint16_t passes = 1;      ///< emulator::MemoryAccess::passes
  /// How far the next workgroup's same access lies away, modulo `stridePeriod` bytes.
  std::int16_t stride = unknownStride;
  std::uint32_t firstLine = 0; ///< into PreparedWave::lines
  std::uint16_t bankClk = 0;   ///< LDS: clk in the bank array, conflicts included
  std::uint16_t idealClk = 0;  ///< LDS: the same without conflicts
};

struct PreparedWave {
  const std::vector<std::uint32_t>* path = nullptr;
  std::vector<PreparedAccess> accesses; ///< ascending step
  std::vector<LineRef> lines;
};

struct LineInfo {
  std::uint64_t address = 0;   ///< byte address / 128
  std::uint64_t touchedBy = 0; ///< bit i: trace i of the set
};

inline constexpr std::size_t maxTraces = 64;
inline constexpr unsigned stridePeriod = 4096;

/// The traces of one estimate. Holds pointers into them.
struct TraceSet {
  struct Group {
    std::uint64_t index = 0; ///< dispatch index
    std::vector<PreparedWave> waves;
    std::uint64_t instructions = 0;
    std::uint64_t distinctLines = 0;
  };
  std::vector<Group> groups;
  std::vector<LineInfo> lines;

  /// Errors (internal): a path that leaves the code or enters an instruction's middle, a wave without instructions,
  /// line or address indices outside the trace, accesses out of order, more than maxTraces traces.
  static Result<TraceSet> prepare(const std::vector<emulator::WorkgroupTrace>& traces,
                                  const std::vector<StaticInst>& code);
};

/// Clk that the 32 banks need for 64 lane addresses (0xffffffff: inactive). Lanes go in conflict groups: 32 lanes for
/// accesses of up to 4 bytes, 16 for 8, groups of 8 for 12 and 16 (pyhip gfx942 bank-conflict measurements). Lanes that
/// read the same dword share a cycle; atomics do not.
unsigned ldsBankClk(const std::uint32_t* addresses, unsigned bytesPerLane, bool atomic);

} // namespace asmevo::timing
