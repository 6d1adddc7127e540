/// What the lanes of a store are about to write. Private to the emulator.
#pragma once

#include "emulator/observe/observer.h"
#include "emulator/wave.h"

#include <cstdint>
#include <optional>

namespace asmevo::emulator {

/// Byte `at` of what `lane` stores. `element`: which of a two-element LDS store. Nothing for atomics and LDS-DMA, whose
/// result is not in a register.
std::optional<std::uint8_t> storedByte(const Wave& wave, const Op* op, const AccessEvent& event, unsigned element,
                                       unsigned lane, std::uint64_t at);

struct LaneConflict {
  unsigned first = 0, second = 0; ///< lanes
  std::uint8_t firstValue = 0, secondValue = 0;
  std::uint64_t address = 0; ///< as in the event
};

/// Two lanes with different values for one byte.
std::optional<LaneConflict> findLaneConflict(const Wave& wave, const Op* op, const AccessEvent& event,
                                             unsigned element);

} // namespace asmevo::emulator
