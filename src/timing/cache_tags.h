/// Tags of a set-associative cache with true LRU: no data, only when a line's fill arrives.
#pragma once

#include "timing/request_queue.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace asmevo::timing {

class SetAssociativeCache {
 public:
  SetAssociativeCache(std::size_t setCount, std::size_t wayCount);

  /// A cached line; valid until the next insert.
  struct Line {
    Clk* fill = nullptr; ///< when its data arrives; null: the line is absent
    std::uint8_t* dirty = nullptr;
    explicit operator bool() const { return fill != nullptr; }
  };
  /// Makes the tag most recent.
  Line find(std::size_t set, std::uint64_t tag);

  struct Insertion {
    bool dirty = false;
    bool evictFirst = false; ///< the next insertion into the set takes this line's place
  };
  /// Puts the tag in place of the least recent line of the set; its fill arrives at `ready`. Returns whether the line
  /// that made room was dirty.
  bool insert(std::size_t set, std::uint64_t tag, Clk ready, Insertion how);
  bool insert(std::size_t set, std::uint64_t tag, Clk ready) { return insert(set, tag, ready, Insertion()); }
  std::size_t sets() const { return setCount; }
  std::size_t lines() const { return setCount * ways; }
  /// Declares an empty place to hold a dirty line that nobody asks for.
  void dirtyPlace(std::size_t place) {
    prepare(place / ways);
    dirty[place] = 1;
  }
  std::size_t dirtyLines() const;

 private:
  /// Empties a set before its first use.
  void prepare(std::size_t set) {
    if (!used[set])
      clear(set);
  }
  void clear(std::size_t set);

  std::size_t setCount, ways;
  std::uint64_t tick = 0;
  // By set and way; apart, so that the search for a tag runs over tags only. A set is written when it is first used:
  // many a run is shorter than it takes to fill the tags of an L2.
  std::vector<std::uint8_t> used; // by set
  std::unique_ptr<std::uint64_t[]> tags, lastUse;
  std::unique_ptr<Clk[]> fills;
  std::unique_ptr<std::uint8_t[]> dirty;
};

} // namespace asmevo::timing
