/// Bugs of the kinds people make, planted into a recovered kernel one at a time.
#pragma once

#include "program/program.h"

#include <string>
#include <vector>

namespace asmevo::tests {

enum class BugKind { droppedWait, swappedOperands, shiftedOffset, lostMask };
const char* bugName(BugKind kind);

struct PlantedBug {
  BugKind kind = BugKind::droppedWait;
  std::string description; ///< address and text before and after
  std::uint64_t address = 0;
  program::Program program;
};

/// Every bug that can be planted into the instructions at `executed` addresses (ascending): a wait dropped between a
/// load and the first instruction that needs it, sources of a non-commutative operation swapped, a memory offset off by
/// one element, an EXEC mask not applied.
std::vector<PlantedBug> plantBugs(const program::Program& program, isa::Codec& codec,
                                  const std::vector<std::uint64_t>& executed);

} // namespace asmevo::tests
