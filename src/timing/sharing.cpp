#include "timing/sharing.h"

#include <algorithm>
#include <bit>

namespace asmevo::timing {

Sharing::Sharing(const Parameters& p, const TraceSet& traces, const ChipLoad& load)
    : set(traces), activeCus(load.activeCusPerXcd), activeXcds(load.activeXcds) {
  const auto xcds = static_cast<std::uint64_t>(p.xcds);
  for (std::size_t a = 0; a < set.groups.size(); ++a) {
    std::uint64_t near = 0, same = 0, other = 0;
    for (std::size_t b = 0; b < set.groups.size(); ++b) {
      if (a == b)
        continue;
      const std::uint64_t first = set.groups[a].index, second = set.groups[b].index;
      const std::uint64_t bit = std::uint64_t{1} << b;
      if (first % xcds != second % xcds) {
        other |= bit;
        continue;
      }
      same |= bit;
      if (std::max(first, second) - std::min(first, second) < load.concurrentWorkgroups)
        near |= bit;
    }
    sameXcd.push_back(near ? near : same);
    otherXcd.push_back(other);
  }
}

Sharing::Sharers Sharing::of(std::uint32_t line, unsigned trace) const {
  const std::uint64_t touched = set.lines[line].touchedBy;
  const auto fraction = [&](std::uint64_t among) {
    return among ? static_cast<double>(std::popcount(touched & among)) / std::popcount(among) : 0.0;
  };
  const double elsewhere = fraction(otherXcd[trace]);
  const double here = sameXcd[trace] ? fraction(sameXcd[trace]) : elsewhere;
  return {1 + here * (activeCus - 1), 1 + elsewhere * (activeXcds - 1)};
}

bool Sharing::isPrivate(std::uint32_t line) const {
  return std::has_single_bit(set.lines[line].touchedBy);
}

} // namespace asmevo::timing
