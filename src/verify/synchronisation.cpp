#include "verify/synchronisation.h"

#include <map>

namespace asmevo::verify {

namespace {

using Counts = std::map<std::string, std::size_t>;

Counts countsOf(const program::Program& program) {
  Counts counts;
  for (const program::Block& block : program.blocks) {
    if (!block.reachable || block.opaque)
      continue;
    for (const program::Instr& instr : block.instrs) {
      const isa::Instruction& inst = *instr.inst;
      if (inst.cls == isa::InstClass::barrier || inst.base.starts_with("buffer_inv") ||
          inst.base.starts_with("buffer_wbl2") || inst.base.starts_with("s_dcache"))
        ++counts[inst.text];
      else if ((inst.mayLoad || inst.mayStore) && !inst.isAtomic()) {
        if (inst.mods.sc0)
          ++counts[inst.base + " with sc0"];
        if (inst.mods.sc1)
          ++counts[inst.base + " with sc1"];
      }
    }
  }
  return counts;
}

} // namespace

std::string weakerSynchronisation(const ProgramPair& pair) {
  const Counts before = countsOf(pair.k0), after = countsOf(pair.k1);
  for (const auto& [what, count] : before) {
    const auto kept = after.find(what);
    if (kept == after.end() || kept->second < count)
      return fmt::format("K1 has {} '{}' where K0 has {}", kept == after.end() ? 0 : kept->second, what, count);
  }
  return {};
}

} // namespace asmevo::verify
