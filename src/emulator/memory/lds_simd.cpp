// LDS ops: data parts over resolved lanes, and lane exchanges.
#include "emulator/memory/data_parts.h"
#include "emulator/memory/handlers.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace {

void resolveAligned(Wave& wave, const Op* op, const AccessShape& shape, LaneAccess& access) {
  alignas(64) std::uint32_t addresses[64];
  const std::uint32_t* base = wave.lanes(op->src[0].reg);
  for (unsigned lane = 0; lane < 64; ++lane)
    addresses[lane] = (base[lane] + static_cast<std::uint32_t>(op->aux)) & ~(shape.bytes - 1);
  resolveLdsAt(wave, addresses, shape, access);
  if (wave.reports) [[unlikely]]
    reportLds(wave, op, shape, access, addresses);
}

/// Read-modify-write in LDS by op->extra. src[1]: first data, src[2]: second data (compare-and-swap: src[1] is the
/// compare value and src[2] the new one; ds_mskor: mask, then data).
/// `Aligned`: the low address bits are ignored (ds_condxchg32).
template <bool Return, bool Aligned = false> void ldsAtomic(Wave& wave, const Op* op) {
  const AtomicForm& form = *static_cast<const AtomicForm*>(op->extra);
  const AccessShape shape{form.bytes, true, true};
  LaneAccess access;
  if constexpr (Aligned)
    resolveAligned(wave, op, shape, access);
  else
    resolveLds(wave, op, shape, access);
  const bool wide = form.bytes == 8;
  const std::uint32_t* first = wave.lanes(op->src[1].reg);
  const std::uint32_t* second = op->src[2].kind == SrcKind::none ? first : wave.lanes(op->src[2].reg);
  // The shared bodies take (data, compare); an LDS compare-and-swap has them the other way round.
  const bool swapped = op->src[3].constant != 0;
  std::uint32_t* to = wave.lanes(op->dst);
  const auto operand = [&](const std::uint32_t* from, unsigned lane) -> std::uint64_t {
    return wide ? from[lane] | std::uint64_t{from[64 + lane]} << 32 : from[lane];
  };
  forLanes(access.exec, [&](unsigned lane) {
    std::uint64_t old = 0;
    if (access.allValid || (access.valid[0] >> lane & 1)) {
      const std::uint64_t a = operand(first, lane), b = operand(second, lane);
      old = applyAtomic(form, hostPointer(access.at[lane]), swapped ? b : a, swapped ? a : b, wave.mode, false);
    }
    if constexpr (Return) {
      to[lane] = static_cast<std::uint32_t>(old);
      if (wide)
        to[64 + lane] = static_cast<std::uint32_t>(old >> 32);
    }
  });
  ASMEVO_NEXT(wave, op);
}

bool sameOffsets(const Op* op) {
  return static_cast<std::uint32_t>(op->aux) == static_cast<std::uint32_t>(op->aux >> 32);
}

/// Addresses of element `which` of a two-element form.
void resolvePair(Wave& wave, const Op* op, unsigned which, const AccessShape& shape, LaneAccess& access) {
  alignas(64) std::uint32_t addresses[64];
  const std::uint32_t* base = wave.lanes(op->src[0].reg);
  const std::uint32_t offset = static_cast<std::uint32_t>(op->aux >> (32 * which));
  for (unsigned lane = 0; lane < 64; ++lane)
    addresses[lane] = base[lane] + offset;
  resolveLdsAt(wave, addresses, shape, access);
  if (wave.reports) [[unlikely]]
    reportLds(wave, op, shape, access, addresses);
}

template <unsigned Dwords> void read2(Wave& wave, const Op* op) {
  LaneAccess first, second;
  const AccessShape shape{Dwords * 4, false, false};
  resolvePair(wave, op, 0, shape, first);
  resolvePair(wave, op, 1, shape, second);
  LoadDwords<Dwords>::load(wave, op->dst, first);
  LoadDwords<Dwords>::load(wave, op->dst + Dwords, second);
  ASMEVO_NEXT(wave, op);
}

template <unsigned Dwords> void write2(Wave& wave, const Op* op) {
  LaneAccess access;
  const AccessShape shape{Dwords * 4, true, false};
  resolvePair(wave, op, 0, shape, access);
  StoreDwords<Dwords>::store(wave, op->src[1].reg, access);
  if (sameOffsets(op)) // one access, of the first data operand (CDNA3 ISA 11.3.1)
    ASMEVO_NEXT(wave, op);
  resolvePair(wave, op, 1, shape, access);
  StoreDwords<Dwords>::store(wave, op->src[2].reg, access);
  ASMEVO_NEXT(wave, op);
}

template <unsigned Dwords> void exchange2(Wave& wave, const Op* op) {
  LaneAccess first, second;
  const AccessShape shape{Dwords * 4, true, true};
  resolvePair(wave, op, 0, shape, first);
  resolvePair(wave, op, 1, shape, second);
  std::uint32_t* to = wave.lanes(op->dst);
  const std::uint32_t* from[2] = {wave.lanes(op->src[1].reg), wave.lanes(op->src[2].reg)};
  forLanes(first.exec, [&](unsigned lane) {
    std::uint32_t old[2][Dwords]{};
    const LaneAccess* access[2] = {&first, &second};
    for (unsigned e = 0; e < 2; ++e)
      if (access[e]->allValid || (access[e]->valid[0] >> lane & 1))
        for (unsigned k = 0; k < Dwords; ++k) {
          old[e][k] = readHost<std::uint32_t>(access[e]->at[lane] + 4 * k);
          writeHost(access[e]->at[lane] + 4 * k, from[e][k * 64 + lane]);
        }
    for (unsigned e = 0; e < 2; ++e)
      for (unsigned k = 0; k < Dwords; ++k)
        to[(e * Dwords + k) * 64 + lane] = old[e][k];
  });
  ASMEVO_NEXT(wave, op);
}

/// ds_read_addtid_b32 and ds_write_addtid_b32: M0[15:0] + offset + 4 * lane.
template <bool Write> void addThreadId(Wave& wave, const Op* op) {
  LaneAccess access;
  const AccessShape shape{4, Write, false};
  alignas(64) std::uint32_t addresses[64];
  const std::uint32_t base = (wave.sgpr[isa::sreg::m0] & 0xffff) + static_cast<std::uint32_t>(op->aux);
  for (unsigned lane = 0; lane < 64; ++lane)
    addresses[lane] = base + 4 * lane;
  resolveLdsAt(wave, addresses, shape, access);
  if (wave.reports) [[unlikely]]
    reportLds(wave, op, shape, access, addresses);
  if constexpr (Write)
    StoreDwords<1>::run(wave, op, access);
  else
    LoadDwords<1>::run(wave, op, access);
  ASMEVO_NEXT(wave, op);
}

/// ds_append and ds_consume: the dword at M0[15:0] + offset grows or shrinks by the number of active lanes; all of them
/// get the old value.
template <bool Append> void appendOrConsume(Wave& wave, const Op* op) {
  const std::uint64_t exec = wave.exec();
  const std::uint32_t address = (wave.sgpr[isa::sreg::m0] & 0xffff) + static_cast<std::uint32_t>(op->aux);
  std::uint32_t old = 0;
  const bool inRange = std::uint64_t{address} + 4 <= wave.ldsBytes;
  if (exec != 0)
    noteLds(wave, address, 4);
  if (wave.reports) [[unlikely]] {
    std::uint32_t addresses[64];
    std::fill(std::begin(addresses), std::end(addresses), address);
    LaneAccess access;
    access.exec = exec & (0 - exec);
    access.allValid = inRange;
    reportLds(wave, op, {4, true, true}, access, addresses);
  }
  if (inRange) {
    std::memcpy(&old, wave.lds + address, 4);
    const std::uint32_t count = static_cast<std::uint32_t>(std::popcount(exec));
    const std::uint32_t value = Append ? old + count : old - count;
    std::memcpy(wave.lds + address, &value, 4);
  }
  std::uint32_t* to = wave.lanes(op->dst);
  forLanes(exec, [&](unsigned lane) { to[lane] = old; });
  ASMEVO_NEXT(wave, op);
}

/// Traces an operation that uses the LDS crossbar but no LDS memory: nothing to observe.
void traceCrossbar(Wave& wave, const Op* op) {
  if (!wave.trace)
    return;
  std::uint32_t addresses[64];
  for (unsigned lane = 0; lane < 64; ++lane)
    addresses[lane] = 4 * lane;
  traceLds(wave, op, {4, false, false}, wave.exec(), addresses);
}

/// ds_permute_b32 pushes a lane's data to lane address/4; of several the highest lane wins; lanes that get none read 0.
void permute(Wave& wave, const Op* op) {
  std::uint32_t result[64]{};
  const std::uint64_t exec = wave.exec();
  const std::uint32_t *address = wave.lanes(op->src[0].reg), *data = wave.lanes(op->src[1].reg);
  forLanes(exec, [&](unsigned lane) {
    result[((address[lane] + static_cast<std::uint32_t>(op->aux)) / 4) % 64] = data[lane];
  });
  if (wave.reports) [[unlikely]]
    traceCrossbar(wave, op);
  std::uint32_t* to = wave.lanes(op->dst);
  forLanes(exec, [&](unsigned lane) { to[lane] = result[lane]; });
  ASMEVO_NEXT(wave, op);
}

/// ds_bpermute_b32 pulls from lane address/4; an inactive source lane gives 0.
void backwardPermute(Wave& wave, const Op* op) {
  std::uint32_t result[64];
  const std::uint64_t exec = wave.exec();
  const std::uint32_t *address = wave.lanes(op->src[0].reg), *data = wave.lanes(op->src[1].reg);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const std::uint32_t from = ((address[lane] + static_cast<std::uint32_t>(op->aux)) / 4) % 64;
    result[lane] = exec >> from & 1 ? data[from] : 0;
  }
  if (wave.reports) [[unlikely]]
    traceCrossbar(wave, op);
  std::uint32_t* to = wave.lanes(op->dst);
  forLanes(exec, [&](unsigned lane) { to[lane] = result[lane]; });
  ASMEVO_NEXT(wave, op);
}

/// extra: 64 source lanes.
void swizzle(Wave& wave, const Op* op) {
  const auto& source = *static_cast<const std::array<std::uint8_t, 64>*>(op->extra);
  std::uint32_t result[64];
  const std::uint64_t exec = wave.exec();
  const std::uint32_t* data = wave.lanes(op->src[0].reg);
  for (unsigned lane = 0; lane < 64; ++lane)
    result[lane] = exec >> source[lane] & 1 ? data[source[lane]] : 0;
  if (wave.reports) [[unlikely]]
    traceCrossbar(wave, op);
  std::uint32_t* to = wave.lanes(op->dst);
  forLanes(exec, [&](unsigned lane) { to[lane] = result[lane]; });
  ASMEVO_NEXT(wave, op);
}

void nothing(Wave& wave, const Op* op) {
  ASMEVO_NEXT(wave, op);
}

template <class D> constexpr Handler inLds = memoryOp<resolveLds, D>;

using U8 = std::uint8_t;
using S8 = std::int8_t;
using U16 = std::uint16_t;
using S16 = std::int16_t;
constexpr LdsAddress byAddress = LdsAddress::vgpr, noAddress = LdsAddress::none;

constexpr LdsForm forms[] = {
    {"ds_read_b32", inLds<LoadDwords<1>>, true},
    {"ds_read_b64", inLds<LoadDwords<2>>, true},
    {"ds_read_b96", inLds<LoadDwords<3>>, true},
    {"ds_read_b128", inLds<LoadDwords<4>>, true},
    {"ds_read_u8", inLds<LoadSmall<U8>>, true},
    {"ds_read_i8", inLds<LoadSmall<S8>>, true},
    {"ds_read_u16", inLds<LoadSmall<U16>>, true},
    {"ds_read_i16", inLds<LoadSmall<S16>>, true},
    {"ds_read_u8_d16", inLds<LoadSmall<U8, Part::low>>, true},
    {"ds_read_u8_d16_hi", inLds<LoadSmall<U8, Part::high>>, true},
    {"ds_read_i8_d16", inLds<LoadSmall<S8, Part::low>>, true},
    {"ds_read_i8_d16_hi", inLds<LoadSmall<S8, Part::high>>, true},
    {"ds_read_u16_d16", inLds<LoadSmall<U16, Part::low>>, true},
    {"ds_read_u16_d16_hi", inLds<LoadSmall<U16, Part::high>>, true},
    {"ds_write_b32", inLds<StoreDwords<1>>, false, 1, 1},
    {"ds_write_b64", inLds<StoreDwords<2>>, false, 2, 1},
    {"ds_write_b96", inLds<StoreDwords<3>>, false, 3, 1},
    {"ds_write_b128", inLds<StoreDwords<4>>, false, 4, 1},
    {"ds_write_b8", inLds<StoreSmall<U8>>, false, 1, 1},
    {"ds_write_b8_d16_hi", inLds<StoreSmall<U8, 16>>, false, 1, 1},
    {"ds_write_b16", inLds<StoreSmall<U16>>, false, 1, 1},
    {"ds_write_b16_d16_hi", inLds<StoreSmall<U16, 16>>, false, 1, 1},
    {"ds_read2_b32", read2<1>, true, 0, 0, byAddress, 4},
    {"ds_read2st64_b32", read2<1>, true, 0, 0, byAddress, 4 * 64},
    {"ds_read2_b64", read2<2>, true, 0, 0, byAddress, 8},
    {"ds_read2st64_b64", read2<2>, true, 0, 0, byAddress, 8 * 64},
    {"ds_write2_b32", write2<1>, false, 1, 2, byAddress, 4},
    {"ds_write2st64_b32", write2<1>, false, 1, 2, byAddress, 4 * 64},
    {"ds_write2_b64", write2<2>, false, 2, 2, byAddress, 8},
    {"ds_write2st64_b64", write2<2>, false, 2, 2, byAddress, 8 * 64},
    {"ds_wrxchg2_rtn_b32", exchange2<1>, true, 1, 2, byAddress, 4},
    {"ds_wrxchg2st64_rtn_b32", exchange2<1>, true, 1, 2, byAddress, 4 * 64},
    {"ds_wrxchg2_rtn_b64", exchange2<2>, true, 2, 2, byAddress, 8},
    {"ds_wrxchg2st64_rtn_b64", exchange2<2>, true, 2, 2, byAddress, 8 * 64},
    {"ds_read_addtid_b32", addThreadId<false>, true, 0, 0, noAddress},
    {"ds_write_addtid_b32", addThreadId<true>, false, 1, 1, noAddress},
    {"ds_append", appendOrConsume<true>, true, 0, 0, noAddress},
    {"ds_consume", appendOrConsume<false>, true, 0, 0, noAddress},
    {"ds_permute_b32", permute, true, 1, 1},
    {"ds_bpermute_b32", backwardPermute, true, 1, 1},
    {"ds_swizzle_b32", swizzle, true},
    {"ds_nop", nothing, false, 0, 0, noAddress},
};

} // namespace

constinit const LdsHandlers ldsHandlers = {
    {forms, std::size(forms)}, ldsAtomic<false>, ldsAtomic<true>, ldsAtomic<true, true>};

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
