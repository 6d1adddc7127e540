#include "optimize/block_graph.h"

#include "program/analysis/hazards.h"
#include "program/analysis/memory_dependence.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace asmevo::optimize {

using isa::InstClass;
using isa::Instruction;
using isa::RegSet;
using isa::RegUnit;
using program::Instr;

namespace {

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

constexpr std::size_t index(Counter c) {
  return static_cast<std::size_t>(c);
}

std::array<bool, counterCount> countersOf(const Instruction& inst) {
  return program::countingOf(inst).counts;
}

bool isHardFence(const Instruction& inst) {
  return inst.cls == InstClass::unknown || inst.cls == InstClass::jump || inst.cls == InstClass::endpgm ||
         inst.isBranch() || (inst.cls == InstClass::message) || startsWith(inst.base, "s_set_gpr_idx") ||
         startsWith(inst.base, "s_setvskip") || startsWith(inst.base, "s_movrel") ||
         startsWith(inst.base, "s_setreg") || startsWith(inst.base, "s_getpc") || startsWith(inst.base, "s_getreg") ||
         startsWith(inst.base, "s_memtime") || startsWith(inst.base, "s_memrealtime");
}

/// Counts in lgkmcnt without order: only a wait for zero says anything.
bool returnsOutOfOrder(const Instruction& inst) {
  const auto counting = program::countingOf(inst);
  return counting.counts[index(Counter::lgkm)] && !counting.inOrder[index(Counter::lgkm)];
}

std::uint32_t resultLatency(const Instruction& inst, const SlotLatencies& lat) {
  switch (inst.cls) {
  case InstClass::lds:
    return lat.lds;
  case InstClass::smem:
    return lat.scalarMemory;
  case InstClass::vmem:
  case InstClass::global:
  case InstClass::scratch:
  case InstClass::flat:
    return lat.vectorMemory;
  case InstClass::valu: {
    static constexpr std::string_view trans[] = {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"};
    for (const auto t : trans)
      if (startsWith(inst.base, t))
        return lat.transcendental;
    return lat.valu;
  }
  default:
    return lat.salu;
  }
}

class GraphBuilder {
 public:
  GraphBuilder(const program::Block& source, const InFlight& entry, unsigned accum, const SlotLatencies& lat)
      : block(source), atEntry(entry), accumOffset(accum), latencies(lat) {}

  BlockGraph build() {
    makeNodes();
    registerEdges();
    memoryEdges();
    waitEdges();
    fenceEdges();
    finish();
    return std::move(graph);
  }

 private:
  void makeNodes() {
    std::array<std::int64_t, counterCount> issued{};
    const bool scalarInFlight = anyScalarInFlight();
    bool indexed = false;
    for (const Instr& instr : block.instrs) {
      const Instruction& inst = *instr.inst;
      indexed = (indexed || inst.entersGprIdxMode()) && inst.base != "s_set_gpr_idx_off";
      // Long nops are more than any hazard row of plain code asks for: they pace waves against each other on purpose.
      const bool pacing = (inst.simm16 & 15) >= 11;
      if (inst.cls == InstClass::nop && inst.base == "s_nop" && !pacing)
        continue;
      Node node;
      node.instr = instr;
      if (inst.cls == InstClass::nop) {
        node.kind = NodeKind::fence;
        graph.nodes.push_back(node);
        continue;
      }
      if (inst.cls == InstClass::waitcnt) {
        if (inst.base != "s_waitcnt") {
          node.kind = NodeKind::fence;
          graph.nodes.push_back(node);
          continue;
        }
        const isa::WaitCount count = inst.waitCount();
        node.kind = NodeKind::wait;
        if (count.vm < 63)
          addWait(node, Counter::vm, count.vm, issued, false);
        if (count.lgkm < 15)
          addWait(node, Counter::lgkm, count.lgkm, issued, scalarInFlight);
        continue;
      }
      node.counts = countersOf(inst);
      if (node.counts[0] || node.counts[1])
        node.kind = NodeKind::memory;
      // With VGPR indexing on, operands do not name the registers that are used: no order but the given one is known.
      if (isHardFence(inst) || indexed)
        node.kind = NodeKind::fence;
      else if (inst.cls == InstClass::barrier)
        node.kind = NodeKind::memoryFence;
      for (std::size_t c = 0; c < counterCount; ++c)
        issued[c] += node.counts[c];
      graph.nodes.push_back(node);
    }
  }

  void addWait(Node node, Counter counter, std::uint8_t count, const std::array<std::int64_t, counterCount>& issued,
               bool fixed) {
    node.counter = counter;
    node.count = count;
    node.completes = issued[index(counter)] - count;
    node.fixedCount = fixed;
    graph.nodes.push_back(node);
  }

  /// Scalar or flat operations of this block, or possibly of earlier ones, share lgkmcnt.
  bool anyScalarInFlight() const {
    return atEntry.unordered ||
           std::ranges::any_of(block.instrs, [](const Instr& i) { return returnsOutOfOrder(*i.inst); });
  }

  void edge(std::uint32_t from, std::uint32_t to, std::uint32_t latency) { graph.edges.push_back({from, to, latency}); }

  void registerEdges() {
    std::map<RegUnit, std::uint32_t> lastWriter;
    std::map<RegUnit, std::vector<std::uint32_t>> readersSince;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.kind == NodeKind::wait)
        continue;
      const Instruction& inst = *node.instr.inst;
      std::map<std::uint32_t, std::uint32_t> before; // node -> latency
      const auto after = [&](std::uint32_t from, std::uint32_t latency) {
        auto& slot = before[from];
        slot = std::max(slot, latency);
      };
      inst.reads(accumOffset).forEach([&](RegUnit u) {
        if (const auto w = lastWriter.find(u); w != lastWriter.end())
          after(w->second, dependenceLatency(graph.nodes[w->second], node));
      });
      const RegSet writes = inst.writes(accumOffset);
      writes.forEach([&](RegUnit u) {
        if (const auto w = lastWriter.find(u); w != lastWriter.end())
          after(w->second, std::max(1u, stateGap(graph.nodes[w->second], node)));
        for (const std::uint32_t r : readersSince[u])
          if (r != n)
            after(r, std::max(1u, stateGap(graph.nodes[r], node)));
      });
      for (const auto& [from, latency] : before)
        edge(from, n, latency);
      inst.reads(accumOffset).forEach([&](RegUnit u) { readersSince[u].push_back(n); });
      writes.forEach([&](RegUnit u) {
        lastWriter[u] = n;
        readersSince[u].clear();
      });
    }
  }

  /// Slots the hazard tables ask for: wait states + 1.
  std::uint32_t stateGap(const Node& producer, const Node& consumer) const {
    return static_cast<std::uint32_t>(
               program::requiredWaitStates(*producer.instr.inst, *consumer.instr.inst, accumOffset)) +
           1;
  }

  std::uint32_t dependenceLatency(const Node& producer, const Node& consumer) const {
    // A load's data is guarded by its wait node; the direct edge only keeps the order.
    if (producer.kind == NodeKind::memory)
      return 1;
    std::uint32_t latency = resultLatency(*producer.instr.inst, latencies);
    const bool addressUse = consumer.kind == NodeKind::memory && producer.instr.inst->cls == InstClass::valu;
    if (addressUse)
      latency = std::max(latency, 3u); // LDS or VMEM issues 12 clk after the VALU at the earliest (facts: traces)
    return std::max(latency, stateGap(producer, consumer));
  }

  void memoryEdges() {
    std::array<std::optional<std::uint32_t>, counterCount> last;
    std::vector<std::uint32_t> seen;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.kind != NodeKind::memory)
        continue;
      for (std::size_t c = 0; c < counterCount; ++c)
        if (node.counts[c]) {
          if (last[c])
            edge(*last[c], n, 1);
          last[c] = n;
        }
      for (const std::uint32_t m : seen)
        if (program::mayDepend(*graph.nodes[m].instr.inst, *node.instr.inst, /*sameBases=*/false))
          edge(m, n, 1);
      seen.push_back(n);
    }
  }

  void waitEdges() {
    for (std::size_t c = 0; c < counterCount; ++c)
      waitEdges(static_cast<Counter>(c));
  }

  void waitEdges(Counter counter) {
    std::vector<std::uint32_t> operations, waits;
    std::map<RegUnit, std::int64_t> producer; // unit -> number of the operation that will write it
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.kind == NodeKind::wait) {
        if (node.counter != counter)
          continue;
        if (node.completes > 0 && !operations.empty())
          edge(operations[static_cast<std::size_t>(node.completes) - 1], n,
               resultLatency(*graph.nodes[operations[static_cast<std::size_t>(node.completes) - 1]].instr.inst,
                             latencies));
        if (node.fixedCount && !operations.empty())
          edge(operations.back(), n, 1);
        if (!waits.empty())
          edge(waits.back(), n, 1);
        waits.push_back(n);
        continue;
      }
      const Instruction& inst = *node.instr.inst;
      RegSet touched = inst.reads(accumOffset) | inst.writes(accumOffset);
      afterCoveringWaits(n, touched, producer, waits, counter);
      if (node.kind == NodeKind::memory && !waits.empty() && waitsOnOrder(counter, inst))
        edge(waits.back(), n, 1);
      // Operations among the fences (s_memtime, messages) count like any other.
      if (node.counts[index(counter)]) {
        if (!waits.empty() && graph.nodes[waits.back()].fixedCount)
          edge(waits.back(), n, 1);
        // Lane exchanges and clocks load nothing, but their results come back through the counter all the same.
        inst.writes(accumOffset).forEach([&](RegUnit u) {
          producer[u] = static_cast<std::int64_t>(operations.size());
        });
        operations.push_back(n);
      } else
        inst.writes(accumOffset).forEach([&](RegUnit u) { producer.erase(u); });
    }
  }

  /// A wait may stand where it does to order memory, not registers: what publishes (stores, LDS writes, atomics, cache
  /// operations) stays behind the waits before it, and so do LDS reads behind vmcnt waits where DMA fills LDS.
  bool waitsOnOrder(Counter counter, const Instruction& inst) const {
    const bool publishes = inst.mayStore || !inst.mayLoad;
    // LDS operations of one wave take effect in order; only what leaves LDS can overtake them.
    if (counter == Counter::lgkm)
      return publishes && inst.cls != InstClass::lds;
    return publishes || (inst.cls == InstClass::lds && atEntry.ldsDma);
  }

  /// Node n touches registers that operations of this counter write: it stays behind the waits that complete them.
  void afterCoveringWaits(std::uint32_t n, const RegSet& touched, const std::map<RegUnit, std::int64_t>& producer,
                          const std::vector<std::uint32_t>& waits, Counter counter) {
    std::int64_t latest = -1;
    for (const auto& [unit, operation] : producer)
      if (touched.test(unit))
        latest = std::max(latest, operation);
    const bool entry = touched.intersects(atEntry.destinations[index(counter)]);
    if (latest < 0 && !entry)
      return;
    for (const std::uint32_t w : waits) {
      edge(w, n, 1);
      // Waits are a chain; this one covers everything that matters here, later ones cannot.
      if (graph.nodes[w].completes > latest && graph.nodes[w].completes >= 0)
        break;
    }
  }

  void fenceEdges() {
    std::optional<std::uint32_t> lastFence, lastMemoryFence;
    std::vector<std::uint32_t> sinceFence, memorySince;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      const bool memoryLike = node.kind == NodeKind::memory || node.kind == NodeKind::wait;
      if (lastFence)
        edge(*lastFence, n, 1);
      if (node.kind == NodeKind::fence) {
        for (const std::uint32_t m : sinceFence)
          edge(m, n, 1);
        sinceFence.clear();
        lastFence = n;
        continue;
      }
      sinceFence.push_back(n);
      if (node.kind == NodeKind::memoryFence) {
        for (const std::uint32_t m : memorySince)
          edge(m, n, 1);
        memorySince.clear();
        if (lastMemoryFence)
          edge(*lastMemoryFence, n, 1);
        lastMemoryFence = n;
      } else if (memoryLike) {
        if (lastMemoryFence)
          edge(*lastMemoryFence, n, 1);
        memorySince.push_back(n);
      }
    }
  }

  void finish() {
    graph.successors.resize(graph.nodes.size());
    graph.predecessors.resize(graph.nodes.size());
    for (std::uint32_t e = 0; e < graph.edges.size(); ++e) {
      graph.successors[graph.edges[e].from].push_back(e);
      graph.predecessors[graph.edges[e].to].push_back(e);
    }
  }

  const program::Block& block;
  const InFlight& atEntry;
  unsigned accumOffset;
  const SlotLatencies& latencies;
  BlockGraph graph;
};

} // namespace

namespace {

/// Everything the function may have in flight at any point.
InFlight everythingInFlight(const program::Program& program, const program::Function& function, unsigned accumOffset) {
  InFlight result;
  for (const program::BlockId id : function.blocks)
    for (const Instr& instr : program.blocks[id].instrs) {
      const auto counts = countersOf(*instr.inst);
      for (std::size_t c = 0; c < counterCount; ++c)
        if (counts[c])
          result.destinations[c] |= instr.inst->writes(accumOffset);
      result.unordered |= returnsOutOfOrder(*instr.inst) || instr.inst->cls == InstClass::jump;
      result.ldsDma |= instr.inst->isLdsDma();
    }
  return result;
}

void passInstruction(const Instruction& inst, unsigned accumOffset, const InFlight& everything, InFlight& state) {
  if (inst.cls == InstClass::jump || inst.cls == InstClass::unknown) {
    state = everything;
    return;
  }
  if (inst.cls == InstClass::waitcnt && inst.base == "s_waitcnt") {
    const isa::WaitCount count = inst.waitCount();
    if (count.vm == 0)
      state.destinations[index(Counter::vm)] = {};
    if (count.lgkm == 0) {
      state.destinations[index(Counter::lgkm)] = {};
      state.unordered = false;
    }
    return;
  }
  const auto counts = countersOf(inst);
  for (std::size_t c = 0; c < counterCount; ++c)
    if (counts[c])
      state.destinations[c] |= inst.writes(accumOffset);
  state.unordered |= returnsOutOfOrder(inst);
}

bool join(InFlight& into, const InFlight& from) {
  bool changed = from.unordered && !into.unordered;
  into.unordered |= from.unordered;
  for (std::size_t c = 0; c < counterCount; ++c) {
    const RegSet merged = into.destinations[c] | from.destinations[c];
    changed |= !(merged == into.destinations[c]);
    into.destinations[c] = merged;
  }
  return changed;
}

} // namespace

std::vector<InFlight> inFlightAtEntry(const program::Program& program, const program::Function& function,
                                      unsigned accumOffset) {
  const InFlight everything = everythingInFlight(program, function, accumOffset);
  std::vector<InFlight> entry(program.blocks.size());
  for (program::BlockId id = 0; id < program.blocks.size(); ++id) {
    // Where others may enter, and outside the function, nothing is known.
    if (program.blocks[id].entersByRegister && id != function.entryBlock)
      entry[id] = everything;
    entry[id].ldsDma = everything.ldsDma;
  }
  std::vector<program::BlockId> work(function.blocks.rbegin(), function.blocks.rend());
  while (!work.empty()) {
    const program::BlockId id = work.back();
    work.pop_back();
    InFlight state = entry[id];
    for (const Instr& instr : program.blocks[id].instrs)
      passInstruction(*instr.inst, accumOffset, everything, state);
    for (const program::BlockId next : program.blocks[id].successors)
      if (join(entry[next], state))
        work.push_back(next);
  }
  return entry;
}

BlockGraph buildBlockGraph(const program::Block& block, const InFlight& atEntry, unsigned accumOffset,
                           const SlotLatencies& latencies) {
  return GraphBuilder(block, atEntry, accumOffset, latencies).build();
}

namespace {

/// Collects adjacent waits into one s_waitcnt.
class BlockWriter {
 public:
  explicit BlockWriter(isa::Codec& usedCodec) : codec(usedCodec) {}

  Status add(const Node& node) {
    if (node.kind == NodeKind::wait) {
      const std::int64_t outstanding = issued[index(node.counter)] - node.completes;
      const std::int64_t count = node.fixedCount ? node.count : outstanding;
      auto& pending = node.counter == Counter::vm ? wait.vm : wait.lgkm;
      // Counts above the counter's limit cannot be asked for; the limit is the nearest that is strong enough.
      const std::int64_t limit = program::counterLimit[index(node.counter)];
      pending = static_cast<std::uint8_t>(std::min<std::int64_t>(pending, std::clamp<std::int64_t>(count, 0, limit)));
      return {};
    }
    ASMEVO_CHECK(flushWait());
    for (std::size_t c = 0; c < counterCount; ++c)
      issued[c] += node.counts[c];
    result.push_back(node.instr);
    return {};
  }

  Result<std::vector<Instr>> finish() {
    ASMEVO_CHECK(flushWait());
    return std::move(result);
  }

 private:
  Status append(const std::string& text) {
    auto inst = codec.assemble(text);
    if (!inst)
      return std::move(inst).error();
    Instr instr;
    instr.inst = codec.complete(*inst);
    result.push_back(instr);
    return {};
  }

  Status flushWait() {
    if (wait == isa::WaitCount{})
      return {};
    std::string text = "s_waitcnt";
    if (wait.vm < 63)
      text += fmt::format(" vmcnt({})", wait.vm);
    if (wait.lgkm < 15)
      text += fmt::format(" lgkmcnt({})", wait.lgkm);
    wait = {};
    return append(text);
  }

  isa::Codec& codec;
  std::array<std::int64_t, counterCount> issued{};
  isa::WaitCount wait;
  std::vector<Instr> result;
};

} // namespace

Result<std::vector<Instr>> writeBack(const BlockGraph& graph, const std::vector<std::uint32_t>& order,
                                     isa::Codec& codec) {
  BlockWriter writer(codec);
  for (const std::uint32_t n : order)
    ASMEVO_CHECK(writer.add(graph.nodes[n]));
  return writer.finish();
}

} // namespace asmevo::optimize
