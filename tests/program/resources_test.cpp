// Registers and LDS re-derived after edits.
#include "program/resources.h"
#include "program_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::program::test {
namespace {

KernelResources only(const Loaded& loaded) {
  auto derived = deriveResources(loaded.object, loaded.program);
  EXPECT_TRUE(derived) << derived.error().message;
  EXPECT_EQ(derived->size(), 1u);
  return derived->at(0);
}

/// What the rebuilt file declares.
struct Declared {
  unsigned vgprs, accumOffset, sgprs;
  std::uint64_t metadataVgprs;
};
Declared rebuilt(const Loaded& loaded) {
  const auto bytes = rebuild(loaded.object, loaded.program, *loaded.codec);
  EXPECT_TRUE(bytes) << bytes.error().message;
  const auto object = object::CodeObject::parse(*bytes, "rebuilt.co");
  EXPECT_TRUE(object);
  const auto& kernel = object->kernels().at(0);
  return {kernel.descriptor.allocatedVgprs(object->target()), kernel.descriptor.accumOffset(object->target()),
          kernel.descriptor.allocatedSgprs(object->target()), kernel.metadata ? kernel.metadata->vgprCount : 0};
}

/// What the descriptor of the file declares.
struct Given {
  unsigned vgprs, sgprs, accumOffset;
};
constexpr Given small{24, 16, 16};

void replaceLine(std::string& text, const std::string& directive, const std::string& line) {
  const std::size_t at = text.find("    " + directive);
  ASSERT_NE(at, std::string::npos) << directive;
  text.replace(at, text.find('\n', at) + 1 - at, line);
}

Loaded loadGiven(const KernelText& kernel, Given given, const std::string& cpu = "gfx942") {
  std::string text = kernelFile(kernel, cpu);
  replaceLine(text, ".amdhsa_next_free_vgpr", fmt::format("    .amdhsa_next_free_vgpr {}\n", given.vgprs));
  replaceLine(text, ".amdhsa_next_free_sgpr", fmt::format("    .amdhsa_next_free_sgpr {}\n", given.sgprs));
  if (text.find(".amdhsa_accum_offset") != std::string::npos)
    replaceLine(text, ".amdhsa_accum_offset",
                given.accumOffset == 0 ? "" : fmt::format("    .amdhsa_accum_offset {}\n", given.accumOffset));
  return load(assembleFile(text, cpu));
}

TEST(Resources, UneditedCodeKeepsWhatItDeclares) {
  const Loaded loaded = loadGiven({"  v_mov_b32_e32 v9, s7\n  v_accvgpr_write_b32 a3, v9\n  s_endpgm\n"}, small);
  const KernelResources r = only(loaded);
  EXPECT_EQ(r.need.vgprs, 10u);
  EXPECT_EQ(r.need.agprs, 4u);
  EXPECT_EQ(r.need.sgprs, 8u);
  EXPECT_EQ(r.need.ldsBytes, 0u);
  EXPECT_EQ(r.need.scratchBytes, 0u);
  EXPECT_TRUE(r.unproven.empty());
  EXPECT_EQ(r.declared.vgprs, 24u);
  EXPECT_EQ(r.declared.accumOffset, 16u);
  EXPECT_TRUE(r.value == r.declared);
  // 10 VGPRs take 12, and 4 AGPRs make it 16.
  EXPECT_EQ(r.least.vgprs, 16u);
  EXPECT_EQ(r.least.accumOffset, 12u);
  const auto bytes = rebuild(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(std::ranges::equal(*bytes, loaded.object.bytes()));
}

TEST(Resources, EditsRaiseVgprsAndTheBorder) {
  Loaded loaded = loadGiven({"  v_mov_b32_e32 v9, s7\n  s_endpgm\n"}, small);
  insert(loaded, 0, 0, "v_mov_b32_e32 v200, v0");
  const KernelResources r = only(loaded);
  EXPECT_EQ(r.need.vgprs, 201u);
  EXPECT_EQ(r.value.vgprs, 208u);
  EXPECT_EQ(r.value.accumOffset, 204u);
  EXPECT_EQ(r.before.byVgpr, 8u); // 512 / 24, at most 8
  EXPECT_EQ(r.after.byVgpr, 2u);  // 512 / 208
  const Declared declared = rebuilt(loaded);
  EXPECT_EQ(declared.vgprs, 208u);
  EXPECT_EQ(declared.accumOffset, 204u);
}

TEST(Resources, AgprsMoveUpWithTheBorder) {
  Loaded loaded = loadGiven({"  v_accvgpr_write_b32 a7, v9\n  s_endpgm\n"}, small);
  insert(loaded, 0, 0, "v_mov_b32_e32 v20, v0");
  const KernelResources r = only(loaded);
  EXPECT_FALSE(r.accumFixed);
  EXPECT_EQ(r.value.accumOffset, 24u);
  EXPECT_EQ(r.value.vgprs, 32u); // 24 + 8 AGPRs
  insert(loaded, 0, 0, "v_accvgpr_write_b32 a20, v9");
  EXPECT_EQ(only(loaded).value.vgprs, 48u); // 24 + 21, in eights
}

TEST(Resources, ABorderThatK0SeesThroughStays) {
  // v17 is a1 here.
  Loaded loaded = loadGiven({"  v_accvgpr_write_b32 a1, v9\n  v_mov_b32_e32 v2, v17\n  s_endpgm\n"}, small);
  insert(loaded, 0, 0, "v_mov_b32_e32 v40, v0");
  const KernelResources r = only(loaded);
  EXPECT_TRUE(r.accumFixed);
  EXPECT_EQ(r.value.accumOffset, 16u);
  EXPECT_EQ(r.value.vgprs, 48u);
}

TEST(Resources, ScalarsInGranulesOfSixteen) {
  Loaded loaded = loadGiven({"  s_mov_b32 s7, 0\n  s_endpgm\n"}, small);
  EXPECT_EQ(only(loaded).declared.sgprs, 32u); // 16 and 6 more
  insert(loaded, 0, 0, "s_mov_b32 s60, 0");
  EXPECT_EQ(only(loaded).value.sgprs, 80u); // 61 and 6 more
  EXPECT_EQ(rebuilt(loaded).sgprs, 80u);
}

TEST(Resources, Gfx1250HasFourBanksOfVgprs) {
  // An operand names 256 registers, MODE or s_set_vgpr_msb one of four such banks: the descriptor may ask for 1024.
  const Loaded loaded =
      loadGiven({"  s_set_vgpr_msb 3\n  v_mov_b32_e32 v9, v8\n  s_endpgm\n"}, {1024, 16, 0}, "gfx1250");
  const KernelResources r = only(loaded);
  EXPECT_EQ(r.declared.vgprs, 1024u);
  EXPECT_EQ(r.value.vgprs, 1024u);
  EXPECT_EQ(r.least.vgprs, 1024u) << "not proven";
  EXPECT_EQ(r.unproven, std::vector<std::string>{"s_set_vgpr_msb chooses among banks of VGPRs"});

  Loaded edited = loadGiven({"  v_mov_b32_e32 v9, v8\n  s_endpgm\n"}, {16, 16, 0}, "gfx1250");
  EXPECT_EQ(only(edited).value.vgprs, 16u);
  insert(edited, 0, 0, "s_set_vgpr_msb 0xc1"); // the destination is v777 now, the source v264
  EXPECT_EQ(only(edited).value.vgprs, 784u);
  const std::vector<KernelResources> derived = *deriveResources(edited.object, edited.program);
  EXPECT_TRUE(applyResources(edited.object, derived, edited.program));
  EXPECT_EQ(rebuilt(edited).vgprs, 784u);
}

TEST(Resources, CalleesCount) {
  KernelText text{"  s_getpc_b64 s[4:5]\n  s_add_u32 s4, s4, f@rel32@lo+4\n  s_addc_u32 s5, s5, f@rel32@hi+12\n"
                  "  s_swappc_b64 s[30:31], s[4:5]\n  s_endpgm\n"};
  text.more = "  .type f,@function\nf:\n  v_mov_b32_e32 v50, 0\n  s_setpc_b64 s[30:31]\n";
  const KernelResources r = only(loadGiven(text, {64, 40, 64}));
  EXPECT_EQ(r.need.vgprs, 51u);
  EXPECT_TRUE(r.unproven.empty());
}

TEST(Resources, WhatCannotBeProvenKeepsK0sNumbers) {
  for (const char* code : {"  s_swappc_b64 s[30:31], s[4:5]\n", "  s_set_gpr_idx_on s4, gpr_idx(SRC0)\n",
                           "  s_movrels_b32 s4, s6\n", "  s_trap 2\n"}) {
    const Loaded loaded = loadGiven({std::string(code) + "  s_endpgm\n"}, small);
    const KernelResources r = only(loaded);
    EXPECT_EQ(r.unproven.size(), 1u) << code;
    EXPECT_TRUE(r.least == r.declared) << code;
  }
}

TEST(Resources, LdsByConstantAddresses) {
  const KernelResources r = only(loadGiven({"  v_mov_b32_e32 v1, 64\n  ds_write_b64 v1, v[2:3] offset:8\n  s_endpgm\n",
                                            "    .amdhsa_group_segment_fixed_size 1024\n"},
                                           small));
  EXPECT_EQ(r.need.ldsBytes, 80u);
  EXPECT_EQ(r.declared.ldsBytes, 1024u);
  EXPECT_EQ(r.value.ldsBytes, 1024u);
}

TEST(Resources, MoreThanTheTargetHasIsRefused) {
  // 100 declared AGPRs cannot follow 256 + VGPRs that the first border does not allow.
  Loaded loaded = loadGiven({"  v_accvgpr_write_b32 a255, v9\n  s_endpgm\n"}, {512, 16, 256});
  EXPECT_EQ(only(loaded).value.vgprs, 512u);
  loaded = loadGiven({"  v_accvgpr_write_b32 a1, v9\n  v_mov_b32_e32 v2, v17\n  s_endpgm\n"}, {128, 16, 16});
  insert(loaded, 0, 0, "v_accvgpr_write_b32 a255, v9");
  EXPECT_EQ(only(loaded).value.vgprs, 272u); // 16 + 256
}

// Files apart: the larger of the two decides.
TEST(Resources, Gfx908HasTwoFiles) {
  Loaded loaded = loadGiven({"  v_mov_b32_e32 v9, 0\n  s_endpgm\n"}, {16, 16, 0}, "gfx908");
  insert(loaded, 0, 0, "v_accvgpr_write_b32 a29, v9");
  const KernelResources r = only(loaded);
  EXPECT_EQ(r.value.vgprs, 32u); // granule 4
  EXPECT_EQ(r.value.accumOffset, 0u);
}

} // namespace
} // namespace asmevo::program::test
