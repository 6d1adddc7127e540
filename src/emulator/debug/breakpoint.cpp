#include "emulator/debug/breakpoint.h"

#include "emulator/debug/describe.h"
#include "emulator/scheduler.h"

namespace asmevo::emulator {

namespace {

constexpr unsigned sgprCount = 102;

class BreakAt final : public BreakObserver {
 public:
  explicit BreakAt(const Breakpoint& breakpoint) : breakpoint(breakpoint) {}

  void before(Wave& wave, const Op* op) override {
    if (stopRun || objectAddress(wave, op) != breakpoint.address ||
        (!breakpoint.workgroups.empty() && !breakpoint.workgroups.contains(wave.group->index)) ||
        (!breakpoint.waves.empty() && !breakpoint.waves.contains(wave.waveInGroup)) || ++hitCount < breakpoint.count)
      return;
    stopRun = true;
    WaveDump dump;
    dump.workgroup = wave.group->index;
    dump.wave = wave.waveInGroup;
    dump.address = breakpoint.address;
    dump.text = op->inst->text;
    dump.hits = hitCount;
    dump.exec = wave.exec();
    dump.vcc = wave.vcc();
    dump.scc = wave.scc;
    dump.mode = wave.mode;
    dump.m0 = wave.sgpr[isa::sreg::m0];
    dump.sgprs.assign(wave.sgpr, wave.sgpr + sgprCount);
    for (unsigned v = 0; v < wave.vgprCount; ++v)
      dump.vgprs.emplace_back(wave.lanes(v), wave.lanes(v) + 64);
    for (const Wave& other : wave.group->waves)
      if (other.waveInGroup != wave.waveInGroup)
        dump.others += describePosition(other) + "\n";
    stopped = std::move(dump);
  }

  std::uint64_t hits() const override { return hitCount; }
  const std::optional<WaveDump>& dump() const override { return stopped; }

 private:
  Breakpoint breakpoint;
  std::uint64_t hitCount = 0;
  std::optional<WaveDump> stopped;
};

} // namespace

std::unique_ptr<BreakObserver> makeBreakpoint(const Breakpoint& breakpoint) {
  return std::make_unique<BreakAt>(breakpoint);
}

} // namespace asmevo::emulator
