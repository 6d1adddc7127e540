/// Manual wait states: distances the hardware does not check (CDNA3 ISA section 4.5 table 11, section 7.5 table 37;
/// LLVM GCNHazardRecognizer.cpp where it is stricter).
#pragma once

#include "program/program.h"

#include <cstdint>
#include <vector>

namespace asmevo::program {

/// Wait states (instructions issued in between, s_nop N counts N + 1) that gfx942 needs between `producer` and
/// `consumer`; 0 if they are independent or the hardware interlocks.
unsigned requiredWaitStates(const isa::Instruction& producer, const isa::Instruction& consumer, unsigned accumOffset);

/// Largest answer of requiredWaitStates: how far back a search must look.
inline constexpr unsigned maximumWaitStates = 19;

/// A consumer nearer to a producer than required, on some path.
struct Hazard {
  BlockId block = 0;     ///< of the consumer
  std::size_t index = 0; ///< of the consumer in its block
  const Instr* producer = nullptr;
  unsigned required = 0, present = 0;
};

/// Every consumer of the function that some path reaches with too few wait states: the worst pair each. Back edges and
/// branches are followed; calls are not.
std::vector<Hazard> findHazards(const Program& program, const Function& function, unsigned accumOffset);

/// Wait states an instruction itself provides to those after it.
unsigned waitStatesOf(const isa::Instruction& inst);

} // namespace asmevo::program
