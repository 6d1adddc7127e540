#include "optimize/optimize.h"

#include "timing/windows.h"

#include <algorithm>

namespace asmevo::optimize {

std::vector<HotWindow> rankWindows(const object::CodeObject& object, const program::Program& program,
                                   const object::Kernel& kernel, const timing::Estimate& profile) {
  const auto sections = object.codeSections();
  const auto home =
      std::ranges::find_if(sections, [&](const object::Section* s) { return s->contains(kernel.entryAddress); });
  if (home == sections.end())
    return {};
  const std::uint64_t base = (*home)->address;
  std::vector<timing::Region> regions;
  std::vector<HotWindow> candidates;
  for (program::BlockId id = 0; id < program.blocks.size(); ++id) {
    const program::Block& block = program.blocks[id];
    std::uint64_t end = block.address;
    for (const auto& instr : block.instrs)
      if (instr.address != program::noAddress)
        end = std::max(end, instr.address + instr.inst->size);
    if (block.address == program::noAddress || block.address < base || end == block.address)
      continue;
    HotWindow window;
    window.block = id;
    window.begin = block.address;
    window.end = end;
    candidates.push_back(window);
    regions.push_back({{static_cast<std::uint32_t>(block.address - base), static_cast<std::uint32_t>(end - base)}});
  }
  std::vector<HotWindow> windows;
  for (const auto& cost : timing::rankRegions(profile, regions)) {
    HotWindow window = candidates[cost.region];
    window.cycles = cost.cycles;
    window.share = cost.share;
    window.topStall = cost.topStall;
    windows.push_back(window);
  }
  return windows;
}

} // namespace asmevo::optimize
