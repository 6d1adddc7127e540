/// Which instructions may have written what a register holds.
///
/// Promises: every write whose value, or part of it, may be seen at the point in question is named; a write is passed
/// over only where a later one replaces the whole unit on every path (kills, or a vector write under a full EXEC).
/// `outside` says that the value may also come from before the function's entry, from a callee or from words that are
/// not understood. Where code uses VGPRs by M0, every vector operation may have written every VGPR.
#pragma once

#include "program/analysis/dataflow.h"
#include "program/analysis/exec_mask.h"

#include <vector>

namespace asmevo::program {

class ReachingDefinitions {
 public:
  /// Keeps references to `program` and `function`. Needs complete instructions.
  ReachingDefinitions(const Program& program, const Function& function, unsigned accumOffset);

  struct Definitions {
    std::vector<Place> places; ///< sorted
    bool outside = false;
    bool operator==(const Definitions&) const = default;
  };
  /// Of `unit` in front of the instruction at `place` (index may be the block's size: its end).
  Definitions before(Place place, isa::RegUnit unit) const;

  /// Instructions that may see what the one at `definition` writes to `unit`, sorted.
  std::vector<Place> usesOf(Place definition, isa::RegUnit unit) const;

 private:
  struct Effect {
    isa::RegSet reads, writes, kills;
    bool unknown = false; ///< a call, or words that are not understood
  };

  const Program& program;
  const Function& function;
  std::vector<std::vector<Effect>> effects; ///< by block and instruction
  std::vector<bool> inside;                 ///< blocks of the function
};

} // namespace asmevo::program
