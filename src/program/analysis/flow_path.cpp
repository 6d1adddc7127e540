#include "program/analysis/flow_path.h"

#include <algorithm>
#include <deque>
#include <map>

namespace asmevo::program {

namespace {

constexpr std::size_t deepestStack = 16;
constexpr std::size_t mostNodes = 100'000; ///< of one search; whoever asks goes without a path beyond

/// A stretch of a block with what is known when it begins.
struct Node {
  Place start;
  unsigned value = 0;
  std::vector<Place> stack; ///< calls entered, innermost last
  std::size_t previous = 0; ///< node it was reached from
};

} // namespace

CallSites::CallSites(const Program& program)
    : calls(program.blocks.size()), returns(program.blocks.size()), owners(program.blocks.size()) {
  for (BlockId id = 0; id < program.blocks.size(); ++id)
    for (std::uint32_t i = 0; i < program.blocks[id].instrs.size(); ++i) {
      const Instr& instr = program.blocks[id].instrs[i];
      if (instr.target && flowOf(instr.inst) == Flow::call)
        calls[*instr.target].push_back({id, i});
    }
  for (const Function& function : program.functions) {
    if (function.kernel)
      continue;
    for (const BlockId id : function.blocks) {
      owners[id].push_back(function.entryBlock);
      const auto& instrs = program.blocks[id].instrs;
      if (!instrs.empty() && flowOf(instrs.back().inst) == Flow::jump && !instrs.back().target &&
          instrs.back().codeTable == 0)
        returns[function.entryBlock].push_back(id);
    }
  }
}

const std::vector<Place>& CallSites::callsOf(BlockId entry) const {
  return calls[entry];
}
const std::vector<BlockId>& CallSites::returnsOf(BlockId entry) const {
  return returns[entry];
}
const std::vector<BlockId>& CallSites::ownersOf(BlockId block) const {
  return owners[block];
}

std::vector<BlockId> shortestPath(const Program& program, const CallSites& sites, Place from, Place to,
                                  const PathStep& step) {
  std::deque<Node> nodes{{{from.block, from.index + 1}, 0, {}, 0}};
  using Key = std::pair<Place, std::vector<Place>>;
  std::map<Key, unsigned> least;
  const auto enter = [&](Place start, unsigned value, std::vector<Place> stack, std::size_t previous) {
    const auto [entry, fresh] = least.try_emplace({start, stack}, value);
    if (!fresh && entry->second <= value)
      return;
    entry->second = value;
    nodes.push_back({start, value, std::move(stack), previous});
  };
  const auto pathTo = [&](std::size_t last) {
    std::vector<BlockId> path;
    for (std::size_t at = last;; at = nodes[at].previous) {
      path.push_back(nodes[at].start.block);
      if (at == 0)
        break;
    }
    std::ranges::reverse(path);
    return path;
  };
  for (std::size_t at = 0; at < nodes.size() && nodes.size() < mostNodes; ++at) {
    const Node node = nodes[at];
    const Block& block = program.blocks[node.start.block];
    std::optional<unsigned> value = node.value;
    bool leaves = block.opaque;
    for (std::uint32_t i = node.start.index; i < block.instrs.size() && value && !leaves; ++i) {
      if (Place{node.start.block, i} == to)
        return pathTo(at);
      const Instr& instr = block.instrs[i];
      value = step(instr, *value);
      if (!value)
        break;
      const Flow flow = flowOf(instr.inst);
      if (flow == Flow::call) {
        leaves = true;
        if (instr.target && node.stack.size() < deepestStack) {
          std::vector<Place> stack = node.stack;
          stack.push_back({node.start.block, i + 1});
          enter({*instr.target, 0}, *value, std::move(stack), at);
        }
      } else if (flow == Flow::jump && !instr.target && instr.codeTable == 0) {
        leaves = true;
        if (!node.stack.empty()) {
          std::vector<Place> stack = node.stack;
          const Place back = stack.back();
          stack.pop_back();
          enter(back, *value, std::move(stack), at);
        } else {
          for (const BlockId entry : sites.ownersOf(node.start.block))
            for (const Place call : sites.callsOf(entry))
              enter({call.block, call.index + 1}, *value, {}, at);
        }
      }
    }
    if (value && !leaves)
      for (const BlockId next : block.successors)
        enter({next, 0}, *value, node.stack, at);
  }
  return {};
}

} // namespace asmevo::program
