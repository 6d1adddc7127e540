#include "emulator/memory/lane_access.h"
#include "emulator/observe/watch.h"

#include <algorithm>
#include <array>
#include <vector>

namespace asmevo::emulator {

namespace {

constexpr std::uint64_t lineBytes = 64;

std::uint8_t policyOf(const isa::Modifiers& mods) {
  return static_cast<std::uint8_t>((mods.nt ? policyNt : 0) | (mods.sc0 ? policySc0 : 0) | (mods.sc1 ? policySc1 : 0));
}

bool returnsData(const Op* op, const AccessShape& shape) {
  return shape.atomic ? !op->inst->operands.empty() && op->inst->operands.front().isDef : !shape.store;
}

MemoryAccess& append(Wave& wave, const Op* op, const AccessShape& shape, Space space, std::uint64_t exec) {
  WaveTrace& trace = *wave.trace;
  MemoryAccess access;
  access.step = static_cast<std::uint32_t>(trace.path.size() - 1);
  access.space = space;
  access.store = shape.store && !shape.atomic;
  access.atomic = shape.atomic;
  access.bytesPerLane = static_cast<std::uint8_t>(shape.bytes);
  access.activeLanes = static_cast<std::uint8_t>(std::popcount(exec));
  access.returns = returnsData(op, shape);
  access.cachePolicy = policyOf(op->inst->mods);
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

/// See MemoryAccess::lookups.
std::uint16_t lookupsOf(const LaneAccess& access, std::uint64_t reached, unsigned bytes) {
  const unsigned groupLanes = bytes <= 4 ? 16 : 4;
  unsigned count = 0;
  for (unsigned first = 0; first < 64; first += groupLanes) {
    std::array<std::uint64_t, 16> blocks; // groups of four: a lane of 16 bytes may straddle two blocks
    unsigned distinct = 0;
    const auto see = [&](std::uint64_t block) {
      const auto end = blocks.begin() + distinct;
      if (distinct < blocks.size() && (distinct == 0 || end[-1] != block) &&
          std::find(blocks.begin(), end, block) == end)
        blocks[distinct++] = block;
    };
    for (unsigned lane = first; lane < first + groupLanes; ++lane)
      if (reached >> lane & 1) {
        see(access.at[lane] / lineBytes);
        see((access.at[lane] + bytes - 1) / lineBytes);
      }
    count += distinct;
  }
  return static_cast<std::uint16_t>(count);
}

/// See MemoryAccess::passes.
std::uint16_t passesOf(const LaneAccess& access, std::uint64_t reached) {
  std::array<std::uint64_t, 64> dwords;
  unsigned count = 0;
  forLanes(reached, [&](unsigned lane) { dwords[count++] = access.at[lane]; });
  std::sort(dwords.begin(), dwords.begin() + count);
  unsigned most = 1, run = 1;
  for (unsigned i = 1; i < count; ++i) {
    run = dwords[i] == dwords[i - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  return static_cast<std::uint16_t>(most);
}

AccessEvent eventOf(const Op* op, const AccessShape& shape, Space space, std::uint64_t exec) {
  AccessEvent event;
  event.space = space;
  event.load = !shape.store;
  event.store = shape.store && !shape.atomic;
  event.atomic = shape.atomic;
  event.returns = shape.atomic && returnsData(op, shape);
  event.bytes = static_cast<std::uint8_t>(shape.bytes);
  event.exec = exec;
  event.valid.fill(exec);
  return event;
}

void traceVector(Wave& wave, const Op* op, const AccessShape& shape, const LaneAccess& access, bool ldsDma) {
  const bool isScratch = op->inst->cls == isa::InstClass::scratch;
  const std::uint64_t arena = reinterpret_cast<std::uint64_t>(wave.memory->host(GuestMemory::baseAddress, 0));
  const std::uint64_t scratch = reinterpret_cast<std::uint64_t>(wave.scratch);
  const std::uint64_t arenaBytes = wave.memory->end() - GuestMemory::baseAddress;
  std::uint64_t reached = access.exec;
  if (!access.allValid)
    reached = access.valid[0] | access.valid[1] | access.valid[2] | access.valid[3];
  MemoryAccess& entry = append(wave, op, shape, isScratch ? Space::scratch : Space::global, reached);
  entry.ldsDma = ldsDma;
  entry.returns &= !ldsDma;
  if (!isScratch)
    entry.lookups = lookupsOf(access, reached, shape.bytes);
  if (shape.atomic)
    entry.passes = passesOf(access, reached);
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

void traceScalar(Wave& wave, const Op* op, const AccessShape& shape, std::uint64_t guestAddress) {
  MemoryAccess& entry = append(wave, op, shape, Space::scalar, 1);
  const Region* const region = wave.memory->regionAt(guestAddress);
  entry.kernarg = region && region->name == kernargRegionName;
  std::vector<std::uint64_t> lines;
  for (std::uint64_t line = guestAddress / lineBytes; line <= (guestAddress + shape.bytes - 1) / lineBytes; ++line)
    lines.push_back(line);
  addLines(*wave.trace, entry, lines);
}

/// One event for each space that the lanes reach: only FLAT reaches several.
void observeVector(Wave& wave, const Op* op, const AccessShape& shape, const LaneAccess& access, bool ldsDma) {
  const std::uint64_t arena = reinterpret_cast<std::uint64_t>(wave.memory->host(GuestMemory::baseAddress, 0));
  const std::uint64_t arenaBytes = wave.memory->end() - GuestMemory::baseAddress;
  const std::uint64_t lds = reinterpret_cast<std::uint64_t>(wave.lds);
  const std::uint64_t scratch = reinterpret_cast<std::uint64_t>(wave.scratch);
  std::uint64_t reached = access.exec;
  if (!access.allValid)
    reached = access.valid[0] | access.valid[1] | access.valid[2] | access.valid[3];
  alignas(64) std::uint64_t address[64]{};
  std::uint64_t global = 0, shared = 0, privateLanes = 0;
  forLanes(reached, [&](unsigned lane) {
    const std::uint64_t host = access.at[lane], bit = std::uint64_t{1} << lane;
    const std::uint64_t ownScratch = scratch + std::uint64_t{lane} * wave.scratchPerLane;
    if (host - arena < arenaBytes) {
      address[lane] = host - arena + GuestMemory::baseAddress;
      global |= bit;
    } else if (host - ownScratch < wave.scratchPerLane) {
      address[lane] = host - ownScratch;
      privateLanes |= bit;
    } else {
      address[lane] = host - lds;
      shared |= bit;
    }
  });
  // Of the lanes out of range, those of FLAT are beyond the LDS and all others beyond a buffer.
  (op->inst->cls == isa::InstClass::flat ? shared : global) |= access.exec & ~reached;
  const auto report = [&](Space space, std::uint64_t lanes) {
    if (lanes == 0)
      return;
    AccessEvent event = eventOf(op, shape, space, lanes);
    if (!access.allValid)
      for (std::size_t k = 0; k < event.valid.size(); ++k)
        event.valid[k] = access.valid[k] & lanes;
    event.ldsDma = ldsDma;
    event.address = address;
    wave.watch->access(wave, op, event);
  };
  report(Space::global, global);
  report(Space::scratch, privateLanes);
  report(Space::lds, shared);
}

} // namespace

void reportVector(Wave& wave, const Op* op, const AccessShape& shape, const LaneAccess& access, bool ldsDma) {
  if (wave.trace)
    traceVector(wave, op, shape, access, ldsDma);
  if (wave.watch)
    observeVector(wave, op, shape, access, ldsDma);
}

void reportLds(Wave& wave, const Op* op, const AccessShape& shape, const LaneAccess& access,
               const std::uint32_t* addresses) {
  if (wave.trace)
    traceLds(wave, op, shape, access.exec, addresses);
  if (!wave.watch)
    return;
  alignas(64) std::uint64_t address[64];
  std::copy(addresses, addresses + 64, address);
  AccessEvent event = eventOf(op, shape, Space::lds, access.exec);
  if (!access.allValid)
    event.valid = access.valid;
  event.address = address;
  wave.watch->access(wave, op, event);
}

void reportLdsDma(Wave& wave, const Op* op, std::uint64_t exec, std::uint32_t base) {
  if (!wave.watch)
    return;
  alignas(64) std::uint64_t address[64];
  std::uint64_t inside = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    address[lane] = std::uint64_t{base} + 4 * lane;
    inside |= std::uint64_t{address[lane] + 4 <= wave.ldsBytes} << lane;
  }
  AccessEvent event = eventOf(op, {4, true, false}, Space::lds, exec);
  event.ldsDma = true;
  event.valid.fill(exec & inside);
  event.address = address;
  wave.watch->access(wave, op, event);
}

void reportScalar(Wave& wave, const Op* op, const AccessShape& shape, std::uint64_t guestAddress) {
  if (wave.trace)
    traceScalar(wave, op, shape, guestAddress);
  if (!wave.watch || shape.bytes == 0)
    return;
  AccessEvent event = eventOf(op, shape, Space::scalar, 1);
  event.address = &guestAddress;
  wave.watch->access(wave, op, event);
}

void traceLds(Wave& wave, const Op* op, const AccessShape& shape, std::uint64_t exec, const std::uint32_t* addresses) {
  MemoryAccess& entry = append(wave, op, shape, Space::lds, exec);
  std::vector<std::uint32_t>& all = wave.trace->ldsAddresses;
  entry.firstLane = static_cast<std::uint32_t>(all.size());
  for (unsigned lane = 0; lane < 64; ++lane)
    all.push_back(exec >> lane & 1 ? addresses[lane] : 0xffffffff);
}

} // namespace asmevo::emulator
