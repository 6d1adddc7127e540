#include "emulator/debug/buffer_touches.h"

#include "emulator/debug/describe.h"
#include "emulator/observe/access_dwords.h"
#include "emulator/wave.h"

#include <unordered_map>

namespace asmevo::emulator {

namespace {

class Recorder final : public BufferTouches {
 public:
  void access(Wave& wave, const Op* op, const AccessEvent& event) override {
    if (event.space != Space::global && event.space != Space::scalar)
      return;
    Entry& entry = entries[op];
    entry.address = objectAddress(wave, op);
    entry.touch.writes |= event.store || event.atomic;
    forEachDword(event, [&](unsigned lane, unsigned k, unsigned part) {
      const std::uint64_t address = event.address[lane] + k * 4;
      if (address - entry.begin < entry.bytes && entry.bytes - (address - entry.begin) >= part) [[likely]]
        return;
      const Region* region = wave.memory->regionAt(address);
      if (!region || region->address + region->size - address < part) {
        entry.touch.outside = true;
        return;
      }
      entry.begin = region->address;
      entry.bytes = region->size;
      entry.touch.buffers.insert(region->name);
    });
  }

  std::map<std::uint64_t, BufferTouch> touches() const override {
    std::map<std::uint64_t, BufferTouch> result;
    for (const auto& [op, entry] : entries) {
      BufferTouch& sum = result[entry.address];
      sum.buffers.insert(entry.touch.buffers.begin(), entry.touch.buffers.end());
      sum.writes |= entry.touch.writes;
      sum.outside |= entry.touch.outside;
    }
    return result;
  }

 private:
  struct Entry {
    BufferTouch touch;
    std::uint64_t address = 0;          ///< in the object
    std::uint64_t begin = 0, bytes = 0; ///< the region last seen
  };
  std::unordered_map<const Op*, Entry> entries;
};

} // namespace

std::unique_ptr<BufferTouches> makeBufferTouches() {
  return std::make_unique<Recorder>();
}

} // namespace asmevo::emulator
