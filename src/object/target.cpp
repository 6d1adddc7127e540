#include "object/target.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/TargetParser/TargetParser.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace asmevo::object {

namespace {

struct Machine {
  unsigned mach;
  std::string_view name;
};

// EF_AMDGPU_MACH_AMDGCN_* of llvm/BinaryFormat/ELF.h; LLVM AMDGPUUsage, "ELF Header e_flags".
constexpr std::array machines = {
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX600, "gfx600"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX601, "gfx601"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX602, "gfx602"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX700, "gfx700"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX701, "gfx701"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX702, "gfx702"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX703, "gfx703"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX704, "gfx704"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX705, "gfx705"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX801, "gfx801"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX802, "gfx802"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX803, "gfx803"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX805, "gfx805"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX810, "gfx810"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX900, "gfx900"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX902, "gfx902"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX904, "gfx904"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX906, "gfx906"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX908, "gfx908"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX909, "gfx909"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX90A, "gfx90a"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX90C, "gfx90c"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX942, "gfx942"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX950, "gfx950"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1010, "gfx1010"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1011, "gfx1011"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1012, "gfx1012"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1013, "gfx1013"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1030, "gfx1030"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1031, "gfx1031"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1032, "gfx1032"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1033, "gfx1033"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1034, "gfx1034"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1035, "gfx1035"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1036, "gfx1036"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1100, "gfx1100"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1101, "gfx1101"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1102, "gfx1102"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1103, "gfx1103"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1150, "gfx1150"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1151, "gfx1151"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1152, "gfx1152"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1153, "gfx1153"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1200, "gfx1200"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1201, "gfx1201"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1250, "gfx1250"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1251, "gfx1251"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX9_GENERIC, "gfx9-generic"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX9_4_GENERIC, "gfx9-4-generic"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX10_1_GENERIC, "gfx10-1-generic"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX10_3_GENERIC, "gfx10-3-generic"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX11_GENERIC, "gfx11-generic"},
    Machine{llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX12_GENERIC, "gfx12-generic"},
};

/// The two-bit feature fields of code object v4 and later: unsupported, any, off, on.
Feature fromV4(unsigned field) {
  return static_cast<Feature>(field & 3U);
}

/// Before v4 a feature has one bit: what the processor supports is not recorded, so it comes from LLVM's table.
Feature fromBit(bool set, bool supported) {
  if (set)
    return Feature::on;
  return supported ? Feature::off : Feature::unsupported;
}

void appendFeature(std::string& id, std::string_view name, Feature feature) {
  if (feature == Feature::on || feature == Feature::off)
    id += fmt::format(":{}{}", name, feature == Feature::on ? '+' : '-');
}

} // namespace

std::string Target::id() const {
  std::string id = processor;
  appendFeature(id, "sramecc", sramecc);
  appendFeature(id, "xnack", xnack);
  return id;
}

std::string Target::isaName() const {
  return "amdgcn-amd-amdhsa--" + id();
}

bool Target::hasUnifiedRegisterFile() const {
  constexpr std::array<std::string_view, 4> unified = {"gfx90a", "gfx942", "gfx950", "gfx9-4-generic"};
  return std::find(unified.begin(), unified.end(), processor) != unified.end();
}

namespace {

struct GenericFamily {
  std::string_view name;
  std::array<std::string_view, 8> members;
};

// LLVM AMDGPUUsage, "AMDGPU Generic Processors".
constexpr std::array families = {
    GenericFamily{"gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
    GenericFamily{"gfx9-4-generic", {"gfx942", "gfx950"}},
    GenericFamily{"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
    GenericFamily{"gfx10-3-generic", {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
    GenericFamily{"gfx11-generic",
                  {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
    GenericFamily{"gfx12-generic", {"gfx1200", "gfx1201"}},
};

unsigned featuresOf(std::string_view processor) {
  return llvm::AMDGPU::getArchAttrAMDGCN(llvm::AMDGPU::parseArchAMDGCN(llvm::StringRef(processor)));
}

} // namespace

Result<Target> parseTargetId(std::string_view id) {
  std::size_t colon = id.find(':');
  Target target;
  target.processor = id.substr(0, colon);
  if (std::none_of(machines.begin(), machines.end(), [&](const Machine& m) { return m.name == target.processor; }))
    return usageError("target '{}': processor '{}' is unknown (gfx942, gfx90a:xnack+, gfx9-4-generic ...)", id,
                      target.processor);
  const unsigned supported = featuresOf(target.processor);
  target.xnack = (supported & llvm::AMDGPU::FEATURE_XNACK) != 0 ? Feature::any : Feature::unsupported;
  target.sramecc = (supported & llvm::AMDGPU::FEATURE_SRAMECC) != 0 ? Feature::any : Feature::unsupported;
  while (colon != std::string_view::npos) {
    const std::size_t next = id.find(':', colon + 1);
    const std::string_view part = id.substr(colon + 1, next == std::string_view::npos ? next : next - colon - 1);
    colon = next;
    const Feature setting = part.ends_with('+') ? Feature::on : Feature::off;
    const std::string_view name = part.empty() ? part : part.substr(0, part.size() - 1);
    Feature* feature = name == "xnack" ? &target.xnack : name == "sramecc" ? &target.sramecc : nullptr;
    if (feature == nullptr || (!part.ends_with('+') && !part.ends_with('-')))
      return usageError("target '{}': '{}' is no feature (xnack+, xnack-, sramecc+, sramecc-)", id, part);
    if (*feature == Feature::unsupported)
      return usageError("target '{}': {} has no {}", id, target.processor, name);
    if (*feature != Feature::any)
      return usageError("target '{}': {} is named twice", id, name);
    *feature = setting;
  }
  return target;
}

bool genericCovers(std::string_view generic, std::string_view processor) {
  const auto* family =
      std::find_if(families.begin(), families.end(), [&](const GenericFamily& f) { return f.name == generic; });
  return family != families.end() && !processor.empty() &&
         std::find(family->members.begin(), family->members.end(), processor) != family->members.end();
}

std::optional<std::string> whyNotOn(const Target& code, const Target& device) {
  if (code.processor != device.processor && !genericCovers(code.processor, device.processor))
    return fmt::format("it is for {}, the device is {}", code.processor, device.processor);
  const auto clash = [](std::string_view name, Feature wanted, Feature present) -> std::optional<std::string> {
    if ((wanted != Feature::on && wanted != Feature::off) || present == Feature::any || wanted == present)
      return std::nullopt;
    return fmt::format("it needs {}{}, the device has {}{}", name, wanted == Feature::on ? '+' : '-', name,
                       present == Feature::on ? '+' : '-');
  };
  if (auto reason = clash("xnack", code.xnack, device.xnack))
    return reason;
  return clash("sramecc", code.sramecc, device.sramecc);
}

Result<Target> targetFromElf(std::uint32_t elfFlags, std::uint8_t abiVersion) {
  using namespace llvm::ELF;
  const unsigned mach = elfFlags & EF_AMDGPU_MACH;
  const auto* machine =
      std::find_if(machines.begin(), machines.end(), [&](const Machine& m) { return m.mach == mach; });
  if (machine == machines.end())
    return badInput("e_flags 0x{:x}: processor number 0x{:x} is unknown", elfFlags, mach);
  if (abiVersion > ELFABIVERSION_AMDGPU_HSA_V6)
    return badInput("EI_ABIVERSION {}: code object versions 2 to 6 (ABI versions 0 to 4) are known", abiVersion);

  Target target;
  target.processor = machine->name;
  const unsigned supported = featuresOf(target.processor);
  const bool hasXnack = (supported & llvm::AMDGPU::FEATURE_XNACK) != 0;
  const bool hasSramecc = (supported & llvm::AMDGPU::FEATURE_SRAMECC) != 0;
  switch (abiVersion) {
  case ELFABIVERSION_AMDGPU_HSA_V2: // LLVM wrote v2 headers with the v3 bits
  case ELFABIVERSION_AMDGPU_HSA_V3:
    target.xnack = fromBit((elfFlags & EF_AMDGPU_FEATURE_XNACK_V3) != 0, hasXnack);
    target.sramecc = fromBit((elfFlags & EF_AMDGPU_FEATURE_SRAMECC_V3) != 0, hasSramecc);
    break;
  default:
    target.xnack = fromV4((elfFlags & EF_AMDGPU_FEATURE_XNACK_V4) >> 8);
    target.sramecc = fromV4((elfFlags & EF_AMDGPU_FEATURE_SRAMECC_V4) >> 10);
    if (abiVersion == ELFABIVERSION_AMDGPU_HSA_V6)
      target.genericVersion = (elfFlags & EF_AMDGPU_GENERIC_VERSION) >> EF_AMDGPU_GENERIC_VERSION_OFFSET;
    break;
  }
  return target;
}

} // namespace asmevo::object
