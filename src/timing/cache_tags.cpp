#include "timing/cache_tags.h"

#include <algorithm>

namespace asmevo::timing {

SetAssociativeCache::SetAssociativeCache(std::size_t sets, std::size_t wayCount)
    : setCount(sets), ways(wayCount), used(sets),
      tags(std::make_unique_for_overwrite<std::uint64_t[]>(sets * wayCount)),
      lastUse(std::make_unique_for_overwrite<std::uint64_t[]>(sets * wayCount)),
      fills(std::make_unique_for_overwrite<Clk[]>(sets * wayCount)),
      dirty(std::make_unique_for_overwrite<std::uint8_t[]>(sets * wayCount)) {}

void SetAssociativeCache::clear(std::size_t set) {
  const std::size_t first = set * ways;
  std::fill_n(&tags[first], ways, ~std::uint64_t{0});
  std::fill_n(&lastUse[first], ways, 0);
  std::fill_n(&fills[first], ways, Clk{});
  std::fill_n(&dirty[first], ways, 0);
  used[set] = 1;
}

SetAssociativeCache::Line SetAssociativeCache::find(std::size_t set, std::uint64_t tag) {
  if (!used[set])
    return {};
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
  prepare(set);
  const std::uint64_t* first = &lastUse[set * ways];
  const auto victim = static_cast<std::size_t>(std::min_element(first, first + ways) - lastUse.get());
  const bool wasDirty = dirty[victim] != 0;
  tags[victim] = tag;
  lastUse[victim] = how.evictFirst ? 0 : ++tick;
  fills[victim] = ready;
  dirty[victim] = how.dirty;
  return wasDirty;
}

std::size_t SetAssociativeCache::dirtyLines() const {
  std::size_t lines = 0;
  for (std::size_t set = 0; set < setCount; ++set)
    if (used[set])
      lines += static_cast<std::size_t>(
          std::count_if(&dirty[set * ways], &dirty[set * ways] + ways, [](std::uint8_t d) { return d != 0; }));
  return lines;
}

} // namespace asmevo::timing
