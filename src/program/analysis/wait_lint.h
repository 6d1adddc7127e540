/// Uses of registers and memory that no wait covers on some path, over all functions of a program with their calls.
#pragma once

#include "program/analysis/dataflow.h"
#include "program/analysis/in_flight.h"

#include <optional>
#include <vector>

namespace asmevo::program {

struct WaitFinding {
  enum class Kind {
    readsInFlight,      ///< reads the destination of a load that may be in flight
    overwritesInFlight, ///< writes it, with an operation that does not return in order with that load
    overwritesSource,   ///< writes what an export or GDS operation in flight has yet to read
    ldsDma,             ///< LDS is read, or a barrier passed, with the first LDS-DMA never waited for
  };
  Kind kind = Kind::readsInFlight;
  Counter counter = Counter::vm;
  Place producer, consumer;
  isa::RegUnit unit = 0;           ///< for the register kinds
  unsigned needed = 0;             ///< counter value that would do
  std::optional<unsigned> present; ///< weakest wait since the producer that was not enough; nothing: no wait at all
};

/// Needs complete instructions. A callee that is not known is taken to wait for everything on entry and before it
/// returns, as LLVM's do. Indirect VGPR accesses (S_SET_GPR_IDX_*) are not followed.
std::vector<WaitFinding> uncoveredUses(const Program& program, unsigned accumOffset,
                                       const WaitModel& model = WaitModel(WaitModel::Generation::gfx9));

/// The same for the blocks that one function reaches, with its own accum_offset.
std::vector<WaitFinding> uncoveredUses(const Program& program, const Function& function, unsigned accumOffset,
                                       const WaitModel& model = WaitModel(WaitModel::Generation::gfx9));

} // namespace asmevo::program
