/// Dependence graph of one basic block, as a scheduler needs it: waits taken apart by counter and tied to the memory
/// operations they complete, so that any topological order can be written back with exact waits.
#pragma once

#include "isa/codec.h"
#include "program/analysis/in_flight.h"
#include "program/analysis/memory_dependence.h"
#include "program/program.h"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace asmevo::optimize {

using program::Counter;
using program::counterCount;

enum class NodeKind : std::uint8_t {
  plain,
  memory,      ///< counts in vmcnt and/or lgkmcnt
  wait,        ///< completes the first `completes` operations of `counter`
  fence,       ///< nothing crosses it
  memoryFence, ///< no memory operation or wait crosses it (s_barrier)
};

/// One schedulable item.
struct Node {
  NodeKind kind = NodeKind::plain;
  program::Instr instr;                    ///< kind wait: the s_waitcnt it came from
  std::array<bool, counterCount> counts{}; ///< kind memory: counters it increments
  Counter counter = Counter::vm;           ///< kind wait
  std::int64_t completes = 0; ///< kind wait: operations of the counter, from the block's start, that it completes;
                              ///< 0 or negative counts into the operations in flight at entry
  bool fixedCount = false;    ///< kind wait: operations must neither leave nor enter; `count` is kept
  std::uint8_t count = 0;
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  /// Kind wait: completes this node alone, wherever it stands among the operations of the counter (GraphOptions::
  /// reorder); `completes` is unused then.
  std::uint32_t operation = none;
  /// Kind wait: written only in front of the first node that has an edge from it, or at the block's end.
  bool lazy = false;
  std::uint32_t source = none; ///< position in the block
};

/// An edge: `to` may issue `latency` slots (of 4 clk) after `from` at the earliest without stalling, and never before
/// it.
struct Edge {
  std::uint32_t from = 0, to = 0;
  std::uint32_t latency = 1;
  std::uint32_t states = 0; ///< wait states that the hazard tables ask for between the two
};

struct BlockGraph {
  std::vector<Node> nodes; ///< in the block's order; s_nops are left out (re-derived when written back)
  std::vector<Edge> edges;
  std::vector<std::vector<std::uint32_t>> successors, predecessors; ///< edge indices by node
};

/// Expected slots from issue to result, for edges and priorities.
struct SlotLatencies {
  std::uint32_t lds = 13, scalarMemory = 12, vectorMemory = 125, valu = 1, transcendental = 4, salu = 1;
};

/// What may be in flight when a block is entered, over all paths to it: a register outside `destinations` needs no wait
/// for operations from before the block.
struct InFlight {
  std::array<isa::RegSet, counterCount> destinations; ///< by counter
  bool unordered = false; ///< operations that count in lgkmcnt without order (scalar loads, flat accesses)
  bool ldsDma = false;    ///< some buffer load of the function writes LDS: LDS accesses then depend on vmcnt waits
};
/// By block id. Forward dataflow: an operation adds its destinations, a wait for zero removes its counter's, a call
/// brings back whatever the function has.
std::vector<InFlight> inFlightAtEntry(const program::Program& program, const program::Function& function,
                                      unsigned accumOffset);

/// What more than the default a graph may leave unordered.
struct GraphOptions {
  /// Memory operations of a counter may be exchanged, and each use waits for its own operations only. What is still in
  /// flight at the block's end keeps its order, on which later counts depend. Counters that scalar loads or flat
  /// accesses share are left as they are.
  bool reorder = false;
  const program::MemoryDependence* memory = nullptr; ///< tells addresses apart; of the program that `block` is from
  program::BlockId block = 0;                        ///< for `memory`
  /// Plain loads of global memory may go up over barriers: nothing that the kernel does before one writes such memory
  /// (storesBefore), so no wave's store is waited for there.
  bool loadsOverBarriers = false;
  /// Positions that no memory operation and no wait may pass: what K0 does before the data are there is not to come
  /// any nearer to the load. May be null.
  const std::set<std::uint32_t>* pinned = nullptr;
};

/// May control pass a store, an atomic or a call before it comes to the last barrier of this block?
bool storesBefore(const program::Program& program, const program::Function& function, program::BlockId block);

BlockGraph buildBlockGraph(const program::Block& block, const InFlight& atEntry, unsigned accumOffset,
                           const SlotLatencies& latencies, const GraphOptions& options = {});

/// Waits and s_nops assembled before, by text.
using Assembled = std::map<std::string, isa::InstRef>;

/// Instructions of `order` (a topological order of the graph's nodes) with waits re-derived and without s_nops: wait
/// states are the business of repairWaitStates. `withStates`: with the s_nops that the block's own edges ask for, as
/// an order has to be judged. `assembled` may be null.
Result<std::vector<program::Instr>> writeBack(const BlockGraph& graph, const std::vector<std::uint32_t>& order,
                                              isa::Codec& codec, bool withStates = false,
                                              Assembled* assembled = nullptr);

} // namespace asmevo::optimize
