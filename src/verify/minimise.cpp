#include "verify/minimise.h"

#include "verify/asmpatch.h"
#include "verify/asmpatch_delta.h"
#include "verify/differential.h"

#include <algorithm>

namespace asmevo::verify {

namespace {

using nlohmann::json;
using Subset = std::vector<std::size_t>;

class Minimiser {
 public:
  Minimiser(const object::CodeObject& k0, const dispatch::Dispatch& dispatch, device::Device& device, Options options)
      : k0(k0), dispatch(dispatch), device(device), options(std::move(options)) {}

  Result<std::optional<Minimised>> run(const object::CodeObject& k1) {
    options.stopAtFirst = true;
    if (!options.baseline || !options.baseline->fits(k0, dispatch, options)) {
      ASMEVO_TRY(options.baseline, measureBaseline(k0, dispatch, device, options));
    }
    ASMEVO_TRY(const Verdict whole, verify(k0, k1, dispatch, device, options));
    if (accepted(whole.level))
      return std::optional<Minimised>();
    gate = whole.gate;
    ASMEVO_TRY(patch, createPatch(k0, k1, json::object(), PatchForm::editsOnly));
    hunks = patch["hunks"].get<std::vector<json>>();
    Subset all(hunks.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = i;
    if (hunks.empty() || !fails(all))
      return refused("{}: what refuses it lies outside its {} edited blocks ({})", k1.name(), hunks.size(),
                     whole.reason);
    const Subset least = reduce(all);
    return finish(least);
  }

 private:
  Result<object::CodeObject> build(const Subset& subset) const {
    json part = patch;
    part["hunks"] = json::array();
    for (const std::size_t i : subset)
      part["hunks"].push_back(hunks[i]);
    ASMEVO_TRY(Bytes bytes, applyEdits(k0, part));
    return object::CodeObject::parse(std::move(bytes), k0.name() + " with a part of the edits");
  }

  bool fails(const Subset& subset) {
    ++tried;
    const auto object = build(subset);
    if (!object)
      return false;
    const auto verdict = verify(k0, *object, dispatch, device, options);
    return verdict && !accepted(verdict->level) && verdict->gate == gate;
  }

  /// ddmin.
  Subset reduce(Subset subset) {
    for (std::size_t parts = 2; subset.size() > 1;) {
      const std::size_t size = (subset.size() + parts - 1) / parts;
      bool smaller = false;
      for (const bool complement : {false, true}) {
        for (std::size_t begin = 0; begin < subset.size() && !smaller; begin += size) {
          const auto first = subset.begin() + static_cast<std::ptrdiff_t>(begin);
          const auto last = subset.begin() + static_cast<std::ptrdiff_t>(std::min(begin + size, subset.size()));
          Subset trial = complement ? Subset(subset.begin(), first) : Subset(first, last);
          if (complement)
            trial.insert(trial.end(), last, subset.end());
          if (trial.empty() || trial.size() == subset.size() || !fails(trial))
            continue;
          subset = std::move(trial);
          parts = complement ? std::max<std::size_t>(parts - 1, 2) : 2;
          smaller = true;
        }
        if (smaller)
          break;
      }
      if (smaller)
        continue;
      if (parts >= subset.size())
        break;
      parts = std::min(subset.size(), parts * 2);
    }
    return subset;
  }

  Result<std::optional<Minimised>> finish(const Subset& subset) {
    Minimised result;
    result.edits = hunks.size();
    result.tried = tried;
    for (const std::size_t i : subset) {
      const json& hunk = hunks[i];
      result.hunks.push_back(hunk);
      result.places.push_back(hunk.contains("block") ? "block at " + hunk["block"].get<std::string>()
                                                     : "new block " + hunk["new"].get<std::string>());
    }
    ASMEVO_TRY(const object::CodeObject k1, build(subset));
    result.k1 = Bytes(k1.bytes().begin(), k1.bytes().end());
    ASMEVO_TRY(result.verdict, verify(k0, k1, dispatch, device, options));
    for (std::size_t c = 0; c < result.verdict.cases.size(); ++c)
      if (!result.verdict.cases[c].equal && !result.verdict.cases[c].detail.empty()) {
        result.divergedCase = result.verdict.cases[c].name;
        if (auto report = findDivergence(k0, k1, options.baseline->varied.dispatch.cases[c]))
          result.divergence = *std::move(report);
        break;
      }
    return std::optional(std::move(result));
  }

  const object::CodeObject& k0;
  const dispatch::Dispatch& dispatch;
  device::Device& device;
  Options options;
  std::string gate;
  json patch;
  std::vector<json> hunks;
  std::size_t tried = 0;
};

} // namespace

Result<std::optional<Minimised>> minimise(const object::CodeObject& k0, const object::CodeObject& k1,
                                          const dispatch::Dispatch& dispatch, device::Device& device,
                                          const Options& options) {
  return Minimiser(k0, dispatch, device, options).run(k1);
}

} // namespace asmevo::verify
