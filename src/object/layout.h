/// Where the parts of a file land, in the file and in memory, when code sections change their size. Internal to the
/// object room: rewrite.h is the interface.
#pragma once

#include "object/rewrite.h"

#include <cstdint>
#include <vector>

namespace asmevo::object {

/// One-dimensional move map (file offsets or virtual addresses): what lies at or behind the end of a resized range
/// moves.
class MoveMap {
 public:
  /// A resized range [begin, oldEnd) becoming newEnd - begin long, with everything from oldEnd on moving by `shift`.
  struct Resize {
    std::uint64_t begin;
    std::uint64_t oldEnd;
    std::uint64_t newEnd;
    std::uint64_t shift;
  };

  explicit MoveMap(std::vector<Resize> list);

  /// Where something that starts at `position` lands.
  std::uint64_t start(std::uint64_t position) const;
  /// Where something that ends before `position` now ends: a segment that ends with a grown section grows with it. A
  /// shrunk section leaves its segment as long as it was.
  std::uint64_t end(std::uint64_t position) const;
  const std::vector<Resize>& resizes() const { return list; } ///< ascending
  bool isIdentity() const;

 private:
  std::vector<Resize> list;
};

struct Layout {
  MoveMap file{{}};
  MoveMap memory{{}};
};

/// The layout after `rewrite`; refuses what cannot be moved (relocatables, overlapping sections).
Result<Layout> planLayout(const CodeObject& object, const Rewrite& rewrite);

} // namespace asmevo::object
