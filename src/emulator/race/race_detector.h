/// Data races between waves, in LDS and in global memory.
///
/// Two accesses of different waves to one byte, at least one of them a write, race unless they are both atomic or the
/// first happens before the second. Happens-before is what the ISA gives (CDNA3 ISA, "S_WAITCNT" and "S_BARRIER"; LLVM
/// AMDGPUUsage "Memory Model GFX942"):
/// - An access is complete once an s_waitcnt of its wave covers it: vmcnt for vector memory and LDS-DMA and lgkmcnt for
///   LDS, in order; lgkmcnt(0) for scalar and FLAT accesses, which return in any order. s_endpgm completes all.
/// - s_barrier orders what every wave of the workgroup had complete when it arrived before what follows in all of them.
///   An access that was issued before the barrier but not waited for is not ordered by it.
/// - An atomic write (a read-modify-write; a store with scope bits of at most 8 bytes; a scalar store with glc) hands
///   over what its wave knows to be complete, and an atomic read of that location (a returning atomic, a load with
///   scope bits, a scalar load with glc) takes it over once it is itself waited for. sc0 alone is the scope of one
///   workgroup. Whether caches are written back and invalidated in between is the matter of coherence_checker.h.
/// The start of the kernel is before everything. Workgroups that have ended are before nothing.
///
/// Rules of the findings: lds_race and global_race (producer: the write of a write and a read, else the earlier one;
/// the message says when the value was the same, and when only the wait before a barrier is missing), and
/// lane_conflict: two lanes of one store with different values for one address.
#pragma once

#include "emulator/observe/finding_observer.h"

#include <cstdint>
#include <memory>

namespace asmevo::emulator {

struct RaceOptions {
  bool lds = true, global = true;
  /// Also report races whose write stored what the write before it had stored, every time: waves that hold the same
  /// data and store them all do so on purpose (Triton's replicated layouts). Otherwise notes() counts them.
  bool sameValue = false;
  /// Of shadow memory and histories, in bytes. A run that needs more is not judged from there on, and notes() says so.
  std::uint64_t memoryLimit = std::uint64_t{1} << 30;
};

std::unique_ptr<FindingObserver> makeRaceDetector(const RaceOptions& options = {});

} // namespace asmevo::emulator
