/// What a strict, traced or debugged run sees of execution. The plain loop knows nothing of it: an observed run
/// executes the observed op streams, whose every op reports itself here. Private to the emulator.
#pragma once

#include "emulator/trace.h"

#include <array>
#include <cstdint>

namespace asmevo::emulator {

struct Wave;
struct Op;
struct Workgroup;

/// One memory instruction of one wave, addresses resolved and checked, reported before it touches memory.
struct AccessEvent {
  Space space = Space::global;                      ///< what it reaches, also for FLAT
  bool load = false, store = false, atomic = false; ///< an atomic is neither load nor store
  bool returns = false;                             ///< an atomic with a result
  bool ldsDma = false; ///< global load whose data goes to LDS; the LDS side is reported as a second event (lds, store)
  std::uint8_t bytes = 4; ///< per lane and element
  std::uint64_t exec = 0; ///< lanes that access memory; scalar accesses: 1
  /// Per dword of the element: lanes of `exec` in range. Lanes out of a descriptor's range read 0 and do not write.
  std::array<std::uint64_t, 4> valid{};
  /// global and scalar: guest address; lds: byte offset in the workgroup's allocation; scratch: byte offset in the
  /// lane's private segment. Holds for lanes with a valid dword; in LDS instructions for all lanes of `exec`.
  const std::uint64_t* address = nullptr;
};

/// Instructions that VSKIP skips are not reported. Scalar accesses: `bytes` in range, none at all when nothing is.
/// Observers are called in the order they were attached, on the one host thread of an observed run.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Set by the observer itself: nothing more is of interest, the run ends within the slices of its waves.
  bool stopRun = false;
  /// `op` executes next; the registers hold what it reads.
  virtual void before(Wave&, const Op*) {}
  /// A memory instruction is about to touch memory (between before and after; ds_read2 and the like: one event for each
  /// element).
  virtual void access(Wave&, const Op*, const AccessEvent&) {}
  /// `op` has executed; called before the wave's next `before`, and when the wave stops. Not after a fault.
  virtual void after(Wave&, const Op*) {}
  virtual void workgroupStarted(Workgroup&) {}
  virtual void barrierReleased(Workgroup&) {} ///< all waves that have not ended arrived
  virtual void waveEnded(Wave&) {}
  virtual void workgroupEnded(Workgroup&) {}
};

} // namespace asmevo::emulator
