#include "object/code_object.h"

#include "object/container.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Support/AMDHSAKernelDescriptor.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

namespace asmevo::object {

namespace elf = llvm::ELF;

static_assert(std::endian::native == std::endian::little, "ELF structures are read in host order");

bool Section::isCode() const {
  return type == elf::SHT_PROGBITS && (flags & elf::SHF_ALLOC) != 0 && (flags & elf::SHF_EXECINSTR) != 0;
}

/// Reads an object piece by piece; every access is checked against the file's end.
class Parser {
 public:
  Parser(CodeObject& destination) : object(destination), data(destination.data) {}

  Status run() {
    ASMEVO_CHECK(readHeader());
    ASMEVO_CHECK(readSections());
    ASMEVO_CHECK(readSegments());
    ASMEVO_CHECK(readSymbols());
    ASMEVO_CHECK(readRelocations());
    ASMEVO_CHECK(readNotes());
    return findKernels();
  }

 private:
  /// An error of this file: name first.
  template <class... Args> Error bad(fmt::format_string<Args...> f, Args&&... args) const {
    return badInput("{}: {}", object.fileName, fmt::format(f, std::forward<Args>(args)...));
  }

  bool inside(std::uint64_t offset, std::uint64_t size) const {
    return offset <= data.size() && size <= data.size() - offset;
  }

  /// Only call with a range that `inside` accepts.
  template <class T> T at(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, data.data() + offset, sizeof value);
    return value;
  }

  Status readHeader();
  Status readSections();
  Status readSegments();
  Status readSymbols();
  Status readRelocations();
  Status readNotes();
  Status readNoteRange(std::uint64_t begin, std::uint64_t size, std::uint64_t alignment);
  Status findKernels();
  Result<Kernel> readKernel(const Symbol& symbol) const;
  Result<Kernel> readLegacyKernel(const Symbol& symbol) const;
  Result<std::string> stringAt(const Section& table, std::uint64_t offset, const char* what);

  CodeObject& object;
  const Bytes& data;
  elf::Elf64_Ehdr header{};
  std::vector<KernelMetadata> kernelMetadata;
  /// Relocations of a relocatable file by section patched and offset in it.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> entryRelocations;
  std::uint64_t nameBytes = 0;
};

namespace {

std::string_view textOf(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::uint64_t descriptorSize = 64;
constexpr std::uint64_t entryFieldOffset = 16;

} // namespace

Status Parser::readHeader() {
  const std::string_view start = textOf(std::span(data).first(std::min<std::size_t>(data.size(), 24)));
  if (start.starts_with("__CLANG_OFFLOAD_BUNDLE__"))
    return bad("an offload bundle, not a code object: take one out with `asmevo extract`");
  if (start.starts_with("CCOB"))
    return bad("a compressed offload bundle, not a code object: take one out with `asmevo extract`");
  if (!start.starts_with(elf::ElfMagic))
    return bad("not an ELF file");
  if (data.size() < sizeof header)
    return bad("{} bytes: cut off inside the ELF header of {}", data.size(), sizeof header);
  header = at<elf::Elf64_Ehdr>(0);
  if (header.getFileClass() != elf::ELFCLASS64 || header.getDataEncoding() != elf::ELFDATA2LSB)
    return bad("not a 64-bit little-endian ELF file");
  if (header.e_machine != elf::EM_AMDGPU) {
    if (data.size() > 64 && textOf(data).find("__CLANG_OFFLOAD_BUNDLE__") != std::string_view::npos)
      return bad("a host program (ELF machine {}) with an offload bundle inside: take a code object out with "
                 "`asmevo extract`",
                 header.e_machine);
    return bad("ELF machine {} is not EM_AMDGPU ({})", header.e_machine, static_cast<unsigned>(elf::EM_AMDGPU));
  }
  if (header.e_type != elf::ET_DYN && header.e_type != elf::ET_REL && header.e_type != elf::ET_EXEC)
    return bad("ELF type {}: neither a shared object nor a relocatable", header.e_type);
  const unsigned osAbi = header.e_ident[elf::EI_OSABI];
  if (osAbi != elf::ELFOSABI_AMDGPU_HSA)
    return bad("OS ABI {} is not amdhsa ({})", osAbi, static_cast<unsigned>(elf::ELFOSABI_AMDGPU_HSA));
  object.type = header.e_type;
  object.abi = header.e_ident[elf::EI_ABIVERSION];
  object.elfFlags = header.e_flags;
  auto target = targetFromElf(object.elfFlags, object.abi);
  if (!target)
    return bad("{}", target.error().message);
  object.targetId = *std::move(target);
  return {};
}

Result<std::string> Parser::stringAt(const Section& table, std::uint64_t offset, const char* what) {
  if (table.type != elf::SHT_STRTAB)
    return bad("{} names are in section '{}', which is no string table", what, table.name);
  if (offset >= table.size)
    return bad("{} name at offset {} lies outside the string table of {} bytes", what, offset, table.size);
  const std::string_view rest = textOf(std::span(data).subspan(table.offset + offset, table.size - offset));
  const std::size_t length = rest.find('\0');
  if (length == std::string_view::npos)
    return bad("{} name at offset {} has no end", what, offset);
  // Many entries can name one long string: a small file must not claim unbounded memory.
  nameBytes += length;
  if (nameBytes > 16 * std::uint64_t{data.size()} + (1U << 20))
    return bad("{} names repeat the string table too often", what);
  return std::string(rest.substr(0, length));
}

Status Parser::readSections() {
  if (header.e_shoff == 0)
    return bad("no section headers: the symbols cannot be found");
  if (header.e_shentsize != sizeof(elf::Elf64_Shdr))
    return bad("section headers of {} bytes instead of {}", header.e_shentsize, sizeof(elf::Elf64_Shdr));
  if (!inside(header.e_shoff, sizeof(elf::Elf64_Shdr)))
    return bad("section headers at 0x{:x} lie outside the file of {} bytes", header.e_shoff, data.size());
  const auto zeroth = at<elf::Elf64_Shdr>(header.e_shoff);
  const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : zeroth.sh_size;
  const std::uint64_t namesIndex = header.e_shstrndx != elf::SHN_XINDEX ? header.e_shstrndx : zeroth.sh_link;
  if (count > data.size() / sizeof(elf::Elf64_Shdr) || !inside(header.e_shoff, count * sizeof(elf::Elf64_Shdr)))
    return bad("{} section headers at 0x{:x} lie outside the file of {} bytes", count, header.e_shoff, data.size());

  std::vector<std::uint32_t> nameOffsets;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto raw = at<elf::Elf64_Shdr>(header.e_shoff + i * sizeof(elf::Elf64_Shdr));
    Section section;
    section.type = raw.sh_type;
    section.flags = raw.sh_flags;
    section.address = raw.sh_addr;
    section.offset = raw.sh_offset;
    section.size = raw.sh_size;
    section.link = raw.sh_link;
    section.info = raw.sh_info;
    section.alignment = raw.sh_addralign;
    section.entrySize = raw.sh_entsize;
    if (section.type == elf::SHT_NULL)
      section.offset = section.size = 0;
    if (section.type != elf::SHT_NOBITS && !inside(section.offset, section.size))
      return bad("section {}: {} bytes at 0x{:x} lie outside the file of {} bytes", i, section.size, section.offset,
                 data.size());
    if (section.address + section.size < section.address)
      return bad("section {}: {} bytes at address 0x{:x} wrap around", i, section.size, section.address);
    nameOffsets.push_back(raw.sh_name);
    object.sectionList.push_back(std::move(section));
  }
  if (namesIndex == 0)
    return {};
  if (namesIndex >= count)
    return bad("section names are in section {} of {}", namesIndex, count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (object.sectionList[i].type == elf::SHT_NULL)
      continue;
    ASMEVO_TRY(object.sectionList[i].name, stringAt(object.sectionList[namesIndex], nameOffsets[i], "section"));
  }
  return {};
}

Status Parser::readSegments() {
  if (header.e_phnum == 0)
    return {};
  if (header.e_phentsize != sizeof(elf::Elf64_Phdr))
    return bad("program headers of {} bytes instead of {}", header.e_phentsize, sizeof(elf::Elf64_Phdr));
  if (!inside(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(elf::Elf64_Phdr)))
    return bad("{} program headers at 0x{:x} lie outside the file of {} bytes", header.e_phnum, header.e_phoff,
               data.size());
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto raw = at<elf::Elf64_Phdr>(header.e_phoff + i * sizeof(elf::Elf64_Phdr));
    const Segment segment{raw.p_type, raw.p_flags, raw.p_offset, raw.p_vaddr, raw.p_filesz, raw.p_memsz, raw.p_align};
    if (!inside(segment.offset, segment.fileSize))
      return bad("segment {}: {} bytes at 0x{:x} lie outside the file of {} bytes", i, segment.fileSize, segment.offset,
                 data.size());
    if (segment.address + segment.memorySize < segment.address)
      return bad("segment {}: {} bytes at address 0x{:x} wrap around", i, segment.memorySize, segment.address);
    if (segment.alignment > 1 && !std::has_single_bit(segment.alignment))
      return bad("segment {}: alignment 0x{:x} is no power of two", i, segment.alignment);
    if (segment.type == elf::PT_LOAD && segment.fileSize > segment.memorySize)
      return bad("segment {}: {} bytes in the file, {} in memory", i, segment.fileSize, segment.memorySize);
    object.segmentList.push_back(segment);
  }
  return {};
}

Status Parser::readSymbols() {
  for (const Section& table : object.sectionList) {
    if (table.type != elf::SHT_SYMTAB && table.type != elf::SHT_DYNSYM)
      continue;
    if (table.entrySize != sizeof(elf::Elf64_Sym) || table.size % sizeof(elf::Elf64_Sym) != 0)
      return bad("symbol table '{}': {} bytes in entries of {}", table.name, table.size, table.entrySize);
    if (table.link >= object.sectionList.size())
      return bad("symbol table '{}': its names are in section {} of {}", table.name, table.link,
                 object.sectionList.size());
    const Section& names = object.sectionList[table.link];
    for (std::uint64_t offset = 0; offset < table.size; offset += sizeof(elf::Elf64_Sym)) {
      const auto raw = at<elf::Elf64_Sym>(table.offset + offset);
      Symbol symbol;
      ASMEVO_TRY(symbol.name, stringAt(names, raw.st_name, "symbol"));
      symbol.value = raw.st_value;
      symbol.size = raw.st_size;
      symbol.type = raw.getType();
      symbol.binding = raw.getBinding();
      symbol.other = raw.st_other;
      symbol.sectionIndex = raw.st_shndx;
      symbol.dynamic = table.type == elf::SHT_DYNSYM;
      object.symbolList.push_back(std::move(symbol));
    }
  }
  return {};
}

Status Parser::readRelocations() {
  for (const Section& table : object.sectionList) {
    if (table.type != elf::SHT_RELA)
      continue;
    if (table.entrySize != sizeof(elf::Elf64_Rela) || table.size % sizeof(elf::Elf64_Rela) != 0)
      return bad("relocations '{}': {} bytes in entries of {}", table.name, table.size, table.entrySize);
    for (std::uint64_t offset = 0; offset < table.size; offset += sizeof(elf::Elf64_Rela)) {
      const auto raw = at<elf::Elf64_Rela>(table.offset + offset);
      object.relocationList.push_back(
          {raw.r_offset, raw.getType(), raw.getSymbol(), raw.r_addend, table.info, table.link});
    }
  }
  return {};
}

Status Parser::readNoteRange(std::uint64_t begin, std::uint64_t size, std::uint64_t alignment) {
  const std::uint64_t align = alignment == 8 ? 8 : 4;
  const auto padded = [&](std::uint64_t value) { return (value + align - 1) / align * align; };
  std::uint64_t offset = 0;
  while (size - offset >= sizeof(elf::Elf64_Nhdr)) {
    const auto note = at<elf::Elf64_Nhdr>(begin + offset);
    const std::uint64_t nameAt = offset + sizeof(elf::Elf64_Nhdr);
    const std::uint64_t contentsAt = nameAt + padded(note.n_namesz);
    if (contentsAt > size || note.n_descsz > size - contentsAt)
      return bad("note at 0x{:x}: name of {} and contents of {} bytes do not fit", begin + offset, note.n_namesz,
                 note.n_descsz);
    std::string_view name = textOf(std::span(data).subspan(begin + nameAt, note.n_namesz));
    name = name.substr(0, name.find('\0'));
    const auto contents = std::span(data).subspan(begin + contentsAt, note.n_descsz);
    if (name == "AMDGPU" && note.n_type == elf::NT_AMDGPU_METADATA && !object.note) {
      auto metadata = parseMetadata(contents);
      if (!metadata)
        return bad("metadata note at 0x{:x}: {}", begin + contentsAt, metadata.error().message);
      object.note = {begin + contentsAt, note.n_descsz};
      object.metadataYaml = std::move(metadata->yaml);
      object.metadataTarget = std::move(metadata->targetId);
      kernelMetadata = std::move(metadata->kernels);
    } else if (name == "AMD" && note.n_type == elf::NT_AMD_HSA_METADATA && object.metadataYaml.empty()) {
      const std::string_view text = textOf(contents); // code object v2 writes the YAML itself
      object.metadataYaml = text.substr(0, text.find('\0'));
    }
    offset = std::min(size, contentsAt + padded(note.n_descsz));
  }
  return {};
}

Status Parser::readNotes() {
  bool found = false;
  for (const Section& section : object.sectionList) {
    if (section.type != elf::SHT_NOTE)
      continue;
    found = true;
    ASMEVO_CHECK(readNoteRange(section.offset, section.size, section.alignment));
  }
  if (found)
    return {};
  for (const Segment& segment : object.segmentList)
    if (segment.type == elf::PT_NOTE)
      ASMEVO_CHECK(readNoteRange(segment.offset, segment.fileSize, segment.alignment));
  return {};
}

Result<Kernel> Parser::readKernel(const Symbol& symbol) const {
  Kernel kernel;
  kernel.name = symbol.name.substr(0, symbol.name.size() - 3);
  kernel.descriptorAddress = symbol.value;
  if (symbol.sectionIndex >= object.sectionList.size())
    return bad("kernel {}: its descriptor is in section {} of {}", kernel.name, symbol.sectionIndex,
               object.sectionList.size());
  const Section& home = object.sectionList[symbol.sectionIndex];
  const bool relocatable = object.type == elf::ET_REL;
  const std::uint64_t base = relocatable ? 0 : home.address;
  if (home.type == elf::SHT_NOBITS || home.size < descriptorSize || symbol.value < base ||
      symbol.value - base > home.size - descriptorSize)
    return bad("kernel {}: its descriptor at 0x{:x} is not inside section '{}'", kernel.name, symbol.value, home.name);
  kernel.descriptorFileOffset = home.offset + (symbol.value - base);
  std::memcpy(kernel.descriptor.raw.data(), data.data() + kernel.descriptorFileOffset, descriptorSize);

  if (relocatable) {
    // The entry field is filled by a relocation against the code symbol: symbol + addend - field offset.
    const auto found = entryRelocations.find({symbol.sectionIndex, symbol.value + entryFieldOffset});
    const Symbol* code =
        found == entryRelocations.end() ? nullptr : object.relocationSymbol(object.relocationList[found->second]);
    if (code)
      kernel.entryAddress =
          code->value + static_cast<std::uint64_t>(object.relocationList[found->second].addend) - entryFieldOffset;
  } else {
    kernel.entryAddress = kernel.descriptorAddress + static_cast<std::uint64_t>(kernel.descriptor.entryOffset());
    const bool inCode = std::any_of(object.sectionList.begin(), object.sectionList.end(), [&](const Section& section) {
      return section.isCode() && section.contains(kernel.entryAddress);
    });
    if (!inCode)
      return bad("kernel {}: its entry 0x{:x} is in no code section", kernel.name, kernel.entryAddress);
  }
  for (const KernelMetadata& metadata : kernelMetadata)
    if (metadata.symbol == symbol.name) {
      kernel.metadata = metadata;
      break;
    }
  return kernel;
}

/// Code object v2: the symbol is the kernel itself, and 256 bytes of amd_kernel_code_t stand in front of the code (ROCm
/// ABI, "AMD Kernel Code Object Mutable Fields"; llvm lib/Target/AMDGPU/AMDKernelCodeT.h). Its resource registers and
/// properties are those of today's descriptor, so that is what the rest of the program sees.
Result<Kernel> Parser::readLegacyKernel(const Symbol& symbol) const {
  constexpr std::uint64_t headerSize = 256, codeEntry = 16, resources = 48, properties = 56, scratch = 60, lds = 64,
                          kernarg = 72;
  constexpr std::uint32_t sharedProperties = 0x47f; // user SGPRs and wave32; the rest means something else here
  if (symbol.sectionIndex >= object.sectionList.size())
    return bad("kernel {}: it is in section {} of {}", symbol.name, symbol.sectionIndex, object.sectionList.size());
  const Section& home = object.sectionList[symbol.sectionIndex];
  if (home.type == elf::SHT_NOBITS || home.size < headerSize || symbol.value < home.address ||
      symbol.value - home.address > home.size - headerSize)
    return bad("kernel {}: its header at 0x{:x} is not inside section '{}'", symbol.name, symbol.value, home.name);
  Kernel kernel;
  kernel.name = symbol.name;
  kernel.descriptorAddress = symbol.value;
  kernel.descriptorFileOffset = home.offset + (symbol.value - home.address);
  const auto field = [&](std::uint64_t offset) { return at<std::uint32_t>(kernel.descriptorFileOffset + offset); };
  kernel.entryAddress = symbol.value + at<std::uint64_t>(kernel.descriptorFileOffset + codeEntry);
  if (!home.contains(kernel.entryAddress))
    return bad("kernel {}: its entry 0x{:x} is in no code section", kernel.name, kernel.entryAddress);
  const auto store = [&](std::size_t offset, std::uint32_t value) {
    std::memcpy(kernel.descriptor.raw.data() + offset, &value, sizeof value);
  };
  store(llvm::amdhsa::GROUP_SEGMENT_FIXED_SIZE_OFFSET, field(lds));
  store(llvm::amdhsa::PRIVATE_SEGMENT_FIXED_SIZE_OFFSET, field(scratch));
  store(llvm::amdhsa::KERNARG_SIZE_OFFSET, field(kernarg));
  store(llvm::amdhsa::COMPUTE_PGM_RSRC1_OFFSET, field(resources));
  store(llvm::amdhsa::COMPUTE_PGM_RSRC2_OFFSET, field(resources + 4));
  store(llvm::amdhsa::KERNEL_CODE_PROPERTIES_OFFSET, field(properties) & sharedProperties);
  kernel.descriptor.setEntryOffset(static_cast<std::int64_t>(kernel.entryAddress - symbol.value));
  return kernel;
}

Status Parser::findKernels() {
  if (object.abi == elf::ELFABIVERSION_AMDGPU_HSA_V2) {
    std::set<std::string_view> names;
    for (const Symbol& symbol : object.symbolList) {
      if (symbol.type != elf::STT_AMDGPU_HSA_KERNEL || symbol.sectionIndex == elf::SHN_UNDEF ||
          !names.insert(symbol.name).second)
        continue;
      ASMEVO_TRY(Kernel kernel, readLegacyKernel(symbol));
      object.kernelList.push_back(std::move(kernel));
    }
  }
  if (object.type == elf::ET_REL)
    for (std::size_t i = 0; i < object.relocationList.size(); ++i)
      entryRelocations.emplace(std::pair{object.relocationList[i].section, object.relocationList[i].offset}, i);
  // .dynsym is what the loader reads; .symtab adds what only debuggers see and is all there is in a relocatable.
  std::set<std::string_view> seen;
  for (const bool dynamic : {true, false})
    for (const Symbol& symbol : object.symbolList) {
      if (symbol.dynamic != dynamic || !symbol.name.ends_with(".kd") || symbol.name.size() == 3 ||
          symbol.size != descriptorSize || symbol.sectionIndex == elf::SHN_UNDEF)
        continue;
      if (!seen.insert(symbol.name).second)
        continue;
      ASMEVO_TRY(Kernel kernel, readKernel(symbol));
      object.kernelList.push_back(std::move(kernel));
    }
  return {};
}

Result<CodeObject> CodeObject::parse(Bytes bytes, std::string name) {
  CodeObject object;
  object.fileName = std::move(name);
  object.data = std::move(bytes);
  Parser parser(object);
  ASMEVO_CHECK(parser.run());
  return object;
}

Result<CodeObject> CodeObject::load(const std::string& path) {
  const ObjectPath wanted = parseObjectPath(path);
  ASMEVO_TRY(const Container container, Container::open(wanted.file));
  ASMEVO_TRY(ChosenObject chosen, chooseObject(container, wanted.selection));
  return parse(std::move(chosen.bytes), std::move(chosen.name));
}

Result<const Kernel*> CodeObject::findKernel(const std::string& kernelName) const {
  if (kernelList.empty())
    return badInput("{}: no kernel (no '.kd' symbol of {} bytes)", fileName, descriptorSize);
  if (kernelName.empty() && kernelList.size() == 1)
    return &kernelList.front();
  for (const Kernel& kernel : kernelList)
    if (kernel.name == kernelName)
      return &kernel;
  constexpr std::size_t shown = 20;
  std::string names;
  for (std::size_t i = 0; i < kernelList.size() && i < shown; ++i)
    names += (i == 0 ? "" : ", ") + kernelList[i].name;
  if (kernelList.size() > shown)
    names += fmt::format(" and {} more", kernelList.size() - shown);
  if (kernelName.empty())
    return usageError("{}: {} kernels, name one: {}", fileName, kernelList.size(), names);
  return usageError("{}: no kernel '{}'; there is {}", fileName, kernelName, names);
}

std::span<const std::uint8_t> CodeObject::contents(const Section& section) const {
  if (section.type == elf::SHT_NOBITS)
    return {};
  return std::span(data).subspan(section.offset, section.size);
}

std::vector<const Section*> CodeObject::codeSections() const {
  std::vector<const Section*> list;
  for (const Section& section : sectionList)
    if (section.isCode())
      list.push_back(&section);
  std::sort(list.begin(), list.end(), [](const Section* a, const Section* b) {
    return a->address != b->address ? a->address < b->address : a < b;
  });
  return list;
}

std::optional<std::uint64_t> CodeObject::fileOffset(std::uint64_t virtualAddress) const {
  for (const Section& section : sectionList)
    if ((section.flags & elf::SHF_ALLOC) != 0 && section.type != elf::SHT_NOBITS && section.contains(virtualAddress))
      return section.offset + (virtualAddress - section.address);
  return std::nullopt;
}

const Symbol* CodeObject::relocationSymbol(const Relocation& relocation) const {
  if (relocation.symbolTable >= sectionList.size() || relocation.symbol == 0)
    return nullptr;
  std::size_t first = 0;
  for (std::size_t i = 0; i < sectionList.size(); ++i) {
    const Section& table = sectionList[i];
    if (table.type != elf::SHT_SYMTAB && table.type != elf::SHT_DYNSYM)
      continue;
    const std::size_t count = table.size / sizeof(elf::Elf64_Sym);
    if (i == relocation.symbolTable)
      return relocation.symbol < count ? &symbolList[first + relocation.symbol] : nullptr;
    first += count;
  }
  return nullptr;
}

} // namespace asmevo::object
