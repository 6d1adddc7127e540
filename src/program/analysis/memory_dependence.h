/// May two memory instructions of one wave be exchanged?
///
/// Promises: "no" is said only where the order of the two cannot be observed. Addresses are told apart by
/// - address space (kernel arguments and constants are global memory; flat and buffer accesses may be several spaces);
/// - equal bases with disjoint ranges: SMEM base pairs, buffer resources (without ADD_TID), global base pairs with an
///   offset register, LDS and scratch addresses, as linear forms of value_numbers.h;
/// - lane strides: where the addresses of all lanes are known relative to each other, no lane's range meets another's.
/// Two pointers loaded from different places may be equal; nothing is assumed of them.
#pragma once

#include "program/analysis/value_numbers.h"
#include "program/program.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace asmevo::program {

/// Address spaces as bits. Kernel arguments and constants read by SMEM are global memory.
namespace space {
inline constexpr std::uint8_t global = 1, lds = 2, scratch = 4, gds = 8;
}

struct MemoryEffect {
  std::uint8_t reads = 0, writes = 0; ///< spaces
  /// Atomics, cache control and accesses with scope bits (sc0, sc1; glc): other waves may be watching their order.
  bool ordered = false;
  bool any() const { return reads || writes || ordered; }
};
MemoryEffect memoryEffect(const isa::Instruction& inst);

/// False only if the order of the two cannot be observed by this wave or, through scope bits, by others: different
/// address spaces, two plain reads, or scalar addresses from the same registers with disjoint ranges (`sameBases` says
/// that no address register of either is written between them). Addresses in VGPRs are never told apart by their
/// offsets: lane i's base plus one offset may be lane j's base plus the other.
bool mayDepend(const isa::Instruction& first, const isa::Instruction& second, bool sameBases);

/// Where an access goes, as far as it can be told.
struct MemoryAddress {
  enum class Space : std::uint8_t { unknown, scalar, buffer, global, lds, scratch };
  Space space = Space::unknown;
  /// Equal bases are the same address: SMEM and global base pairs, the four words of a buffer resource.
  std::vector<LinearForm> base;
  LinearForm offset; ///< bytes from the base, mod 2^32
  struct Range {
    std::int64_t begin = 0, end = 0; ///< bytes from `offset`, per lane
  };
  std::vector<Range> ranges;
};

/// All memory instructions of a function with their addresses.
class MemoryDependence {
 public:
  /// `linearIds`: see ValueNumbers. Needs complete instructions.
  MemoryDependence(const Program& program, const Function& function, unsigned accumOffset, bool linearIds = false);

  /// Both must be instructions of this function.
  bool mayDepend(Place first, Place second) const;
  /// Nothing where no address can be told.
  const MemoryAddress* addressOf(Place place) const;
  /// Do the two accesses never touch a common byte? Only by their addresses; false: they may.
  bool areDisjoint(Place first, Place second) const;

 private:
  const Program& program;
  std::map<Place, MemoryAddress> addresses;
  std::map<std::uint32_t, bool> uniform; ///< by symbol that occurs in an offset
};

/// One more than the highest LDS byte of the function, where every LDS access of it and of what it calls has a constant
/// address (or one that differs between lanes by a constant stride).
std::optional<std::uint64_t> constantLdsEnd(const Program& program, const Function& function);

} // namespace asmevo::program
