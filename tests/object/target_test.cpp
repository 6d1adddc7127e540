#include "object/object_support.h"
#include "object/target.h"

#include <gtest/gtest.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/TargetParser/TargetParser.h>

#include <set>

namespace asmevo::object {
namespace {

using testing::assemble;
using testing::parsed;

std::string tiny(const std::string& target, int version) {
  return "  .amdgcn_target \"amdgcn-amd-amdhsa--" + target + "\"\n  .amdhsa_code_object_version " +
         std::to_string(version) + "\n  .text\n  s_endpgm\n";
}

// What clang was told is what the header must give back.
TEST(Target, EveryTargetIdThatClangWrites) {
  const std::vector<std::string> ids = {"gfx900:xnack-",
                                        "gfx906:sramecc+:xnack-",
                                        "gfx908:sramecc-:xnack+",
                                        "gfx90a:xnack+",
                                        "gfx942",
                                        "gfx942:sramecc+:xnack-",
                                        "gfx942:xnack-",
                                        "gfx950:sramecc-",
                                        "gfx1010:xnack+",
                                        "gfx1030",
                                        "gfx1100",
                                        "gfx1201"};
  for (const int version : {4, 5})
    for (const std::string& id : ids) {
      const CodeObject object = parsed(assemble(tiny(id, version), id, false));
      EXPECT_EQ(object.target().id(), id);
      EXPECT_EQ(object.target().isaName(), "amdgcn-amd-amdhsa--" + id);
      EXPECT_EQ(object.abiVersion(), version - 2);
      EXPECT_EQ(object.target().genericVersion, 0U);
    }
}

TEST(Target, GenericTargetsCarryTheirVersion) {
  for (const std::string id :
       {"gfx9-generic", "gfx9-4-generic", "gfx10-1-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic"}) {
    const CodeObject object = parsed(assemble(tiny(id, 6), id, false));
    EXPECT_EQ(object.target().id(), id);
    EXPECT_EQ(object.target().genericVersion, 1U);
  }
}

TEST(Target, FeatureFieldsOfTheHeader) {
  // 0x54c: gfx942, xnack any, sramecc any (what clang writes for plain gfx942).
  const auto any = targetFromElf(0x54c, 4);
  ASSERT_TRUE(any);
  EXPECT_EQ(any->processor, "gfx942");
  EXPECT_EQ(any->xnack, Feature::any);
  EXPECT_EQ(any->sramecc, Feature::any);
  // Code object v3 has single bits: unset means off where the processor has the feature.
  const auto v3 = targetFromElf(0x02f | 0x200, 1);
  ASSERT_TRUE(v3);
  EXPECT_EQ(v3->id(), "gfx906:sramecc+:xnack-");
  const auto v3WithoutFeatures = targetFromElf(0x036, 1);
  ASSERT_TRUE(v3WithoutFeatures);
  EXPECT_EQ(v3WithoutFeatures->id(), "gfx1030");
}

TEST(Target, UnknownNumbersAreErrors) {
  const auto machine = targetFromElf(0x027, 3);
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().kind, ErrorKind::badInput);
  EXPECT_NE(machine.error().message.find("0x27"), std::string::npos);
  EXPECT_FALSE(targetFromElf(0x005, 3)) << "R600 has no code objects";
  EXPECT_FALSE(targetFromElf(0x04c, 5)) << "there is no code object v7";
}

TEST(Target, UnifiedRegisterFile) {
  for (const auto& [flags, unified] :
       {std::pair{0x030U, false}, {0x03fU, true}, {0x04cU, true}, {0x04fU, true}, {0x05fU, true}, {0x041U, false}}) {
    const auto target = targetFromElf(flags, 2);
    ASSERT_TRUE(target);
    EXPECT_EQ(target->hasUnifiedRegisterFile(), unified) << target->processor;
  }
}

/// What LLVM calls the processor of an ELF header with these e_flags.
std::string llvmNameOf(std::uint32_t flags) {
  llvm::ELF::Elf64_Ehdr header{};
  std::copy_n(llvm::ELF::ElfMagic, 4, header.e_ident);
  header.e_ident[llvm::ELF::EI_CLASS] = llvm::ELF::ELFCLASS64;
  header.e_ident[llvm::ELF::EI_DATA] = llvm::ELF::ELFDATA2LSB;
  header.e_ident[llvm::ELF::EI_VERSION] = llvm::ELF::EV_CURRENT;
  header.e_ident[llvm::ELF::EI_OSABI] = llvm::ELF::ELFOSABI_AMDGPU_HSA;
  header.e_type = llvm::ELF::ET_DYN;
  header.e_machine = llvm::ELF::EM_AMDGPU;
  header.e_flags = flags;
  header.e_ehsize = sizeof header;
  const llvm::MemoryBufferRef buffer(llvm::StringRef(reinterpret_cast<const char*>(&header), sizeof header), "header");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return {};
  }
  return (*file)->tryGetCPUName().value_or("").str();
}

TEST(Target, EveryProcessorThatLlvmKnows) {
  std::set<std::string> ours;
  for (std::uint32_t mach = 0x20; mach <= 0xff; ++mach)
    if (const auto target = targetFromElf(mach, 4)) {
      EXPECT_EQ(target->processor, llvmNameOf(mach));
      ours.insert(target->processor);
      const auto parsed = parseTargetId(target->processor);
      ASSERT_TRUE(parsed) << target->processor;
      EXPECT_EQ(parsed->id(), target->processor);
    }
  llvm::SmallVector<llvm::StringRef> known;
  llvm::AMDGPU::fillValidArchListAMDGCN(known);
  for (const llvm::StringRef name : known) // with aliases such as "tahiti"
    EXPECT_TRUE(ours.contains(llvm::AMDGPU::getArchNameAMDGCN(llvm::AMDGPU::parseArchAMDGCN(name)).str()))
        << name.str();
  EXPECT_GE(ours.size(), 53U);
}

TEST(Target, IdsAreReadBackAndWrongOnesNamed) {
  for (const std::string id : {"gfx942", "gfx942:sramecc+:xnack-", "gfx90a:xnack+", "gfx900:xnack-", "gfx12-generic"}) {
    const auto target = parseTargetId(id);
    ASSERT_TRUE(target) << target.error().message;
    EXPECT_EQ(target->id(), id);
  }
  EXPECT_EQ(parseTargetId("gfx942:xnack+:sramecc-")->id(), "gfx942:sramecc-:xnack+");
  for (const char* id : {"", "gfx", "gfx943", "gfx942:", "gfx942:xnack", "gfx942:fast+", "gfx942:xnack+:xnack-",
                         "gfx1100:xnack+", "gfx942:+"}) {
    const auto target = parseTargetId(id);
    ASSERT_FALSE(target) << id;
    EXPECT_EQ(target.error().kind, ErrorKind::usage);
  }
}

// LLVM AMDGPUUsage, "Target ID" and "AMDGPU Generic Processors".
TEST(Target, WhatRunsWhere) {
  const auto why = [](const char* code, const char* device) {
    return whyNotOn(*parseTargetId(code), *parseTargetId(device)).value_or("");
  };
  EXPECT_EQ(why("gfx942", "gfx942:sramecc+:xnack-"), "");
  EXPECT_EQ(why("gfx942:xnack-", "gfx942:sramecc+:xnack-"), "");
  EXPECT_EQ(why("gfx942:xnack+", "gfx942:sramecc+:xnack-"), "it needs xnack+, the device has xnack-");
  EXPECT_EQ(why("gfx942:sramecc-", "gfx942:sramecc+:xnack-"), "it needs sramecc-, the device has sramecc+");
  EXPECT_EQ(why("gfx9-4-generic", "gfx942"), "");
  EXPECT_EQ(why("gfx9-4-generic", "gfx950"), "");
  EXPECT_EQ(why("gfx9-generic", "gfx942"), "it is for gfx9-generic, the device is gfx942");
  EXPECT_EQ(why("gfx942", "gfx9-4-generic"), "it is for gfx942, the device is gfx9-4-generic");
  EXPECT_EQ(why("gfx11-generic", "gfx1151"), "");
  EXPECT_EQ(why("gfx90a", "gfx942"), "it is for gfx90a, the device is gfx942");
}

// A v2 object is made here from its published layout: no assembler writes it any more.
TEST(Target, LegacyObjectsListTheirKernels) {
  const std::string source = R"(  .text
  .p2align 8
  .globl old
  .type old,@function
old:
  .long 1, 2, 0x90001, 0
  .quad 256, 0, 0, 0
  .long 0x00ac0041, 0x00000090
  .long 0x0000000b, 48, 1024, 0
  .quad 40
  .fill 176, 1, 0
  s_endpgm
)";
  Bytes bytes = assemble(source, "gfx900", true);
  bytes[llvm::ELF::EI_ABIVERSION] = llvm::ELF::ELFABIVERSION_AMDGPU_HSA_V2;
  bytes[49] = 0; // e_flags: v4 feature fields away
  const CodeObject modern = parsed(assemble(source, "gfx900", true));
  for (const Section& section : modern.sections())
    if (section.type == llvm::ELF::SHT_SYMTAB || section.type == llvm::ELF::SHT_DYNSYM)
      for (std::uint64_t at = section.offset; at < section.offset + section.size; at += sizeof(llvm::ELF::Elf64_Sym))
        if (std::uint8_t& info = bytes[at + offsetof(llvm::ELF::Elf64_Sym, st_info)];
            (info & 0xfU) == llvm::ELF::STT_FUNC)
          info = static_cast<std::uint8_t>((info & 0xf0U) | llvm::ELF::STT_AMDGPU_HSA_KERNEL);
  const CodeObject object = parsed(bytes);
  EXPECT_EQ(object.target().id(), "gfx900:xnack-");
  ASSERT_EQ(object.kernels().size(), 1U);
  const Kernel& kernel = object.kernels()[0];
  EXPECT_EQ(kernel.name, "old");
  EXPECT_EQ(kernel.entryAddress, kernel.descriptorAddress + 256);
  EXPECT_EQ(kernel.descriptor.groupSegmentSize(), 1024U);
  EXPECT_EQ(kernel.descriptor.privateSegmentSize(), 48U);
  EXPECT_EQ(kernel.descriptor.kernargSize(), 40U);
  EXPECT_EQ(kernel.descriptor.allocatedVgprs(object.target()), 8U);
  EXPECT_EQ(kernel.descriptor.allocatedSgprs(object.target()), 16U);
  EXPECT_TRUE(kernel.descriptor.enablePrivateSegmentBuffer());
  EXPECT_TRUE(kernel.descriptor.enableDispatchPtr());
  EXPECT_FALSE(kernel.descriptor.enableQueuePtr());
  EXPECT_TRUE(kernel.descriptor.enableKernargPtr());
  EXPECT_EQ(kernel.descriptor.userSgprCount(), 8U);
}

} // namespace
} // namespace asmevo::object
