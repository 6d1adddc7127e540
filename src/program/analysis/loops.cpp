#include "program/analysis/loops.h"

#include "program/analysis/dataflow.h"

#include <algorithm>
#include <map>
#include <set>

namespace asmevo::program {

Dominators::Dominators(const Program& program, const Function& function)
    : order(reversePostOrder(program, function)), position(program.blocks.size(), none) {
  for (std::size_t i = 0; i < order.size(); ++i)
    position[order[i]] = static_cast<std::uint32_t>(i + 1);
  idom.assign(order.size() + 1, none);
  idom[0] = 0;
  // Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
  const auto intersect = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (a > b)
        a = idom[a];
      while (b > a)
        b = idom[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const BlockId block = order[i];
      std::uint32_t best = none;
      if (block == function.entryBlock || function.preloadEntry == block)
        best = 0;
      for (const BlockId p : program.blocks[block].predecessors) {
        if (position[p] == none || idom[position[p]] == none)
          continue;
        best = best == none ? position[p] : intersect(best, position[p]);
      }
      if (idom[i + 1] != best) {
        idom[i + 1] = best;
        changed = true;
      }
    }
  }
}

std::optional<BlockId> Dominators::immediate(BlockId block) const {
  if (block >= position.size() || position[block] == none || idom[position[block]] == 0 ||
      idom[position[block]] == none)
    return std::nullopt;
  return order[idom[position[block]] - 1];
}

bool Dominators::dominates(BlockId a, BlockId b) const {
  if (a >= position.size() || b >= position.size() || position[a] == none || position[b] == none)
    return false;
  std::uint32_t at = position[b];
  while (at > position[a])
    at = idom[at];
  return at == position[a];
}

namespace {

/// Blocks that reach a latch without passing the header.
std::vector<BlockId> loopBody(const Program& program, const Dominators& dominators, BlockId header,
                              const std::vector<BlockId>& latches) {
  std::set<BlockId> body{header};
  std::vector<BlockId> todo = latches;
  while (!todo.empty()) {
    const BlockId block = todo.back();
    todo.pop_back();
    if (!dominators.dominates(header, block) || !body.insert(block).second)
      continue;
    const auto& predecessors = program.blocks[block].predecessors;
    todo.insert(todo.end(), predecessors.begin(), predecessors.end());
  }
  return {body.begin(), body.end()};
}

} // namespace

std::vector<Loop> naturalLoops(const Program& program, const Function& function) {
  const Dominators dominators(program, function);
  std::map<BlockId, std::vector<BlockId>> backEdges;
  for (const BlockId block : reversePostOrder(program, function))
    for (const BlockId next : program.blocks[block].successors)
      if (dominators.dominates(next, block))
        backEdges[next].push_back(block);
  std::vector<Loop> loops;
  for (auto& [header, latches] : backEdges) {
    Loop loop;
    loop.header = header;
    loop.blocks = loopBody(program, dominators, header, latches);
    loop.latches = std::move(latches);
    std::set<BlockId> exits;
    for (const BlockId block : loop.blocks)
      for (const BlockId next : program.blocks[block].successors)
        if (!std::binary_search(loop.blocks.begin(), loop.blocks.end(), next))
          exits.insert(next);
    loop.exits.assign(exits.begin(), exits.end());
    loops.push_back(std::move(loop));
  }
  std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return a.blocks.size() != b.blocks.size() ? a.blocks.size() > b.blocks.size() : a.header < b.header;
  });
  for (std::size_t inner = 0; inner < loops.size(); ++inner)
    for (std::size_t outer = inner; outer-- > 0;)
      if (std::binary_search(loops[outer].blocks.begin(), loops[outer].blocks.end(), loops[inner].header)) {
        loops[inner].parent = outer; // sorted by size, so the nearest one is the smallest
        loops[outer].innermost = false;
        break;
      }
  return loops;
}

std::vector<BlockId> irreducibleBlocks(const Program& program, const Function& function) {
  const Dominators dominators(program, function);
  const std::vector<BlockId> order = reversePostOrder(program, function);
  std::map<BlockId, std::size_t> position;
  for (std::size_t i = 0; i < order.size(); ++i)
    position[order[i]] = i;
  std::set<BlockId> result;
  for (const BlockId from : order)
    for (const BlockId to : program.blocks[from].successors) {
      const auto at = position.find(to);
      if (at == position.end() || at->second > position[from] || dominators.dominates(to, from))
        continue;
      // A retreating edge that is no back edge: everything on a cycle through it is irreducible.
      const auto reach = [&](BlockId start, bool forward) {
        std::set<BlockId> seen;
        std::vector<BlockId> todo{start};
        while (!todo.empty()) {
          const BlockId block = todo.back();
          todo.pop_back();
          if (!position.contains(block) || !seen.insert(block).second)
            continue;
          const auto& next = forward ? program.blocks[block].successors : program.blocks[block].predecessors;
          todo.insert(todo.end(), next.begin(), next.end());
        }
        return seen;
      };
      const auto after = reach(to, true), before = reach(from, false);
      std::set_intersection(after.begin(), after.end(), before.begin(), before.end(),
                            std::inserter(result, result.end()));
    }
  return {result.begin(), result.end()};
}

} // namespace asmevo::program
