#include "emulator/strict/transfer.h"

#include <cstring>

namespace asmevo::emulator {

void Transfer::assign(const Wave& wave, const AccessEvent& event) {
  valid = event.valid;
  exec = event.exec;
  space = event.space;
  bytes = event.bytes;
  store = event.store;
  toLds = event.ldsDma && event.space == Space::lds;
  settled = false;
  std::uint8_t* const base = space == Space::lds       ? wave.lds
                             : space == Space::scratch ? wave.scratch
                                                       : wave.memory->host(GuestMemory::baseAddress, 0);
  const std::uint64_t origin = space == Space::global ? GuestMemory::baseAddress : 0;
  const std::uint64_t perLane = space == Space::scratch ? wave.scratchPerLane : 0;
  const std::uint64_t first = event.address[0] - origin;
  std::uint64_t scattered = 0;
  std::array<std::uint64_t, 64> offset;
  for (unsigned lane = 0; lane < 64; ++lane) {
    offset[lane] = event.address[lane] - origin + lane * perLane;
    scattered |= (offset[lane] - first) ^ (lane * std::uint64_t{4});
  }
  forLanes(exec, [&](unsigned lane) { host[lane] = base + offset[lane]; });
  contiguous = scattered == 0 && bytes == 4 && valid[0] == allLanes;
}

void Transfer::gather() {
  if (contiguous) {
    std::memcpy(data.data(), host[0], 256);
    return;
  }
  const unsigned last = bytes % 4 == 0 ? 4u : bytes % 4u;
  for (unsigned k = 0; k < dwords(); ++k) {
    std::uint32_t* to = &data[64 * k];
    const std::size_t width = k + 1 == dwords() ? last : 4;
    forLanes(exec, [&](unsigned lane) {
      std::uint32_t value = 0;
      if (valid[k] >> lane & 1)
        std::memcpy(&value, host[lane] + 4 * k, width);
      to[lane] = value;
    });
  }
}

void Transfer::scatter() const {
  if (contiguous) {
    std::memcpy(host[0], data.data(), 256);
    return;
  }
  const unsigned last = bytes % 4 == 0 ? 4u : bytes % 4u;
  for (unsigned k = 0; k < dwords(); ++k) {
    const std::uint32_t* from = &data[64 * k];
    const std::size_t width = k + 1 == dwords() ? last : 4;
    forLanes(valid[k], [&](unsigned lane) { std::memcpy(host[lane] + 4 * k, &from[lane], width); });
  }
}

} // namespace asmevo::emulator
