// Data parts of buffer, flat, global and scratch ops under every address part.
#include "emulator/memory/data_parts.h"
#include "emulator/memory/handlers.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

namespace {

template <class D> constexpr ByAddress everyMode() {
  return {memoryOp<resolveGlobal, D>, memoryOp<resolveGlobalScalar, D>, memoryOp<resolveFlat, D>,
          memoryOp<resolveScratch, D>, memoryOp<resolveBuffer, D>};
}

/// Memory to LDS at M0[15:0] + instruction offset + 4 * lane (facts of the production kernels: aiter_dispatch.md;
/// CDNA3 ISA, "Buffer load to LDS"). T decides width and extension; lanes out of range deliver 0.
template <Resolver R, class T> void loadToLds(Wave& wave, const Op* op) {
  LaneAccess access;
  const AccessShape shape{sizeof(T), false, false};
  if (!R(wave, op, shape, access)) [[unlikely]]
    return;
  const std::uint32_t base = (wave.sgpr[isa::sreg::m0] & 0xffff) + static_cast<std::uint32_t>(op->aux);
  if (wave.reports) [[unlikely]] {
    reportVector(wave, op, shape, access, true);
    reportLdsDma(wave, op, access.exec, base);
  }
  if (access.contiguous && sizeof(T) == 4 && std::uint64_t{base} + 256 <= wave.ldsBytes) {
    noteLds(wave, base, 256);
    std::memcpy(wave.lds + base, hostPointer(access.at[0]), 256);
    ASMEVO_NEXT(wave, op);
  }
  forLanes(access.exec, [&](unsigned lane) {
    const std::uint64_t to = std::uint64_t{base} + 4 * lane;
    if (!noteLds(wave, to, 4))
      return;
    const bool in = access.allValid || (access.valid[0] >> lane & 1);
    const std::uint32_t value =
        in ? static_cast<std::uint32_t>(static_cast<std::int64_t>(readHost<T>(access.at[lane]))) : 0;
    std::memcpy(wave.lds + to, &value, 4);
  });
  ASMEVO_NEXT(wave, op);
}

template <class T> constexpr ByAddress everyLdsMode() {
  return {loadToLds<resolveGlobal, T>, loadToLds<resolveGlobalScalar, T>, loadToLds<resolveFlat, T>,
          loadToLds<resolveScratch, T>, loadToLds<resolveBuffer, T>};
}

using U8 = std::uint8_t;
using S8 = std::int8_t;
using U16 = std::uint16_t;
using S16 = std::int16_t;

constexpr VectorForm forms[] = {
    {"load_dword", everyMode<LoadDwords<1>>()},
    {"load_dwordx2", everyMode<LoadDwords<2>>()},
    {"load_dwordx3", everyMode<LoadDwords<3>>()},
    {"load_dwordx4", everyMode<LoadDwords<4>>()},
    {"load_ubyte", everyMode<LoadSmall<U8>>()},
    {"load_sbyte", everyMode<LoadSmall<S8>>()},
    {"load_ushort", everyMode<LoadSmall<U16>>()},
    {"load_sshort", everyMode<LoadSmall<S16>>()},
    {"load_ubyte_d16", everyMode<LoadSmall<U8, Part::low>>()},
    {"load_ubyte_d16_hi", everyMode<LoadSmall<U8, Part::high>>()},
    {"load_sbyte_d16", everyMode<LoadSmall<S8, Part::low>>()},
    {"load_sbyte_d16_hi", everyMode<LoadSmall<S8, Part::high>>()},
    {"load_short_d16", everyMode<LoadSmall<U16, Part::low>>()},
    {"load_short_d16_hi", everyMode<LoadSmall<U16, Part::high>>()},
    {"store_dword", everyMode<StoreDwords<1>>(), 1, true},
    {"store_dwordx2", everyMode<StoreDwords<2>>(), 2, true},
    {"store_dwordx3", everyMode<StoreDwords<3>>(), 3, true},
    {"store_dwordx4", everyMode<StoreDwords<4>>(), 4, true},
    {"store_byte", everyMode<StoreSmall<U8>>(), 1, true},
    {"store_byte_d16_hi", everyMode<StoreSmall<U8, 16>>(), 1, true},
    {"store_short", everyMode<StoreSmall<U16>>(), 1, true},
    {"store_short_d16_hi", everyMode<StoreSmall<U16, 16>>(), 1, true},
};
constexpr LdsLoadForm ldsForms[] = {
    {"dword", everyLdsMode<std::uint32_t>()}, {"ubyte", everyLdsMode<U8>()},   {"sbyte", everyLdsMode<S8>()},
    {"ushort", everyLdsMode<U16>()},          {"sshort", everyLdsMode<S16>()},
};

} // namespace

constinit const VectorHandlers vectorHandlers = {{forms, std::size(forms)},
                                                 {ldsForms, std::size(ldsForms)},
                                                 everyMode<MemoryAtomic<false>>(),
                                                 everyMode<MemoryAtomic<true>>(),
                                                 resolveBuffer};

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
