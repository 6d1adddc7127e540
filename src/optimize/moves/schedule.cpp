#include "optimize/moves/schedule.h"

#include "dispatch/random.h"
#include "isa/matrix_cost.h"
#include "optimize/block_graph.h"
#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "verify/proof/indexed_mode.h"

#include <algorithm>
#include <array>
#include <limits>

namespace asmevo::optimize {

namespace {

/// What a ready instruction is preferred for.
enum class Priority : std::uint8_t {
  criticalPath, ///< longest latency to the block's end
  memoryFirst,  ///< memory operations as soon as they can issue, then the critical path
  matrixPaced,  ///< as criticalPath, but an MFMA only when the matrix pipe is free, other work into its shadow
  sourceOrder,  ///< the original order, departing from it only where it would stall
};
constexpr std::array<std::pair<Priority, std::string_view>, 4> priorities = {{
    {Priority::criticalPath, "by critical path"},
    {Priority::memoryFirst, "memory operations first"},
    {Priority::matrixPaced, "other work into the matrix pipe's shadow"},
    {Priority::sourceOrder, "source order unless it stalls"},
}};

/// Further schedules per block at each effort above the first.
constexpr unsigned shakenPerEffort = 9;

/// Slots the matrix pipe is busy with an instruction: one per pass.
std::uint32_t matrixSlots(const isa::Instruction& inst) {
  const auto cost = isa::matrixCost(inst.base);
  return cost ? cost->passes : 4;
}

class ListScheduler {
 public:
  /// A nonzero seed shakes the priorities, so that other schedules than the greedy one are seen.
  ListScheduler(const BlockGraph& g, Priority p, std::uint64_t seed) : graph(g), priority(p) {
    heights.assign(graph.nodes.size(), 0);
    for (std::size_t i = graph.nodes.size(); i-- > 0;)
      for (const std::uint32_t e : graph.successors[i])
        heights[i] = std::max(heights[i], graph.edges[e].latency + heights[graph.edges[e].to]);
    if (seed)
      for (std::size_t i = 0; i < heights.size(); ++i)
        heights[i] += static_cast<std::uint32_t>(dispatch::SplitMix64::mix(seed * 0x10001 + i) % (heights[i] / 4 + 8));
  }

  std::vector<std::uint32_t> run() {
    const std::size_t count = graph.nodes.size();
    std::vector<std::uint32_t> missing(count), order;
    std::vector<std::uint64_t> readyAt(count, 0);
    std::vector<std::uint32_t> ready;
    for (std::uint32_t n = 0; n < count; ++n) {
      missing[n] = static_cast<std::uint32_t>(graph.predecessors[n].size());
      if (!missing[n])
        ready.push_back(n);
    }
    std::uint64_t now = 0;
    std::uint64_t matrixFree = 0;
    while (!ready.empty()) {
      const auto best = std::ranges::min_element(ready, [&](std::uint32_t x, std::uint32_t y) {
        return rank(x, now, readyAt, matrixFree) < rank(y, now, readyAt, matrixFree);
      });
      const std::uint32_t n = *best;
      ready.erase(best);
      const bool matrix = isMatrix(n);
      now = std::max(now, matrix ? std::max(readyAt[n], matrixFree) : readyAt[n]);
      if (matrix)
        matrixFree = now + matrixSlots(*graph.nodes[n].instr.inst);
      order.push_back(n);
      for (const std::uint32_t e : graph.successors[n]) {
        const Edge& edge = graph.edges[e];
        readyAt[edge.to] = std::max(readyAt[edge.to], now + edge.latency);
        if (--missing[edge.to] == 0)
          ready.push_back(edge.to);
      }
      now += 1;
    }
    return order;
  }

 private:
  bool isMatrix(std::uint32_t n) const {
    return graph.nodes[n].kind == NodeKind::plain && graph.nodes[n].instr.inst->cls == isa::InstClass::mfma;
  }

  /// Smaller is better: first what need not stall, then by the chosen preference, then source order.
  std::array<std::uint64_t, 4> rank(std::uint32_t n, std::uint64_t now, const std::vector<std::uint64_t>& readyAt,
                                    std::uint64_t matrixFree) const {
    std::uint64_t start = std::max(now, readyAt[n]);
    if (isMatrix(n) && priority == Priority::matrixPaced)
      start = std::max(start, matrixFree);
    const std::uint64_t stall = start - now;
    const std::uint64_t urgency = std::numeric_limits<std::uint32_t>::max() - heights[n];
    switch (priority) {
    case Priority::memoryFirst:
      return {stall, graph.nodes[n].kind == NodeKind::memory ? 0u : 1u, urgency, n};
    case Priority::sourceOrder:
      return {stall, n, 0, 0};
    case Priority::criticalPath:
    case Priority::matrixPaced:
      break;
    }
    return {stall, urgency, n, 0};
  }

  const BlockGraph& graph;
  Priority priority;
  std::vector<std::uint32_t> heights;
};

class ScheduleMove final : public Move {
 public:
  std::string_view name() const override { return "schedule"; }
  std::string_view purpose() const override {
    return "list-schedule a hot block: long-latency memory early, independent work into the shadows";
  }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    const program::Function* function = kernelFunction(program, context);
    if (!function)
      return proposals;
    const std::vector<InFlight> entry = inFlightAtEntry(program, *function, context.accumOffset);
    const std::vector<bool> indexed = verify::indexedAtEntry(program, *function);
    for (const program::BlockId id : hotBlocks(*function, context, 0.01)) {
      const program::Block& block = program.blocks[id];
      if (block.opaque || indexed[id] || block.instrs.size() < 4)
        continue;
      const BlockGraph graph = buildBlockGraph(block, entry[id], context.accumOffset, SlotLatencies{});
      const auto tryOrder = [&](Priority priority, std::string_view words, std::uint64_t seed) {
        auto instrs = writeBack(graph, ListScheduler(graph, priority, seed).run(), context.codec);
        if (!instrs)
          return;
        Proposal proposal;
        proposal.program = program;
        proposal.program.blocks[id].instrs = *std::move(instrs);
        if (!repairWaitStates(program, proposal.program, context) ||
            sameOrder(proposal.program.blocks[id].instrs, block.instrs))
          return;
        proposal.reason = fmt::format("rescheduled {} instructions, {}", block.instrs.size(), words);
        std::tie(proposal.begin, proposal.end) = addressRange(block);
        proposals.push_back(std::move(proposal));
      };
      for (const auto& [priority, words] : priorities)
        tryOrder(priority, words, 0);
      for (unsigned s = 0; s < shakenPerEffort && context.effort > 0; ++s)
        tryOrder(priorities[s % 3].first, "by shaken priorities", context.effort * 1000 + s);
    }
    return proposals;
  }

 private:
  static bool sameOrder(const std::vector<program::Instr>& x, const std::vector<program::Instr>& y) {
    return std::ranges::equal(x, y, [](const program::Instr& a, const program::Instr& b) { return a.inst == b.inst; });
  }
};

} // namespace

const Move& scheduleMove() {
  static const ScheduleMove move;
  return move;
}

} // namespace asmevo::optimize
