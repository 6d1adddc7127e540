/// Debug information (DWARF) of code that moves. It is not rewritten: line tables, ranges and locations would name the
/// wrong instructions. rebuild takes it out of sight instead, so that a debugger or profiler shows none rather than a
/// false one.
#pragma once

#include "object/code_object.h"

#include <string>
#include <vector>

namespace asmevo::program {

/// Turns the headers of all .debug_ sections of `file`, rewritten from `object`, into unused ones (SHT_NULL); bytes and
/// section numbers stay.
void hideDebugSections(const object::CodeObject& object, Bytes& file);

/// Names of the debug sections that `before` has and `after`, rebuilt from it, no longer shows: what to warn of.
std::vector<std::string> hiddenDebugSections(const object::CodeObject& before, const object::CodeObject& after);

} // namespace asmevo::program
