#include "emulator/memory/lane_access.h"

#include <algorithm>
#include <vector>

namespace asmevo::emulator {

namespace {

constexpr std::uint64_t lineBytes = 64;

MemoryAccess& append(Wave& wave, const AccessShape& shape, Space space, std::uint64_t exec) {
  WaveTrace& trace = *wave.trace;
  MemoryAccess access;
  access.step = static_cast<std::uint32_t>(trace.path.size() - 1);
  access.space = space;
  access.store = shape.store && !shape.atomic;
  access.atomic = shape.atomic;
  access.bytesPerLane = static_cast<std::uint8_t>(shape.bytes);
  access.activeLanes = static_cast<std::uint8_t>(std::popcount(exec));
  trace.accesses.push_back(access);
  return trace.accesses.back();
}

void addLines(WaveTrace& trace, MemoryAccess& access, std::vector<std::uint64_t>& lines) {
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  access.firstLine = static_cast<std::uint32_t>(trace.lines.size());
  access.lineCount = static_cast<std::uint16_t>(lines.size());
  trace.lines.insert(trace.lines.end(), lines.begin(), lines.end());
}

} // namespace

void traceVector(Wave& wave, const Op* op, const AccessShape& shape, const LaneAccess& access, bool ldsDma) {
  const bool isScratch = op->inst->cls == isa::InstClass::scratch;
  const std::uint64_t arena = reinterpret_cast<std::uint64_t>(wave.memory->host(GuestMemory::baseAddress, 0));
  const std::uint64_t scratch = reinterpret_cast<std::uint64_t>(wave.scratch);
  const std::uint64_t arenaBytes = wave.memory->end() - GuestMemory::baseAddress;
  std::uint64_t reached = access.exec;
  if (!access.allValid)
    reached = access.valid[0] | access.valid[1] | access.valid[2] | access.valid[3];
  MemoryAccess& entry = append(wave, shape, isScratch ? Space::scratch : Space::global, reached);
  entry.ldsDma = ldsDma;
  std::vector<std::uint64_t> lines;
  forLanes(reached, [&](unsigned lane) {
    for (unsigned k = 0; k < shape.bytes; k += 4) {
      const std::uint64_t host = access.at[lane] + k;
      std::uint64_t last = host + std::min(4u, shape.bytes - k) - 1;
      if (isScratch) {
        // Hardware interleaves the lanes' private dwords; the wave's area stands at its own line range.
        const std::uint64_t offset = host - scratch - std::uint64_t{lane} * wave.scratchPerLane;
        const std::uint64_t wavePart = std::uint64_t{wave.waveInGroup} * wave.scratchPerLane * 64;
        lines.push_back((wavePart + (offset / 4 * 64 + lane) * 4) / lineBytes);
      } else if (host - arena < arenaBytes) {
        lines.push_back((host - arena + GuestMemory::baseAddress) / lineBytes);
        if ((last - arena + GuestMemory::baseAddress) / lineBytes != lines.back())
          lines.push_back(lines.back() + 1);
      }
    }
  });
  addLines(*wave.trace, entry, lines);
}

void traceLds(Wave& wave, const AccessShape& shape, std::uint64_t exec, const std::uint32_t* addresses) {
  MemoryAccess& entry = append(wave, shape, Space::lds, exec);
  std::vector<std::uint32_t>& all = wave.trace->ldsAddresses;
  entry.firstLane = static_cast<std::uint32_t>(all.size());
  for (unsigned lane = 0; lane < 64; ++lane)
    all.push_back(exec >> lane & 1 ? addresses[lane] : 0xffffffff);
}

void traceScalar(Wave& wave, const AccessShape& shape, std::uint64_t guestAddress) {
  MemoryAccess& entry = append(wave, shape, Space::scalar, 1);
  std::vector<std::uint64_t> lines;
  for (std::uint64_t line = guestAddress / lineBytes; line <= (guestAddress + shape.bytes - 1) / lineBytes; ++line)
    lines.push_back(line);
  addLines(*wave.trace, entry, lines);
}

} // namespace asmevo::emulator
