#include "program/insertion.h"

#include <algorithm>

namespace asmevo::program {

namespace {

/// How many instructions behind this one belong to it.
std::size_t boundBehind(const isa::Instruction& inst) {
  if (inst.base == "s_clause")
    return (inst.simm16 & 0x3f) + std::size_t{1};
  if (inst.base == "s_delay_alu") // the second delay is for the instruction that many further on
    return ((inst.simm16 >> 4) & 7) + std::size_t{1};
  if (inst.base.starts_with("v_wmma_ld_scale"))
    return 1;
  return 0;
}

} // namespace

std::vector<bool> insertionPoints(const Block& block, isa::Codec& codec) {
  std::vector<bool> points(block.instrs.size(), !block.opaque);
  std::size_t bound = 0;
  for (std::size_t i = 0; i < points.size() && !block.opaque; ++i) {
    if (bound > 0) {
      points[i] = false;
      --bound;
    }
    bound = std::max(bound, boundBehind(*codec.complete(block.instrs[i].inst)));
  }
  return points;
}

} // namespace asmevo::program
