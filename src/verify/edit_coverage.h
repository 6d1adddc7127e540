/// The edits between two programs one by one, and what of them the cases executed.
#pragma once

#include "verify/alignment.h"
#include "verify/differential.h"

#include <vector>

namespace asmevo::verify {

/// Blocks that an edit consists of.
struct EditedBlocks {
  std::vector<program::BlockId> k0; ///< edited or gone
  std::vector<program::BlockId> k1; ///< new
};
EditedBlocks editedBlocks(const ProgramPair& pair, const Alignment& alignment);

/// One report for each, K0's first. `reach` of those that nothing executes says what decides about it: branches on the
/// way, and the kernel arguments that their conditions come from. Needs complete instructions.
std::vector<EditReport> reportEdits(const object::CodeObject& k0, const object::CodeObject& k1, const ProgramPair& pair,
                                    const Alignment& alignment, const EditedBlocks& edits, const Baseline& baseline,
                                    const Differential& runs);

/// Executed by some case, and where it lies in a loop, a back edge too. `strict`: strict runs were made, which alone
/// know back edges.
bool isCovered(const EditReport& edit, bool strict);

} // namespace asmevo::verify
