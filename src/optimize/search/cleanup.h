/// What an edit leaves behind: work that nobody needs any more.
#pragma once

#include "optimize/optimize.h"
#include "optimize/search/pricing.h"

namespace asmevo::optimize {

/// An edited program after the cleaning moves.
struct Cleaned {
  object::CodeObject object; ///< what `program` was recovered from: the edited program, laid out
  program::Program program;
  std::vector<std::string> reasons, assumptions; ///< of the moves that found something
};

/// True for programs that an edit made longer or of another shape: loops unrolled, loads ahead of their loop. Their
/// price says little before they are cleaned.
bool needsCleaning(const program::Program& before, const program::Program& after);

/// `edited`: bytes of such a program. `context` is that of the program it was made of, for what does not depend on the
/// program; `moves` are tried in their order, each as often as it finds something. Nothing where none does.
std::optional<Cleaned> cleaned(const Bytes& edited, const std::string& kernel, const MoveContext& context,
                               const std::vector<const Move*>& moves, const Pricer& pricer);

/// The moves that clean. Those that only may pay (copies, waits) are candidates of their own.
const std::vector<const Move*>& cleaningMoves();

} // namespace asmevo::optimize
