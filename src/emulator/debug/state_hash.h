/// Fingerprints of a run's state, to prove that it repeats itself. Private to the emulator.
///
/// Execution is a function of the waves' registers, LDS, scratch and memory, as long as the order of turns is fixed and
/// no clock is read. When all of it is what it was some turns ago, and no workgroup has started or ended since, the run
/// never ends.
#pragma once

#include "emulator/scheduler.h"

#include <cstdint>
#include <span>

namespace asmevo::emulator {

/// 128 bits, so that two states of one run do not have the same by chance.
struct StateHash {
  std::uint64_t a = 0x9e3779b97f4a7c15, b = 0xc2b2ae3d27d4eb4f;
  bool operator==(const StateHash&) const = default;
  void add(std::uint64_t word);
  void add(std::span<const std::uint8_t> bytes);
};

/// Adds what changes in every loop that makes progress with scalar counters: where each wave is and its scalars.
void addScalars(StateHash& hash, const Workgroup& group);
/// Adds the rest of a workgroup: vector registers, LDS, scratch.
void addVectors(StateHash& hash, const Workgroup& group);
/// Adds all of the guest's memory.
void addMemory(StateHash& hash, const GuestMemory& memory);

} // namespace asmevo::emulator
