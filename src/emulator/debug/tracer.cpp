#include "emulator/debug/tracer.h"

#include "emulator/debug/describe.h"
#include "emulator/debug/register_file.h"
#include "emulator/scheduler.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace asmevo::emulator {

namespace {

std::string_view spaceName(Space space) {
  switch (space) {
  case Space::scalar:
  case Space::global:
    return "global";
  case Space::lds:
    return "LDS";
  case Space::scratch:
    break;
  }
  return "scratch";
}

class Tracer final : public Observer {
 public:
  Tracer(TraceFilter filter, unsigned accumOffset, TraceSink sink)
      : filter(std::move(filter)), accumOffset(accumOffset), sink(std::move(sink)) {}

  void before(Wave& wave, const Op* op) override {
    active = wanted(wave, op);
    if (!active)
      return;
    line = {};
    line.number = traced;
    line.workgroup = wave.group->index;
    line.wave = wave.waveInGroup;
    line.address = objectAddress(wave, op);
    line.text = op->inst->text;
    line.exec = wave.exec();
    op->inst->writes(accumOffset).forEach([&](isa::RegUnit unit) {
      std::vector<std::uint32_t> value = registerValue(wave, unit);
      if (!value.empty())
        line.registers.push_back({unit, registerName(unit, accumOffset), std::move(value), {}});
    });
  }

  void access(Wave& wave, const Op*, const AccessEvent& event) override {
    if (!active)
      return;
    TracedAccess& access = line.accesses.emplace_back();
    access.space = event.space;
    access.kind = event.atomic ? "atomic" : event.load ? "load" : "store";
    access.bytes = event.bytes;
    access.lanes = event.exec;
    for (std::size_t k = 0; k * 4 < event.bytes && k < event.valid.size(); ++k)
      access.lanes &= event.valid[k];
    access.addresses.assign(event.address, event.address + (event.space == Space::scalar ? 1 : 64));
    const bool inMemory = event.space == Space::global || event.space == Space::scalar;
    if (access.lanes != 0 && inMemory)
      access.where = wave.memory->describe(event.address[std::countr_zero(access.lanes)]);
  }

  void after(Wave& wave, const Op*) override {
    if (!std::exchange(active, false))
      return;
    for (TracedRegister& entry : line.registers)
      entry.after = registerValue(wave, entry.unit);
    sink(line);
    ++traced;
    stopRun = filter.limit != 0 && traced >= filter.limit;
  }

 private:
  bool wanted(const Wave& wave, const Op* op) const {
    if (stopRun || (!filter.workgroups.empty() && !filter.workgroups.contains(wave.group->index)) ||
        (!filter.waves.empty() && !filter.waves.contains(wave.waveInGroup)))
      return false;
    const std::uint64_t address = objectAddress(wave, op);
    return address >= filter.firstAddress && address <= filter.lastAddress;
  }

  TraceFilter filter;
  unsigned accumOffset;
  TraceSink sink;
  TracedInstruction line;
  bool active = false;
  std::uint64_t traced = 0;
};

} // namespace

std::unique_ptr<Observer> makeTracer(const TraceFilter& filter, unsigned accumOffset, TraceSink sink) {
  return std::make_unique<Tracer>(filter, accumOffset, std::move(sink));
}

std::string formatTraced(const TracedInstruction& instruction, std::uint64_t lanes) {
  std::string text = fmt::format("{} wg {} wave {} {:#x} exec={:#018x} {}\n", instruction.number, instruction.workgroup,
                                 instruction.wave, instruction.address, instruction.exec, instruction.text);
  const std::uint64_t shown = lanes & instruction.exec;
  for (const TracedAccess& access : instruction.accesses) {
    const std::uint64_t reached = access.addresses.size() == 1 ? access.lanes : access.lanes & lanes;
    text += fmt::format("    {} {} {} bytes", spaceName(access.space), access.kind, access.bytes);
    if (!access.where.empty())
      text += fmt::format(", {}", access.where);
    text += ':';
    for (std::size_t lane = 0; lane < access.addresses.size(); ++lane)
      if (reached >> lane & 1)
        text += access.addresses.size() == 1 ? fmt::format(" {:#x}", access.addresses[lane])
                                             : fmt::format(" {}={:#x}", lane, access.addresses[lane]);
    text += '\n';
  }
  for (const TracedRegister& entry : instruction.registers)
    text += fmt::format("    {}: {} -> {}\n", entry.name, formatLanes(entry.before, shown),
                        formatLanes(entry.after, shown));
  return text;
}

} // namespace asmevo::emulator
