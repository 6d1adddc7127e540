#include "emulator/debug/register_file.h"

#include <iterator>

namespace asmevo::emulator {

std::vector<std::uint32_t> registerValue(const Wave& wave, isa::RegUnit unit) {
  if (unit >= isa::vgprBase) {
    const unsigned physical = unit - isa::vgprBase;
    if (physical >= wave.vgprCount)
      return {};
    return {wave.lanes(physical), wave.lanes(physical) + 64};
  }
  if (unit == isa::sreg::scc)
    return {wave.scc};
  if (unit == isa::sreg::mode)
    return {wave.mode};
  if (unit < isa::sreg::scc)
    return {wave.sgpr[unit]};
  return {};
}

std::string registerName(isa::RegUnit unit, unsigned accumOffset) {
  if (unit >= isa::vgprBase && unit - isa::vgprBase >= accumOffset)
    return fmt::format("a{}", unit - isa::vgprBase - accumOffset);
  return isa::regUnitName(unit);
}

std::string formatLanes(const std::vector<std::uint32_t>& values, std::uint64_t lanes) {
  if (values.size() == 1)
    return fmt::format("{:#x}", values[0]);
  std::string text;
  const auto shown = [&](unsigned lane) { return lane < values.size() && (lanes >> lane & 1); };
  for (unsigned lane = 0; lane < values.size() && lane < 64; ++lane) {
    if (!shown(lane))
      continue;
    unsigned last = lane;
    while (last < 63 && shown(last + 1) && values[last + 1] == values[lane])
      ++last;
    if (!text.empty())
      text += ' ';
    text += last == lane ? fmt::format("{}={:#x}", lane, values[lane])
                         : fmt::format("{}-{}={:#x}", lane, last, values[lane]);
    lane = last;
  }
  return text;
}

} // namespace asmevo::emulator
