/// The smallest part of an edit that is still refused.
#pragma once

#include "verify/divergence.h"
#include "verify/verify.h"

namespace asmevo::verify {

struct Minimised {
  std::size_t edits = 0;                      ///< of K1: blocks edited, new or gone
  std::vector<std::string> places;            ///< of the subset: "block at 0x1a40", "new block n3"
  std::vector<nlohmann::json> hunks;          ///< of the subset, as in an .asmpatch
  Bytes k1;                                   ///< K0 with the subset
  Verdict verdict;                            ///< of it, up to the first rejection
  std::size_t tried = 0;                      ///< subsets judged
  std::string divergedCase;                   ///< the first case that differs; empty: rejected without one
  std::optional<DivergenceReport> divergence; ///< on that case
};

/// Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input") over the blocks that
/// K1 edits: no block can be left out of the result without the refusal going away, or the program not being one any
/// more. Subsets must be refused by the gate that refuses K1. Nothing where K1 is accepted. Refused where K1 is not
/// K0 with edited blocks (asmpatch.h).
Result<std::optional<Minimised>> minimise(const object::CodeObject& k0, const object::CodeObject& k1,
                                          const dispatch::Dispatch& dispatch, device::Device& device,
                                          const Options& options);

} // namespace asmevo::verify
