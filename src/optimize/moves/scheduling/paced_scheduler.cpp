#include "optimize/moves/scheduling/paced_scheduler.h"

#include "dispatch/random.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace asmevo::optimize {

namespace {

using timing::Category;
using timing::StaticInst;

unsigned bytesPerLane(const isa::Instruction& inst) {
  unsigned dwords = 1;
  for (const isa::Operand& operand : inst.operands)
    if (operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr)
      dwords = std::max<unsigned>(dwords, operand.dwords);
  return dwords * 4;
}

/// Occupation of the units while one order is made.
struct Units {
  double matrixFree = 0, valuFree = 0, valuAfterMfma = 0, memoryAfterMfma = 0, packedAfterMfma = 0;
  double memoryAfterValu = 0, vectorAfterSalu = 0;
  double ldsFree = 0, vectorFree = 0, vectorDone = 0;
  std::deque<double> ldsQueue, vectorQueue; ///< when entries become free
};

} // namespace

PacedScheduler::PacedScheduler(const BlockGraph& g, const PacedMachine& m) : graph(g), machine(m) {
  const std::size_t count = graph.nodes.size();
  const timing::Parameters& p = machine.chip;
  dataClk.assign(count, 0);
  for (std::uint32_t n = 0; n < count; ++n) {
    const Node& node = graph.nodes[n];
    codes.push_back(node.kind == NodeKind::wait
                        ? StaticInst{}
                        : timing::analyseCode({node.instr.inst}, machine.accumOffset, p).front());
    if (node.kind != NodeKind::memory)
      continue;
    const unsigned bytes = 64 * bytesPerLane(*node.instr.inst);
    // A SIMD pair shares an LDS port, all SIMDs the vector memory path.
    if (codes[n].category == Category::lds)
      dataClk[n] = std::max(p.slot, bytes / p.ldsReadBytesPerClk) * 2 * machine.wavesPerSimd +
                   (codes[n].isLdsWrite ? p.ldsAddressClk : 0);
    else if (codes[n].category == Category::vmem)
      dataClk[n] = std::max(p.vmemAddressClk, bytes / 64.0 * p.l1ClkPerSector) * machine.wavesPerCu;
  }
  heights.assign(count, 0);
  wanted.assign(count, std::numeric_limits<std::uint32_t>::max());
  for (std::uint32_t n = static_cast<std::uint32_t>(count); n-- > 0;) {
    const Node& node = graph.nodes[n];
    // Waits pass on what their operation wants.
    if (codes[n].category == Category::mfma || graph.successors[n].empty())
      wanted[n] = n;
    double own = p.slot;
    if (node.kind == NodeKind::memory)
      own = codes[n].category == Category::lds    ? dataClk[n] + p.ldsLatency
            : codes[n].category == Category::vmem ? (node.instr.inst->mayLoad ? machine.vectorLatency : p.slot)
                                                  : p.smemHit;
    for (const std::uint32_t e : graph.successors[n]) {
      const Edge& edge = graph.edges[e];
      const bool result = graph.nodes[edge.to].kind == NodeKind::wait;
      const double latency = node.kind == NodeKind::wait ? 0 : result ? own : std::max(p.slot, edge.latency * p.slot);
      heights[n] = std::max(heights[n], latency + heights[edge.to]);
      wanted[n] = std::min(wanted[n], wanted[edge.to]);
    }
  }
}

std::vector<std::uint32_t> PacedScheduler::order(const PacedOptions& options) const {
  const timing::Parameters& p = machine.chip;
  const std::size_t count = graph.nodes.size();
  std::vector<std::uint32_t> missing(count), ready, result;
  std::vector<double> readyAt(count, 0), doneAt(count, 0);
  std::vector<std::int64_t> readyState(count, 0); // wait states from the start, like `states`
  std::int64_t states = 0;
  Units units;
  double now = 0;
  const auto ldsDepth = std::max<std::size_t>(2, static_cast<std::size_t>(p.ldsQueue / 2 / machine.wavesPerSimd));
  const auto vectorDepth = std::max<std::size_t>(1, static_cast<std::size_t>(p.vmemQueue / machine.wavesPerCu));

  const auto earliest = [&](std::uint32_t n) {
    const StaticInst& code = codes[n];
    // Missing wait states are s_nops, one slot each.
    double at = std::max({now, readyAt[n], now + static_cast<double>(readyState[n] - states) * p.slot});
    switch (code.category) {
    case Category::mfma:
      at = std::max({at, units.matrixFree, units.valuFree});
      break;
    case Category::valu:
      at = std::max({at, units.valuFree, units.valuAfterMfma});
      if (code.packedOrDot)
        at = std::max(at, units.packedAfterMfma);
      break;
    case Category::lds:
      at = std::max({at, units.memoryAfterValu, units.memoryAfterMfma});
      if (units.ldsQueue.size() >= ldsDepth)
        at = std::max(at, units.ldsQueue[units.ldsQueue.size() - ldsDepth]);
      break;
    case Category::vmem:
      at = std::max({at, units.memoryAfterValu, units.memoryAfterMfma, units.vectorAfterSalu});
      if (units.vectorQueue.size() >= vectorDepth)
        at = std::max(at, units.vectorQueue[units.vectorQueue.size() - vectorDepth]);
      break;
    default:
      break;
    }
    return at;
  };

  // Passes on what becomes free; a lazy wait takes no place of its own.
  const auto issue = [&](std::uint32_t first, double when) {
    std::vector<std::pair<std::uint32_t, double>> work = {{first, when}};
    while (!work.empty()) {
      const auto [n, at] = work.back();
      work.pop_back();
      result.push_back(n);
      for (const std::uint32_t e : graph.successors[n]) {
        const Edge& edge = graph.edges[e];
        const bool wait = graph.nodes[n].kind == NodeKind::wait;
        const double free = wait ? at
                            : graph.nodes[edge.to].kind == NodeKind::wait && graph.nodes[n].kind == NodeKind::memory
                                ? doneAt[n]
                                : at + std::max(1u, edge.latency) * p.slot;
        readyAt[edge.to] = std::max(readyAt[edge.to], free);
        if (edge.states)
          readyState[edge.to] = std::max(readyState[edge.to], states + edge.states);
        if (--missing[edge.to] == 0) {
          const Node& next = graph.nodes[edge.to];
          if (next.kind == NodeKind::wait && next.lazy)
            work.emplace_back(edge.to, readyAt[edge.to]);
          else
            ready.push_back(edge.to);
        }
      }
    }
  };

  const auto occupy = [&](std::uint32_t n, double at) {
    const StaticInst& code = codes[n];
    double end = at + p.slot;
    switch (code.category) {
    case Category::mfma: {
      const double passes = code.passes * p.mfmaPassClk;
      units.matrixFree = at + passes;
      const double simple = p.mfmaValuDelayClk * (1 + code.sourceBytes / 16u);
      units.packedAfterMfma = at + passes + p.mfmaPackedExtraPasses * p.mfmaPassClk;
      units.valuAfterMfma = at + (code.xdl ? simple : passes);
      units.memoryAfterMfma = at + simple;
      break;
    }
    case Category::valu:
      units.valuFree = at + code.pipeClk;
      units.memoryAfterValu = at + p.valuToMemory;
      break;
    case Category::scalar:
      if (code.isSalu)
        units.vectorAfterSalu = at + p.saluToVmem;
      doneAt[n] = at + p.smemHit;
      break;
    case Category::lds: {
      const double start = std::max(at, units.ldsFree);
      units.ldsFree = start + dataClk[n];
      units.ldsQueue.push_back(units.ldsFree);
      doneAt[n] = units.ldsFree + p.ldsLatency;
      if (code.isLdsWrite)
        end = std::max(end, start + dataClk[n]);
      break;
    }
    case Category::vmem: {
      const double start = std::max(at, units.vectorFree);
      units.vectorFree = start + dataClk[n];
      units.vectorQueue.push_back(start);
      units.vectorDone = std::max(units.vectorDone, start + machine.vectorLatency);
      doneAt[n] = units.vectorDone;
      break;
    }
    default:
      if (graph.nodes[n].kind == NodeKind::wait)
        end = at;
      else if (graph.nodes[n].kind == NodeKind::memoryFence)
        end = at + p.barrierRelease;
      break;
    }
    now = end;
  };

  // Smaller is better.
  const auto key = [&](std::uint32_t n) {
    const double stall = earliest(n) - now;
    const bool memory = codes[n].category == Category::lds || codes[n].category == Category::vmem ||
                        graph.nodes[n].kind == NodeKind::memoryFence || graph.nodes[n].kind == NodeKind::wait;
    const bool matrix = codes[n].category == Category::mfma;
    double kind = 0;
    if (options.pace == Pace::memory)
      kind = memory ? 0 : matrix ? 1 : 2;
    else if (options.pace == Pace::matrix)
      kind = matrix ? 0 : memory ? 1 : 2;
    double order = options.rank == Rank::height ? -heights[n] : wanted[n];
    if (options.seed)
      order += static_cast<double>(dispatch::SplitMix64::mix(options.seed * 0x10001 + n) % 1024) / 1024.0 *
               (options.rank == Rank::height ? 64.0 : static_cast<double>(count) / 16);
    return std::array<double, 5>{stall, kind, order, -heights[n], static_cast<double>(n)};
  };

  for (std::uint32_t n = 0; n < count; ++n)
    missing[n] = static_cast<std::uint32_t>(graph.predecessors[n].size());
  for (std::uint32_t n = 0; n < count; ++n)
    if (graph.predecessors[n].empty()) {
      if (graph.nodes[n].kind == NodeKind::wait && graph.nodes[n].lazy)
        issue(n, 0);
      else
        ready.push_back(n);
    }
  while (!ready.empty()) {
    std::size_t best = 0;
    auto bestKey = key(ready.front());
    for (std::size_t i = 1; i < ready.size(); ++i)
      if (const auto other = key(ready[i]); other < bestKey) {
        best = i;
        bestKey = other;
      }
    const std::uint32_t n = ready[best];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
    const double at = earliest(n);
    if (graph.nodes[n].kind != NodeKind::wait)
      states = std::max(states, readyState[n]) + 1;
    occupy(n, at);
    issue(n, at);
  }
  return result;
}

} // namespace asmevo::optimize
