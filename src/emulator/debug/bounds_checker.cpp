#include "emulator/debug/bounds_checker.h"

#include "emulator/observe/access_dwords.h"
#include "emulator/observe/finding_log.h"

namespace asmevo::emulator {

namespace {

/// Compilers widen scalar loads inside aligned blocks of this size, which cannot cross a page: LLVM reads the last 12
/// bytes of a kernarg segment as 16.
constexpr std::uint64_t widenedLoadBytes = 16;

class BoundsChecker final : public FindingObserver {
 public:
  void access(Wave& wave, const Op* op, const AccessEvent& event) override {
    if (event.space != Space::global && event.space != Space::scalar)
      return;
    forEachDword(event, [&](unsigned lane, unsigned k, unsigned part) {
      const std::uint64_t address = event.address[lane] + k * 4;
      if (address - begin < bytes && bytes - (address - begin) >= part) [[likely]]
        return;
      const Region* region = wave.memory->regionAt(address);
      if (!region && event.space == Space::scalar && event.load &&
          wave.memory->regionAt(address & ~(widenedLoadBytes - 1)))
        return;
      if (!region) {
        report(wave, op, event, lane, address);
      } else if (region->address + region->size - address < part) {
        report(wave, op, event, lane, region->address + region->size);
      } else {
        begin = region->address;
        bytes = region->size;
      }
    });
  }

  std::vector<StrictFinding> findings() const override { return log.findings(); }

 private:
  void report(const Wave& wave, const Op* op, const AccessEvent& event, unsigned lane, std::uint64_t outside) {
    log.add("out_of_bounds_", event.load ? "read" : "write", op, op, wave, lane, [&] {
      return fmt::format("{}, lane {} of wave {} of workgroup {}: {} of {} bytes at {:#x} leaves the buffers ({})",
                         quoted(wave, op), lane, wave.waveInGroup, wave.group->index,
                         event.atomic ? "atomic access"
                         : event.load ? "load"
                                      : "store",
                         event.bytes, event.address[lane], wave.memory->describe(outside));
    });
  }

  std::uint64_t begin = 0, bytes = 0; ///< the region last seen
  FindingLog log;
};

} // namespace

std::unique_ptr<FindingObserver> makeBoundsChecker() {
  return std::make_unique<BoundsChecker>();
}

} // namespace asmevo::emulator
