/// List scheduling against the queues and pipes of a compute unit: LDS and vector memory at the rate that the waves
/// sharing them leave, the matrix pipe, and what the counters wait for.
#pragma once

#include "optimize/block_graph.h"
#include "timing/static_code.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace asmevo::optimize {

/// The machine as one of several waves in step sees it.
struct PacedMachine {
  timing::Parameters chip;
  double vectorLatency = 500; ///< clk
  unsigned wavesPerSimd = 1, wavesPerCu = 4;
  unsigned accumOffset = 0;
};

/// What goes first among instructions that need not stall.
enum class Pace : std::uint8_t {
  memory,  ///< memory operations, then MFMAs, then the rest
  matrix,  ///< MFMAs, then memory operations
  lookout, ///< whatever the longest way to the end starts with
};
/// In what order among its like.
enum class Rank : std::uint8_t {
  height, ///< longest way to the block's end
  demand, ///< the first MFMA, or else user, that waits for it in the order given
};
struct PacedOptions {
  Pace pace = Pace::memory;
  Rank rank = Rank::height;
  std::uint64_t seed = 0; ///< nonzero: shakes the order
};
inline constexpr std::array<std::pair<PacedOptions, std::string_view>, 6> pacedOptions = {{
    {{Pace::memory, Rank::height}, "memory operations as their queues take them, MFMAs between"},
    {{Pace::memory, Rank::demand}, "memory operations as their queues take them, in the order MFMAs want them"},
    {{Pace::matrix, Rank::height}, "MFMAs back to back, memory operations between"},
    {{Pace::matrix, Rank::demand}, "MFMAs back to back, memory operations between in the order they are wanted"},
    {{Pace::lookout, Rank::height}, "longest way to the end first, at the units' rates"},
    {{Pace::lookout, Rank::demand}, "in the order of demand, at the units' rates"},
}};

/// Topological orders of one graph. `codes`: what the model knows of each node's instruction.
class PacedScheduler {
 public:
  PacedScheduler(const BlockGraph& graph, const PacedMachine& machine);
  std::vector<std::uint32_t> order(const PacedOptions& options) const;

 private:
  const BlockGraph& graph;
  const PacedMachine& machine;
  std::vector<timing::StaticInst> codes;
  std::vector<double> dataClk; ///< LDS port or address unit time of a memory operation, the other waves' included
  std::vector<double> heights; ///< clk to the block's end
  std::vector<std::uint32_t> wanted;
};

} // namespace asmevo::optimize
