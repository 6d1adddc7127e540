/// Linking of relocatable code objects (ET_REL), as a separate ld.lld process: a linker error or crash on a hostile
/// file must not take this process with it.
#pragma once

#include "object/code_object.h"

namespace asmevo::object {

/// The loadable code object that `ld.lld -shared` makes of a relocatable one. Finds ld.lld-22 or ld.lld in PATH or in
/// LLVM's and ROCm's usual places. Errors: not a relocatable (usage), no linker (internal), symbols that nothing
/// defines or whatever else the linker says (refused).
Result<Bytes> linkRelocatable(const CodeObject& object);

} // namespace asmevo::object
