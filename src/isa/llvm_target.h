/// LLVM's AMDGPU target, set up once, and the features a target id asks for.
#pragma once

#include "object/target.h"

#include <string>

namespace llvm {
class Target;
}

namespace asmevo::isa {

inline constexpr const char* tripleName = "amdgcn-amd-amdhsa";

/// Null if this LLVM has no AMDGPU target.
const llvm::Target* amdgcnTarget();

/// "+xnack,-sramecc": only what is fixed.
std::string featureString(const object::Target& target);

} // namespace asmevo::isa
