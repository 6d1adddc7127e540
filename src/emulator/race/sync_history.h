/// What atomics hand over, by location. Private to the emulator.
#pragma once

#include "emulator/race/clock.h"

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

namespace asmevo::emulator {

/// Release histories as persistent lists: number 0 is none, others are kept in Shadow::Page::sync.
class SyncHistory {
 public:
  using Shared = std::shared_ptr<const Clock>;

  /// The clock as a number for `extend`.
  std::uint32_t addClock(Shared clock) {
    clocks.push_back(std::move(clock));
    return static_cast<std::uint32_t>(clocks.size() - 1);
  }
  /// `before` (0: a store, which starts anew) and then `clock`.
  std::uint32_t extend(std::uint32_t before, std::uint32_t clock) {
    if (before != 0 && nodes[before - 1].size >= mergeAt) {
      auto merged = std::make_shared<Clock>(*clocks[clock]);
      for (std::uint32_t at = before; at != 0; at = nodes[at - 1].before)
        merged->join(*clocks[nodes[at - 1].clock]);
      clock = addClock(std::move(merged));
      before = 0;
    }
    nodes.push_back({before, clock, before == 0 ? 1 : nodes[before - 1].size + 1});
    return static_cast<std::uint32_t>(nodes.size());
  }
  /// Joins a history into `into`; `seen` holds the nodes that are in there already.
  void collect(std::uint32_t history, Clock& into, std::unordered_set<std::uint32_t>& seen) const {
    for (; history != 0 && seen.insert(history).second; history = nodes[history - 1].before)
      into.join(*clocks[nodes[history - 1].clock]);
  }
  std::uint64_t bytes() const { return nodes.size() * sizeof(Node) + clocks.size() * 64; }

 private:
  static constexpr std::uint32_t mergeAt = 128;
  struct Node {
    std::uint32_t before = 0, clock = 0, size = 0;
  };
  std::vector<Node> nodes;
  std::vector<Shared> clocks;
};

} // namespace asmevo::emulator
