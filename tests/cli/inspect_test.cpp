#include "cli/cli_support.h"

#include "object/object_support.h"

namespace asmevo::cli {
namespace {

CommandResult inspect(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "inspect");
  return runCommand(std::move(arguments));
}

const std::string topk = ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942/topksoftmax/topksoftmax_12x256x8.co";

using Inspect = CommandTest;

// Expected values: llvm-readelf-22 and llvm-objdump-22 -D on the same file.
TEST_F(Inspect, JsonOfAProductionObject) {
  const CommandResult outcome = inspect({"--json", topk});
  ASSERT_EQ(outcome.exit, ok) << outcome.err;
  const auto json = outcome.json();
  const auto& file = json.at("files").at(0);
  EXPECT_EQ(file.at("target"), "gfx942");
  EXPECT_EQ(file.at("e_flags"), 0x54c);
  const auto& kernel = file.at("kernels").at(0);
  EXPECT_EQ(kernel.at("name"), "_ZN5aiter20topksoftmax_12x256x8E");
  EXPECT_EQ(kernel.at("descriptor").at(".amdhsa_group_segment_fixed_size"), 0);
  EXPECT_EQ(kernel.at("vgprs"), 56);
  EXPECT_EQ(kernel.at("metadata").at("kernarg_segment_size"), 128);
  EXPECT_EQ(file.at("warnings").size(), 1U) << file.at("warnings");
}

TEST_F(Inspect, TextNamesEverything) {
  const CommandResult outcome = inspect({topk});
  ASSERT_EQ(outcome.exit, ok);
  for (const char* part : {"target gfx942", "kernel _ZN5aiter20topksoftmax_12x256x8E",
                           "occupancy:", ".amdhsa_accum_offset", "sections", "segments", "symbols", "metadata",
                           "amdhsa.kernels", "warning: _ZN5aiter20topksoftmax_12x256x8E: descriptor kernarg size is 0"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  EXPECT_EQ(inspect({topk, "--brief"}).out.find("segments"), std::string::npos);
}

TEST_F(Inspect, BadInputIsNamedAndTheRestIsShown) {
  const std::string bad = write("text.co", "no object");
  const CommandResult outcome = inspect({"--json", bad, topk});
  EXPECT_EQ(outcome.exit, badInput);
  EXPECT_EQ(outcome.err, "asmevo: error: " + bad + ": not an ELF file, offload bundle or archive\n");
  const auto json = outcome.json();
  EXPECT_EQ(json.at("files").at(0).at("error"), bad + ": not an ELF file, offload bundle or archive");
  EXPECT_EQ(json.at("files").at(1).at("target"), "gfx942");
  EXPECT_EQ(inspect({"/no/such/file.co"}).exit, badInput);
  EXPECT_EQ(inspect({}).exit, usage);
}

const std::string cases = ASMEVO_SOURCE_DIR "/tests/data/object/";

// sha256: of what clang-offload-bundler-22 --unbundle takes out of ccob_plain.hipfb.
TEST_F(Inspect, EverySpellingOfABundleListsTheSameObjects) {
  for (const std::string name : {"ccob_plain.hipfb", "ccob_v1_zlib.hsaco", "ccob_v1_zstd.hsaco", "ccob_v2_zlib.hsaco",
                                 "ccob_v2_zstd.hsaco", "ccob_v3_zlib.hsaco", "ccob_v3_zstd.hsaco"}) {
    const CommandResult outcome = inspect({"--json", cases + name});
    ASSERT_EQ(outcome.exit, ok) << outcome.err;
    const auto file = outcome.json().at("files").at(0);
    EXPECT_EQ(file.at("bundle_count"), 1) << name;
    const auto& bundle = file.at("bundles").at(0);
    EXPECT_EQ(bundle.contains("compressed"), name != "ccob_plain.hipfb");
    const auto& entries = bundle.at("entries");
    ASSERT_EQ(entries.size(), 3U) << name;
    EXPECT_EQ(entries.at(0).at("id"), "host-x86_64-unknown-linux-gnu-");
    EXPECT_EQ(entries.at(1).at("target"), "gfx942");
    EXPECT_EQ(entries.at(1).at("sha256"), "6cd7df2ce597d466a438d0abead6a1d6801b120fb1ae0dda37ab1166a7a19e14");
    EXPECT_EQ(entries.at(2).at("sha256"), "49355b658881bec8d1408e7e1a54e980ea35eeba320a5b9ad76614c6fbf55899");
    EXPECT_EQ(entries.at(2).at("kernels").at(0).at("name"), "tiny");
  }
  const CommandResult text = inspect({cases + "ccob_v3_zstd.hsaco"});
  for (const char* part : {"1 bundle\n", "CCOB v3 zstd, 12288 bytes uncompressed",
                           "entry 1: hipv4-amdgcn-amd-amdhsa--gfx942, 2584 bytes, code object v5 for gfx942, 1 kernel",
                           "32 VGPRs", "tiny"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  EXPECT_EQ(inspect({cases + "ccob_v3_zstd.hsaco", "--brief"}).out.find("tiny"), std::string::npos);
}

TEST_F(Inspect, ATargetOrBundleOfAContainerIsShownInFull) {
  const auto full = inspect({"--json", cases + "ccob_v2_zstd.hsaco", "--target", "gfx90a"}).json();
  ASSERT_EQ(full.at("files").size(), 1U);
  EXPECT_EQ(full.at("files").at(0).at("target"), "gfx90a");
  EXPECT_EQ(full.at("files").at(0).at("kernels").at(0).at("name"), "tiny");
  EXPECT_EQ(inspect({"--json", cases + "ccob_v2_zstd.hsaco", "--bundle", "0"}).json().at("files").size(), 2U);
  EXPECT_EQ(inspect({"--json", cases + "ccob_v2_zstd.hsaco#0:gfx942"}).json().at("files").at(0).at("target"), "gfx942");
  EXPECT_EQ(inspect({cases + "ccob_v2_zstd.hsaco", "--bundle", "1"}).exit, usage);
  EXPECT_EQ(inspect({cases + "ccob_v2_zstd.hsaco", "--target", "gfx1100"}).exit, usage);
}

TEST_F(Inspect, DamagedCompressedBundlesAreNamedAndNoCrash) {
  const CommandResult cut = inspect({cases + "ccob_truncated.hsaco"});
  EXPECT_EQ(cut.exit, badInput);
  EXPECT_NE(cut.err.find("1037 bytes needed, 997 present"), std::string::npos) << cut.err;
  const CommandResult hash = inspect({"--json", cases + "ccob_badhash.hsaco"});
  EXPECT_EQ(hash.exit, badInput);
  EXPECT_NE(hash.err.find("bad hash"), std::string::npos) << hash.err;
  EXPECT_TRUE(hash.json().at("files").at(0).at("bundles").at(0).contains("error"));
}

/// gfx942 assembly of a kernel with so many registers and such a workgroup size.
std::string kernelWith(const std::string& target, unsigned vgprs, unsigned agprs, unsigned workgroup) {
  const bool unified = target != "gfx908";
  const unsigned accum = std::max(4U, (vgprs + 3) / 4 * 4);
  const unsigned total = !unified ? std::max(vgprs, agprs) : agprs == 0 ? vgprs : accum + agprs;
  return fmt::format(R"(  .amdgcn_target "amdgcn-amd-amdhsa--{0}"
  .amdhsa_code_object_version 5
  .text
  .globl k
  .p2align 8
k:
  s_endpgm
  .rodata
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_next_free_vgpr {1}
{2}    .amdhsa_next_free_sgpr 8
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {{.name: k, .symbol: k.kd, .kernarg_segment_size: 0, .kernarg_segment_align: 8, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 8, .vgpr_count: {1}, .agpr_count: {3},
     .max_flat_workgroup_size: {4}}}
...
  .end_amdgpu_metadata
)",
                     target, total, unified ? fmt::format("    .amdhsa_accum_offset {}\n", accum) : "", agprs,
                     workgroup);
}

// AMD's MI300X tuning guide, table of VGPR use against waves per SIMD; gfx908 has separate files and ten waves at most.
TEST_F(Inspect, WavesPerSimdOfRegisterCounts) {
  struct Row {
    unsigned vgprs, agprs, waves;
  };
  for (const auto& [vgprs, agprs, waves] :
       {Row{5, 128, 3}, Row{64, 0, 8}, Row{65, 0, 7}, Row{72, 0, 7}, Row{73, 0, 6}, Row{84, 0, 5}, Row{128, 0, 4},
        Row{129, 0, 3}, Row{168, 0, 3}, Row{169, 0, 2}, Row{256, 0, 2}, Row{256, 256, 1}}) {
    const std::string file = assemble("k.co", kernelWith("gfx942", vgprs, agprs, 256), "gfx942");
    const auto kernel = inspect({"--json", file}).json().at("files").at(0).at("kernels").at(0);
    EXPECT_EQ(kernel.at("occupancy").at("waves_per_simd"), waves) << vgprs << "+" << agprs;
  }
  const std::string file = assemble("k.co", kernelWith("gfx908", 32, 32, 64), "gfx908");
  EXPECT_EQ(inspect({"--json", file}).json().at("files").at(0).at("kernels").at(0).at("occupancy").at("waves_per_simd"),
            8);
}

TEST_F(Inspect, RelocatablesAndUndefinedSymbolsComeWithTheRemedy) {
  const std::string object = assemble("k.o", kernelWith("gfx942", 8, 0, 64), "gfx942", false);
  const CommandResult outcome = inspect({"--brief", object});
  EXPECT_EQ(outcome.exit, ok) << outcome.err;
  EXPECT_NE(outcome.out.find("relocatable: link it first (asmevo extract FILE --link -o OUT)"), std::string::npos)
      << outcome.out;
  // clang has lld refuse this; a linker called by hand does not.
  const std::string loose =
      assemble("u.o", "  .text\n  .globl k\nk:\n  s_getpc_b64 s[0:1]\n  s_add_u32 s0, s0, nowhere@gotpcrel32@lo+4\n",
               "gfx942", false);
  const std::string undefined = at("u.co");
  object::testing::runTool({"ld.lld-22", "-shared", loose, "-o", undefined});
  EXPECT_NE(inspect({"--brief", undefined}).out.find("undefined symbol nowhere: the loader will refuse it"),
            std::string::npos);
}

} // namespace
} // namespace asmevo::cli
