#include "verify/synchronisation.h"

#include "isa/waitcnt.h"

#include <algorithm>
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

/// Operations of each counter that may be in flight at an instruction, as far as its block says: a wait's count and
/// what was issued since. Counters saturate.
isa::WaitCount inFlightAt(const program::Block& block, std::size_t index) {
  unsigned vm = 0, lgkm = 0;
  bool vmKnown = false, lgkmKnown = false;
  for (std::size_t i = index; i-- > 0 && !(vmKnown && lgkmKnown);) {
    const isa::Instruction& inst = *block.instrs[i].inst;
    if (inst.cls == isa::InstClass::waitcnt) {
      const isa::WaitCount wait = inst.waitCount();
      if (!vmKnown && wait.vm != isa::noWait.vm) {
        vm += wait.vm;
        vmKnown = true;
      }
      if (!lgkmKnown && wait.lgkm != isa::noWait.lgkm) {
        lgkm += wait.lgkm;
        lgkmKnown = true;
      }
    }
    vm += !vmKnown && inst.isVectorMemory();
    lgkm += !lgkmKnown &&
            (inst.cls == isa::InstClass::lds || inst.cls == isa::InstClass::smem || inst.cls == isa::InstClass::flat);
  }
  return {static_cast<std::uint8_t>(vmKnown ? std::min<unsigned>(vm, isa::noWait.vm) : isa::noWait.vm), isa::noWait.exp,
          static_cast<std::uint8_t>(lgkmKnown ? std::min<unsigned>(lgkm, isa::noWait.lgkm) : isa::noWait.lgkm)};
}

std::vector<std::size_t> barriersOf(const program::Block& block) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < block.instrs.size(); ++i)
    if (block.instrs[i].inst->cls == isa::InstClass::barrier)
      places.push_back(i);
  return places;
}

} // namespace

std::string weakerWaitAtBarrier(const ProgramPair& pair, const Alignment& alignment) {
  for (program::BlockId id = 0; id < pair.k0.blocks.size(); ++id) {
    if (!alignment.edited[id] || !alignment.toK1[id])
      continue;
    const program::Block &before = pair.k0.blocks[id], &after = pair.k1.blocks[*alignment.toK1[id]];
    const std::vector<std::size_t> a = barriersOf(before), b = barriersOf(after);
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
      if (!isa::covers(inFlightAt(after, b[i]), inFlightAt(before, a[i])))
        return fmt::format("more may be in flight at the barrier at {:#x} of K1 than at {:#x} of K0",
                           after.instrs[b[i]].address, before.instrs[a[i]].address);
  }
  return {};
}

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
