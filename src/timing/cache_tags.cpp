#include "timing/cache_tags.h"

#include <algorithm>

namespace asmevo::timing {

SetAssociativeCache::SetAssociativeCache(std::size_t sets, std::size_t wayCount)
    : setCount(sets), ways(wayCount), tags(sets * wayCount, ~std::uint64_t{0}), lastUse(sets * wayCount),
      fills(sets * wayCount), dirty(sets * wayCount) {}

SetAssociativeCache::Line SetAssociativeCache::find(std::size_t set, std::uint64_t tag) {
  const std::size_t first = set * ways;
  // Without an early exit the loop vectorises; a tag is at one place at most.
  std::size_t found = ways;
  for (std::size_t i = 0; i < ways; ++i)
    found = tags[first + i] == tag ? i : found;
  if (found == ways)
    return {};
  lastUse[first + found] = ++tick;
  return {&fills[first + found], &dirty[first + found]};
}

bool SetAssociativeCache::insert(std::size_t set, std::uint64_t tag, Clk ready, Insertion how) {
  const auto first = lastUse.begin() + static_cast<std::ptrdiff_t>(set * ways);
  const auto victim =
      static_cast<std::size_t>(std::min_element(first, first + static_cast<std::ptrdiff_t>(ways)) - lastUse.begin());
  const bool wasDirty = dirty[victim] != 0;
  tags[victim] = tag;
  lastUse[victim] = how.evictFirst ? 0 : ++tick;
  fills[victim] = ready;
  dirty[victim] = how.dirty;
  return wasDirty;
}

std::size_t SetAssociativeCache::dirtyLines() const {
  return static_cast<std::size_t>(std::count_if(dirty.begin(), dirty.end(), [](std::uint8_t d) { return d != 0; }));
}

} // namespace asmevo::timing
