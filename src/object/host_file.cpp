#include "object/host_file.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace asmevo::object {

namespace elf = llvm::ELF;

namespace {

constexpr std::string_view wrapperSection = ".hipFatBinSegment";
constexpr std::uint32_t wrapperMagic = 0x48495046; // "HIPF", __hip_fatbin_wrapper of clang's CGCUDANV.cpp
constexpr std::uint64_t wrapperSize = 24;          // magic, version, pointer, unused pointer
constexpr std::uint64_t pointerField = 8;
constexpr std::uint64_t largestTable = 64U << 20; ///< section names, wrappers, packed relocations
constexpr std::uint64_t relaChunk = 8192;         ///< entries read at once

/// The relocation "load address + addend" of the machines HIP runs on.
std::optional<std::uint32_t> relativeType(std::uint16_t machine) {
  switch (machine) {
  case elf::EM_X86_64:
    return elf::R_X86_64_RELATIVE;
  case elf::EM_AARCH64:
    return elf::R_AARCH64_RELATIVE;
  default:
    return std::nullopt;
  }
}

template <class T>
Result<std::vector<T>> readTable(const ByteSource& source, std::uint64_t offset, std::uint64_t count) {
  std::vector<T> table;
  if (count > source.size() / sizeof(T) || !source.holds(offset, count * sizeof(T)))
    return badInput("{}: a table of {} entries of {} bytes at 0x{:x} lies outside the file of {}", source.name(), count,
                    sizeof(T), offset, source.size());
  table.resize(count);
  ASMEVO_CHECK(source.read(offset, std::span(reinterpret_cast<std::uint8_t*>(table.data()), count * sizeof(T))));
  return table;
}

} // namespace

Result<HostFile> HostFile::read(ByteSource source, std::uint64_t base, std::uint64_t size) {
  HostFile file(std::move(source));
  file.start = base;
  file.length = size;
  ASMEVO_CHECK(file.readHeaders());
  return file;
}

bool HostFile::isLinked() const {
  return elfHeader.e_type == elf::ET_EXEC || elfHeader.e_type == elf::ET_DYN;
}

Status HostFile::readHeaders() {
  const auto bad = [&](std::string text) { return badInput("{}: {}", source.name(), text); };
  if (length < sizeof elfHeader)
    return bad(fmt::format("{} bytes: cut off inside the ELF header of {}", length, sizeof elfHeader));
  ASMEVO_TRY(const auto headers, readTable<elf::Elf64_Ehdr>(source, start, 1));
  elfHeader = headers.front();
  if (!elfHeader.checkMagic() || elfHeader.getFileClass() != elf::ELFCLASS64 ||
      elfHeader.getDataEncoding() != elf::ELFDATA2LSB)
    return bad("not a 64-bit little-endian ELF file");
  const auto inside = [&](std::uint64_t offset, std::uint64_t count, std::uint64_t entry) {
    return count <= length / entry && offset <= length && count * entry <= length - offset;
  };
  if (elfHeader.e_phnum != 0) {
    if (elfHeader.e_phentsize != sizeof(elf::Elf64_Phdr) ||
        !inside(elfHeader.e_phoff, elfHeader.e_phnum, sizeof(elf::Elf64_Phdr)))
      return bad(fmt::format("{} program headers at 0x{:x} lie outside the file of {} bytes", elfHeader.e_phnum,
                             elfHeader.e_phoff, length));
    ASMEVO_TRY(segmentList, readTable<elf::Elf64_Phdr>(source, start + elfHeader.e_phoff, elfHeader.e_phnum));
  }
  if (elfHeader.e_shoff == 0)
    return {};
  if (elfHeader.e_shentsize != sizeof(elf::Elf64_Shdr) || !inside(elfHeader.e_shoff, 1, sizeof(elf::Elf64_Shdr)))
    return bad(fmt::format("section headers at 0x{:x} lie outside the file of {} bytes", elfHeader.e_shoff, length));
  ASMEVO_TRY(const auto zeroth, readTable<elf::Elf64_Shdr>(source, start + elfHeader.e_shoff, 1));
  const std::uint64_t count = elfHeader.e_shnum != 0 ? elfHeader.e_shnum : zeroth[0].sh_size;
  if (!inside(elfHeader.e_shoff, count, sizeof(elf::Elf64_Shdr)))
    return bad(fmt::format("{} section headers at 0x{:x} lie outside the file of {} bytes: it may be cut off", count,
                           elfHeader.e_shoff, length));
  ASMEVO_TRY(const auto raw, readTable<elf::Elf64_Shdr>(source, start + elfHeader.e_shoff, count));
  for (const elf::Elf64_Shdr& section : raw)
    if (section.sh_type != elf::SHT_NOBITS && section.sh_type != elf::SHT_NULL &&
        !inside(section.sh_offset, section.sh_size, 1))
      return bad(fmt::format("a section of {} bytes at 0x{:x} lies outside the file of {} bytes", section.sh_size,
                             section.sh_offset, length));
  const std::uint64_t namesIndex = elfHeader.e_shstrndx != elf::SHN_XINDEX ? elfHeader.e_shstrndx : zeroth[0].sh_link;
  Bytes names;
  if (namesIndex < count && raw[namesIndex].sh_type == elf::SHT_STRTAB && raw[namesIndex].sh_size <= largestTable) {
    ASMEVO_TRY(names, source.read(start + raw[namesIndex].sh_offset, raw[namesIndex].sh_size));
  }
  // A name longer than any that matters is cut: a small file must not claim unbounded memory.
  constexpr std::size_t longestName = 256;
  for (const elf::Elf64_Shdr& section : raw) {
    const std::size_t from = std::min<std::size_t>(section.sh_name, names.size());
    const std::size_t to = std::min(names.size(), from + longestName);
    const auto end = std::find(names.begin() + static_cast<std::ptrdiff_t>(from),
                               names.begin() + static_cast<std::ptrdiff_t>(to), 0);
    sectionList.push_back({std::string(names.begin() + static_cast<std::ptrdiff_t>(from), end), section});
  }
  return {};
}

std::optional<std::uint64_t> HostFile::addressOf(std::uint64_t offset) const {
  for (const elf::Elf64_Phdr& segment : segmentList)
    if (segment.p_type == elf::PT_LOAD && offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz)
      return segment.p_vaddr + (offset - segment.p_offset);
  return std::nullopt;
}

std::optional<std::uint64_t> HostFile::offsetOf(std::uint64_t address, std::uint64_t bytes) const {
  for (const elf::Elf64_Phdr& segment : segmentList) {
    if (segment.p_type != elf::PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
      continue;
    const std::uint64_t within = address - segment.p_vaddr;
    if (bytes > segment.p_filesz - within || segment.p_offset > length || segment.p_filesz > length - segment.p_offset)
      continue;
    return segment.p_offset + within;
  }
  return std::nullopt;
}

template <class Keep> Result<std::vector<PointerRelocation>> HostFile::relocations(Keep keep) const {
  std::vector<PointerRelocation> found;
  const auto type = relativeType(elfHeader.e_machine);
  if (!type)
    return found;
  std::uint64_t tables = 0;
  for (const Section& section : sectionList) {
    const elf::Elf64_Shdr& table = section.header;
    if (table.sh_type != elf::SHT_RELA || (table.sh_flags & elf::SHF_ALLOC) == 0)
      continue;
    // Many section headers can claim the same bytes.
    tables += table.sh_size;
    if (tables > length)
      return badInput("{}: more relocations than the file has room for", source.name());
    const std::uint64_t count = table.sh_size / sizeof(elf::Elf64_Rela);
    for (std::uint64_t first = 0; first < count; first += relaChunk) {
      const std::uint64_t offset = start + table.sh_offset + first * sizeof(elf::Elf64_Rela);
      ASMEVO_TRY(const auto entries, readTable<elf::Elf64_Rela>(source, offset, std::min(relaChunk, count - first)));
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].getType() != *type)
          continue;
        const PointerRelocation pointer{entries[i].r_offset, static_cast<std::uint64_t>(entries[i].r_addend),
                                        offset + i * sizeof(elf::Elf64_Rela)};
        if (keep(pointer))
          found.push_back(pointer);
      }
    }
  }
  return found;
}

Result<std::vector<PointerRelocation>> HostFile::pointersInto(std::uint64_t begin, std::uint64_t end) const {
  return relocations([&](const PointerRelocation& p) { return p.value >= begin && p.value < end; });
}

Result<std::vector<PointerRelocation>> HostFile::pointersAt(std::uint64_t begin, std::uint64_t end) const {
  return relocations([&](const PointerRelocation& p) { return p.word >= begin && p.word < end; });
}

Result<bool> HostFile::hasPackedRelocation(std::uint64_t word) const {
  for (const Section& section : sectionList) {
    if (section.header.sh_type != elf::SHT_RELR || (section.header.sh_flags & elf::SHF_ALLOC) == 0 ||
        section.header.sh_size > largestTable)
      continue;
    ASMEVO_TRY(const auto entries, readTable<std::uint64_t>(source, start + section.header.sh_offset,
                                                            section.header.sh_size / sizeof(std::uint64_t)));
    // An even entry is an address; an odd one has a bit for each of the 63 words behind what came before.
    std::uint64_t next = 0;
    for (const std::uint64_t entry : entries) {
      if ((entry & 1) == 0) {
        if (entry == word)
          return true;
        next = entry + 8;
        continue;
      }
      if (word >= next && word - next < 63 * 8 && (word - next) % 8 == 0 &&
          ((entry >> (1 + (word - next) / 8)) & 1) != 0)
        return true;
      next += 63 * 8;
    }
  }
  return false;
}

Result<std::vector<FatBinaryWrapper>> HostFile::wrappers() const {
  std::vector<FatBinaryWrapper> found;
  if (!isLinked())
    return found;
  std::uint64_t read = 0;
  for (const Section& section : sectionList) {
    const elf::Elf64_Shdr& home = section.header;
    if (section.name != wrapperSection || home.sh_type == elf::SHT_NOBITS)
      continue;
    read += std::min(home.sh_size, length + 1);
    if (read > std::min(length, largestTable))
      return badInput("{}: {} sections of {} bytes and more", source.name(), wrapperSection, largestTable);
    ASMEVO_TRY(const Bytes contents, source.read(start + home.sh_offset, home.sh_size));
    ASMEVO_TRY(const auto pointers, pointersAt(home.sh_addr, home.sh_addr + home.sh_size));
    std::map<std::uint64_t, std::uint64_t> byWord;
    for (const PointerRelocation& pointer : pointers)
      byWord[pointer.word] = pointer.value;
    for (std::uint64_t at = 0; at + wrapperSize <= contents.size(); at += 8) {
      std::uint32_t magic = 0;
      std::memcpy(&magic, contents.data() + at, sizeof magic);
      if (magic != wrapperMagic)
        continue;
      FatBinaryWrapper wrapper;
      wrapper.address = home.sh_addr + at;
      wrapper.fieldOffset = start + home.sh_offset + at + pointerField;
      std::memcpy(&wrapper.stored, contents.data() + at + pointerField, sizeof wrapper.stored);
      wrapper.target = wrapper.stored;
      const auto pointer = byWord.find(wrapper.address + pointerField);
      if (pointer != byWord.end())
        wrapper.target = pointer->second;
      found.push_back(wrapper);
      at += wrapperSize - 8;
    }
  }
  std::sort(found.begin(), found.end(),
            [](const FatBinaryWrapper& a, const FatBinaryWrapper& b) { return a.address < b.address; });
  return found;
}

} // namespace asmevo::object
