/// Which registers of K1 hold what which registers of K0 hold, at a cut point.
#pragma once

#include "isa/registers.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace asmevo::verify {

using RegPair = std::pair<isa::RegUnit, isa::RegUnit>; ///< K0's, K1's

struct Relation {
  isa::RegSet same;             ///< K1's register holds what K0's of that name holds
  std::vector<RegPair> renamed; ///< likewise under another name; sorted
  std::vector<RegPair> active;  ///< VGPRs that agree in the lanes of EXEC only; sorted, none of the above

  static Relation identity() {
    Relation r;
    for (std::size_t u = 0; u < isa::regUnitCount; ++u)
      r.same.set(u);
    return r;
  }
  bool isFull(const RegPair& pair) const {
    return (pair.first == pair.second && same.test(pair.first)) || std::ranges::binary_search(renamed, pair);
  }
  bool holds(const RegPair& pair) const { return isFull(pair) || std::ranges::binary_search(active, pair); }

  /// Keeps what holds in both; true if something went.
  bool meet(const Relation& other) {
    Relation both;
    both.same = same;
    both.same &= other.same;
    const auto keep = [&](const RegPair& pair) {
      if (isFull(pair) && other.isFull(pair))
        both.renamed.push_back(pair);
      else if (pair.first >= isa::vgprBase && pair.second >= isa::vgprBase && other.holds(pair))
        both.active.push_back(pair);
    };
    for (const RegPair& pair : renamed)
      keep(pair);
    for (const RegPair& pair : active)
      keep(pair);
    isa::RegSet lost = same;
    lost.remove(both.same).forEach([&](isa::RegUnit u) { keep({u, u}); });
    std::ranges::sort(both.renamed);
    std::ranges::sort(both.active);
    const bool changed = !(both.same == same) || both.renamed != renamed || both.active != active;
    *this = std::move(both);
    return changed;
  }
};

} // namespace asmevo::verify
