/// Kernel descriptors as .amdhsa_ directives, and back. LLVM's assembler, run in this process, is what turns directives
/// into bytes, so that a printed block means the same to stock tools.
#pragma once

#include "object/kernel_descriptor.h"
#include "object/target.h"
#include "support/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asmevo::program {

/// Directives (".amdhsa_next_free_vgpr") with their values, in the order of writing.
using DescriptorDirectives = std::vector<std::pair<std::string, std::uint64_t>>;

/// What .amdhsa_code_object_version an object of that EI_ABIVERSION is written with.
unsigned codeObjectVersion(std::uint8_t abiVersion);

/// Directives of which the assembler makes exactly these bytes (but for the entry offset, which the linker fills in);
/// nothing for a descriptor with bits that no directive sets.
std::optional<DescriptorDirectives> descriptorDirectives(const object::Target& target, std::uint8_t abiVersion,
                                                         const object::KernelDescriptor& descriptor);

/// What the assembler makes of the directives; the entry offset is 0. Names must be of the form .amdhsa_[a-z0-9_]+.
Result<object::KernelDescriptor> assembleDescriptor(const object::Target& target, std::uint8_t abiVersion,
                                                    const DescriptorDirectives& directives);

} // namespace asmevo::program
