/// Dominators and post-dominators of a function's blocks.
///
/// Promises: exact for the recovered graph; calls fall through. Two entries (kernarg preload) have a virtual common
/// one. All places where control leaves the function (s_endpgm, returns, jumps to unknown places) have a virtual common
/// exit; blocks from which none can be reached (endless loops) have no post-dominator.
#pragma once

#include "program/program.h"

#include <optional>
#include <vector>

namespace asmevo::program {

/// A tree over blocks with a virtual root.
class BlockTree {
 public:
  /// Nothing for children of the virtual root and for blocks outside the tree.
  std::optional<BlockId> immediate(BlockId block) const;
  bool contains(BlockId block) const { return block < position.size() && position[block] != none; }

 protected:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// `order`: each block before what it may dominate, but for retreating edges. `edges(block)`: where control comes
  /// from; `isRoot(block)`: does it come from outside too?
  template <class Edges, class IsRoot>
  void build(std::vector<BlockId> blocks, std::size_t blockCount, const Edges& edges, const IsRoot& isRoot);
  bool isAncestor(BlockId a, BlockId b) const;

 private:
  std::vector<BlockId> order;
  std::vector<std::uint32_t> position; ///< in `order` plus 1 (0: the virtual root); `none` outside
  std::vector<std::uint32_t> parent;   ///< by position
};

class Dominators : public BlockTree {
 public:
  Dominators(const Program& program, const Function& function);
  bool dominates(BlockId a, BlockId b) const { return isAncestor(a, b); }
};

class PostDominators : public BlockTree {
 public:
  PostDominators(const Program& program, const Function& function);
  bool postDominates(BlockId a, BlockId b) const { return isAncestor(a, b); }
};

} // namespace asmevo::program
