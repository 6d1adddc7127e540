/// Which edits of K1 a proof covers one by one, where it does not cover all of them together.
#pragma once

#include "verify/proof/value_proof.h"

#include <map>
#include <string>
#include <vector>

namespace asmevo::verify {

struct EditProof {
  ProofStatus status = ProofStatus::unknown;
  std::string reason;
};

struct EditProofs {
  std::map<std::uint64_t, EditProof> byBlock; ///< K0 address of the edited block
  std::vector<std::string> assumptions;
  std::optional<Counterexample> counterexample; ///< of the first edit that has one
};

/// A chain from K0 to K1 that takes one edited block at a time: each is judged against what the proved ones before it
/// made of K0, so that K1 is K0 with proved edits and the others on top. Blocks that only K1 has are not judged.
/// Empty where K1 is not K0 with edited blocks (asmpatch.h), or with too many of them. `wholeWaves`: see ProofOptions.
EditProofs proveEdits(const object::CodeObject& k0, const object::CodeObject& k1,
                      const std::vector<std::string>& kernels, bool wholeWaves = false);

} // namespace asmevo::verify
