/// The shortest time that a kernel's memory accesses leave it: what there is to gain without changing them.
#pragma once

#include "timing/timing.h"

#include <memory>
#include <vector>

namespace asmevo::timing {

/// Traces of which only the accesses of vector and scalar memory are left, with the code they run over.
struct MemoryOnly {
  std::vector<isa::InstRef> code;
  std::vector<emulator::WorkgroupTrace> traces;
  std::vector<std::unique_ptr<isa::Instruction>> made; ///< instructions that `code` has and the kernel has not
};

enum class AccessOrder : std::uint8_t {
  written, ///< the kernel's order, with its waits and barriers
  /// As early as data allow, registers without end: an access waits for those accesses that its address or data come
  /// from, through registers other than EXEC and through the wave's own LDS. Accesses that need equally many others
  /// one after the other keep their order.
  dataflow
};

MemoryOnly memoryOnly(const std::vector<isa::InstRef>& code, unsigned accumOffset,
                      const std::vector<emulator::WorkgroupTrace>& traces, AccessOrder order);

struct Bound {
  double cycles = 0; ///< of the whole dispatch, launch floor excluded; at most the kernel's own
  /// Of which: the accesses alone in either order, and the busiest unit of the CU alone.
  double written = 0, dataflow = 0, busiestUnit = 0;

  /// One dispatch after the other.
  Bound& operator+=(const Bound& other) {
    cycles += other.cycles;
    written += other.written;
    dataflow += other.dataflow;
    busiestUnit += other.busiestUnit;
    return *this;
  }
};

/// `estimate` is the kernel's own on this chip. Arithmetic, LDS and barriers are free, memory is as it is, at the
/// engine clock and with the occupancy of `estimate`. The bound is the longer of two times: of the accesses, in that of
/// the two orders that takes less; and of the unit that is busiest. It holds for the traces' accesses: an edit that
/// needs fewer or wider ones, or more waves at a time, may pass it.
Result<Bound> bound(const Chip& chip, const object::Target& target, const Launch& launch,
                    const std::vector<isa::InstRef>& code, unsigned accumOffset,
                    const std::vector<emulator::WorkgroupTrace>& traces, const Estimate& estimate);

} // namespace asmevo::timing
