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
  auto assembled = SyntheticProgram::assemble(*codec, std::move(statements));
  if (assembled)
    static_cast<SyntheticProgram&>(*this) = *std::move(assembled);
  else
    ADD_FAILURE() << assembled.error().message;
}

Replay simulateGroups(const Program& program, const std::vector<emulator::WorkgroupTrace>& groups, unsigned residents,
                      const Chip& onChip) {
  auto run = replay(onChip, program.code(), 0, groups, residents);
  if (run)
    return *std::move(run);
  ADD_FAILURE() << run.error().message;
  return {};
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
