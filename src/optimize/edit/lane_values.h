/// What registers hold lane by lane where it follows from the lane's number: indices of lanes, masks of lanes,
/// constants.
#pragma once

#include "isa/registers.h"
#include "program/program.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace asmevo::optimize {

/// Bits of a 32-bit register that are known in each of the 64 lanes.
struct LaneBits {
  std::array<std::uint32_t, 64> known{}, value{}; ///< value: zero where not known
  bool operator==(const LaneBits&) const = default;
};

/// Known bits of VGPRs and SGPRs (by unit, the same in all lanes of an SGPR) and of 64-bit lane masks in SGPR pairs (by
/// the first unit). Values of VGPRs hold in every lane of the wave, on or off.
class LaneState {
 public:
  const LaneBits* of(isa::RegUnit unit) const;
  /// The mask in SGPRs `first` and the next one, if all its bits are known.
  std::optional<std::uint64_t> mask(isa::RegUnit first) const;
  bool reached = false;

 private:
  friend class LaneValues;
  std::map<isa::RegUnit, std::shared_ptr<const LaneBits>> bits;
  std::map<isa::RegUnit, std::uint64_t> masks;
};

/// Wave64 only. A vector instruction is followed where all lanes are on (program/analysis/exec_mask.h), else its result
/// is unknown.
class LaneValues {
 public:
  struct Entry {
    bool wholeWaves = false; ///< see ExecMask
    /// Low six bits of v0 at the kernel's entry are the lane's number: x extents of workgroups are multiples of 64.
    bool itemIsLane = false;
  };
  /// Keeps a reference to `program`. Nothing is known in functions that are called or call.
  LaneValues(const program::Program& program, const program::Function& function, unsigned accumOffset, Entry entry);

  /// Calls `visit(index, state, allLanesOn)` in front of every instruction of the block.
  void walk(program::BlockId block, const std::function<void(std::size_t, const LaneState&, bool)>& visit) const;

 private:
  struct Problem;
  void step(const isa::Instruction& inst, bool full, LaneState& state) const;

  const program::Program& program;
  unsigned accumOffset;
  std::map<program::BlockId, LaneState> atStart;
  std::map<program::BlockId, std::vector<bool>> fullBefore;
};

} // namespace asmevo::optimize
