/// Whole assembly files to relocatable objects, in this process. For text of our own making only: it may hold any
/// directive, those that read files included.
#pragma once

#include "object/target.h"
#include "support/file_io.h"
#include "support/result.h"

#include <string>

namespace asmevo::isa {

/// An ET_REL object. Errors (badInput) carry LLVM's first diagnostic with its line.
Result<Bytes> assembleObject(const object::Target& target, const std::string& text);

} // namespace asmevo::isa
