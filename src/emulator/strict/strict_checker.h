/// Waits, wait states, the descriptor's limits and uninitialised contents along the executed path, with memory
/// operations delivered as late as the ISA allows. Private to the emulator.
#pragma once

#include "emulator/observe/finding_observer.h"
#include "object/code_object.h"

#include <memory>

namespace asmevo::emulator {

/// What a strict run finds out about a kernel's code; kept for the next run, since it costs more than short runs do.
/// One run at a time.
class StrictKnowledge;
std::shared_ptr<StrictKnowledge> makeStrictKnowledge(const object::Kernel& kernel, const object::Target& target,
                                                     bool llvmDistances);

/// Changes what the run computes: registers and memory get their contents when the delivery says so. Attach it before
/// other observers.
std::unique_ptr<FindingObserver> makeStrictChecker(const StrictOptions& options,
                                                   std::shared_ptr<StrictKnowledge> knowledge);

} // namespace asmevo::emulator
