#include "program/analysis/loops.h"

#include "program/analysis/dataflow.h"

#include <algorithm>
#include <map>
#include <set>

namespace asmevo::program {

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

namespace {

/// Strongly connected components with a cycle among `members` (Tarjan, without recursion).
class CyclesAmong {
 public:
  CyclesAmong(const Program& p, const std::vector<BlockId>& blocks) : program(p), members(blocks) {
    for (const BlockId block : blocks)
      nodes[block] = {};
  }

  std::vector<std::vector<BlockId>> find() {
    for (const BlockId root : members)
      if (nodes[root].index == 0)
        visit(root);
    return std::move(components);
  }

 private:
  struct Node {
    std::uint32_t index = 0, low = 0; ///< from 1
    bool open = false;
  };

  void visit(BlockId root) {
    std::vector<std::pair<BlockId, std::size_t>> stack;
    const auto enter = [&](BlockId block) {
      nodes[block] = {++counter, counter, true};
      open.push_back(block);
      stack.emplace_back(block, 0);
    };
    enter(root);
    while (!stack.empty()) {
      const BlockId block = stack.back().first;
      const auto& successors = program.blocks[block].successors;
      if (stack.back().second < successors.size()) {
        const auto next = nodes.find(successors[stack.back().second++]);
        if (next == nodes.end())
          continue;
        if (next->second.index == 0)
          enter(next->first);
        else if (next->second.open)
          nodes[block].low = std::min(nodes[block].low, next->second.index);
        continue;
      }
      stack.pop_back();
      if (!stack.empty())
        nodes[stack.back().first].low = std::min(nodes[stack.back().first].low, nodes[block].low);
      if (nodes[block].low == nodes[block].index)
        close(block);
    }
  }

  void close(BlockId block) {
    std::vector<BlockId> component;
    BlockId member = 0;
    do {
      member = open.back();
      open.pop_back();
      nodes[member].open = false;
      component.push_back(member);
    } while (member != block);
    const auto& successors = program.blocks[block].successors;
    if (component.size() == 1 && std::find(successors.begin(), successors.end(), block) == successors.end())
      return;
    std::sort(component.begin(), component.end());
    components.push_back(std::move(component));
  }

  const Program& program;
  const std::vector<BlockId>& members;
  std::map<BlockId, Node> nodes;
  std::vector<BlockId> open;
  std::uint32_t counter = 0;
  std::vector<std::vector<BlockId>> components;
};

} // namespace

std::vector<LoopRegion> loopForest(const Program& program, const Function& function) {
  const std::vector<BlockId> order = reversePostOrder(program, function);
  std::map<BlockId, std::size_t> position;
  for (std::size_t i = 0; i < order.size(); ++i)
    position[order[i]] = i;
  std::vector<LoopRegion> regions;
  struct Task {
    std::vector<BlockId> blocks;
    std::optional<std::size_t> parent;
  };
  std::vector<Task> tasks{{order, std::nullopt}};
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task task = tasks[t];
    auto components = CyclesAmong(program, task.blocks).find();
    std::sort(components.begin(), components.end());
    for (auto& component : components) {
      LoopRegion region;
      region.parent = task.parent;
      region.depth = task.parent ? regions[*task.parent].depth + 1 : 1;
      for (const BlockId block : component) {
        const auto& from = program.blocks[block].predecessors;
        const bool isEntry = block == function.entryBlock || function.preloadEntry == block;
        if (isEntry || std::any_of(from.begin(), from.end(), [&](BlockId p) {
              return position.contains(p) && !std::binary_search(component.begin(), component.end(), p);
            }))
          region.headers.push_back(block);
      }
      region.blocks = std::move(component);
      const BlockId first = *std::min_element(region.headers.begin(), region.headers.end(),
                                              [&](BlockId a, BlockId b) { return position[a] < position[b]; });
      Task inner{region.blocks, regions.size()};
      std::erase(inner.blocks, first);
      regions.push_back(std::move(region));
      tasks.push_back(std::move(inner));
    }
  }
  return regions;
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
