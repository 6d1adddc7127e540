#include "optimize/moves/control/block_counts.h"

#include <algorithm>

namespace asmevo::optimize {

std::vector<std::uint64_t> blockCounts(const program::Program& program, const timing::Estimate& profile) {
  std::vector<std::uint64_t> counts(program.blocks.size());
  for (program::BlockId id = 0; id < program.blocks.size(); ++id) {
    const auto& instrs = program.blocks[id].instrs;
    const auto first =
        std::ranges::find_if(instrs, [](const program::Instr& i) { return i.address != program::noAddress; });
    if (first == instrs.end() || first->address < profile.codeAddress)
      continue;
    const std::uint64_t offset = first->address - profile.codeAddress;
    const auto found = std::ranges::lower_bound(
        profile.instructions, offset, {}, [](const timing::InstructionProfile& p) { return std::uint64_t{p.offset}; });
    if (found != profile.instructions.end() && found->offset == offset)
      counts[id] = found->issued;
  }
  return counts;
}

} // namespace asmevo::optimize
