/// An AMDGPU code object: bytes in, a checked view out. Everything not understood survives byte for byte.
#pragma once

#include "object/kernel_descriptor.h"
#include "object/metadata.h"
#include "object/target.h"
#include "support/file_io.h"
#include "support/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace asmevo::object {

/// A section header with its name. `offset`/`size` are checked to lie inside the file (but for SHT_NOBITS).
struct Section {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t alignment = 0;
  std::uint64_t entrySize = 0;

  bool isCode() const;
  bool contains(std::uint64_t virtualAddress) const {
    return virtualAddress >= address && virtualAddress - address < size;
  }
};

/// A program header.
struct Segment {
  std::uint32_t type = 0;
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t fileSize = 0;
  std::uint64_t memorySize = 0;
  std::uint64_t alignment = 0;
};

/// A symbol of .symtab or .dynsym.
struct Symbol {
  std::string name;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  std::uint8_t type = 0;    ///< STT_*
  std::uint8_t binding = 0; ///< STB_*
  std::uint8_t other = 0;
  std::uint16_t sectionIndex = 0;
  bool dynamic = false; ///< from .dynsym
};

/// A relocation (SHT_RELA).
struct Relocation {
  std::uint64_t offset = 0; ///< virtual address patched; in a relocatable file the offset inside `section`
  std::uint32_t type = 0;   ///< R_AMDGPU_*
  std::uint32_t symbol = 0; ///< index into its symbol table
  std::int64_t addend = 0;
  std::uint32_t section = 0;     ///< section patched (sh_info); 0 for dynamic relocations
  std::uint32_t symbolTable = 0; ///< section index of the symbol table (sh_link)
};

/// A kernel: a 64-byte descriptor symbol `<name>.kd` and the code it points to.
struct Kernel {
  std::string name;                    ///< without ".kd"
  std::uint64_t descriptorAddress = 0; ///< virtual address of the descriptor
  std::uint64_t descriptorFileOffset = 0;
  std::uint64_t entryAddress = 0; ///< descriptorAddress + entry offset
  KernelDescriptor descriptor;
  std::optional<KernelMetadata> metadata; ///< absent if the note does not mention the kernel
};

/// A parsed ELF64 little-endian EM_AMDGPU file. Immutable; a rewritten object is a new one.
class CodeObject {
 public:
  /// Parses and checks all headers, tables, descriptors and notes. Never reads out of bounds on hostile input.
  /// Errors (badInput) name `name`, the offset and what is wrong.
  static Result<CodeObject> parse(Bytes bytes, std::string name);

  /// Reads and parses a code object, also one inside a container (bundle, host program, archive: see container.h) if
  /// just one is there or `path` says which: "lib.so#3:gfx90a:xnack+" is that of bundle 3 for that target.
  static Result<CodeObject> load(const std::string& path);

  const std::string& name() const { return fileName; }
  std::span<const std::uint8_t> bytes() const { return data; }
  const Target& target() const { return targetId; }
  std::uint16_t elfType() const { return type; }   ///< ET_DYN, ET_REL
  std::uint8_t abiVersion() const { return abi; }  ///< EI_ABIVERSION
  std::uint32_t flags() const { return elfFlags; } ///< e_flags
  const std::vector<Section>& sections() const { return sectionList; }
  const std::vector<Segment>& segments() const { return segmentList; }
  const std::vector<Symbol>& symbols() const { return symbolList; }
  const std::vector<Relocation>& relocations() const { return relocationList; }
  const std::vector<Kernel>& kernels() const { return kernelList; }
  /// All of the metadata note as YAML text ("" if there is none).
  const std::string& metadataText() const { return metadataYaml; }
  /// amdhsa.target of the note, or "".
  const std::string& metadataTargetId() const { return metadataTarget; }
  /// File range of the msgpack document of NT_AMDGPU_METADATA.
  struct FileRange {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  std::optional<FileRange> metadataNote() const { return note; }

  /// The kernel of that name; with an empty name the only one. Errors list the kernels there are.
  Result<const Kernel*> findKernel(const std::string& kernelName) const;

  /// File contents of a section (empty for SHT_NOBITS).
  std::span<const std::uint8_t> contents(const Section& section) const;
  /// The executable sections, in address order.
  std::vector<const Section*> codeSections() const;
  /// File offset of a virtual address inside some allocated section with contents.
  std::optional<std::uint64_t> fileOffset(std::uint64_t virtualAddress) const;
  /// The symbol a relocation refers to, or null.
  const Symbol* relocationSymbol(const Relocation& relocation) const;

 private:
  friend class Parser;
  std::string fileName;
  Bytes data;
  Target targetId;
  std::uint16_t type = 0;
  std::uint8_t abi = 0;
  std::uint32_t elfFlags = 0;
  std::vector<Section> sectionList;
  std::vector<Segment> segmentList;
  std::vector<Symbol> symbolList;
  std::vector<Relocation> relocationList;
  std::vector<Kernel> kernelList;
  std::string metadataYaml;
  std::string metadataTarget;
  std::optional<FileRange> note;
};

} // namespace asmevo::object
