/// Registers whose value in every work-item of a workgroup follows from the work-item's number alone, along the part of
/// a kernel that all waves run through alike.
#pragma once

#include "program/analysis/dataflow.h"

#include <array>
#include <map>
#include <optional>
#include <vector>

namespace asmevo::verify {

/// By work-item.
using ThreadValues = std::vector<std::uint32_t>;

/// Walked along in program order, one instruction at a time.
class ThreadState {
 public:
  /// `ids`: what v0 holds in each work-item. Registers that the launch fills in are alike in all waves.
  ThreadState(ThreadValues ids, unsigned accumOffset);

  void step(const isa::Instruction& inst);

  /// All lanes are on.
  bool execFull() const { return full; }
  /// The same in all waves of the workgroup, whatever it is.
  bool isUniform(const isa::RegSet& scalars) const { return !scalars.intersects(perWave); }
  /// Of an operand of one dword; nothing: not known.
  std::optional<ThreadValues> valueOf(const isa::Operand& operand) const;
  /// Changes with every write of the register: equal numbers mean equal contents.
  std::uint32_t versionOf(unsigned scalarUnit) const { return versions[scalarUnit]; }

 private:
  std::optional<ThreadValues> resultOf(const isa::Instruction& inst) const;
  void stepScalars(const isa::Instruction& inst, const isa::RegSet& writes);

  std::size_t threads;
  unsigned accumOffset;
  bool full = true;
  std::map<unsigned, ThreadValues> vectors;    ///< by VGPR
  std::map<unsigned, std::uint32_t> constants; ///< by SGPR
  std::array<std::uint32_t, isa::vgprBase> versions{};
  std::uint32_t latest = 0;
  isa::RegSet perWave; ///< scalar units that may differ between waves
};

} // namespace asmevo::verify
