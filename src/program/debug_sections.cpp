#include "program/debug_sections.h"

#include <llvm/BinaryFormat/ELF.h>

#include <cstddef>
#include <cstring>

namespace asmevo::program {

namespace elf = llvm::ELF;

namespace {
bool isDebug(const object::Section& section) {
  return (section.flags & elf::SHF_ALLOC) == 0 && section.type == elf::SHT_PROGBITS &&
         section.name.starts_with(".debug_");
}
} // namespace

void hideDebugSections(const object::CodeObject& object, Bytes& file) {
  if (file.size() < sizeof(elf::Elf64_Ehdr))
    return;
  elf::Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (std::size_t i = 0; i < object.sections().size(); ++i) {
    const std::uint64_t at = header.e_shoff + i * sizeof(elf::Elf64_Shdr) + offsetof(elf::Elf64_Shdr, sh_type);
    if (isDebug(object.sections()[i]) && at <= file.size() - sizeof(elf::Elf64_Word))
      std::memset(file.data() + at, 0, sizeof(elf::Elf64_Word)); // SHT_NULL
  }
}

std::vector<std::string> hiddenDebugSections(const object::CodeObject& before, const object::CodeObject& after) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < before.sections().size() && i < after.sections().size(); ++i)
    if (isDebug(before.sections()[i]) && after.sections()[i].type == elf::SHT_NULL)
      names.push_back(before.sections()[i].name);
  return names;
}

} // namespace asmevo::program
