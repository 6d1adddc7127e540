/// A bounded hardware queue in front of a unit, with first-come-first-served entry for the waves that find it full.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace asmevo::timing {

using Clk = std::int64_t;

class RequestQueue {
 public:
  explicit RequestQueue(std::size_t entryLimit) : limit(entryLimit) {}

  struct Room {
    Clk at = 0;            ///< when to try (again); `now` when there is room
    bool conflict = false; ///< what occupies the awaited entry is a bank conflict
  };
  /// Whether `wave` may enter. A wave that finds no room keeps its place in line: without it, the SIMD whose turn comes
  /// first after every release would shut the others out.
  Room room(std::uint32_t wave, Clk now) {
    while (!entries.empty() && entries.front().leaves <= now)
      entries.pop_front();
    const auto place = std::find(line.begin(), line.end(), wave);
    const auto ahead = static_cast<std::size_t>(place - line.begin());
    const std::size_t free = limit - std::min(limit, entries.size());
    if (ahead < free)
      return {now, false};
    if (place == line.end())
      line.push_back(wave);
    const Entry& awaited = entries[std::min(ahead - free, entries.size() - 1)];
    return {std::max(awaited.leaves, now + 1), awaited.conflict};
  }
  /// `wave` enters; its entry is free again at `leaves`, never before those of earlier ones.
  void enter(std::uint32_t wave, Clk leaves, bool conflict = false) {
    std::erase(line, wave);
    entries.push_back({std::max(leaves, entries.empty() ? leaves : entries.back().leaves), conflict});
  }

 private:
  struct Entry {
    Clk leaves;
    bool conflict;
  };
  std::size_t limit;
  std::deque<Entry> entries;
  std::vector<std::uint32_t> line;
};

} // namespace asmevo::timing
