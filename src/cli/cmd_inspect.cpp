#include "cli/command.h"
#include "cli/inspect_container.h"
#include "isa/codec.h"
#include "object/review.h"
#include "program/analysis/kernarg_reads.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELF.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace asmevo::cli {

namespace {

namespace elf = llvm::ELF;
using nlohmann::ordered_json;
using object::CodeObject;
using object::Kernel;

struct Options {
  std::vector<std::string> files;
  std::string target;
  std::optional<std::size_t> bundle;
  bool json = false;
  bool brief = false;
};

std::string sectionType(std::uint32_t type) {
  const llvm::StringRef name = llvm::object::getELFSectionTypeName(elf::EM_AMDGPU, type);
  return name.empty() || name == "Unknown" ? fmt::format("0x{:x}", type) : name.drop_front(4).str();
}

std::string relocationType(std::uint32_t type) {
  const llvm::StringRef name = llvm::object::getELFRelocationTypeName(elf::EM_AMDGPU, type);
  return name == "Unknown" ? fmt::format("{}", type) : name.str();
}

std::string segmentType(std::uint32_t type) {
  switch (type) {
  case elf::PT_LOAD:
    return "LOAD";
  case elf::PT_DYNAMIC:
    return "DYNAMIC";
  case elf::PT_NOTE:
    return "NOTE";
  case elf::PT_PHDR:
    return "PHDR";
  case elf::PT_GNU_STACK:
    return "GNU_STACK";
  case elf::PT_GNU_RELRO:
    return "GNU_RELRO";
  default:
    return fmt::format("0x{:x}", type);
  }
}

std::string symbolType(unsigned type) {
  constexpr const char* names[] = {"NOTYPE", "OBJECT", "FUNC", "SECTION", "FILE", "COMMON", "TLS"};
  if (type < std::size(names))
    return names[type];
  return type == elf::STT_AMDGPU_HSA_KERNEL ? "HSA_KERNEL" : fmt::format("{}", type);
}

std::string symbolBinding(unsigned binding) {
  constexpr const char* names[] = {"LOCAL", "GLOBAL", "WEAK"};
  return binding < std::size(names) ? names[binding] : fmt::format("{}", binding);
}

std::string symbolHome(const CodeObject& object, unsigned index) {
  if (index == elf::SHN_UNDEF)
    return "UNDEF";
  if (index == elf::SHN_ABS)
    return "ABS";
  if (index == elf::SHN_COMMON)
    return "COMMON";
  return index < object.sections().size() ? object.sections()[index].name : fmt::format("{}", index);
}

std::string sectionFlags(std::uint64_t flags) {
  std::string text;
  for (const auto& [bit, letter] : {std::pair{elf::SHF_WRITE, 'W'},
                                    {elf::SHF_ALLOC, 'A'},
                                    {elf::SHF_EXECINSTR, 'X'},
                                    {elf::SHF_MERGE, 'M'},
                                    {elf::SHF_STRINGS, 'S'},
                                    {elf::SHF_INFO_LINK, 'I'}})
    if ((flags & bit) != 0)
      text += letter;
  return text;
}

std::string segmentFlags(std::uint32_t flags) {
  return fmt::format("{}{}{}", (flags & elf::PF_R) != 0 ? 'R' : ' ', (flags & elf::PF_W) != 0 ? 'W' : ' ',
                     (flags & elf::PF_X) != 0 ? 'X' : ' ');
}

std::string elfType(unsigned type) {
  switch (type) {
  case elf::ET_REL:
    return "relocatable";
  case elf::ET_DYN:
    return "shared object";
  default:
    return "executable";
  }
}

/// Code object version of EI_ABIVERSION: ABI 0 to 4 are versions 2 to 6.
unsigned codeObjectVersion(const CodeObject& object) {
  return object.abiVersion() + 2U;
}

std::string printable(const std::string& name) {
  std::string text;
  for (const char c : name)
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text;
}

const char* plural(std::size_t count) {
  return count == 1 ? "" : "s";
}

void printKernel(const CodeObject& object, const Kernel& kernel) {
  const object::Target& target = object.target();
  const object::KernelDescriptor& descriptor = kernel.descriptor;
  fmt::print("\nkernel {}\n", printable(kernel.name));
  fmt::print("  entry 0x{:x}, descriptor 0x{:x} (file offset 0x{:x})\n", kernel.entryAddress, kernel.descriptorAddress,
             kernel.descriptorFileOffset);
  const unsigned total = descriptor.allocatedVgprs(target);
  if (target.hasUnifiedRegisterFile()) {
    const unsigned accum = std::min(descriptor.accumOffset(target), total);
    fmt::print("  registers: {} VGPRs allocated (v0-v{}", total, accum - 1);
    if (accum < total)
      fmt::print(", a0-a{}", total - accum - 1);
    fmt::print("), {} SGPRs\n", descriptor.allocatedSgprs(target));
  } else {
    fmt::print("  registers: {} VGPRs allocated, {} SGPRs\n", total, descriptor.allocatedSgprs(target));
  }
  fmt::print("  LDS {} bytes, scratch {} bytes per work-item\n", descriptor.groupSegmentSize(),
             descriptor.privateSegmentSize());
  const object::Occupancy occupancy = occupancyOf(target, kernel);
  fmt::print("  occupancy: {} wave{} per SIMD, limited by {} (VGPRs allow {}, SGPRs {}); {} workgroup{} of {} per CU\n",
             occupancy.wavesPerSimd, plural(occupancy.wavesPerSimd), occupancy.limiter, occupancy.byVgpr,
             occupancy.bySgpr, occupancy.workgroupsPerCu, plural(occupancy.workgroupsPerCu), workgroupSizeOf(kernel));
  fmt::print("  descriptor\n");
  for (const auto& [name, value] : descriptor.fields(target))
    fmt::print("    {:<46} {}\n", name, value);
  if (!kernel.metadata)
    return;
  const object::KernelMetadata& metadata = *kernel.metadata;
  fmt::print("  arguments: {} bytes, aligned to {}\n", metadata.kernargSegmentSize, metadata.kernargSegmentAlign);
  for (const object::KernelArgument& argument : metadata.arguments)
    fmt::print("    {:>5} {:>4} bytes  {:<28} {}\n", argument.offset, argument.size, printable(argument.valueKind),
               printable(argument.name));
}

void printTables(const CodeObject& object) {
  fmt::print("\nsections\n  {:>3} {:<24} {:<16} {:<6} {:>10} {:>10} {:>10} {:>6}\n", "", "name", "type", "flags",
             "address", "offset", "size", "align");
  for (std::size_t i = 0; i < object.sections().size(); ++i) {
    const object::Section& s = object.sections()[i];
    fmt::print("  {:>3} {:<24} {:<16} {:<6} {:>#10x} {:>#10x} {:>#10x} {:>6}\n", i, printable(s.name),
               sectionType(s.type), sectionFlags(s.flags), s.address, s.offset, s.size, s.alignment);
  }
  fmt::print("\nsegments\n  {:<12} {:<4} {:>10} {:>10} {:>10} {:>10} {:>6}\n", "type", "", "address", "offset", "file",
             "memory", "align");
  for (const object::Segment& s : object.segments())
    fmt::print("  {:<12} {:<4} {:>#10x} {:>#10x} {:>#10x} {:>#10x} {:>#6x}\n", segmentType(s.type),
               segmentFlags(s.flags), s.address, s.offset, s.fileSize, s.memorySize, s.alignment);
  fmt::print("\nsymbols\n  {:>10} {:>8} {:<10} {:<7} {:<8} {:<12} {}\n", "value", "size", "type", "binding", "table",
             "section", "name");
  for (const object::Symbol& s : object.symbols())
    if (!s.name.empty())
      fmt::print("  {:>#10x} {:>8} {:<10} {:<7} {:<8} {:<12} {}\n", s.value, s.size, symbolType(s.type),
                 symbolBinding(s.binding), s.dynamic ? ".dynsym" : ".symtab",
                 printable(symbolHome(object, s.sectionIndex)), printable(s.name));
  if (!object.relocations().empty()) {
    fmt::print("\nrelocations\n  {:>10} {:<24} {:>10} {}\n", "offset", "type", "addend", "symbol");
    for (const object::Relocation& r : object.relocations()) {
      const object::Symbol* symbol = object.relocationSymbol(r);
      fmt::print("  {:>#10x} {:<24} {:>#10x} {}\n", r.offset, relocationType(r.type), r.addend,
                 symbol ? printable(symbol->name) : "");
    }
  }
  if (!object.metadataText().empty())
    fmt::print("\nmetadata\n{}", object.metadataText());
}

/// A kernel whose code reads arguments that its metadata does not tell of cannot be launched by metadata alone.
std::optional<object::Remark> unknownArguments(const CodeObject& object, const program::Program& program,
                                               std::size_t index) {
  const Kernel& kernel = object.kernels()[index];
  std::uint32_t told = kernel.descriptor.kernargSize();
  if (kernel.metadata)
    told = std::max(told, kernel.metadata->kernargSegmentSize);
  std::uint32_t begin = 0, end = 0;
  std::uint64_t address = 0;
  for (const program::KernargRead& read : kernargReads(object, program, index)) {
    if (read.offset >= begin) {
      begin = read.offset;
      address = read.address;
    }
    end = std::max(end, read.offset + read.bytes);
  }
  // A load that only ends behind the segment was widened by the compiler.
  if (!kernel.metadata || begin < told)
    return std::nullopt;
  return object::Remark{kernel.name,
                        fmt::format("metadata tells of {} bytes of arguments, the code reads {} (at 0x{:x}): launch it "
                                    "with explicit \"kernarg\" entries in the dispatch.json",
                                    told, end, address)};
}

std::vector<object::Remark> remarksOf(const CodeObject& object) {
  std::vector<object::Remark> remarks = review(object);
  const auto codec = isa::Codec::create(object);
  if (!codec)
    return remarks;
  const auto program = program::Program::recover(object, **codec);
  if (!program)
    return remarks;
  for (std::size_t i = 0; i < object.kernels().size(); ++i)
    if (auto remark = unknownArguments(object, *program, i))
      remarks.push_back(std::move(*remark));
  return remarks;
}

void printText(const CodeObject& object, bool brief) {
  fmt::print("{}\n", object.name());
  fmt::print("  target {}, code object v{} (EI_ABIVERSION {}), {}, e_flags 0x{:x}", object.target().id(),
             codeObjectVersion(object), object.abiVersion(), elfType(object.elfType()), object.flags());
  if (object.target().genericVersion != 0)
    fmt::print(", generic version {}", object.target().genericVersion);
  fmt::print("\n  {} bytes, {} kernel{}\n", object.bytes().size(), object.kernels().size(),
             plural(object.kernels().size()));
  for (const object::Remark& remark : remarksOf(object))
    fmt::print("  warning: {}{}{}\n", printable(remark.kernel), remark.kernel.empty() ? "" : ": ",
               printable(remark.text));
  for (const Kernel& kernel : object.kernels())
    printKernel(object, kernel);
  if (!brief)
    printTables(object);
}

ordered_json jsonOf(const CodeObject& object, const Kernel& kernel) {
  const object::Target& target = object.target();
  const object::Occupancy occupancy = occupancyOf(target, kernel);
  ordered_json fields;
  for (const auto& [name, value] : kernel.descriptor.fields(target))
    fields[name] = value;
  ordered_json json = {
      {"name", kernel.name},
      {"entry", kernel.entryAddress},
      {"descriptor_address", kernel.descriptorAddress},
      {"descriptor_file_offset", kernel.descriptorFileOffset},
      {"vgprs", kernel.descriptor.allocatedVgprs(target)},
      {"accum_offset", kernel.descriptor.accumOffset(target)},
      {"sgprs", kernel.descriptor.allocatedSgprs(target)},
      {"lds_bytes", kernel.descriptor.groupSegmentSize()},
      {"scratch_bytes", kernel.descriptor.privateSegmentSize()},
      {"occupancy",
       {{"waves_per_simd", occupancy.wavesPerSimd},
        {"limiter", occupancy.limiter},
        {"by_vgpr", occupancy.byVgpr},
        {"by_sgpr", occupancy.bySgpr},
        {"workgroups_by_lds", occupancy.workgroupsByLds},
        {"workgroups_per_cu", occupancy.workgroupsPerCu},
        {"workgroup_size", workgroupSizeOf(kernel)}}},
      {"descriptor", std::move(fields)},
  };
  if (kernel.metadata) {
    const object::KernelMetadata& m = *kernel.metadata;
    ordered_json arguments = ordered_json::array();
    for (const object::KernelArgument& a : m.arguments)
      arguments.push_back({{"name", a.name}, {"value_kind", a.valueKind}, {"offset", a.offset}, {"size", a.size}});
    json["metadata"] = {{"kernarg_segment_size", m.kernargSegmentSize},
                        {"kernarg_segment_align", m.kernargSegmentAlign},
                        {"group_segment_fixed_size", m.groupSegmentFixedSize},
                        {"private_segment_fixed_size", m.privateSegmentFixedSize},
                        {"wavefront_size", m.wavefrontSize},
                        {"max_flat_workgroup_size", m.maxFlatWorkgroupSize},
                        {"sgpr_count", m.sgprCount},
                        {"vgpr_count", m.vgprCount},
                        {"sgpr_spill_count", m.sgprSpillCount},
                        {"vgpr_spill_count", m.vgprSpillCount},
                        {"uses_dynamic_stack", m.usesDynamicStack},
                        {"arguments", std::move(arguments)}};
    if (m.agprCount)
      json["metadata"]["agpr_count"] = *m.agprCount;
    if (m.requiredWorkgroupSize)
      json["metadata"]["reqd_workgroup_size"] = *m.requiredWorkgroupSize;
  }
  return json;
}

ordered_json jsonOf(const CodeObject& object) {
  ordered_json json = {{"file", object.name()},
                       {"target", object.target().id()},
                       {"isa_name", object.target().isaName()},
                       {"generic_version", object.target().genericVersion},
                       {"abi_version", object.abiVersion()},
                       {"code_object_version", codeObjectVersion(object)},
                       {"type", elfType(object.elfType())},
                       {"e_flags", object.flags()},
                       {"bytes", object.bytes().size()},
                       {"sha256", sha256Hex(object.bytes())}};
  json["warnings"] = ordered_json::array();
  for (const object::Remark& remark : remarksOf(object))
    json["warnings"].push_back({{"kernel", remark.kernel}, {"text", remark.text}});
  json["kernels"] = ordered_json::array();
  for (const Kernel& kernel : object.kernels())
    json["kernels"].push_back(jsonOf(object, kernel));
  json["sections"] = ordered_json::array();
  for (const object::Section& s : object.sections())
    json["sections"].push_back({{"name", s.name},
                                {"type", sectionType(s.type)},
                                {"flags", sectionFlags(s.flags)},
                                {"address", s.address},
                                {"offset", s.offset},
                                {"size", s.size},
                                {"alignment", s.alignment}});
  json["segments"] = ordered_json::array();
  for (const object::Segment& s : object.segments())
    json["segments"].push_back({{"type", segmentType(s.type)},
                                {"flags", s.flags},
                                {"address", s.address},
                                {"offset", s.offset},
                                {"file_size", s.fileSize},
                                {"memory_size", s.memorySize},
                                {"alignment", s.alignment}});
  json["symbols"] = ordered_json::array();
  for (const object::Symbol& s : object.symbols())
    if (!s.name.empty())
      json["symbols"].push_back({{"name", s.name},
                                 {"value", s.value},
                                 {"size", s.size},
                                 {"type", symbolType(s.type)},
                                 {"binding", symbolBinding(s.binding)},
                                 {"table", s.dynamic ? ".dynsym" : ".symtab"},
                                 {"section", symbolHome(object, s.sectionIndex)}});
  json["relocations"] = ordered_json::array();
  for (const object::Relocation& r : object.relocations()) {
    const object::Symbol* symbol = object.relocationSymbol(r);
    json["relocations"].push_back({{"offset", r.offset},
                                   {"type", relocationType(r.type)},
                                   {"symbol", symbol ? symbol->name : std::string()},
                                   {"addend", r.addend}});
  }
  json["metadata_yaml"] = object.metadataText();
  return json;
}

/// Prints files one after the other, so that a listing of any length needs no memory of its own.
class Output {
 public:
  explicit Output(bool asJson) : json(asJson) {
    if (json)
      fmt::print("{{\"asmevo_inspect\": 1, \"files\": [\n");
  }
  void next() {
    if (!first)
      fmt::print("{}", json ? ",\n" : "\n");
    first = false;
  }
  void show(const CodeObject& object, bool brief) {
    next();
    if (json)
      print(jsonOf(object));
    else
      printText(object, brief);
  }
  int failed(const std::string& file, const Error& error) {
    if (json) {
      next();
      print({{"file", file}, {"error", error.message}});
    }
    return fail(error);
  }
  void end() {
    if (json)
      fmt::print("\n]}}\n");
  }

 private:
  /// Names in a hostile file need not be UTF-8.
  static void print(const ordered_json& value) {
    fmt::print("{}", value.dump(1, ' ', false, ordered_json::error_handler_t::replace));
  }
  bool json;
  bool first = true;
};

/// The object or objects of one file that are asked for in full.
Result<std::vector<CodeObject>> selected(const object::Container& container, const object::ObjectSelection& selection) {
  std::vector<CodeObject> list;
  ASMEVO_TRY(const auto objects, selectObjects(container, selection));
  for (const object::DeviceObject& which : objects) {
    ASMEVO_TRY(object::ChosenObject chosen, readObject(container, which));
    ASMEVO_TRY(CodeObject object, CodeObject::parse(std::move(chosen.bytes), std::move(chosen.name)));
    list.push_back(std::move(object));
  }
  return list;
}

int inspectFile(const std::string& file, const Options& options, Output& output) {
  object::ObjectPath path = object::parseObjectPath(file);
  if (options.bundle)
    path.selection.bundle = options.bundle;
  if (!options.target.empty())
    path.selection.target = options.target;
  const auto container = object::Container::open(path.file);
  if (!container)
    return output.failed(file, container.error());
  if (container->kind() != object::ContainerKind::codeObject && path.selection.any()) {
    output.next();
    return options.json ? listContainerJson(*container, options.brief) : listContainer(*container, options.brief);
  }
  const auto objects = selected(*container, path.selection);
  if (!objects)
    return output.failed(file, objects.error());
  for (const CodeObject& object : *objects)
    output.show(object, options.brief);
  return ok;
}

int run(const Options& options) {
  int code = ok;
  Output output(options.json);
  for (const std::string& file : options.files)
    code = std::max(code, inspectFile(file, options, output));
  output.end();
  return code;
}

} // namespace

void addInspect(CLI::App& app, int& exit) {
  CLI::App* command = app.add_subcommand("inspect", "Show target, kernels, descriptors, metadata and tables of code "
                                                    "objects, with warnings; of bundles, programs and libraries every "
                                                    "bundle, target and kernel");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Code objects, offload bundles, host programs, libraries or archives")
      ->required();
  command->add_option("--target", options->target, "Show the objects for this target in full (gfx90a:xnack+)");
  command->add_option("--bundle", options->bundle, "Show the objects of this bundle in full");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--brief", options->brief, "Leave out sections, segments, symbols, relocations, metadata text");
  command->callback([options, &exit] { exit = run(*options); });
}

} // namespace asmevo::cli
