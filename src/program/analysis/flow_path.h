/// Paths through a program that show something: from one instruction to another, through calls and back from them.
#pragma once

#include "program/analysis/dataflow.h"

#include <functional>
#include <optional>
#include <vector>

namespace asmevo::program {

/// How an instruction on the way changes what is followed along a path (a count: waited operations, wait states);
/// nothing: what the path is to show ends there. Smaller counts must never end sooner than larger ones.
using PathStep = std::function<std::optional<unsigned>(const Instr&, unsigned)>;

/// Where the functions of a program are called, and where they return.
class CallSites {
 public:
  explicit CallSites(const Program& program);
  /// By entry block of a function: its call instructions.
  const std::vector<Place>& callsOf(BlockId entry) const;
  /// By entry block of a function: the blocks that end in a jump to nowhere known, which is its return.
  const std::vector<BlockId>& returnsOf(BlockId entry) const;
  /// By block: entries of the device functions it belongs to.
  const std::vector<BlockId>& ownersOf(BlockId block) const;

 private:
  std::vector<std::vector<Place>> calls;     ///< by entry block
  std::vector<std::vector<BlockId>> returns; ///< by entry block
  std::vector<std::vector<BlockId>> owners;  ///< by block
};

/// Blocks of a path with the fewest of them, first that of `from`, last that of `to`; both instructions themselves are
/// not stepped over. A call goes into its callee where that is known; where a function returns that the path did not
/// enter, it goes on behind any of its calls. Empty: no such path.
std::vector<BlockId> shortestPath(const Program& program, const CallSites& sites, Place from, Place to,
                                  const PathStep& step);

} // namespace asmevo::program
