// What a complete static lint says of small kernels: the place, the numbers needed and present, or nothing.
#include "verify/lint_support.h"
#include "verify/verify.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace asmevo::verify {
namespace {

namespace fs = std::filesystem;
using tests::build;
using tests::lintText;

TEST(Lint, ScalarLoadsOutOfOrder) {
  const char* body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x8
  s_waitcnt lgkmcnt({})
  v_mov_b32_e32 v2, s4
  s_endpgm
)";
  EXPECT_EQ(lintText(fmt::format(fmt::runtime(body), 1)), "lgkmcnt 0 1: v_mov_b32_e32 v2, s4\n");
  EXPECT_EQ(lintText(fmt::format(fmt::runtime(body), 0)), "");
}

TEST(Lint, LoadInFlightAcrossACall) {
  const char* body = R"(
  global_load_dword v2, v1, s[6:7]
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, f@rel32@lo+4
  s_addc_u32 s9, s9, f@rel32@hi+12
  {}
  s_swappc_b64 s[30:31], s[8:9]
  global_store_dword v1, v3, s[4:5]
  s_endpgm
)";
  const char* callee = R"(
  .p2align 6
  .type f,@function
f:
  v_add_u32_e32 v3, 1, v2
  s_setpc_b64 s[30:31]
)";
  const auto bad = build(fmt::format(fmt::runtime(body), ""), "gfx942", callee);
  EXPECT_EQ(lintText(bad), "vmcnt 0 -: v_add_u32_e32 v3, 1, v2\n");
  const auto report = lint(bad);
  ASSERT_TRUE(report);
  EXPECT_NE(report->findings.at(0).message.find("issued in k, used in f, by the call at 0x"), std::string::npos)
      << report->findings.at(0).message;
  EXPECT_EQ(lintText(fmt::format(fmt::runtime(body), "s_waitcnt vmcnt(0)"), "gfx942", callee), "");
}

TEST(Lint, LdsDmaBehindTheWrongCounter) {
  const char* body = R"(
  s_mov_b32 m0, 0
  s_nop 0
  buffer_load_dword v1, s[4:7], 0 offen lds
  s_waitcnt {}
  s_barrier
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[8:9]
  s_endpgm
)";
  EXPECT_EQ(lintText(fmt::format(fmt::runtime(body), "lgkmcnt(0)")), "vmcnt 0 -: s_barrier\n");
  EXPECT_EQ(lintText(fmt::format(fmt::runtime(body), "vmcnt(0)")), "");
}

TEST(Lint, WideStoreThenOverwrite) {
  const char* body = R"(
  buffer_store_dwordx4 v[4:7], v1, s[4:7], {} offen
  {}
  v_pk_mul_f32 v[4:5], v[8:9], v[8:9]
  s_endpgm
)";
  const auto text = [&](const char* offset, const char* between) {
    return lintText(fmt::format(fmt::runtime(body), offset, between));
  };
  EXPECT_EQ(text("s8", ""), "wait_states 1 0: v_pk_mul_f32 v[4:5], v[8:9], v[8:9]\n");
  EXPECT_EQ(text("s8", "s_nop 0"), "");
  EXPECT_EQ(text("0", "s_nop 0"), "wait_states 2 1: v_pk_mul_f32 v[4:5], v[8:9], v[8:9]\n");
  EXPECT_EQ(text("0", "s_nop 1"), "");
}

TEST(Lint, AccumulatorForwardingHoldsAlongOneOpcode) {
  const char* body = R"(
  v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[4:5], a[0:3]
  {}
  v_mfma_f32_16x16x16_{} a[0:3], v[2:3], v[4:5], a[0:3]
  s_endpgm
)";
  const auto text = [&](const char* between, const char* type) {
    return lintText(fmt::format(fmt::runtime(body), between, type));
  };
  EXPECT_EQ(text("", "bf16"), "wait_states 5 0: v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], v[4:5], a[0:3]\n");
  EXPECT_EQ(text("s_nop 4", "bf16"), "");
  EXPECT_EQ(text("", "f16"), "");
}

TEST(Lint, LongestMatrixLatencyOfGfx950) {
  const char* body = R"(
  v_mfma_f32_32x32x4_2b_f16 v[32:63], v[2:3], v[4:5], v[32:63]
  s_nop 15
  s_nop {}
  v_mov_b32_e32 v1, v32
  s_endpgm
)";
  EXPECT_EQ(lintText(fmt::format(fmt::runtime(body), 2), "gfx950"), "wait_states 20 19: v_mov_b32_e32 v1, v32\n");
  EXPECT_EQ(lintText(fmt::format(fmt::runtime(body), 3), "gfx950"), "");
  EXPECT_EQ(lintText(fmt::format(fmt::runtime(body), 2), "gfx942"), ""); // 19 states
}

TEST(Lint, UndecodableWordsMatterWhereTheyAreReached) {
  EXPECT_EQ(lintText("  .long 0xf4080500\n  s_endpgm\n"), "undecodable - -: .long 0xf4080500\n");
  EXPECT_EQ(lintText("  s_endpgm\n  .long 0xf4080500\n"), "");
}

TEST(Lint, OlderTargetsHaveTheirOwnTable) {
  // 16x16x16 f16 has 8 passes on gfx90a, 4 on gfx942: 11 states against 7.
  const char* body = R"(
  v_mfma_f32_16x16x16f16 v[8:11], v[2:3], v[4:5], 0
  s_nop 9
  v_mov_b32_e32 v1, v8
  s_endpgm
)";
  EXPECT_EQ(lintText(body, "gfx942"), "");
  EXPECT_EQ(lintText(body, "gfx90a"), "wait_states 11 10: v_mov_b32_e32 v1, v8\n");
}

TEST(Lint, FindingsOfTheVerifier) {
  const auto findings =
      lintWaits(build("  global_load_dword v1, v2, s[0:1]\n  v_mov_b32_e32 v3, v1\n  s_endpgm\n", "gfx942"));
  ASSERT_TRUE(findings);
  ASSERT_EQ(findings->size(), 1u);
  EXPECT_EQ(findings->front().rule, "wait.vm.raw");
  EXPECT_EQ(findings->front().consumer - findings->front().producer, 8u);
}

/// LLVM knows the rules too; what it compiled must be clean.
TEST(Lint, CompiledKernelsAreClean) {
  std::size_t kernels = 0;
  for (const auto& entry : fs::directory_iterator(ASMEVO_BINARY_DIR "/kernels")) {
    if (entry.path().extension() != ".co")
      continue;
    const auto object = object::CodeObject::load(entry.path().string());
    ASSERT_TRUE(object) << entry.path();
    EXPECT_EQ(lintText(*object), "") << entry.path();
    ++kernels;
  }
  EXPECT_GE(kernels, 10u);
}

} // namespace
} // namespace asmevo::verify
