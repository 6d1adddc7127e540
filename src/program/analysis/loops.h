/// Loops and how they nest, irreducible ones included.
///
/// Promises: naturalLoops() finds every loop that is entered through its header only. loopForest() finds every cycle:
/// each is a strongly connected region, nested by removing its headers; regions with several entries say so. Exact for
/// the recovered graph; calls fall through.
#pragma once

#include "program/analysis/dominators.h"

#include <optional>
#include <vector>

namespace asmevo::program {

/// A natural loop: all back edges to one header.
struct Loop {
  BlockId header = 0;
  std::vector<BlockId> blocks;       ///< sorted, header included
  std::vector<BlockId> latches;      ///< sources of the back edges
  std::vector<BlockId> exits;        ///< blocks outside that are entered from inside
  std::optional<std::size_t> parent; ///< index of the smallest loop around it
  bool innermost = true;
};

/// Natural loops, outer before inner. Cycles that are entered in more than one place are not among them.
std::vector<Loop> naturalLoops(const Program& program, const Function& function);

/// A cycle of the graph as a region of blocks that all reach each other.
struct LoopRegion {
  std::vector<BlockId> headers;      ///< blocks entered from outside, sorted; more than one: irreducible
  std::vector<BlockId> blocks;       ///< sorted, headers included
  std::optional<std::size_t> parent; ///< index of the region around it
  unsigned depth = 1;                ///< 1: outermost
  bool isIrreducible() const { return headers.size() > 1; }
};

/// All regions, outer before inner. Below an irreducible region its first header in reverse post-order is taken out to
/// find the inner ones (Havlak, "Nesting of Reducible and Irreducible Loops").
std::vector<LoopRegion> loopForest(const Program& program, const Function& function);

/// Blocks of cycles with more than one entry, sorted.
std::vector<BlockId> irreducibleBlocks(const Program& program, const Function& function);

} // namespace asmevo::program
