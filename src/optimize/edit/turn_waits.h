/// Waits of a loop's body some of whose loads are issued an iteration ahead.
#pragma once

#include <cstddef>
#include <vector>

namespace asmevo::optimize {

/// Counts in-order operations of vmcnt. A wait must complete what it completed before: operations of the body up to its
/// n youngest, among them loads that now were issued in the iteration before. Those of the next iteration stay out.
class TurnWaits {
 public:
  struct Operation {
    std::size_t at = 0; ///< position in the body
    bool ahead = false; ///< issued in the iteration before, or in front of the loop
    bool atTop = false; ///< and there at the start, with the others of its kind in their order; else at its position
  };
  /// `operations`: all of the body, in order.
  explicit TurnWaits(std::vector<Operation> operations);

  /// What a wait for `n` at body position `at` becomes; large numbers mean that it has nothing to wait for.
  unsigned count(std::size_t at, unsigned n) const;

 private:
  std::size_t issuedBefore(std::size_t at) const;

  std::vector<Operation> list;
  std::vector<std::size_t> place;   ///< of each in an iteration, as they are issued now
  std::vector<std::size_t> younger; ///< of each that goes ahead: how many of its kind follow it in front of the loop
  std::size_t atTop = 0;
};

} // namespace asmevo::optimize
