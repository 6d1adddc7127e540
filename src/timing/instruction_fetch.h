/// Instruction fetch of one CU: a fetch port per SIMD, the instruction cache that two CUs share, and the small buffer
/// of fetched code that each wave issues from.
///
/// From the traces (facts: hardware_traces.md) and pyhip's gfx942 streams: code comes in blocks of 32 bytes (one
/// SQ_IFETCH per 32 bytes), a taken branch costs 20 clk, 24 where its target lies in two blocks, and a stream of 8-byte
/// VALU at pc mod 8 = 4 runs at 5 clk instead of 4. A buffer of two blocks, refilled in 20 clk when one has been
/// issued, gives all three.
#pragma once

#include "timing/cache_tags.h"
#include "timing/parameters.h"

#include <array>
#include <cstdint>

namespace asmevo::timing {

/// Where the code lies when the first wave starts.
enum class CodeState : std::uint8_t {
  cached, ///< in the instruction cache as far as it fits: repeated launches
  inL2,
  inMemory ///< never run before
};

class InstructionFetch {
 public:
  static constexpr std::uint32_t blockBytes = 32;

  InstructionFetch(const Parameters& parameters, std::size_t codeBytes, CodeState state);

  /// Asks for a block of a SIMD's wave; returns when instructions in it may issue.
  Clk fetch(unsigned simd, std::uint32_t block, Clk now);

  std::uint64_t fetches() const { return blocks; }
  std::uint64_t misses() const { return missed; }

 private:
  const Parameters& p;
  CodeState state;
  bool tagsMatter; ///< false: everything fits and is cached
  SetAssociativeCache tags;
  std::array<Clk, 4> portFree{};
  std::uint64_t blocks = 0, missed = 0;
};

/// The two blocks of code that a wave holds.
class FetchBuffer {
 public:
  /// A wave that starts, or jumps: the buffer is filled anew from `offset`.
  void refill(InstructionFetch& unit, unsigned simd, std::uint32_t offset, Clk now) {
    first = offset / InstructionFetch::blockBytes;
    arrival = {unit.fetch(simd, first, now), unit.fetch(simd, first + 1, now)};
  }
  /// The wave goes on to the instruction of `size` bytes at `offset`, having issued the one before it at `now`; returns
  /// when its bytes are there.
  Clk advance(InstructionFetch& unit, unsigned simd, std::uint32_t offset, unsigned size, Clk now) {
    const std::uint32_t block = offset / InstructionFetch::blockBytes;
    if (block == first + 1) { // the older block is used up
      first = block;
      arrival = {arrival[1], unit.fetch(simd, first + 1, now)};
    } else if (block != first) {
      refill(unit, simd, offset, now);
    }
    return ready(offset, size);
  }
  /// Likewise of the first instruction after `refill`.
  Clk ready(std::uint32_t offset, unsigned size) const {
    return (offset + size - 1) / InstructionFetch::blockBytes == first ? arrival[0] : arrival[1];
  }

 private:
  std::uint32_t first = 0; ///< number of the older block
  std::array<Clk, 2> arrival{};
};

} // namespace asmevo::timing
