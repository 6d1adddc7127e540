/// Which registers of K1 hold what which registers of K0 hold, at a cut point.
#pragma once

#include "isa/registers.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace asmevo::verify {

struct Relation {
  isa::RegSet same;                                           ///< K1's register holds what K0's of that name holds
  std::vector<std::pair<isa::RegUnit, isa::RegUnit>> renamed; ///< K0's first is K1's second; sorted

  static Relation identity() {
    Relation r;
    for (std::size_t u = 0; u < isa::regUnitCount; ++u)
      r.same.set(u);
    return r;
  }
  /// Keeps what holds in both; true if something went.
  bool meet(const Relation& other) {
    const Relation before = *this;
    same &= other.same;
    std::erase_if(renamed, [&](const auto& pair) {
      return !std::ranges::binary_search(other.renamed, pair) &&
             !(pair.first == pair.second && other.same.test(pair.first));
    });
    return !(before.same == same) || before.renamed.size() != renamed.size();
  }
};

} // namespace asmevo::verify
