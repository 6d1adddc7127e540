/// The target id of a code object, from e_flags and EI_ABIVERSION.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

/// Target of an id as bundles and `--target` spell it: "gfx90a:sramecc+:xnack-". Features that the id leaves out are
/// `any` where the processor has them. An unknown processor or feature is a usage error.
Result<Target> parseTargetId(std::string_view id);

/// Whether a processor is one that a generic target stands for (LLVM AMDGPUUsage, "AMDGPU Generic Processors").
bool genericCovers(std::string_view generic, std::string_view processor);

/// Why code for `code` does not run on `device`, or nothing if it does: the processor is the same or covered by a
/// generic target, and a feature that the code fixes has that setting on the device (LLVM AMDGPUUsage, "Target ID").
/// A feature that `device` leaves `any` is not held against the code.
std::optional<std::string> whyNotOn(const Target& code, const Target& device);

/// Target from ELF header fields. An unknown e_machine subtype is badInput.
Result<Target> targetFromElf(std::uint32_t elfFlags, std::uint8_t abiVersion);

} // namespace asmevo::object
