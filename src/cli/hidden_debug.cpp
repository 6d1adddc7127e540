#include "cli/hidden_debug.h"

#include "program/debug_sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

namespace asmevo::cli {

std::vector<std::string> warnOfHiddenDebug(const object::CodeObject& before, const object::CodeObject& after,
                                           const std::string& output) {
  std::vector<std::string> names = program::hiddenDebugSections(before, after);
  if (!names.empty())
    fmt::print(stderr, "asmevo: warning: {}: the code has moved, so its debug information is hidden: {}\n", output,
               fmt::join(names, ", "));
  return names;
}

} // namespace asmevo::cli
