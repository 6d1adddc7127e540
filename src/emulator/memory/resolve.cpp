#include "emulator/memory/lane_access.h"

#include "emulator/launch.h"

#include <algorithm>

namespace asmevo::emulator {

namespace {

std::string_view verb(const AccessShape& shape) {
  return shape.atomic ? "atomic access" : shape.store ? "store" : "load";
}

std::uint64_t arenaBias(const Wave& wave) {
  return reinterpret_cast<std::uint64_t>(wave.memory->host(GuestMemory::baseAddress, 0)) - GuestMemory::baseAddress;
}

/// Checks guest addresses in access.at, faults on the first bad lane, then turns them into host addresses.
bool admitGlobal(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  const std::uint64_t low = shape.store ? wave.memory->writableBegin() : GuestMemory::baseAddress;
  const std::uint64_t room = wave.memory->end() - low - shape.bytes;
  const std::uint64_t first = access.at[0], bytes = shape.bytes, bias = arenaBias(wave);
  const std::uint64_t misalignment = shape.atomic ? shape.bytes - 1 : 0;
  std::uint64_t bad = 0, scattered = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const std::uint64_t address = access.at[lane];
    bad |= static_cast<std::uint64_t>(address - low > room) | (address & misalignment);
    scattered |= (address - first) ^ (lane * bytes);
    access.at[lane] = address + bias;
  }
  access.allValid = true;
  access.contiguous = scattered == 0 && access.exec == allLanes;
  if (bad == 0) [[likely]]
    return true;
  for (std::uint64_t mask = access.exec; mask != 0; mask &= mask - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t address = access.at[lane] - bias;
    if (address - low > room) {
      failAccess(wave, op, shape, lane, address,
                 shape.store && address >= GuestMemory::baseAddress && address < low ? "is read-only memory" : "");
      return false;
    }
    if (address & misalignment) {
      failAccess(wave, op, shape, lane, address, "is not aligned");
      return false;
    }
  }
  return true;
}

std::uint64_t privateHost(const Wave& wave, unsigned lane, std::uint32_t offset) {
  return reinterpret_cast<std::uint64_t>(wave.scratch) + std::uint64_t{lane} * wave.scratchPerLane + offset;
}

bool privateInRange(const Wave& wave, const AccessShape& shape, std::uint32_t offset) {
  return std::uint64_t{offset} + shape.bytes <= wave.scratchPerLane;
}

void failPrivate(Wave& wave, const Op* op, const AccessShape& shape, unsigned lane, std::uint32_t offset) {
  wave.fail(op, ErrorKind::fault,
            fmt::format("lane {}: {} of {} bytes at scratch offset {:#x}, but a work-item has {} bytes", lane,
                        verb(shape), shape.bytes, offset, wave.scratchPerLane));
}

} // namespace

void failAccess(Wave& wave, const Op* op, const AccessShape& shape, unsigned lane, std::uint64_t guestAddress,
                const std::string& why) {
  wave.fail(op, ErrorKind::fault,
            fmt::format("lane {}: {} of {} bytes at {:#x} ({}){}{}", lane, verb(shape), shape.bytes, guestAddress,
                        wave.memory->describe(guestAddress), why.empty() ? "" : ", which ", why));
}

bool resolveGlobal(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  access.exec = wave.exec();
  const std::uint32_t* low = wave.lanes(op->src[0].reg);
  const std::uint64_t offset = op->aux;
  for (unsigned lane = 0; lane < 64; ++lane)
    access.at[lane] = (low[lane] | std::uint64_t{low[64 + lane]} << 32) + offset;
  return admitGlobal(wave, op, shape, access);
}

bool resolveGlobalScalar(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  access.exec = wave.exec();
  const std::uint64_t base = wave.pair(op->src[2].reg) + op->aux;
  const std::uint32_t* offsets = wave.lanes(op->src[0].reg);
  for (unsigned lane = 0; lane < 64; ++lane)
    access.at[lane] = base + offsets[lane];
  return admitGlobal(wave, op, shape, access);
}

bool resolveFlat(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  access.exec = wave.exec();
  const std::uint32_t* low = wave.lanes(op->src[0].reg);
  const std::uint32_t* high = low + 64;
  constexpr std::uint32_t sharedHigh = sharedBase >> 32, privateHigh = privateBase >> 32;
  std::uint64_t apertures = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    apertures |= std::uint64_t{high[lane] == sharedHigh || high[lane] == privateHigh} << lane;
  if ((apertures & access.exec) == 0)
    return resolveGlobal(wave, op, shape, access);

  // The aperture is chosen by the VGPR address before the instruction's offset is added (CDNA3 ISA, FLAT).
  const std::uint64_t low64 = shape.store ? wave.memory->writableBegin() : GuestMemory::baseAddress;
  access.allValid = true;
  access.contiguous = false;
  access.valid.fill(access.exec);
  for (std::uint64_t mask = access.exec; mask != 0; mask &= mask - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint32_t offset = low[lane] + static_cast<std::uint32_t>(op->aux);
    if (high[lane] == sharedHigh) {
      access.at[lane] = reinterpret_cast<std::uint64_t>(wave.lds) + offset;
      if (std::uint64_t{offset} + shape.bytes > wave.ldsBytes) {
        for (std::uint64_t& valid : access.valid)
          valid &= ~(std::uint64_t{1} << lane);
        access.allValid = false;
      }
    } else if (high[lane] == privateHigh) {
      if (!privateInRange(wave, shape, offset)) {
        failPrivate(wave, op, shape, lane, offset);
        return false;
      }
      access.at[lane] = privateHost(wave, lane, offset);
    } else {
      const std::uint64_t address = (low[lane] | std::uint64_t{high[lane]} << 32) + op->aux;
      const bool fits = address >= low64 && wave.memory->host(address, shape.bytes);
      if (!fits || (shape.atomic && address % shape.bytes != 0)) {
        failAccess(wave, op, shape, lane, address, fits ? "is not aligned" : "");
        return false;
      }
      access.at[lane] = address + arenaBias(wave);
    }
  }
  return true;
}

bool resolveScratch(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  access.exec = wave.exec();
  access.allValid = true;
  access.contiguous = false;
  const std::uint32_t* offsets = op->src[0].kind == SrcKind::none ? nullptr : wave.lanes(op->src[0].reg);
  std::uint32_t base = static_cast<std::uint32_t>(op->aux);
  if (op->src[2].kind != SrcKind::none)
    base += wave.scalar32(op->src[2]);
  for (std::uint64_t mask = access.exec; mask != 0; mask &= mask - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint32_t offset = base + (offsets ? offsets[lane] : 0);
    if (!privateInRange(wave, shape, offset)) {
      failPrivate(wave, op, shape, lane, offset);
      return false;
    }
    access.at[lane] = privateHost(wave, lane, offset);
  }
  return true;
}

namespace {

/// Fields of a buffer resource descriptor (CDNA3 ISA, "Buffer resource constant").
struct BufferResource {
  std::uint64_t base;
  std::uint32_t stride;
  std::uint32_t records;
  bool swizzle;
  bool addThreadId;
  std::uint32_t type;

  BufferResource(const Wave& wave, unsigned sgpr) {
    const std::uint32_t* word = &wave.sgpr[sgpr];
    base = word[0] | std::uint64_t{word[1] & 0xffff} << 32;
    stride = word[1] >> 16 & 0x3fff;
    records = word[2];
    swizzle = word[1] >> 31;
    addThreadId = word[3] >> 23 & 1;
    type = word[3] >> 30;
  }
};

} // namespace

/// Range check (CDNA3 ISA, "Range checking"; LLVM AMDGPUUsage on out-of-bounds buffer accesses): raw unless an index is
/// given and the stride is not zero, then by index. Raw: a dword is out of range unless all of it lies below
/// num_records - soffset; each dword of a wide access is checked by itself, atomics as a whole.
bool resolveBuffer(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  access.exec = wave.exec();
  if (access.exec == 0)
    return true;
  const BufferResource resource(wave, op->src[2].reg);
  if (resource.swizzle || resource.addThreadId || resource.type != 0) {
    wave.fail(op, ErrorKind::refused,
              fmt::format("the buffer descriptor asks for {}, which is not modelled",
                          resource.swizzle       ? "swizzled addressing"
                          : resource.addThreadId ? "ADD_TID_ENABLE"
                                                 : "a type that is not a buffer"));
    return false;
  }
  const std::uint32_t soffset = wave.scalar32(op->src[3]);
  const bool offen = op->src[3].dwords & bufferOffen, idxen = op->src[3].dwords & bufferIdxen;
  const std::uint32_t* index = idxen ? wave.lanes(op->src[0].reg) : nullptr;
  const std::uint32_t* offsets = offen ? wave.lanes(op->src[0].reg + (idxen ? 1u : 0u)) : nullptr;
  alignas(64) std::uint64_t relative[64];
  for (unsigned lane = 0; lane < 64; ++lane)
    relative[lane] = op->aux + (offsets ? offsets[lane] : 0u) +
                     (index ? std::uint64_t{index[lane]} * resource.stride : std::uint64_t{0});
  const std::uint64_t base = resource.base + soffset;
  const bool structured = idxen && resource.stride != 0;
  const std::uint64_t limit = resource.records > soffset ? resource.records - soffset : 0;
  std::uint64_t outside = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    access.at[lane] = base + relative[lane];
    outside |=
        static_cast<std::uint64_t>(structured ? index[lane] >= resource.records : relative[lane] + shape.bytes > limit);
  }
  if (outside == 0) [[likely]]
    return admitGlobal(wave, op, shape, access);

  const unsigned dwords = (shape.bytes + 3) / 4, part = shape.bytes < 4 ? shape.bytes : 4;
  access.valid.fill(0);
  std::uint64_t anyValid = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned k = 0; k < dwords; ++k) {
      const bool whole = shape.atomic || structured;
      const bool in = structured ? index[lane] < resource.records
                      : whole    ? relative[lane] + shape.bytes <= limit
                                 : relative[lane] + k * 4 + part <= limit;
      access.valid[k] |= std::uint64_t{in} << lane & access.exec;
      anyValid |= access.valid[k];
    }
  access.allValid = true;
  for (unsigned k = 0; k < dwords; ++k)
    access.allValid &= access.valid[k] == access.exec;
  if (access.allValid)
    return admitGlobal(wave, op, shape, access);
  access.contiguous = false;
  for (std::uint64_t mask = anyValid; mask != 0; mask &= mask - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
    for (unsigned k = 0; k < dwords; ++k) {
      if ((access.valid[k] >> lane & 1) == 0)
        continue;
      const std::uint64_t address = access.at[lane] + k * 4;
      const bool fits = shape.store ? wave.memory->hostForStore(address, part) != nullptr
                                    : wave.memory->host(address, part) != nullptr;
      if (!fits || (shape.atomic && address % shape.bytes != 0)) {
        failAccess(wave, op, shape, lane, address, fits ? "is not aligned" : "");
        return false;
      }
    }
    access.at[lane] += arenaBias(wave);
  }
  return true;
}

void resolveLdsAt(Wave& wave, const std::uint32_t* addresses, const AccessShape& shape, LaneAccess& access) {
  access.exec = wave.exec();
  const std::uint64_t base = reinterpret_cast<std::uint64_t>(wave.lds);
  const std::uint64_t limit = wave.ldsBytes, first = addresses[0], bytes = shape.bytes;
  std::uint64_t outside = 0, scattered = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const std::uint64_t address = addresses[lane];
    outside |= static_cast<std::uint64_t>(address + bytes > limit);
    scattered |= (address - first) ^ (lane * bytes);
    access.at[lane] = base + address;
  }
  access.allValid = true;
  access.contiguous = scattered == 0 && outside == 0 && access.exec == allLanes;
  if (outside == 0) [[likely]]
    return;
  std::uint64_t in = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    in |= std::uint64_t{addresses[lane] + bytes <= limit} << lane;
  access.valid.fill(in & access.exec);
  access.allValid = access.valid[0] == access.exec;
}

bool resolveLds(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  alignas(64) std::uint32_t addresses[64];
  const std::uint32_t* base = wave.lanes(op->src[0].reg);
  const std::uint32_t offset = static_cast<std::uint32_t>(op->aux);
  for (unsigned lane = 0; lane < 64; ++lane)
    addresses[lane] = base[lane] + offset;
  resolveLdsAt(wave, addresses, shape, access);
  if (wave.reports) [[unlikely]]
    reportLds(wave, op, shape, access, addresses);
  return true;
}

} // namespace asmevo::emulator
