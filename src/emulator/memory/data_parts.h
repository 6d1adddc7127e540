/// Data parts of vector memory ops: they move lanes between registers and host addresses already resolved. Each is a
/// type with `shape(op)` and `run(wave, op, access)`. Included by the *_simd.cpp files
/// of this folder.
#pragma once

#include "emulator/memory/atomics.h"
#include "emulator/memory/contiguous.h"
#include "emulator/memory/resolve.h"

namespace asmevo::emulator::ASMEVO_SIMD_NS {

/// N dwords to N registers.
template <unsigned N> struct LoadDwords {
  static AccessShape shape(const Op*) { return {4 * N, false, false}; }

  /// All lanes, one after the other from `host` on.
  static void runContiguous(Wave& wave, const Op* op, const std::uint8_t* host) {
    contiguous::load<N>(wave.lanes(op->dst), host);
  }
  static void run(Wave& wave, const Op* op, const LaneAccess& access) { load(wave, op->dst, access); }
  static void load(Wave& wave, unsigned destination, const LaneAccess& access) {
    std::uint32_t* to = wave.lanes(destination);
    if (access.contiguous) {
      contiguous::load<N>(to, hostPointer(access.at[0]));
      return;
    }
    if (access.allValid) {
      forLanes(access.exec, [&](unsigned lane) {
        const std::uint8_t* from = hostPointer(access.at[lane]);
        for (unsigned k = 0; k < N; ++k)
          std::memcpy(&to[k * 64 + lane], from + 4 * k, 4);
      });
      return;
    }
    forLanes(access.exec, [&](unsigned lane) {
      for (unsigned k = 0; k < N; ++k)
        to[k * 64 + lane] = access.valid[k] >> lane & 1 ? readHost<std::uint32_t>(access.at[lane] + 4 * k) : 0;
    });
  }
};

/// Which part of the destination a sub-dword load fills.
enum class Part { whole, low, high };

/// A byte or short, extended as T is; d16 forms fill one half of the register. MI300 has ECC in its register files:
/// they write the whole register, the other half is 0 (CDNA3 ISA 9.1.6; LLVM GCNSubtarget::d16PreservesUnusedBits).
template <class T, Part P = Part::whole> struct LoadSmall {
  static AccessShape shape(const Op*) { return {sizeof(T), false, false}; }

  static void run(Wave& wave, const Op* op, const LaneAccess& access) {
    std::uint32_t* to = wave.lanes(op->dst);
    forLanes(access.exec, [&](unsigned lane) {
      const bool in = access.allValid || (access.valid[0] >> lane & 1);
      const std::uint32_t value = in ? static_cast<std::uint32_t>(std::int32_t{readHost<T>(access.at[lane])}) : 0;
      if constexpr (P == Part::whole)
        to[lane] = value;
      else if constexpr (P == Part::low)
        to[lane] = value & 0xffff;
      else
        to[lane] = value << 16;
    });
  }
};

template <unsigned N> struct StoreDwords {
  static AccessShape shape(const Op*) { return {4 * N, true, false}; }

  static void runContiguous(Wave& wave, const Op* op, std::uint8_t* host) {
    contiguous::store<N>(host, wave.lanes(op->src[1].reg));
  }
  static void run(Wave& wave, const Op* op, const LaneAccess& access) { store(wave, op->src[1].reg, access); }
  static void store(Wave& wave, unsigned source, const LaneAccess& access) {
    const std::uint32_t* from = wave.lanes(source);
    if (access.contiguous) {
      contiguous::store<N>(hostPointer(access.at[0]), from);
      return;
    }
    if (access.allValid) {
      forLanes(access.exec, [&](unsigned lane) {
        std::uint8_t* to = hostPointer(access.at[lane]);
        for (unsigned k = 0; k < N; ++k)
          std::memcpy(to + 4 * k, &from[k * 64 + lane], 4);
      });
      return;
    }
    for (unsigned k = 0; k < N; ++k)
      forLanes(access.valid[k], [&](unsigned lane) { writeHost(access.at[lane] + 4 * k, from[k * 64 + lane]); });
  }
};

/// The low byte or short of a register, or with Shift 16 that of its high half.
template <class T, unsigned Shift = 0> struct StoreSmall {
  static AccessShape shape(const Op*) { return {sizeof(T), true, false}; }

  static void run(Wave& wave, const Op* op, const LaneAccess& access) {
    const std::uint32_t* from = wave.lanes(op->src[1].reg);
    forLanes(access.allValid ? access.exec : access.valid[0],
             [&](unsigned lane) { writeHost(access.at[lane], static_cast<T>(from[lane] >> Shift)); });
  }
};

/// Read-modify-write by op->extra, an AtomicForm; lanes in ascending order. Device memory: data register first, then
/// the compare value. `Return`: the old value goes to op->dst.
template <bool Return> struct MemoryAtomic {
  static const AtomicForm& form(const Op* op) { return *static_cast<const AtomicForm*>(op->extra); }
  static AccessShape shape(const Op* op) { return {form(op).bytes, true, true}; }

  static void run(Wave& wave, const Op* op, const LaneAccess& access) {
    const AtomicForm& atomic = form(op);
    const unsigned dwords = atomic.bytes / 4;
    const std::uint32_t* data = wave.lanes(op->src[1].reg);
    std::uint32_t* to = wave.lanes(op->dst);
    const auto operand = [&](unsigned lane, unsigned first) {
      const std::uint64_t low = data[first * 64 + lane];
      return dwords == 2 ? low | std::uint64_t{data[(first + 1) * 64 + lane]} << 32 : low;
    };
    forLanes(access.exec, [&](unsigned lane) {
      std::uint64_t old = 0;
      if (access.allValid || (access.valid[0] >> lane & 1))
        old = applyAtomic(atomic, hostPointer(access.at[lane]), operand(lane, 0),
                          atomic.dataOperands == 2 ? operand(lane, dwords) : 0, wave.mode, true);
      if constexpr (Return) {
        to[lane] = static_cast<std::uint32_t>(old);
        if (dwords == 2)
          to[64 + lane] = static_cast<std::uint32_t>(old >> 32);
      }
    });
  }
};

/// The handler of address part R with data part D.
template <Resolver R, class D> void scatteredOp(Wave& wave, const Op* op) {
  LaneAccess access;
  const AccessShape shape = D::shape(op);
  if (!R(wave, op, shape, access)) [[unlikely]]
    return;
  if (R != resolveLds && wave.reports) [[unlikely]]
    reportVector(wave, op, shape, access);
  D::run(wave, op, access);
  ASMEVO_NEXT(wave, op);
}

/// The same with the common case in front. Apart, so that it needs no room for lane addresses.
template <Resolver R, class D> void memoryOp(Wave& wave, const Op* op) {
  if constexpr (requires { &D::runContiguous; }) {
    if (std::uint8_t* const host = contiguousHost<R>(wave, op, D::shape(op))) [[likely]] {
      D::runContiguous(wave, op, host);
      ASMEVO_NEXT(wave, op);
    }
  }
  [[clang::musttail]] return scatteredOp<R, D>(wave, op);
}

} // namespace asmevo::emulator::ASMEVO_SIMD_NS
