#include "program/print_data.h"

#include "program/descriptor_text.h"

#include <llvm/BinaryFormat/AMDGPUMetadataVerifier.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/YAMLTraits.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace asmevo::program {

namespace elf = llvm::ELF;

namespace {

constexpr std::size_t descriptorBytes = 64;

template <class T> T load(std::span<const std::uint8_t> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::uint64_t relocationSize(std::uint32_t type) {
  switch (type) {
  case elf::R_AMDGPU_RELATIVE64:
  case elf::R_AMDGPU_ABS64:
    return 8;
  case elf::R_AMDGPU_ABS32:
    return 4;
  default:
    return 0;
  }
}

const object::Section* sectionOf(const object::CodeObject& object, std::uint64_t address) {
  for (const object::Section& section : object.sections())
    if ((section.flags & elf::SHF_ALLOC) != 0 && section.type != elf::SHT_NULL && section.contains(address))
      return &section;
  return nullptr;
}

std::string describe(const object::CodeObject& object, const object::KernelDescriptor& descriptor) {
  std::string text;
  for (const auto& [name, value] : descriptor.fields(object.target()))
    text += fmt::format("\t//   {} {}\n", name, value);
  return text;
}

/// The LLVM AMDGPUUsage table "Kernel Descriptor", in order; the entry is the only field that is not a number.
std::string printDescriptor(const object::CodeObject& object, const object::Kernel& kernel, const Labels& labels) {
  const auto& raw = kernel.descriptor.raw;
  const std::span<const std::uint8_t> bytes(raw);
  const auto word = [&](std::size_t at) { return load<std::uint32_t>(bytes, at); };
  std::string text = describe(object, kernel.descriptor);
  text += fmt::format("\t.long {:<28} // group_segment_fixed_size\n", word(0));
  text += fmt::format("\t.long {:<28} // private_segment_fixed_size\n", word(4));
  text += fmt::format("\t.long {:<28} // kernarg_size\n", word(8));
  text += fmt::format("\t.long 0x{:<26x} // reserved\n", word(12));
  const object::Section* code = sectionOf(object, kernel.entryAddress);
  const std::string self = assemblerName(kernel.name + ".kd");
  if (code && code->isCode() && !self.empty())
    text += fmt::format("\t.quad {}-{} // kernel_code_entry_byte_offset\n", labels.named(kernel.entryAddress), self);
  else
    text += fmt::format("\t.quad 0x{:x} // kernel_code_entry_byte_offset, to no code\n",
                        static_cast<std::uint64_t>(kernel.descriptor.entryOffset()));
  text += byteLines(bytes.subspan(24, 20));
  text += fmt::format("\t.long 0x{:08x}                   // compute_pgm_rsrc3\n", word(44));
  text += fmt::format("\t.long 0x{:08x}                   // compute_pgm_rsrc1\n", word(48));
  text += fmt::format("\t.long 0x{:08x}                   // compute_pgm_rsrc2\n", word(52));
  text +=
      fmt::format("\t.short 0x{:04x}                      // kernel_code_properties\n", load<std::uint16_t>(bytes, 56));
  text += fmt::format("\t.short 0x{:04x}                      // kernarg_preload\n", load<std::uint16_t>(bytes, 58));
  return text + byteLines(bytes.subspan(60, 4));
}

/// The same as an .amdhsa_kernel block, where the assembler makes the same bytes and symbols of one; else empty.
/// The block defines the descriptor's symbol, with the binding and visibility that the kernel's own symbol has by then.
std::string printDescriptorBlock(const object::CodeObject& object, const object::Section& section,
                                 const object::Kernel& kernel, const Labels& labels) {
  constexpr std::uint64_t descriptorAlignment = 64;
  if (section.name != ".rodata" || (section.flags & (elf::SHF_WRITE | elf::SHF_EXECINSTR)) != 0 ||
      section.alignment % descriptorAlignment != 0 || kernel.descriptorAddress % descriptorAlignment != 0)
    return {};
  const auto symbolAt = [&](std::uint64_t address, const std::string& name) -> const object::Symbol* {
    for (const object::Symbol* symbol : labels.symbolsAt(address))
      if (symbol->name == name)
        return symbol;
    return nullptr;
  };
  const object::Symbol* self = symbolAt(kernel.descriptorAddress, kernel.name + ".kd");
  const object::Symbol* code = symbolAt(kernel.entryAddress, kernel.name);
  if (!self || !code || self->type != elf::STT_OBJECT || self->size != descriptorBytes ||
      self->binding != code->binding)
    return {};
  const unsigned selfSees = self->other & 3, codeSees = code->other & 3;
  if (selfSees != codeSees && !(selfSees == elf::STV_DEFAULT && codeSees == elf::STV_PROTECTED))
    return {};
  if (codeSees == elf::STV_DEFAULT)
    return {}; // the assembler would make it protected
  const auto directives = descriptorDirectives(object.target(), object.abiVersion(), kernel.descriptor);
  if (!directives)
    return {};
  std::string text;
  for (const object::Symbol* symbol : labels.symbolsAt(kernel.descriptorAddress))
    if (symbol != self)
      text += symbolDirectives(*symbol) + assemblerName(symbol->name) + ":\n";
  if (labels.needsLabel(kernel.descriptorAddress))
    text += labels.local(kernel.descriptorAddress) + ":\n";
  object::Symbol declared = *code;
  declared.type = elf::STT_NOTYPE;
  declared.other = self->other;
  text += symbolDirectives(declared);
  text += fmt::format("\t.amdhsa_kernel {}\n", assemblerName(kernel.name));
  for (const auto& [name, value] : *directives)
    text += fmt::format("\t\t{} {}\n", name, value);
  return text + "\t.end_amdhsa_kernel\n";
}

/// Text that the assembler's lexer would cut or choke on inside a metadata block: it ends statements at comments.
bool lexesWhole(const std::string& yaml) {
  for (const char* troublesome : {";", "//", "/*", "#", "\"", "\\", "\t", ".end_amdgpu_metadata"})
    if (yaml.find(troublesome) != std::string::npos)
      return false;
  return std::ranges::all_of(yaml, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); });
}

} // namespace

bool isMadeByLinker(const object::Section& section) {
  switch (section.type) {
  case elf::SHT_NULL:
  case elf::SHT_SYMTAB:
  case elf::SHT_DYNSYM:
  case elf::SHT_STRTAB:
  case elf::SHT_HASH:
  case elf::SHT_GNU_HASH:
  case elf::SHT_DYNAMIC:
  case elf::SHT_RELA:
  case elf::SHT_REL:
  case elf::SHT_RELR:
  case elf::SHT_NOTE: // the metadata note is printed on its own
    return true;
  default:
    return section.name == ".got" || section.name == ".got.plt" || section.name == ".plt" ||
           section.name == ".relro_padding";
  }
}

std::string sectionDirective(const object::Section& section) {
  std::string flags = "a";
  if (section.flags & elf::SHF_WRITE)
    flags += 'w';
  if (section.flags & elf::SHF_EXECINSTR)
    flags += 'x';
  const char* type = section.type == elf::SHT_NOBITS ? "@nobits" : "@progbits";
  const std::string name = assemblerName(section.name);
  std::string text = fmt::format("\n\t.section {},\"{}\",{}\n", name.empty() ? ".unnamed" : name, flags, type);
  if (section.alignment > 1 && std::has_single_bit(section.alignment))
    text += fmt::format("\t.p2align {}\n", std::countr_zero(section.alignment));
  return text;
}

std::string byteLines(std::span<const std::uint8_t> bytes) {
  std::string text;
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::size_t zeros = 0;
    while (at + zeros < bytes.size() && bytes[at + zeros] == 0)
      ++zeros;
    if (zeros >= 16 || (zeros > 0 && at + zeros == bytes.size())) {
      text += fmt::format("\t.zero {}\n", zeros);
      at += zeros;
      continue;
    }
    const bool words = bytes.size() - at >= 4;
    const std::size_t unit = words ? 4 : 1;
    const std::size_t count = std::min<std::size_t>(words ? 4 : 8, (bytes.size() - at) / unit);
    text += words ? "\t.long " : "\t.byte ";
    for (std::size_t i = 0; i < count; ++i, at += unit)
      text += fmt::format("{}0x{:0{}x}", i ? ", " : "",
                          words ? load<std::uint32_t>(bytes, at) : std::uint32_t{bytes[at]}, unit * 2);
    text += '\n';
  }
  return text;
}

std::string labelLines(const Labels& labels, std::uint64_t address, bool inCode) {
  std::string text;
  for (const object::Symbol* symbol : labels.endingAt(address))
    text += fmt::format("\t.size {0}, .-{0}\n", assemblerName(symbol->name));
  for (const object::Symbol* symbol : labels.symbolsAt(address)) {
    const std::string name = assemblerName(symbol->name);
    text += symbolDirectives(*symbol);
    if (!inCode && symbol->size > 0)
      text += fmt::format("\t.size {}, {}\n", name, symbol->size);
    text += name + ":\n";
  }
  if (labels.needsLabel(address))
    text += labels.local(address) + ":\n";
  return text;
}

void requireDataReferences(const object::CodeObject& object, Labels& labels) {
  for (const object::Kernel& kernel : object.kernels()) {
    labels.require(kernel.entryAddress);
  }
  for (const object::Relocation& relocation : object.relocations())
    if (relocation.type == elf::R_AMDGPU_RELATIVE64)
      labels.require(static_cast<std::uint64_t>(relocation.addend));
}

Result<std::string> printDataSection(const object::CodeObject& object, const object::Section& section,
                                     const Labels& labels) {
  std::string text = sectionDirective(section);
  const std::uint64_t end = section.address + section.size;
  std::set<std::uint64_t> places = labels.placesIn(section.address, end);
  std::map<std::uint64_t, const object::Relocation*> relocations;
  for (const object::Relocation& relocation : object.relocations()) {
    if (!section.contains(relocation.offset))
      continue;
    const std::uint64_t size = relocationSize(relocation.type);
    if (size == 0 || end - relocation.offset < size)
      return refused("{}: relocation type {} at 0x{:x} has no assembly form", object.name(), relocation.type,
                     relocation.offset);
    relocations[relocation.offset] = &relocation;
    places.insert(relocation.offset);
    places.insert(relocation.offset + size);
  }
  std::map<std::uint64_t, const object::Kernel*> descriptors;
  for (const object::Kernel& kernel : object.kernels())
    if (section.contains(kernel.descriptorAddress) && end - kernel.descriptorAddress >= descriptorBytes) {
      descriptors[kernel.descriptorAddress] = &kernel;
      places.insert(kernel.descriptorAddress);
      places.insert(kernel.descriptorAddress + descriptorBytes);
    }
  places.insert(section.address);
  places.insert(end);

  const auto contents = object.contents(section);
  for (auto place = places.begin(); place != places.end() && *place < end;) {
    const std::uint64_t address = *place;
    const auto descriptor = descriptors.find(address);
    const std::string block = descriptor == descriptors.end()
                                  ? std::string()
                                  : printDescriptorBlock(object, section, *descriptor->second, labels);
    text += block.empty() ? labelLines(labels, address, false) : block;
    std::uint64_t covered = 0;
    if (descriptor != descriptors.end()) {
      if (block.empty())
        text += printDescriptor(object, *descriptor->second, labels);
      covered = descriptorBytes;
    } else if (const auto found = relocations.find(address); found != relocations.end()) {
      const object::Relocation& relocation = *found->second;
      const object::Symbol* symbol = object.relocationSymbol(relocation);
      const char* directive = relocationSize(relocation.type) == 8 ? ".quad" : ".long";
      if (relocation.type == elf::R_AMDGPU_RELATIVE64)
        text += fmt::format("\t{} {}\n", directive, labels.named(static_cast<std::uint64_t>(relocation.addend)));
      else if (symbol && !assemblerName(symbol->name).empty())
        text += fmt::format("\t{} {}{:+}\n", directive, assemblerName(symbol->name), relocation.addend);
      else
        return refused("{}: the relocation at 0x{:x} has no named symbol", object.name(), relocation.offset);
      covered = relocationSize(relocation.type);
    }
    ++place;
    if (covered > 0) {
      // Places inside what was just written as a whole cannot be labelled; nothing but hostile symbols points there.
      while (place != places.end() && *place < address + covered)
        ++place;
      continue;
    }
    const std::uint64_t next = place == places.end() ? end : std::min(*place, end);
    if (section.type == elf::SHT_NOBITS)
      text += fmt::format("\t.zero {}\n", next - address);
    else
      text += byteLines(contents.subspan(address - section.address, next - address));
  }
  return text;
}

std::optional<std::string> assembledMetadata(const std::string& yaml) {
  // fromYAML would write its complaints to standard error.
  llvm::yaml::Input quiet(yaml, nullptr, [](const llvm::SMDiagnostic&, void*) {});
  if (!quiet.setCurrentDocument() || quiet.error())
    return std::nullopt;
  llvm::msgpack::Document document;
  if (!document.fromYAML(yaml))
    return std::nullopt;
  llvm::AMDGPU::HSAMD::V3::MetadataVerifier verifier(/*Strict=*/false);
  if (!verifier.verify(document.getRoot()))
    return std::nullopt;
  std::string blob;
  document.writeToBlob(blob);
  return blob;
}

std::string printMetadata(const object::CodeObject& object) {
  const auto note = object.metadataNote();
  if (!note)
    return {};
  const auto original = object.bytes().subspan(note->offset, note->size);
  const std::string& yaml = object.metadataText();
  if (lexesWhole(yaml)) {
    const auto assembled = assembledMetadata(yaml);
    const auto same = [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; };
    if (assembled && std::ranges::equal(*assembled, original, same)) {
      std::string text = "\n\t.amdgpu_metadata\n" + yaml;
      if (!yaml.ends_with('\n'))
        text += '\n';
      return text + "\t.end_amdgpu_metadata\n";
    }
  }
  std::string text = "\n\t.section .note,\"a\",@note\n\t.p2align 2\n";
  text +=
      fmt::format("\t.long 7, {}, {} // NT_AMDGPU_METADATA, as bytes: the assembler would not make the same of it\n",
                  original.size(), static_cast<unsigned>(elf::NT_AMDGPU_METADATA));
  text += "\t.asciz \"AMDGPU\"\n\t.p2align 2\n" + byteLines(original) + "\t.p2align 2\n";
  return text;
}

std::string gotSymbol(const object::CodeObject& object, std::uint64_t slot) {
  const object::Section* section = sectionOf(object, slot);
  if (!section || section->name != ".got")
    return {};
  for (const object::Relocation& relocation : object.relocations()) {
    if (relocation.offset != slot)
      continue;
    if (const object::Symbol* symbol = object.relocationSymbol(relocation);
        symbol && relocation.type == elf::R_AMDGPU_ABS64 && relocation.addend == 0)
      return assemblerName(symbol->name);
    if (relocation.type == elf::R_AMDGPU_RELATIVE64)
      for (const object::Symbol& symbol : object.symbols())
        if (symbol.value == static_cast<std::uint64_t>(relocation.addend) && symbol.sectionIndex != elf::SHN_UNDEF &&
            symbol.sectionIndex < object.sections().size())
          if (const std::string name = assemblerName(symbol.name); !name.empty())
            return name;
  }
  return {};
}

} // namespace asmevo::program
