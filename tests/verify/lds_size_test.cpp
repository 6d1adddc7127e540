// Smaller LDS: what a K1 must still have, and launches that say nothing as K0 uses LDS there that nothing has written.
#include "program/program_support.h"
#include "verify/verify_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::verify {
namespace {

/// One wave that writes 4 * its id to LDS at 4 * id, with `lines` in between, and stores v4 to out[id].
object::CodeObject kernel(const std::string& lines, unsigned ldsBytes) {
  std::string file = program::test::kernelFile({R"(
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v4, v1
  ds_write_b32 v1, v1
  s_waitcnt lgkmcnt(0)
)" + lines + R"(
  global_store_dword v1, v4, s[2:3]
  s_endpgm
)",
                                                fmt::format("    .amdhsa_group_segment_fixed_size {}\n", ldsBytes)});
  const std::string declared = ".group_segment_fixed_size: 0";
  const auto at = file.find(declared);
  EXPECT_NE(at, std::string::npos);
  file.replace(at, declared.size(), fmt::format(".group_segment_fixed_size: {}", ldsBytes));
  auto object = object::CodeObject::parse(program::test::assembleFile(file), "k.co");
  EXPECT_TRUE(object) << object.error().message;
  return *std::move(object);
}

/// 64 work-items; `far`, the first of 512 dwords behind the output, is `offset`.
dispatch::Dispatch launch(unsigned offset = 0) {
  auto parsed = dispatch::parseDispatch(
      R"({"asmevo_dispatch": 1, "kernel": "k", "workgroup_size": [64, 1, 1], "grid_size": [64, 1, 1],
          "buffers": {"out": {"dtype": "u32", "shape": [512], "init": "zero"}}, "args": [{"buffer": "out"}]})",
      ".", "text");
  EXPECT_TRUE(parsed) << parsed.error().message;
  Bytes& out = parsed->cases[0].buffers[0].initial;
  out[256] = static_cast<std::uint8_t>(offset);
  out[257] = static_cast<std::uint8_t>(offset >> 8);
  return *std::move(parsed);
}

Verdict verdictOf(const std::string& lines, unsigned from, unsigned to, const dispatch::Dispatch& dispatch,
                  unsigned variants = 0) {
  Options options;
  options.dataVariants = variants;
  options.furtherRounds = 0;
  auto verdict = verify(kernel(lines, from), kernel(lines, to), dispatch, tests::simulator(), options);
  EXPECT_TRUE(verdict) << verdict.error().message;
  return verdict ? *std::move(verdict) : Verdict{};
}

/// An address from memory: LDS at 4 * id + out[64].
const std::string fromMemory = R"(
  s_load_dword s4, s[2:3], 0x100
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v2, s4, v1
)";

TEST(LdsSize, WhatFitsIsExact) {
  const auto verdict = verdictOf(fromMemory + "  ds_write_b32 v2, v0\n", 4096, 1024, launch(768));
  EXPECT_EQ(verdict.level, Level::exact) << verdict.reason;
}

TEST(LdsSize, AWriteIntoMissingLdsIsRefusedThoughNobodyReadsIt) {
  const auto verdict = verdictOf(fromMemory + "  ds_write_b32 v2, v0\n", 4096, 1024, launch(1020));
  EXPECT_FALSE(accepted(verdict.level));
  EXPECT_NE(verdict.reason.find("reaches byte 1024 of the LDS and has 1024 of K0's 4096 bytes"), std::string::npos)
      << verdict.reason;
}

TEST(LdsSize, SoIsAnLdsDma) {
  const auto verdict = verdictOf(R"(
  s_load_dword s4, s[2:3], 0x100
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, s4
  s_nop 0
  global_load_lds_dword v1, s[2:3] offset:16
  s_waitcnt vmcnt(0)
)",
                                 4096, 1024, launch(800));
  EXPECT_FALSE(accepted(verdict.level));
  EXPECT_NE(verdict.reason.find("reaches byte 1024 of the LDS"), std::string::npos) << verdict.reason;
}

TEST(LdsSize, BeyondTheEndOfBothNothingChanges) {
  const auto verdict =
      verdictOf(fromMemory + "  ds_read_b32 v4, v2\n  s_waitcnt lgkmcnt(0)\n", 4096, 1024, launch(4096));
  EXPECT_EQ(verdict.level, Level::exact) << verdict.reason;
}

TEST(LdsSize, LaunchesThatUseWhatNothingHasWrittenAreNoTest) {
  // Work-item i reads what 63 - i wrote and looks there: without the 64th, anywhere in 4 KiB. Nothing of it is seen.
  const auto verdict = verdictOf(R"(
  v_sub_u32_e32 v2, 0xfc, v1
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  v_and_b32_e32 v3, 0xffc, v3
  ds_read_b32 v5, v3
  s_waitcnt lgkmcnt(0)
  v_sub_u32_e32 v5, v5, v5
  v_add_u32_e32 v4, v5, v4
)",
                                 4096, 512, launch(), 1);
  EXPECT_EQ(verdict.level, Level::exact) << verdict.reason;
  const auto partial = std::ranges::find_if(verdict.cases, [](const CaseResult& result) {
    return result.name.find("workgroups of 63 in x") != std::string::npos;
  });
  ASSERT_NE(partial, verdict.cases.end());
  EXPECT_TRUE(partial->skipped);
  EXPECT_NE(partial->detail.find("uses what nothing has written"), std::string::npos) << partial->detail;
}

} // namespace
} // namespace asmevo::verify
