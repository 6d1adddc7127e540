/// Small kernels from assembly text, and what the lint says of them.
#pragma once

#include "verify/lint/lint.h"

#include <string>

namespace asmevo::tests {

/// What the descriptor and the metadata of kernel `k` declare.
struct LintKernel {
  unsigned vgprs = 128, accumOffset = 64, sgprs = 48, ldsBytes = 0;
  unsigned workgroupSize = 0; ///< of the metadata; 0: no metadata
};

/// One kernel `k` (and what follows it) linked by clang-22.
object::CodeObject build(const std::string& body, const std::string& cpu, const std::string& more = "",
                         const LintKernel& kernel = {});

/// "kind need have: instruction", one a line, of findings above notes.
std::string lintText(const object::CodeObject& object);
std::string lintText(const std::string& body, const std::string& cpu = "gfx942", const std::string& more = "");

} // namespace asmevo::tests
