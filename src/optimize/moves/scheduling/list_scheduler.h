/// Orders of a block's dependence graph: greedy ones by several priorities, and small steps away from a given one.
#pragma once

#include "isa/matrix_cost.h"
#include "optimize/block_graph.h"
#include "optimize/optimize.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace asmevo::optimize {

/// What a ready instruction is preferred for.
enum class Priority : std::uint8_t {
  criticalPath, ///< longest latency to the block's end
  memoryFirst,  ///< memory operations as soon as they can issue, then the critical path
  matrixPaced,  ///< as criticalPath, but an MFMA only when the matrix pipe is free, other work into its shadow
  matrixSpread, ///< as matrixPaced, memory operations and ALU work dealt evenly to the shadows, in source order
  sourceOrder,  ///< the original order, departing from it only where it would stall
};
inline constexpr std::array<std::pair<Priority, std::string_view>, 5> priorities = {{
    {Priority::criticalPath, "by critical path"},
    {Priority::memoryFirst, "memory operations first"},
    {Priority::matrixPaced, "other work into the matrix pipe's shadow"},
    {Priority::matrixSpread, "other work dealt evenly to the matrix pipe's shadows"},
    {Priority::sourceOrder, "source order unless it stalls"},
}};

struct SchedulerOptions {
  Priority priority = Priority::criticalPath;
  std::uint64_t seed = 0; ///< nonzero: shakes the priorities, so that other schedules than the greedy one are seen
  isa::MatrixCore core = isa::MatrixCore::gfx940;
};

/// A topological order of the graph's nodes.
std::vector<std::uint32_t> listSchedule(const BlockGraph& graph, const SchedulerOptions& options);

/// `order` with `steps` single nodes moved to other places between what they depend on and what depends on them.
std::vector<std::uint32_t> shiftedOrder(const BlockGraph& graph, std::vector<std::uint32_t> order, std::uint64_t seed,
                                        unsigned steps);

/// Latencies of the chip that the context's target belongs to, as its profile sees them: vector memory by hit rates,
/// and all of them in issue slots of one wave, of which as many waves as share the SIMD take turns.
SlotLatencies latenciesOf(const MoveContext& context);

} // namespace asmevo::optimize
