#include "object/kernel_descriptor.h"
#include "object/object_support.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace asmevo::object {
namespace {

using testing::assemble;
using testing::parsed;
using testing::runTool;
using testing::scratchFile;
using testing::twoKernelSource;

Target targetNamed(std::uint32_t flags) {
  const auto target = targetFromElf(flags, 4);
  EXPECT_TRUE(target);
  return target ? *target : Target();
}

const Target gfx908 = targetNamed(0x030);
const Target gfx90a = targetNamed(0x03f);
const Target gfx942 = targetNamed(0x04c);
const Target gfx950 = targetNamed(0x04f);

/// ".amdhsa_" directives that llvm-objdump prints for a descriptor.
std::map<std::string, std::uint64_t> directivesOf(const Bytes& bytes, const std::string& kernel) {
  const std::string file = scratchFile(".co");
  EXPECT_TRUE(writeFileAtomic(file, bytes));
  const std::string listing = runTool({"llvm-objdump-22", "-D", "--disassemble-symbols=" + kernel + ".kd", file}).out;
  std::remove(file.c_str());
  std::map<std::string, std::uint64_t> directives;
  std::istringstream lines(listing);
  std::string name;
  std::string value;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (words >> name >> value && name.starts_with(".amdhsa_") && name != ".amdhsa_kernel")
      directives[name] = std::stoull(value, nullptr, 0);
  }
  return directives;
}

TEST(KernelDescriptor, FieldsAreWhatTheAssemblerWasTold) {
  const CodeObject object = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  const auto found = object.findKernel("first");
  ASSERT_TRUE(found);
  const KernelDescriptor& d = (*found)->descriptor;
  const Target& target = object.target();
  EXPECT_EQ(d.groupSegmentSize(), 1536U);
  EXPECT_EQ(d.privateSegmentSize(), 16U);
  EXPECT_EQ(d.kernargSize(), 24U);
  EXPECT_EQ(d.allocatedVgprs(target), 144U); // 140 in granules of 8
  EXPECT_EQ(d.accumOffset(target), 100U);
  EXPECT_EQ(d.allocatedSgprs(target), 48U); // 40 + 6 (VCC, flat scratch, xnack mask) in granules of 16
  EXPECT_EQ(d.userSgprCount(), 9U);         // dispatch ptr 2, kernarg ptr 2, dispatch id 2, preload 3
  EXPECT_TRUE(d.enableDispatchPtr());
  EXPECT_TRUE(d.enableKernargPtr());
  EXPECT_TRUE(d.enableDispatchId());
  EXPECT_FALSE(d.enableQueuePtr());
  EXPECT_FALSE(d.enablePrivateSegmentBuffer());
  EXPECT_FALSE(d.enableFlatScratchInit());
  EXPECT_FALSE(d.enablePrivateSegmentSize());
  EXPECT_TRUE(d.privateSegmentEnabled());
  EXPECT_EQ(d.kernargPreload() & 0x7f, 3);
  EXPECT_EQ(d.kernargPreload() >> 7, 2);
  EXPECT_TRUE(d.workgroupId(0));
  EXPECT_TRUE(d.workgroupId(1));
  EXPECT_FALSE(d.workgroupId(2));
  EXPECT_TRUE(d.workgroupInfo());
  EXPECT_EQ(d.workitemIdMode(), 2U);
  EXPECT_EQ(d.floatMode(), 1U | 2U << 2 | 0U << 4 | 3U << 6);
  EXPECT_FALSE(d.dx10Clamp());
  EXPECT_FALSE(d.ieeeMode());
  EXPECT_TRUE(d.usesDynamicStack());
  EXPECT_FALSE(d.isWave32());
}

// llvm-objdump decodes the same 64 bytes on its own: every directive we name must have its value.
TEST(KernelDescriptor, FieldsAgreeWithObjdump) {
  std::size_t compared = 0;
  for (const std::string cpu : {"gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1201"}) {
    std::string source = "  .amdgcn_target \"amdgcn-amd-amdhsa--" + cpu +
                         "\"\n  .text\n  .p2align 8\n  .globl k\nk:\n  s_endpgm\n  .rodata\n  .p2align 6\n"
                         "  .amdhsa_kernel k\n    .amdhsa_group_segment_fixed_size 4096\n"
                         "    .amdhsa_kernarg_size 40\n    .amdhsa_next_free_vgpr 57\n"
                         "    .amdhsa_next_free_sgpr 33\n    .amdhsa_system_vgpr_workitem_id 1\n"
                         "    .amdhsa_user_sgpr_kernarg_segment_ptr 1\n    .amdhsa_float_denorm_mode_32 2\n"
                         "    .amdhsa_exception_int_div_zero 1\n    .amdhsa_exception_fp_denorm_src 1\n";
    if (cpu == "gfx90a" || cpu == "gfx942" || cpu == "gfx950")
      source += "    .amdhsa_accum_offset 44\n    .amdhsa_tg_split 1\n";
    if (cpu.starts_with("gfx1"))
      source += "    .amdhsa_wavefront_size32 0\n    .amdhsa_memory_ordered 1\n";
    source += "  .end_amdhsa_kernel\n";
    const Bytes bytes = assemble(source, cpu);
    const CodeObject object = parsed(bytes);
    const auto stated = directivesOf(bytes, "k");
    ASSERT_GT(stated.size(), 20U) << cpu;
    ASSERT_EQ(object.kernels().size(), 1U);
    const KernelDescriptor& descriptor = object.kernels().front().descriptor;
    for (const auto& [name, value] : descriptor.fields(object.target())) {
      const auto it = stated.find(name);
      if (it == stated.end())
        continue; // zero user SGPR features and preload fields are not printed on every target
      EXPECT_EQ(value, it->second) << cpu << " " << name;
      ++compared;
    }
    // objdump gives the largest count that has the same granulated field.
    EXPECT_EQ(descriptor.allocatedVgprs(object.target()), stated.at(".amdhsa_next_free_vgpr")) << cpu;
    // The field counts eights, gfx9 allocates sixteens.
    if (cpu.starts_with("gfx9"))
      EXPECT_EQ(descriptor.allocatedSgprs(object.target()), (stated.at(".amdhsa_next_free_sgpr") + 15) / 16 * 16)
          << cpu;
  }
  EXPECT_GT(compared, 120U);
}

TEST(KernelDescriptor, CountsOfTheProductionObjects) {
  std::map<unsigned, unsigned> vgprs;
  unsigned files = 0;
  for (const std::string& file : testing::corpusFiles()) {
    if (file.find("/gfx942/topksoftmax/") == std::string::npos)
      continue;
    const auto object = CodeObject::load(file);
    ASSERT_TRUE(object) << file;
    const auto stated =
        directivesOf(Bytes(object->bytes().begin(), object->bytes().end()), object->kernels().front().name);
    for (const auto& [name, value] : object->kernels().front().descriptor.fields(object->target()))
      if (const auto it = stated.find(name); it != stated.end())
        EXPECT_EQ(value, it->second) << file << " " << name;
    EXPECT_EQ(object->kernels().front().descriptor.allocatedVgprs(object->target()),
              stated.at(".amdhsa_next_free_vgpr"));
    ++files;
  }
  EXPECT_GE(files, 4U);
}

TEST(KernelDescriptor, SetVgprsChangesOnlyItsBits) {
  const CodeObject object = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  const KernelDescriptor before = object.kernels().front().descriptor;
  KernelDescriptor after = before;
  after.setVgprs(object.target(), 129, 64);
  EXPECT_EQ(after.allocatedVgprs(object.target()), 136U);
  EXPECT_EQ(after.accumOffset(object.target()), 64U);
  EXPECT_EQ(after.rsrc1() & ~0x3fU, before.rsrc1() & ~0x3fU);
  EXPECT_EQ(after.rsrc3() & ~0x3fU, before.rsrc3() & ~0x3fU);
  EXPECT_EQ(after.rsrc2(), before.rsrc2());
  after.setVgprs(object.target(), 144, 100);
  EXPECT_EQ(after.raw, before.raw);
  after.setGroupSegmentSize(77);
  after.setEntryOffset(-256);
  EXPECT_EQ(after.groupSegmentSize(), 77U);
  EXPECT_EQ(after.entryOffset(), -256);
}

struct OccupancyCase {
  unsigned vgprs;
  unsigned agprs;
  unsigned waves;
};

// AMD MI300X tuning guide and LLVM: 512 registers per lane and SIMD in granules of 8, at most 8 waves.
TEST(Occupancy, ByRegistersOnUnifiedTargets) {
  const OccupancyCase cases[] = {{5, 128, 3}, {64, 0, 8},  {65, 0, 7},  {72, 0, 7},   {73, 0, 6},
                                 {80, 0, 6},  {84, 0, 5},  {96, 0, 5},  {128, 0, 4},  {129, 0, 3},
                                 {168, 0, 3}, {169, 0, 2}, {256, 0, 2}, {256, 256, 1}};
  for (const Target& target : {gfx90a, gfx942, gfx950})
    for (const auto& [vgprs, agprs, waves] : cases) {
      const Occupancy o = occupancyOf(target, totalVgprs(target, vgprs, agprs), 38, 0, 64);
      EXPECT_EQ(o.wavesPerSimd, waves) << target.processor << " " << vgprs << "+" << agprs;
      EXPECT_EQ(o.byVgpr, waves);
      EXPECT_EQ(o.limiter, waves == 8 ? "waves" : "VGPR");
      EXPECT_EQ(o.workgroupsPerCu, 4 * waves);
    }
}

TEST(Occupancy, SeparateFilesOnGfx908) {
  EXPECT_EQ(occupancyOf(gfx908, totalVgprs(gfx908, 32, 32), 38, 0, 64).wavesPerSimd, 8U);
  EXPECT_EQ(occupancyOf(gfx908, totalVgprs(gfx908, 24, 0), 38, 0, 64).wavesPerSimd, 10U);
  EXPECT_EQ(occupancyOf(gfx908, totalVgprs(gfx908, 8, 128), 38, 0, 64).wavesPerSimd, 2U);
}

TEST(Occupancy, ScalarRegisters) {
  const Occupancy all = occupancyOf(gfx942, 32, 112, 0, 64);
  EXPECT_EQ(all.bySgpr, 7U); // 800 / 112
  EXPECT_EQ(all.limiter, "SGPR");
  EXPECT_EQ(occupancyOf(gfx942, 32, 96, 0, 64).bySgpr, 8U);
}

TEST(Occupancy, LocalMemoryAndWorkgroups) {
  // 20 KiB of LDS: three workgroups of four waves, one per SIMD each.
  const Occupancy lds = occupancyOf(gfx942, 32, 32, 20 * 1024, 256);
  EXPECT_EQ(lds.workgroupsByLds, 3U);
  EXPECT_EQ(lds.workgroupsPerCu, 3U);
  EXPECT_EQ(lds.wavesPerSimd, 3U);
  EXPECT_EQ(lds.limiter, "LDS");
  // gfx950 has 160 KiB.
  EXPECT_EQ(occupancyOf(gfx950, 32, 32, 20 * 1024, 256).workgroupsByLds, 8U);
  // Too much LDS: nothing fits.
  EXPECT_EQ(occupancyOf(gfx942, 32, 32, 65537, 256).workgroupsPerCu, 0U);
  EXPECT_EQ(occupancyOf(gfx942, 32, 32, 0xffffffffU, 256).workgroupsPerCu, 0U);
  // 16 waves need 4 per SIMD, 169 registers allow 2.
  EXPECT_EQ(occupancyOf(gfx942, 169, 32, 0, 1024).workgroupsPerCu, 0U);
  EXPECT_EQ(occupancyOf(gfx942, 128, 32, 0, 1024).workgroupsPerCu, 1U);
  // 16 barriers per CU: workgroups of two waves fill all 32 slots, those of one wave need none.
  EXPECT_EQ(occupancyOf(gfx942, 32, 32, 0, 128).workgroupsPerCu, 16U);
  EXPECT_EQ(occupancyOf(gfx942, 32, 32, 0, 64).workgroupsPerCu, 32U);
}

} // namespace
} // namespace asmevo::object
