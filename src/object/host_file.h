/// The parts of a host ELF file (executable, shared library, object) that matter to the device code inside it: where
/// `.hip_fatbin` lies, and which words of memory point into it.
#pragma once

#include "support/byte_source.h"

#include <llvm/BinaryFormat/ELF.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::object {

/// A `__CudaFatBinaryWrapper` of `.hipFatBinSegment`: what the program hands to __hipRegisterFatBinary. Its pointer is
/// set when the file is linked (executables at fixed addresses) or by a dynamic relocation.
struct FatBinaryWrapper {
  std::uint64_t address = 0;     ///< of the wrapper
  std::uint64_t fieldOffset = 0; ///< file offset of its pointer
  std::uint64_t stored = 0;      ///< the pointer as the file has it
  std::uint64_t target = 0;      ///< the pointer as the program sees it, load address 0
};

/// A dynamic relocation that fills a word with an address of this file.
struct PointerRelocation {
  std::uint64_t word = 0;   ///< virtual address of the word
  std::uint64_t value = 0;  ///< what it points to
  std::uint64_t offset = 0; ///< file offset of the Elf64_Rela
};

class HostFile {
 public:
  struct Section {
    std::string name;
    llvm::ELF::Elf64_Shdr header;
  };

  /// Reads headers of the ELF64 little-endian file of `size` bytes at `base` of `source`. Names and counts are checked
  /// against the file before anything is allocated.
  static Result<HostFile> read(ByteSource source, std::uint64_t base, std::uint64_t size);

  const llvm::ELF::Elf64_Ehdr& header() const { return elfHeader; }
  const std::vector<Section>& sections() const { return sectionList; }
  const std::vector<llvm::ELF::Elf64_Phdr>& segments() const { return segmentList; }
  std::uint64_t base() const { return start; }
  std::uint64_t size() const { return length; }
  /// Executable or shared library, as opposed to an object the linker has still to place.
  bool isLinked() const;

  /// Virtual address of a file offset (relative to base) and back, by program headers.
  std::optional<std::uint64_t> addressOf(std::uint64_t offset) const;
  std::optional<std::uint64_t> offsetOf(std::uint64_t address, std::uint64_t bytes) const;

  /// All wrappers of a linked file, in address order.
  Result<std::vector<FatBinaryWrapper>> wrappers() const;
  /// Dynamic relocations whose value lies in [begin, end).
  Result<std::vector<PointerRelocation>> pointersInto(std::uint64_t begin, std::uint64_t end) const;
  /// Dynamic relocations that fill words in [begin, end).
  Result<std::vector<PointerRelocation>> pointersAt(std::uint64_t begin, std::uint64_t end) const;
  /// Whether a packed relative relocation (SHT_RELR) covers the word: its value is stored in the word itself.
  Result<bool> hasPackedRelocation(std::uint64_t word) const;

 private:
  explicit HostFile(ByteSource file) : source(std::move(file)) {}
  Status readHeaders();
  template <class Keep> Result<std::vector<PointerRelocation>> relocations(Keep keep) const;

  ByteSource source;
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  llvm::ELF::Elf64_Ehdr elfHeader{};
  std::vector<Section> sectionList;
  std::vector<llvm::ELF::Elf64_Phdr> segmentList;
};

} // namespace asmevo::object
