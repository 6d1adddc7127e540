/// What every command that writes an object whose code may have moved says of its debug information.
#pragma once

#include "object/code_object.h"

#include <string>
#include <vector>

namespace asmevo::cli {

/// Names the debug sections that `after`, rebuilt from `before`, no longer shows, since they would describe code that
/// has moved (program/debug_sections.h), with a warning on standard error that `output` has none; for --json.
std::vector<std::string> warnOfHiddenDebug(const object::CodeObject& before, const object::CodeObject& after,
                                           const std::string& output);

} // namespace asmevo::cli
