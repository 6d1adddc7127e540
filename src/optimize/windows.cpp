#include "optimize/optimize.h"

#include <algorithm>

namespace asmevo::optimize {

std::vector<HotWindow> rankWindows(const object::CodeObject& object, const program::Program& program,
                                   const object::Kernel& kernel, const timing::Estimate& profile) {
  std::vector<HotWindow> windows;
  const auto sections = object.codeSections();
  const auto home = std::ranges::find_if(sections, [&](const object::Section* s) { return s->contains(kernel.entryAddress); });
  if (home == sections.end())
    return windows;
  const std::uint64_t base = (*home)->address;
  double total = 0;
  for (program::BlockId id = 0; id < program.blocks.size(); ++id) {
    const program::Block& block = program.blocks[id];
    HotWindow window;
    window.block = id;
    window.begin = window.end = block.address;
    std::array<double, timing::stallCount> byReason{};
    for (const auto& instr : block.instrs) {
      if (instr.address == program::noAddress || instr.address < base)
        continue;
      window.end = std::max(window.end, instr.address + instr.inst->size);
      const auto offset = static_cast<std::uint32_t>(instr.address - base);
      const auto at = std::ranges::lower_bound(profile.instructions, offset, {}, &timing::InstructionProfile::offset);
      if (at == profile.instructions.end() || at->offset != offset)
        continue;
      // An issue slot of one wave is four clocks (facts: cdna3 section 1.2).
      window.cycles += 4.0 * static_cast<double>(at->issued) + at->stallCycles;
      for (std::size_t r = 0; r < timing::stallCount; ++r)
        byReason[r] += at->byReason[r];
    }
    if (window.cycles <= 0)
      continue;
    const auto worst = std::ranges::max_element(byReason);
    if (*worst > 0)
      window.topStall = static_cast<timing::Stall>(worst - byReason.begin());
    total += window.cycles;
    windows.push_back(window);
  }
  for (HotWindow& window : windows)
    window.share = window.cycles / total;
  std::ranges::sort(windows, [](const HotWindow& a, const HotWindow& b) {
    return a.cycles != b.cycles ? a.cycles > b.cycles : a.block < b.block;
  });
  return windows;
}

} // namespace asmevo::optimize
