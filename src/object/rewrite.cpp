#include "object/rewrite.h"

#include "object/layout.h"
#include "object/note_growth.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <cstring>

namespace asmevo::object {

namespace elf = llvm::ELF;

std::uint64_t AddressPlan::shiftOf(std::uint64_t oldAddress) const {
  std::uint64_t shift = 0;
  for (const Step& step : steps)
    if (step.from <= oldAddress)
      shift = step.shift;
  return shift;
}

std::uint64_t AddressPlan::map(std::uint64_t oldAddress) const {
  for (const Code& range : code) {
    if (oldAddress < range.begin || oldAddress > range.end || (oldAddress == range.end && range.followed))
      continue;
    if (oldAddress == range.end)
      return range.newEnd + shiftOf(range.begin);
    return (moved ? moved(oldAddress) : oldAddress) + shiftOf(range.begin);
  }
  return oldAddress + shiftOf(oldAddress);
}

std::uint64_t AddressPlan::mapInSection(std::uint64_t oldAddress, std::size_t section) const {
  for (const Code& range : code)
    if (range.section == section && oldAddress == range.end)
      return range.newEnd + shiftOf(range.begin);
  return map(oldAddress);
}

namespace {

/// The rewrite with the metadata note as one of its sections, if that has to grow.
Result<Rewrite> withNote(const CodeObject& object, const Rewrite& rewrite) {
  Rewrite all = rewrite;
  ASMEVO_TRY(auto note, grownNote(object, rewrite.metadata));
  if (note) {
    all.code.push_back(std::move(*note));
    all.metadata.clear();
  }
  return all;
}

} // namespace

Status checkMetadata(const CodeObject& object, const std::vector<Rewrite::Field>& fields) {
  ASMEVO_TRY(const auto grown, grownNote(object, fields));
  (void)grown;
  return {};
}

Result<AddressPlan> planAddresses(const CodeObject& object, const Rewrite& request) {
  ASMEVO_TRY(const Rewrite rewrite, withNote(object, request));
  ASMEVO_TRY(const Layout layout, planLayout(object, rewrite));
  AddressPlan plan;
  plan.moved = rewrite.moved;
  std::uint64_t shift = 0;
  for (const MoveMap::Resize& resize : layout.memory.resizes()) {
    shift += resize.shift;
    plan.steps.push_back({resize.oldEnd, shift});
  }
  for (const SectionEdit& edit : rewrite.code) {
    const Section& section = object.sections()[edit.section];
    if (!section.isCode())
      continue;
    const std::uint64_t end = section.address + section.size;
    const bool followed = std::any_of(object.sections().begin(), object.sections().end(), [&](const Section& other) {
      return (other.flags & elf::SHF_ALLOC) != 0 && other.address == end && &other != &section;
    });
    plan.code.push_back({edit.section, section.address, end, section.address + edit.contents.size(), followed});
  }
  return plan;
}

namespace {

constexpr std::uint64_t entryAlignment = 256;
constexpr std::uint32_t noOperation = 0xBF800000; // s_nop 0

bool isAddressTag(std::int64_t tag) {
  switch (tag) {
  case elf::DT_PLTGOT:
  case elf::DT_HASH:
  case elf::DT_STRTAB:
  case elf::DT_SYMTAB:
  case elf::DT_RELA:
  case elf::DT_INIT:
  case elf::DT_FINI:
  case elf::DT_REL:
  case elf::DT_JMPREL:
  case elf::DT_INIT_ARRAY:
  case elf::DT_FINI_ARRAY:
  case elf::DT_PREINIT_ARRAY:
  case elf::DT_SYMTAB_SHNDX:
  case elf::DT_RELR:
  case elf::DT_GNU_HASH:
  case elf::DT_VERSYM:
  case elf::DT_VERDEF:
  case elf::DT_VERNEED:
    return true;
  default:
    return false;
  }
}

bool isAbsolute(std::uint32_t relocationType) {
  return relocationType == elf::R_AMDGPU_ABS64 || relocationType == elf::R_AMDGPU_ABS32 ||
         relocationType == elf::R_AMDGPU_ABS32_LO || relocationType == elf::R_AMDGPU_ABS32_HI;
}

class Writer {
 public:
  Writer(const CodeObject& source, const Rewrite& request, const Layout& where, const AddressPlan& plan)
      : object(source), rewrite(request), layout(where), addresses(plan) {}

  Result<Bytes> run() {
    ASMEVO_CHECK(checkMovable());
    placeContents();
    fixHeaders();
    for (std::size_t i = 0; i < object.sections().size(); ++i) {
      const Section& section = object.sections()[i];
      if (section.type == elf::SHT_SYMTAB || section.type == elf::SHT_DYNSYM)
        fixSymbols(section);
      else if (section.type == elf::SHT_RELA)
        fixRelocations(section);
      else if (section.type == elf::SHT_DYNAMIC)
        fixDynamic(section);
    }
    ASMEVO_CHECK(fixDescriptors());
    ASMEVO_CHECK(patchMetadata());
    return std::move(out);
  }

 private:
  template <class T> T oldAt(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, object.bytes().data() + offset, sizeof value);
    return value;
  }
  template <class T> void put(std::uint64_t newOffset, const T& value) {
    std::memcpy(out.data() + newOffset, &value, sizeof value);
  }

  const SectionEdit* editOf(std::size_t section) const {
    for (const SectionEdit& edit : rewrite.code)
      if (edit.section == section)
        return &edit;
    return nullptr;
  }

  Status checkMovable() const;
  void placeContents();
  void fixHeaders();
  void fixSymbols(const Section& table);
  void fixRelocations(const Section& table);
  void fixDynamic(const Section& table);
  Status fixDescriptors();
  Status patchMetadata();
  std::optional<std::uint64_t> newOffsetOf(std::uint64_t oldAddress) const;

  const CodeObject& object;
  const Rewrite& rewrite;
  const Layout& layout;
  const AddressPlan& addresses;
  Bytes out;
};

Status Writer::checkMovable() const {
  if (layout.memory.isIdentity() && !rewrite.moved)
    return {};
  for (const Section& section : object.sections())
    if ((section.flags & elf::SHF_ALLOC) != 0 &&
        (section.type == elf::SHT_REL || section.type == elf::SHT_RELR || section.type == elf::SHT_CREL))
      return refused("{}: relocations '{}' are of a form that amdgpu does not use; addresses in them cannot be moved",
                     object.name(), section.name);
  return {};
}

void Writer::placeContents() {
  const auto old = object.bytes();
  out.assign(layout.file.end(old.size()), 0);
  std::uint64_t from = 0;
  std::uint64_t shift = 0;
  const auto copyUpTo = [&](std::uint64_t to) {
    if (to > from)
      std::copy(old.begin() + static_cast<std::ptrdiff_t>(from), old.begin() + static_cast<std::ptrdiff_t>(to),
                out.begin() + static_cast<std::ptrdiff_t>(from + shift));
  };
  for (const MoveMap::Resize& resize : layout.file.resizes()) {
    copyUpTo(resize.begin);
    // A shrunk section leaves room, in which code stays code; a grown one covers the gap behind it.
    for (std::uint64_t at = resize.newEnd; at + 4 <= resize.oldEnd; at += 4)
      put(at + shift, noOperation);
    const std::uint64_t newEnd = resize.newEnd + shift;
    shift += resize.shift;
    from = std::max(resize.oldEnd, newEnd > shift ? newEnd - shift : 0);
  }
  copyUpTo(old.size());
  for (const SectionEdit& edit : rewrite.code)
    std::copy(edit.contents.begin(), edit.contents.end(),
              out.begin() + static_cast<std::ptrdiff_t>(layout.file.start(object.sections()[edit.section].offset)));
}

void Writer::fixHeaders() {
  auto header = oldAt<elf::Elf64_Ehdr>(0);
  const std::uint64_t sectionTable = header.e_shoff;
  const std::uint64_t segmentTable = header.e_phoff;
  header.e_shoff = layout.file.start(sectionTable);
  if (header.e_phnum != 0)
    header.e_phoff = layout.file.start(segmentTable);
  if (header.e_entry != 0)
    header.e_entry = addresses.map(header.e_entry);
  put(0, header);

  for (std::size_t i = 0; i < object.sections().size(); ++i) {
    auto raw = oldAt<elf::Elf64_Shdr>(sectionTable + i * sizeof(elf::Elf64_Shdr));
    if (raw.sh_type != elf::SHT_NULL) {
      if ((raw.sh_flags & elf::SHF_ALLOC) != 0)
        raw.sh_addr = layout.memory.start(raw.sh_addr);
      raw.sh_offset = layout.file.start(raw.sh_offset);
      if (const SectionEdit* edit = editOf(i))
        raw.sh_size = edit->contents.size();
    }
    put(header.e_shoff + i * sizeof raw, raw);
  }
  for (std::size_t i = 0; i < object.segments().size(); ++i) {
    auto raw = oldAt<elf::Elf64_Phdr>(segmentTable + i * sizeof(elf::Elf64_Phdr));
    if (raw.p_filesz != 0 || raw.p_memsz != 0) {
      const std::uint64_t fileEnd = layout.file.end(raw.p_offset + raw.p_filesz);
      const std::uint64_t memoryEnd = layout.memory.end(raw.p_vaddr + raw.p_memsz);
      const std::uint64_t physical = raw.p_paddr - raw.p_vaddr;
      raw.p_offset = layout.file.start(raw.p_offset);
      raw.p_vaddr = layout.memory.start(raw.p_vaddr);
      if (raw.p_paddr != 0)
        raw.p_paddr = raw.p_vaddr + physical;
      if (raw.p_filesz != 0)
        raw.p_filesz = fileEnd - raw.p_offset;
      if (raw.p_memsz != 0)
        raw.p_memsz = memoryEnd - raw.p_vaddr;
    }
    put(header.e_phoff + i * sizeof raw, raw);
  }
}

void Writer::fixSymbols(const Section& table) {
  const std::uint64_t base = layout.file.start(table.offset);
  for (std::uint64_t offset = 0; offset < table.size; offset += sizeof(elf::Elf64_Sym)) {
    auto symbol = oldAt<elf::Elf64_Sym>(table.offset + offset);
    const bool reserved = symbol.st_shndx >= elf::SHN_LORESERVE && symbol.st_shndx != elf::SHN_XINDEX;
    if (symbol.st_shndx == elf::SHN_UNDEF || reserved || symbol.getType() == elf::STT_TLS)
      continue;
    const std::size_t home = symbol.st_shndx;
    const std::uint64_t value = addresses.mapInSection(symbol.st_value, home);
    if (symbol.st_size != 0 && editOf(home) && object.sections()[home].isCode())
      symbol.st_size = addresses.mapInSection(symbol.st_value + symbol.st_size, home) - value;
    symbol.st_value = value;
    put(base + offset, symbol);
  }
}

void Writer::fixRelocations(const Section& table) {
  const std::uint64_t base = layout.file.start(table.offset);
  const bool dynamic = (table.flags & elf::SHF_ALLOC) != 0;
  for (std::uint64_t offset = 0; offset < table.size; offset += sizeof(elf::Elf64_Rela)) {
    auto raw = oldAt<elf::Elf64_Rela>(table.offset + offset);
    const std::uint64_t place = raw.r_offset;
    const auto addend = static_cast<std::uint64_t>(raw.r_addend);
    raw.r_offset = addresses.map(place);
    const Symbol* symbol =
        object.relocationSymbol({0, raw.getType(), raw.getSymbol(), raw.r_addend, table.info, table.link});
    if (dynamic && (raw.getType() == elf::R_AMDGPU_RELATIVE64 || (raw.getSymbol() == 0 && isAbsolute(raw.getType())))) {
      raw.r_addend = static_cast<std::int64_t>(addresses.map(addend));
      // Some linkers also store the addend where the relocation applies.
      const auto where = object.fileOffset(place);
      const auto lands = newOffsetOf(place);
      if (addend != 0 && where && lands && *where + 8 <= object.bytes().size() && *lands + 8 <= out.size() &&
          oldAt<std::uint64_t>(*where) == addend)
        put(*lands, raw.r_addend);
    } else if (dynamic && symbol && symbol->sectionIndex != elf::SHN_UNDEF && isAbsolute(raw.getType())) {
      // symbol + addend is one address: both ends may have moved differently inside code.
      raw.r_addend = static_cast<std::int64_t>(addresses.map(symbol->value + addend) -
                                               addresses.mapInSection(symbol->value, symbol->sectionIndex));
    }
    put(base + offset, raw);
  }
}

void Writer::fixDynamic(const Section& table) {
  const std::uint64_t base = layout.file.start(table.offset);
  for (std::uint64_t offset = 0; offset + sizeof(elf::Elf64_Dyn) <= table.size; offset += sizeof(elf::Elf64_Dyn)) {
    auto entry = oldAt<elf::Elf64_Dyn>(table.offset + offset);
    if (entry.d_tag == elf::DT_NULL)
      break;
    if (isAddressTag(entry.d_tag) && entry.d_un.d_ptr != 0)
      entry.d_un.d_ptr = addresses.map(entry.d_un.d_ptr);
    put(base + offset, entry);
  }
}

std::optional<std::uint64_t> Writer::newOffsetOf(std::uint64_t oldAddress) const {
  for (const Section& section : object.sections())
    if ((section.flags & elf::SHF_ALLOC) != 0 && section.type != elf::SHT_NOBITS && section.contains(oldAddress))
      return layout.file.start(section.offset) + (addresses.map(oldAddress) - layout.memory.start(section.address));
  return std::nullopt;
}

Status Writer::fixDescriptors() {
  for (const auto& [index, descriptor] : rewrite.descriptors)
    if (index >= object.kernels().size())
      return internalError("{}: descriptor of kernel {} of {}", object.name(), index, object.kernels().size());
  for (std::size_t i = 0; i < object.kernels().size(); ++i) {
    const Kernel& kernel = object.kernels()[i];
    const KernelDescriptor* replacement = nullptr;
    for (const auto& [index, descriptor] : rewrite.descriptors)
      if (index == i)
        replacement = &descriptor;
    const std::uint64_t address = addresses.map(kernel.descriptorAddress);
    const std::uint64_t entry = addresses.map(kernel.entryAddress);
    const auto entryOffset = static_cast<std::int64_t>(entry - address);
    // The hardware takes the entry address without its low 8 bits (COMPUTE_PGM_LO).
    if (kernel.entryAddress % entryAlignment == 0 && entry % entryAlignment != 0)
      return internalError("{}: the entry of {} would move to 0x{:x}, off its alignment of {}", object.name(),
                           kernel.name, entry, entryAlignment);
    if (!replacement && entryOffset == kernel.descriptor.entryOffset())
      continue;
    KernelDescriptor descriptor = replacement ? *replacement : kernel.descriptor;
    descriptor.setEntryOffset(entryOffset);
    const auto offset = newOffsetOf(kernel.descriptorAddress);
    if (!offset || out.size() < sizeof descriptor.raw || *offset > out.size() - sizeof descriptor.raw)
      return internalError("{}: the descriptor of {} has no place in the new file", object.name(), kernel.name);
    std::copy(descriptor.raw.begin(), descriptor.raw.end(), out.begin() + static_cast<std::ptrdiff_t>(*offset));
  }
  return {};
}

Status Writer::patchMetadata() {
  if (rewrite.metadata.empty() || !object.metadataNote())
    return {};
  const auto [offset, size] = *object.metadataNote();
  const std::span<std::uint8_t> note = std::span(out).subspan(layout.file.start(offset), size);
  for (const Rewrite::Field& field : rewrite.metadata) {
    if (field.kernel >= object.kernels().size())
      return internalError("{}: metadata of kernel {} of {}", object.name(), field.kernel, object.kernels().size());
    const std::string symbol = object.kernels()[field.kernel].name + ".kd";
    if (!patchMetadataField(note, symbol, field.field, field.value) && hasMetadataField(note, symbol, field.field))
      return refused("{}: metadata field {} of {} cannot become {}", object.name(), field.field, symbol, field.value);
  }
  return {};
}

} // namespace

Result<Bytes> rewriteObject(const CodeObject& object, const Rewrite& request) {
  ASMEVO_TRY(const Rewrite rewrite, withNote(object, request));
  ASMEVO_TRY(const Layout layout, planLayout(object, rewrite));
  ASMEVO_TRY(const AddressPlan plan, planAddresses(object, rewrite));
  return Writer(object, rewrite, layout, plan).run();
}

} // namespace asmevo::object
