/// Printing everything of a code object that is not code.
#pragma once

#include "object/code_object.h"
#include "program/labels.h"
#include "support/result.h"

#include <optional>
#include <span>
#include <string>

namespace asmevo::program {

/// True for sections that a linker makes itself (symbol tables, hashes, dynamic, relocations, got).
bool isMadeByLinker(const object::Section& section);

/// The .section directive with flags and alignment.
std::string sectionDirective(const object::Section& section);

/// Label lines for an address: directives, sizes and labels of its symbols.
std::string labelLines(const Labels& labels, std::uint64_t address, bool inCode);

/// A data section: symbols, descriptors field by field with their decoded meaning, relocations, bytes.
Result<std::string> printDataSection(const object::CodeObject& object, const object::Section& section,
                                     const Labels& labels);

/// Asks `labels` for every place that the data sections refer to.
void requireDataReferences(const object::CodeObject& object, Labels& labels);

/// NT_AMDGPU_METADATA: as .amdgpu_metadata where the assembler makes the same bytes of it, else as a raw note.
std::string printMetadata(const object::CodeObject& object);

/// The msgpack document that LLVM's assembler makes of metadata in YAML; nothing if it would refuse it.
std::optional<std::string> assembledMetadata(const std::string& yaml);

/// What a slot of .got holds: the name to use with @gotpcrel32. Empty if unknown.
std::string gotSymbol(const object::CodeObject& object, std::uint64_t slot);

/// `bytes` as .long and .byte lines.
std::string byteLines(std::span<const std::uint8_t> bytes);

} // namespace asmevo::program
