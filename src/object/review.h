/// What is doubtful about a code object: contradictions between descriptor and metadata, what a loader will refuse,
/// what costs speed. Hints for people; no other part depends on them.
#pragma once

#include "object/code_object.h"

#include <string>
#include <vector>

namespace asmevo::object {

struct Remark {
  std::string kernel; ///< "" if it concerns the whole file
  std::string text;
};

/// Work-items of a workgroup by metadata: the required size, else the upper bound, else 256.
unsigned workgroupSizeOf(const Kernel& kernel);

/// Occupancy of a kernel by its descriptor and `workgroupSizeOf`.
Occupancy occupancyOf(const Target& target, const Kernel& kernel);

/// All remarks, file first, then by kernel.
std::vector<Remark> review(const CodeObject& object);

} // namespace asmevo::object
