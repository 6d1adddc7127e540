/// Addresses of buffer instructions (CDNA3 ISA 9.1.5).
#include "emulator/memory/buffer_resource.h"
#include "emulator/memory/resolve.h"

#include <algorithm>

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace {

/// Bytes of a record that stay together in a swizzled buffer: gfx9 descriptors have no field for it (LLVM
/// SIInstrInfo::getScratchRsrcWords23).
constexpr std::uint32_t elementBytes = 4;

struct BufferOperands {
  std::uint32_t soffset;
  const std::uint32_t* index;   ///< per lane, or null
  const std::uint32_t* offsets; ///< per lane, or null

  BufferOperands(const Wave& wave, const Op* op) {
    const bool offen = op->src[3].dwords & bufferOffen, idxen = op->src[3].dwords & bufferIdxen;
    soffset = wave.scalar32(op->src[3]);
    index = idxen ? wave.lanes(op->src[0].reg) : nullptr;
    offsets = offen ? wave.lanes(op->src[0].reg + (idxen ? 1u : 0u)) : nullptr;
  }
};

/// access.at holds guest addresses, access.valid the dwords in range: keeps those, faults on one outside the memory.
bool admitValid(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  const unsigned dwords = (shape.bytes + 3) / 4;
  access.allValid = true;
  std::uint64_t anyValid = 0;
  for (unsigned k = 0; k < dwords; ++k) {
    access.allValid &= access.valid[k] == access.exec;
    anyValid |= access.valid[k];
  }
  if (access.allValid)
    return admitGlobal(wave, op, shape, access);
  access.contiguous = false;
  for (std::uint64_t mask = anyValid; mask != 0; mask &= mask - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
    for (unsigned k = 0; k < dwords; ++k) {
      if ((access.valid[k] >> lane & 1) == 0)
        continue;
      const unsigned part = std::min(4u, shape.bytes - 4 * k);
      const std::uint64_t address = access.at[lane] + k * 4;
      const bool fits = shape.store ? wave.memory->hostForStore(address, part) != nullptr
                                    : wave.memory->host(address, part) != nullptr;
      if (!fits || (shape.atomic && access.at[lane] % shape.bytes != 0)) {
        failAccess(wave, op, shape, lane, address, fits ? "is not aligned" : "");
        return false;
      }
    }
    access.at[lane] += arenaBias(wave);
  }
  return true;
}

/// Swizzled, per-thread and unbound resources.
bool resolveSpecialBuffer(Wave& wave, const Op* op, const AccessShape& shape, const BufferResource& resource,
                          LaneAccess& access) {
  const auto refuse = [&](std::string_view what) {
    failDescriptor(wave, op, what);
    return false;
  };
  if (resource.type != 0)
    return refuse("a type that is not a buffer");
  access.valid.fill(0);
  access.allValid = false;
  access.contiguous = false;
  if (resource.unbound())
    return true;
  const BufferOperands operands(wave, op);
  if (resource.addThreadId && operands.index)
    return refuse("ADD_TID_ENABLE with an index (the manual gives no range check)");
  if (resource.swizzle && !resource.addThreadId && !operands.index)
    return refuse("swizzled addressing without an index (the manual gives no range check)");
  // The format bits are stride bits here, but for instructions that need a format.
  const std::uint32_t moreStride =
      resource.addThreadId && !(op->src[3].dwords & bufferTyped) ? std::uint32_t{resource.dataFormat} << 14 : 0u;
  const std::uint64_t stride = resource.stride | moreStride;
  const bool structured = operands.index && resource.stride != 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    const std::uint64_t index = (operands.index ? operands.index[lane] : 0u) + (resource.addThreadId ? lane : 0u);
    const std::uint64_t offset = op->aux + (operands.offsets ? operands.offsets[lane] : 0u);
    std::uint64_t relative = offset + index * stride;
    if (resource.swizzle) {
      if (access.exec >> lane & 1 && offset % elementBytes + shape.bytes > elementBytes)
        return refuse("swizzled addressing of more than one dword at a time");
      const std::uint64_t record = index / resource.indexStride, place = index % resource.indexStride;
      relative = (record * stride + offset / elementBytes * elementBytes) * resource.indexStride +
                 place * elementBytes + offset % elementBytes;
    }
    access.at[lane] = resource.base + operands.soffset + relative;
    const std::uint64_t limit = resource.records > operands.soffset ? resource.records - operands.soffset : 0;
    const bool in = resource.addThreadId || // a private buffer has no range
                    (structured ? index < resource.records : relative + shape.bytes <= limit);
    for (std::uint64_t& valid : access.valid)
      valid |= std::uint64_t{in} << lane & access.exec;
  }
  return admitValid(wave, op, shape, access);
}

} // namespace

/// Range check (CDNA3 ISA 9.1.5.1; LLVM AMDGPUUsage on out-of-bounds buffer accesses): raw unless an index is given and
/// the stride is not zero, then by index. Raw: a dword is out of range unless all of it lies below num_records -
/// soffset; each dword of a wide access is checked by itself, atomics and formatted accesses as a whole.
bool resolveBuffer(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  access.exec = wave.exec();
  if (access.exec == 0)
    return true;
  const BufferResource resource(wave, op->src[2].reg);
  if (!resource.linear()) [[unlikely]]
    return resolveSpecialBuffer(wave, op, shape, resource, access);
  const BufferOperands operands(wave, op);
  alignas(64) std::uint64_t relative[64];
  for (unsigned lane = 0; lane < 64; ++lane)
    relative[lane] = op->aux + (operands.offsets ? operands.offsets[lane] : 0u) +
                     (operands.index ? std::uint64_t{operands.index[lane]} * resource.stride : std::uint64_t{0});
  const std::uint64_t base = resource.base + operands.soffset;
  const bool structured = operands.index && resource.stride != 0;
  const std::uint64_t limit = resource.records > operands.soffset ? resource.records - operands.soffset : 0;
  std::uint64_t outside = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    access.at[lane] = base + relative[lane];
    outside |= static_cast<std::uint64_t>(structured ? operands.index[lane] >= resource.records
                                                     : relative[lane] + shape.bytes > limit);
  }
  if (outside == 0) [[likely]]
    return admitGlobal(wave, op, shape, access);

  const unsigned dwords = (shape.bytes + 3) / 4;
  const bool whole = shape.atomic || shape.whole;
  access.valid.fill(0);
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned k = 0; k < dwords; ++k) {
      const unsigned end = whole ? shape.bytes : std::min(4 * k + 4, shape.bytes);
      const bool in = structured ? operands.index[lane] < resource.records : relative[lane] + end <= limit;
      access.valid[k] |= std::uint64_t{in} << lane & access.exec;
    }
  return admitValid(wave, op, shape, access);
}

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
