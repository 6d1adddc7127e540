/// The target id of a code object, from e_flags and EI_ABIVERSION.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>

namespace asmevo::object {

/// Setting of an optional target feature (LLVM AMDGPUUsage, "Target Features").
enum class Feature { unsupported, any, off, on };

struct Target {
  std::string processor; ///< "gfx942", "gfx9-4-generic"
  Feature xnack = Feature::unsupported;
  Feature sramecc = Feature::unsupported;
  unsigned genericVersion = 0; ///< of a generic target (code object v6), else 0

  /// "gfx942:sramecc+:xnack-": features that are `any` or unsupported are left out.
  std::string id() const;
  /// "amdgcn-amd-amdhsa--gfx942:xnack-", as .amdgcn_target and amdhsa.target spell it.
  std::string isaName() const;
  /// Lanes of a wavefront when the descriptor does not choose wave32.
  bool isGfx9() const { return processor.rfind("gfx9", 0) == 0; }
  /// One physical file for VGPRs and AGPRs (gfx90a and later).
  bool hasUnifiedRegisterFile() const;
};

/// Target from ELF header fields. An unknown e_machine subtype is badInput.
Result<Target> targetFromElf(std::uint32_t elfFlags, std::uint8_t abiVersion);

} // namespace asmevo::object
