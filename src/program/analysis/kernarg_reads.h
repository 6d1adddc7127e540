/// What a kernel reads of its kernarg segment by scalar loads from the pointer it was given.
///
/// Promises: every load listed starts at that offset of the segment. Loads through pointers that are not followed, and
/// vector loads, are not seen: the absence of a load proves nothing.
#pragma once

#include "object/code_object.h"
#include "program/program.h"

#include <cstdint>
#include <vector>

namespace asmevo::program {

struct KernargRead {
  std::uint64_t address = 0; ///< of the instruction
  std::uint32_t offset = 0;  ///< into the segment, bytes
  std::uint32_t bytes = 0;
};

/// In the order of ValueNumbers' walk. Needs complete instructions. Empty where the kernel gets no kernarg pointer.
std::vector<KernargRead> kernargReads(const object::CodeObject& object, const Program& program, std::size_t kernel);

} // namespace asmevo::program
