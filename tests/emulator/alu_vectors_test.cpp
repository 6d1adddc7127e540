// Test vectors made from the ISA manual's pseudocode (tests/data/isa_vectors.jsonl): every modelled opcode, all round
// modes, denormals kept and flushed.
#include "emulator/alu_support.h"
#include "emulator/vectors.h"
#include "isa/semantics/table.h"
#include "support/file_io.h"

#include <gtest/gtest.h>

#include <set>

namespace asmevo::emulator {
namespace {

std::string vectorText(const std::string& file = "isa_vectors.jsonl") {
  const auto bytes = readFile(ASMEVO_SOURCE_DIR "/tests/data/" + file);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
}

object::Target gfx942() {
  object::Target target;
  target.processor = "gfx942";
  return target;
}

TEST(AluVectors, AllPassAtEveryHostLevel) {
  const std::string text = vectorText();
  for (const SimdLevel level : hostSimdLevels()) {
    const auto report = checkVectors(text, gfx942(), {level, 1});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->total.passed, 3182u);
    EXPECT_EQ(report->total.failed, 0u) << (report->differences.empty() ? "" : report->differences.front());
    EXPECT_EQ(report->total.unmodelled, 0u) << (report->refusals.empty() ? "" : report->refusals.front());
  }
}

/// DPP, SDWA, output modifiers, integer clamps and constants: tests/oracles/isa_modifiers.py.
TEST(AluVectors, ModifiersPassAtEveryHostLevel) {
  const std::string text = vectorText("isa_modifiers.jsonl");
  for (const SimdLevel level : hostSimdLevels()) {
    const auto report = checkVectors(text, gfx942(), {level, 1});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->total.passed, 2232u);
    EXPECT_EQ(report->total.failed, 0u) << (report->differences.empty() ? "" : report->differences.front());
    EXPECT_EQ(report->total.unmodelled, 0u) << (report->refusals.empty() ? "" : report->refusals.front());
  }
}

/// Opcodes that have a body but no text in the manual's pseudocode, or that the vectors cannot set up.
const std::set<std::string_view> withoutVectors = {"v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32",
                                                   "v_exp_legacy_f32",   "v_log_legacy_f32",    "s_orn1_saveexec_b64",
                                                   "s_cmp_eq_u64",       "s_cmp_lg_u64"};

TEST(AluVectors, CoverEveryModelledOpcode) {
  const auto report = checkVectors(vectorText(), gfx942(), {bestSimdLevel(), 1});
  ASSERT_TRUE(report) << report.error().message;
  for (const auto& row : isa::semantics::opcodeTable())
    if (!row.mnemonic.ends_with("__clamp") && !withoutVectors.contains(row.mnemonic))
      EXPECT_TRUE(report->byOpcode.contains(std::string(row.mnemonic))) << row.mnemonic;
}

TEST(AluVectors, AWrongExpectationIsReported) {
  const std::string line = R"({"asm": "v_add_u32_e32 v4, v8, v12", "in": {"v": {"8": "1", "12": "2"}, "exec": "1"}, )"
                           R"("out": {"v": {"4": "4"}}})";
  const auto report = checkVectors(line, gfx942(), {bestSimdLevel(), 1});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->total.failed, 1u);
  ASSERT_EQ(report->differences.size(), 1u);
  EXPECT_NE(report->differences[0].find("v4[0] is 0x3, expected 0x4"), std::string::npos) << report->differences[0];
}

TEST(AluVectors, AStrayWriteIsReported) {
  // The vector claims that nothing changes.
  const std::string line = R"({"asm": "s_mov_b32 s4, 7", "in": {"exec": "1"}, "out": {}})";
  const auto report = checkVectors(line, gfx942(), {bestSimdLevel(), 1});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->total.failed, 1u);
}

TEST(AluVectors, MalformedLinesAreErrors) {
  for (const std::string line : {"{", "[]", R"({"asm": 3})", R"({"asm": "v_foo v1", "in": {}, "out": {}})",
                                 R"({"asm": "s_nop 0", "in": {"v": {"99": "1"}}, "out": {}})",
                                 R"({"asm": "s_mov_b32 s4, 7", "in": {"v": {"1": "xyz"}}, "out": {}})",
                                 R"({"asm": "s_mov_b32 s4, 7", "in": {"what": "1"}, "out": {}})"}) {
    const auto report = checkVectors(line, gfx942(), {bestSimdLevel(), 1});
    EXPECT_TRUE(!report || report->total.unmodelled == 1) << line;
  }
}

} // namespace
} // namespace asmevo::emulator
