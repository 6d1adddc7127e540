#include "emulator/memory/resolve.h"

#include "emulator/launch.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

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

namespace {

std::uint64_t privateHost(const Wave& wave, unsigned lane, std::uint32_t offset) {
  return reinterpret_cast<std::uint64_t>(wave.scratch) + std::uint64_t{lane} * wave.scratchPerLane + offset;
}

bool privateInRange(const Wave& wave, const AccessShape& shape, std::uint32_t offset) {
  return std::uint64_t{offset} + shape.bytes <= wave.scratchPerLane;
}

} // namespace

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
      if (!noteLds(wave, offset, shape.bytes)) {
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

std::uint32_t highestAddress(const std::uint32_t* addresses, std::uint64_t exec) {
  std::uint32_t highest = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const std::uint32_t address = exec >> lane & 1 ? addresses[lane] : 0;
    highest = address > highest ? address : highest;
  }
  return highest;
}

} // namespace

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
  if (outside == 0) [[likely]] {
    if (access.exec != 0)
      noteLds(wave, highestAddress(addresses, access.exec), bytes);
    return;
  }
  forLanes(access.exec, [&](unsigned lane) { noteLds(wave, addresses[lane], bytes); });
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

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
