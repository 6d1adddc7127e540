#include "program/descriptor_text.h"

#include "isa/object_assembler.h"
#include "object/code_object.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace asmevo::program {

namespace elf = llvm::ELF;

namespace {

constexpr std::size_t entryOffsetBegin = 16, entryOffsetBytes = 8; ///< kernel_code_entry_byte_offset
constexpr unsigned addressableSgprs = 102;
constexpr std::size_t largestDirectiveList = 256;

bool isDirectiveName(std::string_view name) {
  constexpr std::string_view prefix = ".amdhsa_";
  return name.starts_with(prefix) && name.size() > prefix.size() && name.size() < 80 &&
         std::ranges::all_of(
             name.substr(1), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

/// How allocated SGPRs can be asked for: the assembler adds room for VCC, FLAT_SCRATCH and XNACK_MASK, depending on the
/// target and its id, and limits what is left (LLVM AMDGPUUsage, ".amdhsa_next_free_sgpr"; getNumExtraSGPRs).
struct SgprSpelling {
  bool reserve; ///< VCC and FLAT_SCRATCH: the assembler's default
  unsigned extra;
};
constexpr SgprSpelling sgprSpellings[] = {{true, 6},  {true, 2},  {true, 4}, {true, 0},
                                          {false, 6}, {false, 4}, {false, 0}};

DescriptorDirectives directivesFor(const object::Target& target, const object::KernelDescriptor& descriptor,
                                   const SgprSpelling& spelling) {
  const bool isGfx9 = target.isGfx9(), isGfx8 = target.processor.starts_with("gfx8");
  const bool hasArchitectedFlatScratch =
      target.processor.starts_with("gfx94") || target.processor.starts_with("gfx95") ||
      target.processor == "gfx9-4-generic" || (!isGfx9 && !isGfx8 && !target.processor.starts_with("gfx10"));
  // Fields for which the assembler has no directive on this target, or whose value goes without saying.
  const auto isLeftOut = [&](std::string_view name, std::uint64_t value) {
    if (name.starts_with(".amdhsa_user_sgpr_kernarg_preload"))
      return !target.hasUnifiedRegisterFile();
    if (name == ".amdhsa_workgroup_processor_mode") // gfx125 has no other mode
      return value == 0 && target.processor.starts_with("gfx125");
    if (name == ".amdhsa_user_sgpr_flat_scratch_init" || name == ".amdhsa_user_sgpr_private_segment_buffer")
      return value == 0 && hasArchitectedFlatScratch;
    return name == ".amdhsa_tg_split" && value == 0;
  };
  DescriptorDirectives list;
  for (const auto& [name, value] : descriptor.fields(target)) {
    if (name == "allocated VGPRs") {
      list.emplace_back(".amdhsa_next_free_vgpr", value);
    } else if (name == "allocated SGPRs") {
      // GRANULATED_WAVEFRONT_SGPR_COUNT counts eights, though sixteens are allocated; nothing from GFX10 on.
      const std::uint64_t sgprs = (((descriptor.rsrc1() >> 6) & 0xf) + 1) * 8;
      list.emplace_back(".amdhsa_next_free_sgpr",
                        std::min<std::uint64_t>(sgprs > spelling.extra ? sgprs - spelling.extra : 0, addressableSgprs));
      if (!spelling.reserve) {
        list.emplace_back(".amdhsa_reserve_vcc", 0);
        if ((isGfx9 || isGfx8) && !hasArchitectedFlatScratch)
          list.emplace_back(".amdhsa_reserve_flat_scratch", 0);
      }
    } else if (!hasArchitectedFlatScratch && name == ".amdhsa_enable_private_segment") {
      list.emplace_back(".amdhsa_system_sgpr_private_segment_wavefront_offset", value);
    } else if (!isLeftOut(name, value)) {
      list.emplace_back(name, value);
    }
  }
  // INST_PREF_SIZE: 6 bits on GFX11, 8 from GFX12 on (LLVM AMDGPUUsage, compute_pgm_rsrc3).
  const bool isGfx11 = target.processor.starts_with("gfx11"), isGfx12 = target.processor.starts_with("gfx12");
  if (const unsigned prefetch = (descriptor.rsrc3() >> 4) & (isGfx12 ? 0xffU : 0x3fU);
      prefetch != 0 && (isGfx11 || isGfx12))
    list.emplace_back(".amdhsa_inst_pref_size", prefetch);
  return list;
}

constexpr std::size_t linesBefore = 8; ///< of the text that assembleDescriptor makes

/// "line 12: message" as ".amdhsa_name: message".
std::string withDirective(const std::string& message, const DescriptorDirectives& directives) {
  constexpr std::string_view begin = "line ";
  const std::size_t colon = message.find(": ");
  std::size_t line = 0;
  if (!message.starts_with(begin) || colon == std::string::npos ||
      std::from_chars(message.data() + begin.size(), message.data() + colon, line).ec != std::errc())
    return message;
  const std::string rest = message.substr(colon + 2);
  const std::size_t index = line - linesBefore - 1;
  return line > linesBefore && index < directives.size() ? directives[index].first + ": " + rest : rest;
}

bool sameButEntry(object::KernelDescriptor a, object::KernelDescriptor b) {
  a.setEntryOffset(0);
  b.setEntryOffset(0);
  return a.raw == b.raw;
}

} // namespace

unsigned codeObjectVersion(std::uint8_t abiVersion) {
  // LLVM AMDGPUUsage, "AMDGPU ELF Header EI_ABIVERSION Values".
  switch (abiVersion) {
  case elf::ELFABIVERSION_AMDGPU_HSA_V5:
    return 5;
  case elf::ELFABIVERSION_AMDGPU_HSA_V6:
    return 6;
  default:
    return 4;
  }
}

std::optional<DescriptorDirectives> descriptorDirectives(const object::Target& target, std::uint8_t abiVersion,
                                                         const object::KernelDescriptor& descriptor) {
  for (const SgprSpelling& spelling : sgprSpellings) {
    DescriptorDirectives list = directivesFor(target, descriptor, spelling);
    const auto again = assembleDescriptor(target, abiVersion, list);
    if (again && sameButEntry(*again, descriptor))
      return list;
  }
  return std::nullopt;
}

Result<object::KernelDescriptor> assembleDescriptor(const object::Target& target, std::uint8_t abiVersion,
                                                    const DescriptorDirectives& directives) {
  if (directives.size() > largestDirectiveList)
    return badInput("a descriptor of {} directives", directives.size());
  std::string text = fmt::format("\t.amdgcn_target \"{}\"\n\t.amdhsa_code_object_version {}\n\t.text\nk:\n\ts_endpgm\n"
                                 "\t.rodata\n\t.p2align 6\n\t.amdhsa_kernel k\n",
                                 target.isaName(), codeObjectVersion(abiVersion));
  for (const auto& [name, value] : directives) {
    if (!isDirectiveName(name))
      return badInput("'{}' is no descriptor directive", name);
    text += fmt::format("\t{} {}\n", name, value);
  }
  text += "\t.end_amdhsa_kernel\n";
  auto bytes = isa::assembleObject(target, text);
  if (!bytes)
    return badInput("{}", withDirective(bytes.error().message, directives));
  ASMEVO_TRY(const object::CodeObject assembled, object::CodeObject::parse(*std::move(bytes), "descriptor"));
  for (const object::Section& section : assembled.sections()) {
    object::KernelDescriptor descriptor;
    const auto contents = assembled.contents(section);
    if (section.name != ".rodata" || contents.size() != descriptor.raw.size())
      continue;
    std::ranges::copy(contents, descriptor.raw.begin());
    std::fill_n(descriptor.raw.begin() + entryOffsetBegin, entryOffsetBytes, std::uint8_t{0});
    return descriptor;
  }
  return internalError("the assembler made no descriptor");
}

} // namespace asmevo::program
