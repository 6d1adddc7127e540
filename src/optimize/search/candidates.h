/// Proposals on their way through the cheap gates.
#pragma once

#include "optimize/optimize.h"
#include "optimize/search/pricing.h"

namespace asmevo::optimize {

struct Candidate {
  Proposal proposal;
  const Move* move = nullptr;
  std::string form, windowClass; ///< of the window; form: canonical, empty for moves on the whole kernel
  Bytes bytes;
  std::string hash;             ///< sha256 of bytes
  std::optional<double> cycles; ///< modelled; none: cannot be parsed or run
  std::size_t number = 0;       ///< in the order of proposal; breaks ties
};

/// Fills in `cycles`. The result does not depend on `threads`.
void priceInParallel(const std::vector<Candidate*>& candidates, const Pricer& pricer, const std::string& name,
                     unsigned threads);

/// Blocks whose instructions differ between two programs of one shape.
std::vector<program::BlockId> changedBlocks(const program::Program& before, const program::Program& after);

} // namespace asmevo::optimize
