#include "optimize/moves/scheduling/list_scheduler.h"

#include "dispatch/random.h"
#include "timing/timing.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace asmevo::optimize {

namespace {

class ListScheduler {
 public:
  ListScheduler(const BlockGraph& g, const SchedulerOptions& o) : graph(g), options(o) {
    heights.assign(graph.nodes.size(), 0);
    for (std::size_t i = graph.nodes.size(); i-- > 0;)
      for (const std::uint32_t e : graph.successors[i])
        heights[i] = std::max(heights[i], graph.edges[e].latency + heights[graph.edges[e].to]);
    if (options.seed)
      for (std::size_t i = 0; i < heights.size(); ++i)
        heights[i] +=
            static_cast<std::uint32_t>(dispatch::SplitMix64::mix(options.seed * 0x10001 + i) % (heights[i] / 4 + 8));
    std::uint32_t matrix = 0, others = 0;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
      if (graph.nodes[n].kind != NodeKind::wait)
        ++(isMatrix(n) ? matrix : others);
    perShadow = matrix ? (others + matrix - 1) / matrix : 0;
  }

  std::vector<std::uint32_t> run() {
    const std::size_t count = graph.nodes.size();
    missing.resize(count);
    readyAt.assign(count, 0);
    for (std::uint32_t n = 0; n < count; ++n)
      missing[n] = static_cast<std::uint32_t>(graph.predecessors[n].size());
    for (std::uint32_t n = 0; n < count; ++n)
      if (graph.predecessors[n].empty())
        enter(n);
    while (!ready.empty()) {
      const auto best =
          std::ranges::min_element(ready, [&](std::uint32_t x, std::uint32_t y) { return rank(x) < rank(y); });
      const std::uint32_t n = *best;
      ready.erase(best);
      const bool matrix = isMatrix(n);
      now = std::max(now, matrix ? std::max(readyAt[n], matrixFree) : readyAt[n]);
      if (matrix) {
        matrixFree = now + matrixSlots(n);
        sinceMatrix = 0;
      } else if (graph.nodes[n].kind != NodeKind::wait)
        ++sinceMatrix;
      issue(n, now);
      now += graph.nodes[n].kind == NodeKind::wait ? 0 : 1;
    }
    return std::move(order);
  }

 private:
  bool isMatrix(std::uint32_t n) const {
    return graph.nodes[n].kind == NodeKind::plain && graph.nodes[n].instr.inst->cls == isa::InstClass::mfma;
  }
  /// Slots the matrix pipe is busy with an instruction: one per pass.
  std::uint32_t matrixSlots(std::uint32_t n) const {
    const auto cost = isa::matrixCost(*graph.nodes[n].instr.inst, options.core);
    return cost ? cost->passes : 4;
  }

  /// A lazy wait takes no place of its own: it passes on when its operation is done.
  void enter(std::uint32_t n) {
    if (graph.nodes[n].kind == NodeKind::wait && graph.nodes[n].lazy)
      issue(n, readyAt[n]);
    else
      ready.push_back(n);
  }
  void issue(std::uint32_t n, std::uint64_t at) {
    order.push_back(n);
    for (const std::uint32_t e : graph.successors[n]) {
      const Edge& edge = graph.edges[e];
      readyAt[edge.to] = std::max(readyAt[edge.to], at + edge.latency);
      if (--missing[edge.to] == 0)
        enter(edge.to);
    }
  }

  /// Smaller is better: first what need not stall, then by the chosen preference, then source order.
  std::array<std::uint64_t, 4> rank(std::uint32_t n) const {
    std::uint64_t start = std::max(now, readyAt[n]);
    const bool paced = options.priority == Priority::matrixPaced || options.priority == Priority::matrixSpread;
    if (isMatrix(n) && paced)
      start = std::max(start, matrixFree);
    const std::uint64_t stall = start - now;
    const std::uint64_t urgency = std::numeric_limits<std::uint32_t>::max() - heights[n];
    switch (options.priority) {
    case Priority::memoryFirst:
      return {stall, graph.nodes[n].kind == NodeKind::memory ? 0u : 1u, urgency, n};
    case Priority::sourceOrder:
      return {stall, n, 0, 0};
    case Priority::matrixSpread:
      // Once a shadow has had its share, the next MFMA comes first, as soon as the pipe takes it.
      return {stall, isMatrix(n) == (sinceMatrix >= perShadow) ? 0u : 1u,
              isMatrix(n)                               ? urgency
              : graph.nodes[n].kind == NodeKind::memory ? 0u
                                                        : 1u,
              n};
    case Priority::criticalPath:
    case Priority::matrixPaced:
      break;
    }
    return {stall, urgency, n, 0};
  }

  const BlockGraph& graph;
  const SchedulerOptions& options;
  std::vector<std::uint32_t> heights, missing, ready, order;
  std::vector<std::uint64_t> readyAt;
  std::uint64_t now = 0, matrixFree = 0;
  std::uint32_t sinceMatrix = 0, perShadow = 0;
};

} // namespace

std::vector<std::uint32_t> listSchedule(const BlockGraph& graph, const SchedulerOptions& options) {
  return ListScheduler(graph, options).run();
}

std::vector<std::uint32_t> shiftedOrder(const BlockGraph& graph, std::vector<std::uint32_t> order, std::uint64_t seed,
                                        unsigned steps) {
  std::vector<std::uint32_t> movable;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
    if (graph.nodes[n].kind == NodeKind::plain || graph.nodes[n].kind == NodeKind::memory)
      movable.push_back(n);
  if (movable.empty())
    return order;
  std::vector<std::size_t> position(order.size());
  std::uint64_t draw = seed;
  const auto next = [&](std::uint64_t below) {
    return dispatch::SplitMix64::mix(++draw * 0x9E3779B97F4A7C15u) % below;
  };
  for (unsigned step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < order.size(); ++i)
      position[order[i]] = i;
    const std::uint32_t n = movable[next(movable.size())];
    // Lazy waits stand wherever their users are: a node may go up past them, and they follow it down.
    std::size_t low = 0, high = order.size();
    for (const std::uint32_t e : graph.predecessors[n])
      low = std::max(low, position[graph.edges[e].from] + 1);
    for (const std::uint32_t e : graph.successors[n])
      high = std::min(high, position[graph.edges[e].to]);
    if (high <= low + 1)
      continue;
    const std::size_t to = low + next(high - low);
    const std::size_t from = position[n];
    if (to < from)
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to), order.begin() + static_cast<std::ptrdiff_t>(from),
                  order.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    else
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(from),
                  order.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                  order.begin() + static_cast<std::ptrdiff_t>(to) + 1);
  }
  return order;
}

SlotLatencies latenciesOf(const MoveContext& context) {
  SlotLatencies result;
  for (const std::string& name : timing::chipNames()) {
    const auto chip = timing::loadChip(name);
    if (!chip || chip->processor != context.object.target().processor)
      continue;
    const timing::Estimate& profile = context.profile;
    const double beyond = profile.mallHitRate * chip->parameter("mall.latency") +
                          (1 - profile.mallHitRate) * chip->parameter("hbm.latency");
    const double l2 = profile.l2HitRate * chip->parameter("l2.latency") + (1 - profile.l2HitRate) * beyond;
    const double vector = profile.l1HitRate * chip->parameter("l1.latency") + (1 - profile.l1HitRate) * l2;
    const double clkPerSlot = 4.0 * std::max(1u, profile.wavesPerSimd);
    const auto slots = [&](double clk) { return static_cast<std::uint32_t>(std::max(1.0, clk / clkPerSlot)); };
    result.lds = slots(chip->parameter("lds.latency") + 16);
    result.scalarMemory = slots(chip->parameter("smem.hit"));
    result.vectorMemory = slots(vector);
    break;
  }
  return result;
}

} // namespace asmevo::optimize
