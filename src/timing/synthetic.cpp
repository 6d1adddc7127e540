#include "timing/synthetic.h"

namespace asmevo::timing {

Result<SyntheticProgram> SyntheticProgram::assemble(isa::Codec& codec, std::vector<std::string> statements) {
  SyntheticProgram program;
  statements.push_back("s_endpgm");
  for (const std::string& statement : statements) {
    ASMEVO_TRY(const isa::InstRef assembled, codec.assemble(statement));
    program.offsets.push_back(static_cast<std::uint32_t>(program.byDword.size() * 4));
    program.byDword.push_back(assembled);
    program.byDword.resize(program.byDword.size() + assembled->size / 4U - 1, nullptr);
  }
  return program;
}

WaveBuilder& WaveBuilder::step(std::size_t index) {
  trace.path.push_back(program.offset(index));
  return *this;
}

WaveBuilder& WaveBuilder::run(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i)
    step(i);
  return *this;
}

emulator::MemoryAccess& WaveBuilder::access(emulator::Space space, unsigned bytesPerLane, bool store) {
  emulator::MemoryAccess& added = trace.accesses.emplace_back();
  added.step = static_cast<std::uint32_t>(trace.path.size() - 1);
  added.space = space;
  added.store = store;
  added.bytesPerLane = static_cast<std::uint8_t>(bytesPerLane);
  added.activeLanes = 64;
  added.firstLine = static_cast<std::uint32_t>(trace.lines.size());
  added.firstLane = static_cast<std::uint32_t>(trace.ldsAddresses.size());
  return added;
}

WaveBuilder& WaveBuilder::global(std::uint64_t address, unsigned bytesPerLane, bool store) {
  emulator::MemoryAccess& added = access(emulator::Space::global, bytesPerLane, store);
  for (std::uint64_t line = address / 64; line <= (address + 64 * bytesPerLane - 1) / 64; ++line)
    trace.lines.push_back(line);
  added.lineCount = static_cast<std::uint16_t>(trace.lines.size() - added.firstLine);
  return *this;
}

WaveBuilder& WaveBuilder::strided(std::uint64_t address, unsigned bytesPerLane, unsigned strideBytes) {
  emulator::MemoryAccess& added = access(emulator::Space::global, bytesPerLane, false);
  for (std::uint64_t lane = 0; lane < 64; ++lane) {
    const std::uint64_t line = (address + lane * strideBytes) / 64;
    if (trace.lines.size() == added.firstLine || trace.lines.back() != line)
      trace.lines.push_back(line);
  }
  added.lineCount = static_cast<std::uint16_t>(trace.lines.size() - added.firstLine);
  return *this;
}

WaveBuilder& WaveBuilder::scalar(std::uint64_t address, unsigned bytes) {
  emulator::MemoryAccess& added = access(emulator::Space::scalar, 4, false);
  for (std::uint64_t line = address / 64; line <= (address + bytes - 1) / 64; ++line)
    trace.lines.push_back(line);
  added.lineCount = static_cast<std::uint16_t>(trace.lines.size() - added.firstLine);
  return *this;
}

WaveBuilder& WaveBuilder::lds(unsigned bytesPerLane, unsigned strideBytes, bool store) {
  access(emulator::Space::lds, bytesPerLane, store);
  for (unsigned lane = 0; lane < 64; ++lane)
    trace.ldsAddresses.push_back(lane * strideBytes);
  return *this;
}

Result<Replay> replay(const Chip& chip, const std::vector<isa::InstRef>& code, unsigned accumOffset,
                      const std::vector<emulator::WorkgroupTrace>& groups, unsigned residents, const ChipLoad& load,
                      CodeState codeState, double mhz) {
  const Parameters atPeak = Parameters::of(chip);
  const Parameters parameters = mhz > 0 ? atPeak.atClock(mhz) : atPeak;
  const std::vector<StaticInst> analysed = analyseCode(code, accumOffset, parameters);
  ASMEVO_TRY(const TraceSet set, TraceSet::prepare(groups, analysed));
  CuLaunch launch;
  for (unsigned i = 0; i < groups.size(); ++i)
    launch.traces.push_back(i);
  launch.residents = residents;
  launch.load = load;
  launch.codeState = codeState;
  std::vector<IssueEvent> log;
  Replay run;
  ASMEVO_TRY(run.result, simulateCu(parameters, analysed, set, launch, &log));
  run.issue.resize(run.result.waves);
  for (const IssueEvent& event : log)
    run.issue[event.wave].push_back(event.clk);
  return run;
}

} // namespace asmevo::timing
