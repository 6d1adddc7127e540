#include "object/host_growth.h"

#include "object/bundle.h"
#include "support/round_up.h"

#include <algorithm>
#include <cstring>

namespace asmevo::object {

namespace elf = llvm::ELF;

namespace {

/// The largest hole in the file that keeps file offsets and addresses in step.
constexpr std::uint64_t largestHole = 64U << 20;
constexpr std::uint64_t largestAlignment = 2U << 20;

template <class T> Bytes bytesOf(const T& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T> Bytes bytesOf(const std::vector<T>& table) {
  Bytes bytes(table.size() * sizeof(T));
  std::memcpy(bytes.data(), table.data(), bytes.size());
  return bytes;
}

struct Place {
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t alignment = pageSize;
};

class Growth {
 public:
  Growth(const HostFile& program, const ByteSource& bytes, FilePatches& out)
      : host(program), source(bytes), patches(out) {}

  Result<std::uint64_t> run(std::uint64_t begin, std::uint64_t size, Bytes contents) {
    ASMEVO_TRY(const Place place, placeSegment());
    const std::uint64_t headers = roundUp((host.segments().size() + 1) * sizeof(elf::Elf64_Phdr), pageSize);
    const std::uint64_t address = place.address + headers;
    if (address > INT64_MAX - contents.size())
      return refused("{}: no room in the address space", source.name());
    ASMEVO_CHECK(repoint(begin, size, address));
    writeHeaders(place, headers, contents.size());
    ASMEVO_CHECK(repointSymbols(begin, address));
    patches.overwrite(place.offset + headers, std::move(contents));
    patches.zero(host.base() + (*host.offsetOf(begin, size)), size);
    return address;
  }

 private:
  Result<Place> placeSegment() const {
    const elf::Elf64_Ehdr& header = host.header();
    if (host.segments().size() + 1 >= elf::PN_XNUM)
      return refused("{}: {} program headers: there can be no more", source.name(), host.segments().size());
    Place place;
    const elf::Elf64_Phdr* first = nullptr;
    std::uint64_t top = 0;
    for (const elf::Elf64_Phdr& segment : host.segments()) {
      if (segment.p_type != elf::PT_LOAD)
        continue;
      if (segment.p_vaddr + segment.p_memsz < segment.p_vaddr || segment.p_vaddr + segment.p_memsz > INT64_MAX)
        return refused("{}: a segment reaches over the end of the address space", source.name());
      if (!first || segment.p_vaddr < first->p_vaddr)
        first = &segment;
      top = std::max(top, segment.p_vaddr + segment.p_memsz);
      place.alignment = std::max(place.alignment, segment.p_align);
    }
    if (!first || header.e_phentsize != sizeof(elf::Elf64_Phdr))
      return refused("{}: no loaded segment", source.name());
    if (place.alignment > largestAlignment || (place.alignment & (place.alignment - 1)) != 0)
      return refused("{}: segments aligned to 0x{:x}", source.name(), place.alignment);
    const std::uint64_t inStep = first->p_vaddr - first->p_offset;
    const std::uint64_t fileEnd = roundUp(source.size(), place.alignment);
    if (first->p_vaddr >= first->p_offset && inStep % place.alignment == 0 && top > inStep) {
      place.offset = std::max(fileEnd, roundUp(top - inStep, place.alignment));
      place.address = place.offset + inStep;
      if (place.offset - fileEnd <= largestHole)
        return place;
    }
    place.offset = fileEnd;
    place.address = roundUp(top, place.alignment);
    return place;
  }

  /// Makes everything that points to the old bundle point to the new one.
  Status repoint(std::uint64_t begin, std::uint64_t size, std::uint64_t address) {
    ASMEVO_TRY(const auto wrappers, host.wrappers());
    ASMEVO_TRY(const auto pointers, host.pointersInto(begin, begin + size));
    const bool movable = host.header().e_type == elf::ET_DYN;
    std::vector<std::uint64_t> words; // repointed, so that no word is written twice
    for (const PointerRelocation& pointer : pointers) {
      if (pointer.value != begin)
        return refused("{}: the word at 0x{:x} points into the bundle at 0x{:x} and not to its start: it cannot move",
                       source.name(), pointer.word, begin);
      patches.overwrite(pointer.offset + offsetof(elf::Elf64_Rela, r_addend), bytesOf(address));
      // Some linkers store the value in the word too; what was there stays in step with the relocation.
      if (const auto offset = host.offsetOf(pointer.word, sizeof(std::uint64_t))) {
        ASMEVO_TRY(const Bytes stored, source.read(host.base() + *offset, sizeof(std::uint64_t)));
        if (stored == bytesOf(begin))
          patches.overwrite(host.base() + *offset, bytesOf(address));
      }
      words.push_back(pointer.word);
    }
    std::size_t found = 0;
    for (const FatBinaryWrapper& wrapper : wrappers) {
      if (wrapper.target != begin)
        continue;
      ++found;
      const std::uint64_t word = wrapper.address + 8;
      if (std::find(words.begin(), words.end(), word) != words.end())
        continue;
      if (movable) {
        ASMEVO_TRY(const bool packed, host.hasPackedRelocation(word));
        if (!packed)
          return refused(
              "{}: the pointer of the wrapper at 0x{:x} has no relocation that is understood (ELF machine {})",
              source.name(), wrapper.address, host.header().e_machine);
      }
      patches.overwrite(wrapper.fieldOffset, bytesOf(address));
    }
    if (found == 0)
      return refused("{}: no wrapper in .hipFatBinSegment points to the bundle at address 0x{:x}: it cannot grow",
                     source.name(), begin);
    return {};
  }

  void writeHeaders(const Place& place, std::uint64_t headers, std::uint64_t size) {
    std::vector<elf::Elf64_Phdr> table = host.segments();
    elf::Elf64_Phdr load{};
    load.p_type = elf::PT_LOAD;
    load.p_flags = elf::PF_R;
    load.p_offset = place.offset;
    load.p_vaddr = load.p_paddr = place.address;
    load.p_filesz = load.p_memsz = headers + size;
    load.p_align = place.alignment;
    for (elf::Elf64_Phdr& segment : table)
      if (segment.p_type == elf::PT_PHDR) {
        segment.p_offset = place.offset;
        segment.p_vaddr = segment.p_paddr = place.address;
        segment.p_filesz = segment.p_memsz = (table.size() + 1) * sizeof(elf::Elf64_Phdr);
      }
    // Loaded segments come in the order of their addresses: behind the last one.
    const auto last = std::find_if(table.rbegin(), table.rend(),
                                   [](const elf::Elf64_Phdr& segment) { return segment.p_type == elf::PT_LOAD; });
    table.insert(last.base(), load);
    patches.overwrite(place.offset, bytesOf(table));

    elf::Elf64_Ehdr header = host.header();
    header.e_phoff = place.offset;
    header.e_phnum = static_cast<std::uint16_t>(table.size());
    const auto& sections = host.sections();
    const auto old = std::find_if(sections.begin(), sections.end(),
                                  [](const HostFile::Section& section) { return section.name == ".hip_fatbin"; });
    if (old != sections.end() && sections.size() + 1 < elf::SHN_LORESERVE) {
      std::vector<elf::Elf64_Shdr> list;
      for (const HostFile::Section& section : sections)
        list.push_back(section.header);
      elf::Elf64_Shdr fresh = old->header;
      fresh.sh_type = elf::SHT_PROGBITS;
      fresh.sh_flags = elf::SHF_ALLOC;
      fresh.sh_addr = place.address + headers;
      fresh.sh_offset = place.offset + headers;
      fresh.sh_size = size;
      fresh.sh_addralign = pageSize;
      list.push_back(fresh);
      header.e_shoff = roundUp(place.offset + headers + size, 8);
      header.e_shnum = static_cast<std::uint16_t>(list.size());
      newSection = static_cast<std::uint16_t>(list.size() - 1);
      patches.overwrite(header.e_shoff, bytesOf(list));
    }
    patches.overwrite(host.base(), bytesOf(header));
  }

  /// Symbols that name the bundle (`__hip_fatbin` and its kin) move along.
  Status repointSymbols(std::uint64_t begin, std::uint64_t address) {
    constexpr std::uint64_t chunk = 8192;
    std::uint64_t tables = 0;
    for (const HostFile::Section& section : host.sections()) {
      if (section.header.sh_type != elf::SHT_SYMTAB && section.header.sh_type != elf::SHT_DYNSYM)
        continue;
      tables += section.header.sh_size;
      if (tables > host.size())
        return badInput("{}: symbol tables overlap", source.name());
      const std::uint64_t count = section.header.sh_size / sizeof(elf::Elf64_Sym);
      for (std::uint64_t first = 0; first < count; first += chunk) {
        const std::uint64_t offset = host.base() + section.header.sh_offset + first * sizeof(elf::Elf64_Sym);
        ASMEVO_TRY(const Bytes raw, source.read(offset, std::min(chunk, count - first) * sizeof(elf::Elf64_Sym)));
        for (std::size_t at = 0; at < raw.size(); at += sizeof(elf::Elf64_Sym)) {
          elf::Elf64_Sym symbol{};
          std::memcpy(&symbol, raw.data() + at, sizeof symbol);
          if (symbol.st_value != begin || symbol.st_shndx == elf::SHN_UNDEF || symbol.st_shndx >= elf::SHN_LORESERVE ||
              symbol.getType() == elf::STT_SECTION || symbol.st_shndx >= host.sections().size() ||
              host.sections()[symbol.st_shndx].name != ".hip_fatbin")
            continue;
          symbol.st_value = address;
          if (newSection != 0)
            symbol.st_shndx = newSection;
          patches.overwrite(offset + at, bytesOf(symbol));
        }
      }
    }
    return {};
  }

  const HostFile& host;
  const ByteSource& source;
  FilePatches& patches;
  std::uint16_t newSection = 0;
};

} // namespace

Result<std::uint64_t> growHost(const HostFile& host, const ByteSource& source, std::uint64_t begin, std::uint64_t size,
                               Bytes contents, FilePatches& patches) {
  if (host.base() != 0 || !host.isLinked() || !host.offsetOf(begin, size))
    return refused("{}: only a linked host program can get a new segment", source.name());
  return Growth(host, source, patches).run(begin, size, std::move(contents));
}

} // namespace asmevo::object
