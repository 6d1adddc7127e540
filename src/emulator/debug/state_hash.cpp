#include "emulator/debug/state_hash.h"

#include <bit>
#include <cstring>

namespace asmevo::emulator {

void StateHash::add(std::uint64_t word) {
  a = std::rotl(a ^ word * 0x9fb21c651e98df25, 29) * 0xa0761d6478bd642f;
  b = std::rotl(b + word, 31) * 0xe7037ed1a0b428db ^ word;
}

void StateHash::add(std::span<const std::uint8_t> bytes) {
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    add(word);
  }
  for (; at < bytes.size(); ++at)
    add(bytes[at]);
}

void addScalars(StateHash& hash, const Workgroup& group) {
  hash.add(group.index);
  for (const Wave& wave : group.waves) {
    hash.add(reinterpret_cast<std::uintptr_t>(wave.resume));
    hash.add(static_cast<std::uint64_t>(wave.stop) | std::uint64_t{wave.scc} << 8 | std::uint64_t{wave.stream} << 16 |
             std::uint64_t{wave.mode} << 32);
    hash.add(wave.gprIdx);
    hash.add(std::span(reinterpret_cast<const std::uint8_t*>(wave.sgpr), sizeof wave.sgpr));
  }
}

void addVectors(StateHash& hash, const Workgroup& group) {
  for (const Wave& wave : group.waves) {
    const std::size_t registers = std::size_t{wave.vgprCount} * 64 * sizeof(std::uint32_t);
    hash.add(std::span(reinterpret_cast<const std::uint8_t*>(wave.vgpr), registers));
    hash.add(std::span<const std::uint8_t>(wave.scratch, std::size_t{wave.scratchPerLane} * 64));
  }
  if (!group.waves.empty())
    hash.add(std::span<const std::uint8_t>(group.waves.front().lds, group.waves.front().ldsBytes));
}

void addMemory(StateHash& hash, const GuestMemory& memory) {
  const std::uint64_t bytes = memory.end() - GuestMemory::baseAddress;
  hash.add(std::span<const std::uint8_t>(memory.host(GuestMemory::baseAddress, bytes), bytes));
}

} // namespace asmevo::emulator
