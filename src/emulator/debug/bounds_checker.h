/// Accesses to global memory outside every buffer, with the instruction that makes them. Inside the guest's arena such
/// reads see the guard pattern and stores are found after the run only; farther away they fault by themselves.
#pragma once

#include "emulator/observe/finding_observer.h"

#include <memory>

namespace asmevo::emulator {

/// Rules out_of_bounds_read (also of scalar loads, buffer accesses that pass their descriptor's range check, and the
/// padding behind an allocation) and out_of_bounds_write. Producer and consumer are the instruction.
std::unique_ptr<FindingObserver> makeBoundsChecker();

} // namespace asmevo::emulator
