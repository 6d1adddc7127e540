/// Which findings of K1 are findings of K0 at the corresponding place.
#pragma once

#include "verify/alignment.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace asmevo::verify {

/// A finding at two instructions. `badness`: how far it is from being none; a finding of K0 must not get worse.
struct PlacedFinding {
  std::string rule;
  std::uint64_t producer = 0, consumer = 0; ///< virtual addresses in the object
  std::uint64_t badness = 0;
  std::string message;
};

/// Findings are the same when their rule, the blocks of both instructions in terms of K0 and both instructions' texts
/// are.
class FindingMatcher {
 public:
  FindingMatcher(const ProgramPair& pair, const Alignment& alignment);
  /// Those of K1 that no finding of K0 excuses. Each excuses one that is no worse: the mildest that does.
  std::vector<PlacedFinding> newOnes(const std::vector<PlacedFinding>& k0, const std::vector<PlacedFinding>& k1) const;
  /// By block: its address in K0's terms. A new block right behind the counterpart of a block that most of its code is
  /// from counts as part of it; other new blocks count from the top of the range.
  const std::vector<std::uint64_t>& k0Names() const { return names0; }
  const std::vector<std::uint64_t>& k1Names() const { return names1; }

 private:
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t, std::string, std::string>;
  static Key keyOf(const PlacedFinding& finding, const program::Program& program,
                   const std::vector<std::uint64_t>& names);

  const ProgramPair& pair;
  std::vector<std::uint64_t> names0, names1;
};

} // namespace asmevo::verify
