#include "verify/edit_proofs.h"

#include "verify/asmpatch.h"
#include "verify/asmpatch_delta.h"

#include <algorithm>

namespace asmevo::verify {

namespace {

using nlohmann::json;

constexpr std::size_t mostEdits = 32;

Result<object::CodeObject> withHunks(const object::CodeObject& k0, json patch, const std::vector<json>& hunks) {
  patch["hunks"] = hunks;
  ASMEVO_TRY(Bytes bytes, applyEdits(k0, patch));
  return object::CodeObject::parse(std::move(bytes), k0.name() + " with a part of the edits");
}

} // namespace

EditProofs proveEdits(const object::CodeObject& k0, const object::CodeObject& k1,
                      const std::vector<std::string>& kernels, bool wholeWaves) {
  EditProofs result;
  const auto patch = createPatch(k0, k1, json::object(), PatchForm::editsOnly);
  if (!patch || patch->at("hunks").size() < 2 || patch->at("hunks").size() > mostEdits)
    return result;
  std::vector<json> proved;
  auto base = withHunks(k0, *patch, proved);
  for (const json& hunk : patch->at("hunks")) {
    if (!base)
      return result;
    if (!hunk.contains("block"))
      continue;
    EditProof& own = result.byBlock[std::stoull(hunk["block"].get<std::string>(), nullptr, 16)];
    proved.push_back(hunk);
    auto next = withHunks(k0, *patch, proved);
    own.status = next ? ProofStatus::proved : ProofStatus::refused;
    own.reason = next ? "" : "cannot be applied alone: " + next.error().message;
    for (std::size_t k = 0; k < kernels.size() && own.status == ProofStatus::proved; ++k) {
      auto proof = proveEquivalent(*base, *next, kernels[k], {.wholeWaves = wholeWaves});
      own.status = proof ? proof->status : ProofStatus::refused;
      own.reason = proof ? std::move(proof->reason) : proof.error().message;
      if (!proof)
        break;
      if (proof->counterexample && !result.counterexample)
        result.counterexample = std::move(proof->counterexample);
      for (std::string& line : proof->assumptions)
        if (std::ranges::find(result.assumptions, line) == result.assumptions.end())
          result.assumptions.push_back(std::move(line));
    }
    if (own.status == ProofStatus::proved)
      base = std::move(next);
    else
      proved.pop_back();
  }
  return result;
}

} // namespace asmevo::verify
