/// What the levels of the memory side tell each other.
#pragma once

#include "timing/trace_set.h"

#include <cstdint>

namespace asmevo::timing {

inline constexpr double lineBytes = 128, sectorBytes = 64;

/// Who asks: trace number and how many replays of it came before (private data of a replay is other data).
struct Requester {
  std::uint32_t wave = 0;
  unsigned trace = 0;
  std::uint64_t generation = 0;
};

enum class RequestKind : std::uint8_t { load, store, atomic };

/// Who answers a request that L1 cannot.
enum class MemoryLevel : std::uint8_t { l2, mall, hbm };

/// One request of the modelled CU to L2.
struct LineRequest {
  std::uint32_t line = 0; ///< into TraceSet::lines
  std::uint64_t tag = 0;  ///< distinct per line and, for private lines, per replay
  RequestKind kind = RequestKind::load;
  double bytes = 128;
  bool streaming = false;              ///< nt: not kept for later
  bool throughL2 = false;              ///< sc1: L2 does not answer
  unsigned passes = 1;                 ///< atomics
  std::int16_t stride = unknownStride; ///< PreparedAccess::stride
  double sharersInXcd = 1; ///< CUs of the XCD that ask for the line while it may be in L2, this one included
  double sharingXcds = 1;
};

/// SplitMix64 finaliser: spreads ids so that "one in n lines" is a deterministic choice.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// True for a deterministic `probability` of all ids.
inline bool chosen(std::uint64_t id, double probability) {
  return static_cast<double>(mix(id) >> 11) * 0x1p-53 < probability;
}

} // namespace asmevo::timing
