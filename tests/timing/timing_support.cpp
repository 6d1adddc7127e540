#include "timing_support.h"

namespace asmevo::timing::fixture {

object::Target gfx942() {
  object::Target target;
  target.processor = "gfx942";
  target.xnack = object::Feature::any;
  target.sramecc = object::Feature::any;
  return target;
}

const Chip& chip(const std::string& name) {
  static const std::vector<Chip> chips = [] {
    std::vector<Chip> all;
    for (const std::string& each : chipNames()) {
      auto loaded = loadChip(each);
      if (loaded)
        all.push_back(*std::move(loaded));
    }
    return all;
  }();
  for (const Chip& each : chips)
    if (each.name == name)
      return each;
  ADD_FAILURE() << "no chip " << name;
  return chips.front();
}

namespace {
/// One for all programs: creating one takes longer than a test.
isa::Codec* sharedCodec() {
  static const Result<std::unique_ptr<isa::Codec>> created = isa::Codec::create(gfx942());
  return created ? created->get() : nullptr;
}
} // namespace

Program::Program(std::vector<std::string> statements) {
  isa::Codec* const codec = sharedCodec();
  if (!codec) {
    ADD_FAILURE() << "no codec for gfx942";
    return;
  }
  statements.push_back("s_endpgm");
  for (const std::string& statement : statements) {
    auto assembled = codec->assemble(statement);
    if (!assembled) {
      ADD_FAILURE() << statement << ": " << assembled.error().message;
      assembled = codec->assemble("s_nop 0");
    }
    offsets.push_back(static_cast<std::uint32_t>(byDword.size() * 4));
    byDword.push_back(*assembled);
    byDword.resize(byDword.size() + (*assembled)->size / 4U - 1, nullptr);
  }
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

Replay simulateGroups(const Program& program, const std::vector<emulator::WorkgroupTrace>& groups, unsigned residents,
                      const Chip& onChip) {
  Replay run;
  const Parameters parameters = Parameters::of(onChip);
  const std::vector<StaticInst> code = analyseCode(program.code(), 0, parameters);
  auto set = TraceSet::prepare(groups, code);
  if (!set) {
    ADD_FAILURE() << set.error().message;
    return run;
  }
  CuLaunch launch;
  for (unsigned i = 0; i < groups.size(); ++i)
    launch.traces.push_back(i);
  launch.residents = residents;
  std::vector<IssueEvent> log;
  auto result = simulateCu(parameters, code, *set, launch, &log);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return run;
  }
  run.result = *std::move(result);
  run.issue.resize(run.result.waves);
  for (const IssueEvent& event : log)
    run.issue[event.wave].push_back(event.clk);
  return run;
}

Replay simulate(const Program& program, std::vector<emulator::WaveTrace> waves, const Chip& onChip) {
  emulator::WorkgroupTrace group;
  group.waves = std::move(waves);
  return simulateGroups(program, {group}, 1, onChip);
}

Replay simulate(const Program& program) {
  return simulate(program, {WaveBuilder(program).all().trace});
}

} // namespace asmevo::timing::fixture
