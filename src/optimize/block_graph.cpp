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

/// Changes which wave issues first and nothing else (CDNA3 ISA, S_SETPRIO).
bool isPriority(const Instruction& inst) {
  return inst.base == "s_setprio";
}

bool isHardFence(const Instruction& inst) {
  return inst.cls == InstClass::unknown || inst.cls == InstClass::jump || inst.cls == InstClass::endpgm ||
         inst.isBranch() || (inst.cls == InstClass::message && !isPriority(inst)) ||
         startsWith(inst.base, "s_set_gpr_idx") || startsWith(inst.base, "s_setvskip") ||
         startsWith(inst.base, "s_movrel") || startsWith(inst.base, "s_setreg") || startsWith(inst.base, "s_getpc") ||
         startsWith(inst.base, "s_getreg") || startsWith(inst.base, "s_memtime") ||
         startsWith(inst.base, "s_memrealtime");
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
  GraphBuilder(const program::Block& source, const InFlight& entry, unsigned accum, const SlotLatencies& lat,
               const GraphOptions& given)
      : block(source), atEntry(entry), accumOffset(accum), latencies(lat), options(given) {}

  BlockGraph build() {
    makeNodes();
    if (options.reorder)
      for (std::size_t c = 0; c < counterCount; ++c)
        reordered[c] = mayReorder(static_cast<Counter>(c));
    splitWaits();
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
    for (std::uint32_t i = 0; i < block.instrs.size(); ++i) {
      const Instr& instr = block.instrs[i];
      const Instruction& inst = *instr.inst;
      indexed = (indexed || inst.entersGprIdxMode()) && inst.base != "s_set_gpr_idx_off";
      // Long nops are more than any hazard row of plain code asks for: they pace waves against each other on purpose.
      const bool pacing = (inst.simm16 & 15) >= 11;
      if (inst.cls == InstClass::nop && inst.base == "s_nop" && !pacing)
        continue;
      Node node;
      node.instr = instr;
      node.source = i;
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

  /// Every operation of the counter in order, and no wait that fixes it.
  bool mayReorder(Counter counter) const {
    for (const Node& node : graph.nodes) {
      if (node.kind == NodeKind::wait
              ? node.counter == counter && node.fixedCount
              : node.counts[index(counter)] && (node.kind != NodeKind::memory || !isInOrder(*node.instr.inst, counter)))
        return false;
    }
    return counter == Counter::vm || !anyScalarInFlight();
  }
  static bool isInOrder(const Instruction& inst, Counter counter) {
    return program::countingOf(inst).inOrder[index(counter)];
  }

  /// Of counters that may be reordered: a wait node becomes one for each operation that it is the first to complete,
  /// and one for what it completes of the operations in flight at entry.
  void splitWaits() {
    if (!reordered[0] && !reordered[1])
      return;
    std::vector<Node> nodes;
    std::array<std::vector<std::uint32_t>, counterCount> operations;
    std::array<std::int64_t, counterCount> completed{std::numeric_limits<std::int64_t>::min(),
                                                     std::numeric_limits<std::int64_t>::min()};
    for (const Node& node : graph.nodes) {
      if (node.kind != NodeKind::wait || !reordered[index(node.counter)]) {
        for (std::size_t c = 0; c < counterCount; ++c)
          if (node.kind != NodeKind::wait && node.counts[c])
            operations[c].push_back(static_cast<std::uint32_t>(nodes.size()));
        nodes.push_back(node);
        continue;
      }
      const std::size_t c = index(node.counter);
      const std::int64_t before = completed[c];
      if (node.completes <= before)
        continue;
      completed[c] = node.completes;
      if (before < 0) {
        Node entry = node;
        entry.lazy = true;
        entry.completes = std::min<std::int64_t>(node.completes, 0);
        nodes.push_back(entry);
      }
      for (std::int64_t k = std::max<std::int64_t>(before, 0); k < node.completes; ++k) {
        Node single = node;
        single.lazy = true;
        single.operation = operations[c][static_cast<std::size_t>(k)];
        nodes.push_back(single);
      }
    }
    graph.nodes = std::move(nodes);
  }

  /// Scalar or flat operations of this block, or possibly of earlier ones, share lgkmcnt.
  bool anyScalarInFlight() const {
    return atEntry.unordered ||
           std::ranges::any_of(block.instrs, [](const Instr& i) { return returnsOutOfOrder(*i.inst); });
  }

  void edge(std::uint32_t from, std::uint32_t to, std::uint32_t latency, std::uint32_t states = 0) {
    graph.edges.push_back({from, to, latency, states});
  }

  void registerEdges() {
    std::map<RegUnit, std::uint32_t> lastWriter;
    std::map<RegUnit, std::vector<std::uint32_t>> readersSince;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.kind == NodeKind::wait)
        continue;
      const Instruction& inst = *node.instr.inst;
      struct Distance {
        std::uint32_t latency = 0, states = 0;
      };
      std::map<std::uint32_t, Distance> before; // by node
      const auto after = [&](std::uint32_t from, std::uint32_t latency, std::uint32_t gap) {
        Distance& distance = before[from];
        distance.latency = std::max({distance.latency, latency, gap});
        distance.states = std::max(distance.states, gap - 1);
      };
      inst.reads(accumOffset).forEach([&](RegUnit u) {
        if (const auto w = lastWriter.find(u); w != lastWriter.end())
          after(w->second, dependenceLatency(graph.nodes[w->second], node), stateGap(graph.nodes[w->second], node));
      });
      const RegSet writes = inst.writes(accumOffset);
      writes.forEach([&](RegUnit u) {
        if (const auto w = lastWriter.find(u); w != lastWriter.end())
          after(w->second, 1, stateGap(graph.nodes[w->second], node));
        for (const std::uint32_t r : readersSince[u])
          if (r != n)
            after(r, 1, stateGap(graph.nodes[r], node));
      });
      for (const auto& [from, distance] : before)
        edge(from, n, distance.latency, distance.states);
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
    return latency;
  }

  void memoryEdges() {
    std::array<std::optional<std::uint32_t>, counterCount> last;
    std::vector<std::uint32_t> seen;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.kind != NodeKind::memory)
        continue;
      for (std::size_t c = 0; c < counterCount; ++c)
        if (node.counts[c] && !reordered[c]) {
          if (last[c])
            edge(*last[c], n, 1);
          last[c] = n;
        }
      for (const std::uint32_t m : seen)
        if (mayDepend(graph.nodes[m], node))
          edge(m, n, 1);
      seen.push_back(n);
    }
  }

  bool mayDepend(const Node& first, const Node& second) const {
    if (!program::mayDepend(*first.instr.inst, *second.instr.inst, /*sameBases=*/false))
      return false;
    // Stores keep their order even where they do not meet: others may take the later one for a flag.
    if (first.instr.inst->mayStore && second.instr.inst->mayStore)
      return true;
    return !options.memory || options.memory->mayDepend({options.block, first.source}, {options.block, second.source});
  }

  void waitEdges() {
    for (std::size_t c = 0; c < counterCount; ++c)
      if (reordered[c])
        singleWaitEdges(static_cast<Counter>(c));
      else
        waitEdges(static_cast<Counter>(c));
  }

  /// Edges of a counter whose operations may change places: users stay behind the waits of their own operations.
  void singleWaitEdges(Counter counter) {
    const std::size_t c = index(counter);
    std::map<RegUnit, std::uint32_t> producer;             // unit -> operation that writes it
    std::map<std::uint32_t, std::uint32_t> waitOf;         // operation -> its wait
    std::vector<std::uint32_t> operations, waits, entries; // entries: waits for what came before the block
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (node.kind == NodeKind::wait) {
        if (node.counter != counter)
          continue;
        if (node.operation != Node::none) {
          edge(node.operation, n, resultLatency(*graph.nodes[node.operation].instr.inst, latencies));
          waitOf[node.operation] = n;
        } else {
          if (!entries.empty())
            edge(entries.back(), n, 1);
          entries.push_back(n);
        }
        waits.push_back(n);
        continue;
      }
      const Instruction& inst = *node.instr.inst;
      const RegSet touched = inst.reads(accumOffset) | inst.writes(accumOffset);
      for (const auto& [unit, operation] : producer)
        if (touched.test(unit))
          if (const auto wait = waitOf.find(operation); wait != waitOf.end())
            edge(wait->second, n, 1);
      if (touched.intersects(atEntry.destinations[c]))
        for (const std::uint32_t w : entries)
          edge(w, n, 1);
      if (node.kind == NodeKind::memory && waitsOnOrder(counter, inst))
        for (const std::uint32_t w : waits)
          edge(w, n, 1);
      else if (inst.cls == InstClass::lds && inst.mayStore)
        // LDS takes writes in order anyway; what K0 had completed before one stays so (order_points.h).
        for (const std::uint32_t w : waits)
          if (const std::uint32_t o = graph.nodes[w].operation; o == Node::none || graph.nodes[o].instr.inst->mayStore)
            edge(w, n, 1);
      if (node.counts[c]) {
        inst.writes(accumOffset).forEach([&](RegUnit u) { producer[u] = n; });
        operations.push_back(n);
      } else
        inst.writes(accumOffset).forEach([&](RegUnit u) { producer.erase(u); });
    }
    // Later blocks count what this one leaves in flight.
    std::optional<std::uint32_t> last;
    for (const std::uint32_t o : operations)
      if (!waitOf.contains(o)) {
        if (last)
          edge(*last, o, 1);
        last = o;
      }
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

  bool isPlainGlobalLoad(const Node& node) const {
    if (node.kind != NodeKind::memory || !reordered[index(Counter::vm)])
      return false;
    const program::MemoryEffect effect = program::memoryEffect(*node.instr.inst);
    return node.instr.inst->cls != InstClass::flat && node.instr.inst->cls != InstClass::smem &&
           (effect.reads & program::space::global) != 0 && effect.writes == 0 && !effect.ordered;
  }

  void fenceEdges() {
    std::optional<std::uint32_t> lastFence, lastMemoryFence, lastPriority;
    std::vector<std::uint32_t> sinceFence, memorySince;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      const bool memoryLike = node.kind == NodeKind::memory || node.kind == NodeKind::wait;
      if (lastFence)
        edge(*lastFence, n, 1);
      if (node.kind == NodeKind::plain && isPriority(*node.instr.inst)) {
        if (lastPriority)
          edge(*lastPriority, n, 1);
        lastPriority = n;
      }
      if (node.kind == NodeKind::fence) {
        for (const std::uint32_t m : sinceFence)
          edge(m, n, 1);
        sinceFence.clear();
        lastFence = n;
        continue;
      }
      sinceFence.push_back(n);
      const bool pinned = options.pinned && node.kind != NodeKind::wait && options.pinned->contains(node.source);
      if (options.loadsOverBarriers && !pinned && isPlainGlobalLoad(node)) {
        memorySince.push_back(n);
        continue;
      }
      if (node.kind == NodeKind::memoryFence || pinned) {
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
  const GraphOptions& options;
  std::array<bool, counterCount> reordered{};
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

bool storesBefore(const program::Program& program, const program::Function& function, program::BlockId block) {
  const auto stores = [](const Instr& instr) {
    const program::MemoryEffect effect = program::memoryEffect(*instr.inst);
    const bool beyondLds = (effect.writes & ~(program::space::lds | program::space::gds)) != 0;
    return beyondLds || instr.inst->isAtomic() || instr.inst->leavesFunction() || !instr.inst->isComplete;
  };
  const auto unseenCallers = [&](program::BlockId id) {
    return program.blocks[id].opaque || (program.blocks[id].entersByRegister && id != function.entryBlock);
  };
  const auto& own = program.blocks[block].instrs;
  const auto last =
      std::find_if(own.rbegin(), own.rend(), [](const Instr& instr) { return instr.inst->cls == InstClass::barrier; });
  if (unseenCallers(block) || std::any_of(own.begin(), last.base(), stores))
    return true;
  std::vector<bool> seen(program.blocks.size(), false);
  std::vector<program::BlockId> work = program.blocks[block].predecessors;
  while (!work.empty()) {
    const program::BlockId id = work.back();
    work.pop_back();
    if (seen[id])
      continue;
    seen[id] = true;
    if (unseenCallers(id) || std::ranges::any_of(program.blocks[id].instrs, stores))
      return true;
    work.insert(work.end(), program.blocks[id].predecessors.begin(), program.blocks[id].predecessors.end());
  }
  return false;
}

BlockGraph buildBlockGraph(const program::Block& block, const InFlight& atEntry, unsigned accumOffset,
                           const SlotLatencies& latencies, const GraphOptions& options) {
  return GraphBuilder(block, atEntry, accumOffset, latencies, options).build();
}

namespace {

/// Collects adjacent waits into one s_waitcnt.
class BlockWriter {
 public:
  BlockWriter(const BlockGraph& g, isa::Codec& usedCodec, bool states, Assembled* known)
      : graph(g), codec(usedCodec), withStates(states), assembled(known), place(g.nodes.size(), 0),
        position(g.nodes.size(), 0) {}

  Status add(std::uint32_t n) {
    const Node& node = graph.nodes[n];
    if (node.kind == NodeKind::wait) {
      if (node.lazy)
        lazy.push_back(n);
      else
        require(node.counter, node.fixedCount ? node.count : issued[index(node.counter)] - node.completes);
      return {};
    }
    for (const std::uint32_t e : graph.predecessors[n])
      if (const std::uint32_t from = graph.edges[e].from; graph.nodes[from].lazy)
        requireLazy(from);
    ASMEVO_CHECK(flushWait());
    if (withStates)
      ASMEVO_CHECK(separate(n));
    position[n] = ++states;
    for (std::size_t c = 0; c < counterCount; ++c)
      if (node.counts[c])
        place[n] = ++issued[c]; // lazy waits are for operations of one counter only
    result.push_back(node.instr);
    return {};
  }

  Result<std::vector<Instr>> finish() {
    for (const std::uint32_t n : lazy)
      requireLazy(n);
    ASMEVO_CHECK(flushWait());
    return std::move(result);
  }

 private:
  void require(Counter counter, std::int64_t count) {
    auto& pending = counter == Counter::vm ? wait.vm : wait.lgkm;
    // Counts above the counter's limit cannot be asked for; the limit is the nearest that is strong enough.
    const std::int64_t limit = program::counterLimit[index(counter)];
    pending = static_cast<std::uint8_t>(std::min<std::int64_t>(pending, std::clamp<std::int64_t>(count, 0, limit)));
    completed[index(counter)] = std::max(completed[index(counter)], issued[index(counter)] - std::int64_t{pending});
  }

  void requireLazy(std::uint32_t n) {
    const Node& node = graph.nodes[n];
    const std::int64_t wanted = node.operation == Node::none ? node.completes : place[node.operation];
    if (wanted > completed[index(node.counter)])
      require(node.counter, issued[index(node.counter)] - wanted);
  }

  Status append(const std::string& text) {
    Instr instr;
    if (assembled)
      if (const auto known = assembled->find(text); known != assembled->end())
        instr.inst = known->second;
    if (!instr.inst) {
      ASMEVO_TRY(const isa::InstRef inst, codec.assemble(text));
      instr.inst = codec.complete(inst);
      if (assembled)
        assembled->emplace(text, instr.inst);
    }
    result.push_back(instr);
    ++states;
    return {};
  }

  /// s_nops until what comes before `n` is as far away as the tables ask.
  Status separate(std::uint32_t n) {
    std::int64_t missing = 0;
    for (const std::uint32_t e : graph.predecessors[n])
      if (const Edge& edge = graph.edges[e]; edge.states)
        missing = std::max(missing, position[edge.from] + std::int64_t{edge.states} - states);
    while (missing > 0) {
      const std::int64_t now = std::min<std::int64_t>(missing, 8);
      ASMEVO_CHECK(append(fmt::format("s_nop {}", now - 1)));
      states += now - 1;
      missing -= now;
    }
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

  const BlockGraph& graph;
  isa::Codec& codec;
  bool withStates;
  Assembled* assembled;
  std::int64_t states = 0; ///< wait states from the block's start
  std::array<std::int64_t, counterCount> issued{};
  /// Operations from the block's start that are known to be complete; below zero: of those in flight at entry.
  std::array<std::int64_t, counterCount> completed{std::numeric_limits<std::int64_t>::min(),
                                                   std::numeric_limits<std::int64_t>::min()};
  std::vector<std::int64_t> place;    ///< of an operation among its counter's, from 1
  std::vector<std::int64_t> position; ///< in wait states, from 1
  std::vector<std::uint32_t> lazy;
  isa::WaitCount wait;
  std::vector<Instr> result;
};

} // namespace

Result<std::vector<Instr>> writeBack(const BlockGraph& graph, const std::vector<std::uint32_t>& order,
                                     isa::Codec& codec, bool withStates, Assembled* assembled) {
  BlockWriter writer(graph, codec, withStates, assembled);
  for (const std::uint32_t n : order)
    ASMEVO_CHECK(writer.add(n));
  return writer.finish();
}

} // namespace asmevo::optimize
