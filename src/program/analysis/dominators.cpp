#include "program/analysis/dominators.h"

#include "program/analysis/dataflow.h"

#include <algorithm>

namespace asmevo::program {

// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
template <class Edges, class IsRoot>
void BlockTree::build(std::vector<BlockId> blocks, std::size_t blockCount, const Edges& edges, const IsRoot& isRoot) {
  order = std::move(blocks);
  position.assign(blockCount, none);
  for (std::size_t i = 0; i < order.size(); ++i)
    position[order[i]] = static_cast<std::uint32_t>(i + 1);
  parent.assign(order.size() + 1, none);
  parent[0] = 0;
  const auto intersect = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (a > b)
        a = parent[a];
      while (b > a)
        b = parent[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::uint32_t best = isRoot(order[i]) ? 0 : none;
      for (const BlockId from : edges(order[i])) {
        if (position[from] == none || parent[position[from]] == none)
          continue;
        best = best == none ? position[from] : intersect(best, position[from]);
      }
      if (parent[i + 1] != best) {
        parent[i + 1] = best;
        changed = true;
      }
    }
  }
}

std::optional<BlockId> BlockTree::immediate(BlockId block) const {
  if (!contains(block) || parent[position[block]] == 0 || parent[position[block]] == none)
    return std::nullopt;
  return order[parent[position[block]] - 1];
}

bool BlockTree::isAncestor(BlockId a, BlockId b) const {
  if (!contains(a) || !contains(b))
    return false;
  std::uint32_t at = position[b];
  while (at > position[a])
    at = parent[at];
  return at == position[a];
}

Dominators::Dominators(const Program& program, const Function& function) {
  build(
      reversePostOrder(program, function), program.blocks.size(),
      [&](BlockId block) -> const std::vector<BlockId>& { return program.blocks[block].predecessors; },
      [&](BlockId block) { return block == function.entryBlock || function.preloadEntry == block; });
}

PostDominators::PostDominators(const Program& program, const Function& function) {
  const std::vector<BlockId> blocks = reversePostOrder(program, function);
  std::vector<bool> inside(program.blocks.size()), seen(program.blocks.size());
  for (const BlockId block : blocks)
    inside[block] = true;
  const auto isExit = [&](BlockId block) {
    const Block& b = program.blocks[block];
    if (b.successors.empty() || b.opaque)
      return true;
    // A jump that recovery follows only in part may go elsewhere too.
    return !b.instrs.empty() && flowOf(b.instrs.back().inst) == Flow::jump && !b.instrs.back().target &&
           b.successors.size() < 2;
  };
  // Reverse post-order of the reversed graph, from the exits.
  std::vector<BlockId> order;
  std::vector<std::pair<BlockId, std::size_t>> stack;
  for (const BlockId exit : blocks) {
    if (!isExit(exit) || seen[exit])
      continue;
    seen[exit] = true;
    stack.emplace_back(exit, 0);
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      const auto& from = program.blocks[block].predecessors;
      if (next == from.size()) {
        order.push_back(block);
        stack.pop_back();
        continue;
      }
      const BlockId p = from[next++];
      if (inside[p] && !seen[p]) {
        seen[p] = true;
        stack.emplace_back(p, 0);
      }
    }
  }
  std::reverse(order.begin(), order.end());
  build(
      std::move(order), program.blocks.size(),
      [&](BlockId block) -> const std::vector<BlockId>& { return program.blocks[block].successors; }, isExit);
}

} // namespace asmevo::program
