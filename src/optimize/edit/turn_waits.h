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
    std::size_t at = 0;     ///< position in the body
    std::size_t issued = 0; ///< the position in front of which it is issued now
    bool ahead = false;     ///< of the iteration in front, there with all its kind: loads of the next one
    bool second = false;    ///< in front of the loop it comes behind those that are not
  };
  /// `operations`: all of the body, in order.
  explicit TurnWaits(std::vector<Operation> operations);

  /// What a wait for `n` at body position `at` becomes; large numbers mean that it has nothing to wait for.
  unsigned count(std::size_t at, unsigned n) const;

 private:
  /// Operations that an iteration issues in front of position `at`.
  std::size_t issuedBefore(std::size_t at) const;

  std::vector<Operation> list;
  std::vector<std::size_t> place;   ///< of each in an iteration, as they are issued now
  std::vector<std::size_t> younger; ///< of each that goes ahead: how many of its kind follow it in front of the loop
};

} // namespace asmevo::optimize
