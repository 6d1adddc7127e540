#include "timing/memory_use.h"

#include "timing/trace_set.h"

#include <algorithm>

namespace asmevo::timing {
namespace {

struct Facts {
  std::uint64_t executions = 0, lanes = 0, requests = 0, sectors = 0, usedBytes = 0, conflictClk = 0;
};

void addWave(std::vector<Facts>& facts, const emulator::WaveTrace& wave) {
  auto change = wave.lanes.begin();
  unsigned lanes = 64;
  for (std::uint32_t step = 0; step < wave.path.size(); ++step) {
    for (; change != wave.lanes.end() && change->step <= step; ++change)
      lanes = change->lanes;
    const std::size_t at = wave.path[step] / 4;
    if (at >= facts.size())
      facts.resize(at + 1);
    ++facts[at].executions;
    facts[at].lanes += lanes;
  }
  for (const emulator::MemoryAccess& access : wave.accesses) {
    if (access.step >= wave.path.size())
      continue;
    Facts& fact = facts[wave.path[access.step] / 4];
    ++fact.requests;
    fact.usedBytes += std::uint64_t{access.bytesPerLane} * access.activeLanes;
    if (access.space != emulator::Space::lds) {
      fact.sectors += access.lineCount;
    } else if (std::uint64_t{access.firstLane} + 64 <= wave.ldsAddresses.size()) {
      const unsigned clk = ldsBankClk(wave.ldsAddresses.data() + access.firstLane, access.bytesPerLane, access.atomic);
      const unsigned ideal = 2 * std::clamp((access.bytesPerLane + 3U) / 4, 1U, 4U);
      fact.conflictClk += clk > ideal ? clk - ideal : 0;
    }
  }
}

} // namespace

void addTracedFacts(Estimate& estimate, const std::vector<emulator::WorkgroupTrace>& traces) {
  std::vector<Facts> facts;
  for (const emulator::WorkgroupTrace& group : traces)
    for (const emulator::WaveTrace& wave : group.waves)
      addWave(facts, wave);
  for (InstructionProfile& instruction : estimate.instructions) {
    const std::size_t at = instruction.offset / 4;
    if (at >= facts.size() || facts[at].executions == 0)
      continue;
    const Facts& fact = facts[at];
    const double each = 1 / static_cast<double>(fact.executions);
    const double all = static_cast<double>(instruction.issued) * each;
    instruction.activeLanes = static_cast<double>(fact.lanes) * each;
    instruction.requests = static_cast<double>(fact.requests) * all;
    instruction.sectors = static_cast<double>(fact.sectors) * all;
    instruction.bytesUsed = static_cast<double>(fact.usedBytes) * all;
    instruction.conflictClk = static_cast<double>(fact.conflictClk) * all;
  }
}

} // namespace asmevo::timing
