/// Dominators and loops.
#pragma once

#include "program/program.h"

#include <optional>
#include <vector>

namespace asmevo::program {

/// Immediate dominators of a function's blocks. Two entries (kernarg preload) have a virtual common one.
class Dominators {
 public:
  Dominators(const Program& program, const Function& function);
  /// Nothing for entries and for blocks outside the function.
  std::optional<BlockId> immediate(BlockId block) const;
  bool dominates(BlockId a, BlockId b) const;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<BlockId> order;
  std::vector<std::uint32_t> position; ///< in `order` plus 1 (0: the virtual entry); `none` outside the function
  std::vector<std::uint32_t> idom;     ///< by position
};

/// A natural loop: all back edges to one header.
struct Loop {
  BlockId header = 0;
  std::vector<BlockId> blocks;       ///< sorted, header included
  std::vector<BlockId> latches;      ///< sources of the back edges
  std::vector<BlockId> exits;        ///< blocks outside that are entered from inside
  std::optional<std::size_t> parent; ///< index of the smallest loop around it
  bool innermost = true;
};

/// Natural loops, outer before inner. Cycles that are entered in more than one place are not among them.
std::vector<Loop> naturalLoops(const Program& program, const Function& function);

/// Blocks of cycles with more than one entry, sorted.
std::vector<BlockId> irreducibleBlocks(const Program& program, const Function& function);

} // namespace asmevo::program
