/// Waits, wait states, the descriptor's limits and uninitialised contents along the executed path, with memory
/// operations delivered as late as the ISA allows. Private to the emulator.
#pragma once

#include "emulator/observe/finding_observer.h"
#include "object/code_object.h"

#include <memory>

namespace asmevo::emulator {

/// Changes what the run computes: registers and memory get their contents when the delivery says so. Attach it before
/// other observers.
std::unique_ptr<FindingObserver> makeStrictChecker(const StrictOptions& options, const object::Kernel& kernel,
                                                   const object::Target& target);

} // namespace asmevo::emulator
