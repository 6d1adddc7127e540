// Rules of the lint beyond gfx942's waits and distances: other generations' counters, resources, races, barriers, what
// could be relaxed, comparison with a baseline, SARIF.
#include "verify/lint/baseline.h"
#include "verify/lint/rules.h"
#include "verify/lint/sarif.h"
#include "verify/lint_support.h"

#include <gtest/gtest.h>

namespace asmevo::verify {
namespace {

using tests::build;
using tests::LintKernel;
using tests::lintText;

std::string format(const char* body, const char* part) {
  return fmt::format(fmt::runtime(body), part);
}

// LLVM SIInsertWaitcnts: stores count in a counter of their own from gfx10 on.
TEST(LintGenerations, StoresDoNotCountAsLoads) {
  const char* body = R"(
  global_load_dword v1, v2, s[0:1]
  global_store_dword v2, v3, s[0:1]
  s_waitcnt vmcnt({})
  v_mov_b32_e32 v4, v1
  s_endpgm
)";
  EXPECT_EQ(lintText(format(body, "1"), "gfx90a"), "");
  EXPECT_EQ(lintText(format(body, "1"), "gfx1030"), "vmcnt 0 1: v_mov_b32_e32 v4, v1\n");
  EXPECT_EQ(lintText(format(body, "0"), "gfx1030"), "");
}

TEST(LintGenerations, Gfx11EncodesItsCountersElsewhere) {
  const char* body = R"(
  global_load_b32 v1, v2, s[0:1]
  ds_load_b32 v3, v2
  s_waitcnt {}
  v_add_nc_u32_e32 v4, v1, v3
  s_endpgm
)";
  EXPECT_EQ(lintText(format(body, "vmcnt(0)"), "gfx1100"), "lgkmcnt 0 -: v_add_nc_u32_e32 v4, v1, v3\n");
  EXPECT_EQ(lintText(format(body, "lgkmcnt(0)"), "gfx1100"), "vmcnt 0 -: v_add_nc_u32_e32 v4, v1, v3\n");
  EXPECT_EQ(lintText(format(body, "vmcnt(0) lgkmcnt(0)"), "gfx1100"), "");
}

TEST(LintGenerations, Gfx12HasACounterForEachKind) {
  const char* scalar = R"(
  s_load_b32 s4, s[0:1], 0x0
  ds_load_b32 v1, v2
  {}
  v_add_nc_u32_e32 v4, s4, v1
  s_endpgm
)";
  EXPECT_EQ(lintText(format(scalar, "s_wait_dscnt 0x0"), "gfx1200"), "kmcnt 0 -: v_add_nc_u32_e32 v4, s4, v1\n");
  EXPECT_EQ(lintText(format(scalar, "s_wait_kmcnt 0x0"), "gfx1200"), "dscnt 0 -: v_add_nc_u32_e32 v4, s4, v1\n");
  EXPECT_EQ(lintText(format(scalar, "s_wait_dscnt 0x0\n  s_wait_kmcnt 0x0"), "gfx1200"), "");
  const char* both = R"(
  global_load_b32 v1, v2, s[0:1]
  ds_load_b32 v3, v2
  s_wait_loadcnt_dscnt {}
  v_add_nc_u32_e32 v4, v1, v3
  s_endpgm
)";
  EXPECT_EQ(lintText(format(both, "0x0"), "gfx1200"), "");
  EXPECT_EQ(lintText(format(both, "0x1"), "gfx1200"), "dscnt 0 1: v_add_nc_u32_e32 v4, v1, v3\n");
  EXPECT_EQ(lintText(format(both, "0x100"), "gfx1200"), "loadcnt 0 1: v_add_nc_u32_e32 v4, v1, v3\n");
  const char* sample = R"(
  image_sample v[1:4], [v5, v6], s[0:7], s[8:11] dmask:0xf dim:SQ_RSRC_IMG_2D
  {}
  v_mov_b32_e32 v7, v1
  s_endpgm
)";
  EXPECT_EQ(lintText(format(sample, "s_wait_loadcnt 0x0"), "gfx1200"), "samplecnt 0 -: v_mov_b32_e32 v7, v1\n");
  EXPECT_EQ(lintText(format(sample, "s_wait_samplecnt 0x0"), "gfx1200"), "");
}

TEST(LintGenerations, ExportsKeepTheirSources) {
  const char* body = R"(
  export mrt0 v0, v1, v2, v3 done
  {}
  v_mov_b32_e32 v1, 0
  s_endpgm
)";
  EXPECT_EQ(lintText(format(body, ""), "gfx1200"), "expcnt 0 -: v_mov_b32_e32 v1, 0\n");
  EXPECT_EQ(lintText(format(body, "s_wait_expcnt 0x0"), "gfx1200"), "");
  EXPECT_EQ(lintText("  export mrt0 v0, v1, v2, v3 done\n  v_mov_b32_e32 v4, v1\n  s_endpgm\n", "gfx1200"), "");
}

// LLVM GCNHazardRecognizer::checkMAIHazards908.
TEST(LintGenerations, AccumulatorMovesOfGfx908) {
  const char* read = R"(
  v_mfma_f32_4x4x1f32 a[0:3], v2, v3, a[0:3]
  s_nop {}
  v_accvgpr_read_b32 v4, a0
  s_endpgm
)";
  EXPECT_EQ(lintText(format(read, "2"), "gfx908"), "wait_states 4 3: v_accvgpr_read_b32 v4, a0\n");
  EXPECT_EQ(lintText(format(read, "3"), "gfx908"), "");
  const char* write = R"(
  v_accvgpr_write_b32 a0, v4
  s_nop {}
  v_accvgpr_read_b32 v5, a0
  s_endpgm
)";
  EXPECT_EQ(lintText(format(write, "1"), "gfx908"), "wait_states 3 2: v_accvgpr_read_b32 v5, a0\n");
  EXPECT_EQ(lintText(format(write, "2"), "gfx908"), "");
}

// A full counter stalls the wave: sixteen LDS reads on, the first one has come back.
TEST(LintWaits, MoreOperationsThanTheCounterHolds) {
  const auto body = [](int later) {
    std::string text = "  ds_read_b32 v1, v0\n";
    for (int i = 0; i < later; ++i)
      text += "  ds_read_b32 v2, v0\n";
    return text + "  v_mov_b32_e32 v3, v1\n  s_endpgm\n";
  };
  EXPECT_EQ(lintText(body(14)), "lgkmcnt 14 -: v_mov_b32_e32 v3, v1\n");
  EXPECT_EQ(lintText(body(15)), "");
}

TEST(LintWaits, PathsThatCannotBeTakenAreNotes) {
  const char* body = R"(
  s_mov_b32 s5, 0
  global_load_dword v1, v2, s[0:1]
.Lloop:
  s_cmp_eq_u32 s5, {}
  s_cbranch_scc1 .Luse
  s_waitcnt vmcnt(0)
  s_addk_i32 s5, 0x1
  s_branch .Lloop
.Luse:
  v_mov_b32_e32 v3, v1
  s_endpgm
)";
  EXPECT_EQ(lintText(format(body, "0")), "vmcnt 0 -: v_mov_b32_e32 v3, v1\n");
  const auto object = build(format(body, "1"), "gfx942");
  EXPECT_EQ(lintText(object), "");
  const auto report = lint(object, LintOptions());
  ASSERT_TRUE(report);
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings[0].severity, Severity::note);
  EXPECT_EQ(report->findings[0].path.size(), 3u);
}

TEST(LintStates, OverBranchesBackEdgesAndCalls) {
  const char* branch = R"(
  v_readfirstlane_b32 s6, v1
  s_cbranch_scc0 .Lskip
  s_nop {}
.Lskip:
  buffer_load_dword v2, v3, s[4:7], 0 offen
  s_endpgm
)";
  EXPECT_EQ(lintText(format(branch, "4")), "wait_states 5 1: buffer_load_dword v2, v3, s[4:7], 0 offen\n");
  const char* loop = R"(
.Lloop:
  buffer_store_dword v2, v3, s[4:7], 0 offen
  s_nop 4
  v_readfirstlane_b32 s6, v1
  {}
  s_cbranch_scc0 .Lloop
  s_endpgm
)";
  EXPECT_EQ(lintText(format(loop, "")), "wait_states 5 1: buffer_store_dword v2, v3, s[4:7], 0 offen\n");
  EXPECT_EQ(lintText(format(loop, "s_nop 3")), "");
  const char* call = R"(
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, f@rel32@lo+4
  s_addc_u32 s9, s9, f@rel32@hi+12
  v_readfirstlane_b32 s6, v1
  {}
  s_swappc_b64 s[30:31], s[8:9]
  s_endpgm
)";
  const char* callee = R"(
  .p2align 6
  .type f,@function
f:
  buffer_store_dword v2, v3, s[4:7], 0 offen
  s_setpc_b64 s[30:31]
)";
  EXPECT_EQ(lintText(format(call, ""), "gfx942", callee),
            "wait_states 5 1: buffer_store_dword v2, v3, s[4:7], 0 offen\n");
  EXPECT_EQ(lintText(format(call, "s_nop 3"), "gfx942", callee), "");
}

TEST(LintResources, RegistersBeyondTheDescriptor) {
  const LintKernel kernel{.vgprs = 24, .accumOffset = 16, .sgprs = 20};
  EXPECT_EQ(lintText(build("  v_mov_b32_e32 v23, 0\n  s_mov_b32 s20, 0\n  s_endpgm\n", "gfx942", "", kernel)), "");
  EXPECT_EQ(lintText(build("  v_mov_b32_e32 v24, 0\n  s_endpgm\n", "gfx942", "", kernel)),
            "registers 25 24: v_mov_b32_e32 v24, 0\n");
  EXPECT_EQ(lintText(build("  v_accvgpr_write_b32 a8, v0\n  s_endpgm\n", "gfx942", "", kernel)),
            "registers 9 8: v_accvgpr_write_b32 a8, v0\n");
  EXPECT_EQ(lintText(build("  s_mov_b32 s40, 0\n  s_endpgm\n", "gfx942", "", kernel)),
            "registers 41 32: s_mov_b32 s40, 0\n");
}

TEST(LintResources, LdsBeyondTheDescriptor) {
  const std::string body = "  v_mov_b32_e32 v1, 0\n  ds_write_b32 v1, v0 offset:1024\n  s_endpgm\n";
  EXPECT_EQ(lintText(build(body, "gfx942", "", {.ldsBytes = 1028})), "");
  EXPECT_EQ(lintText(build(body, "gfx942", "", {.ldsBytes = 1024})),
            "lds 1028 1024: ds_write_b32 v1, v0 offset:1024\n");
  // Without any of its own the launch may bring it.
  const auto dynamic = build(body, "gfx942", "", {.ldsBytes = 0});
  EXPECT_EQ(lintText(dynamic), "");
  EXPECT_EQ(lint(dynamic, LintOptions())->count(Severity::note), 1u);
  EXPECT_EQ(lint(dynamic, {.dynamicLds = 1024})->count(Severity::error), 1u);
  EXPECT_EQ(lint(dynamic, {.dynamicLds = 1028})->findings.size(), 0u);
}

TEST(LintRaces, WavesExchangeDataWithoutABarrier) {
  const char* body = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, {}, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]
  ds_write_b32 v1, v0
  s_waitcnt vmcnt(0) lgkmcnt(0)
  {}
  global_load_dword v4, v2, s[4:5] sc0
  ds_read_b32 v5, v2
  s_endpgm
)";
  const auto text = [&](const char* distance, const char* between, unsigned size) {
    const auto object = build(fmt::format(fmt::runtime(body), distance, between), "gfx942", "",
                              {.ldsBytes = 4096, .workgroupSize = size});
    return lintText(object);
  };
  const char* both = "global_race - -: global_load_dword v4, v2, s[4:5] sc0\nlds_race - -: ds_read_b32 v5, v2\n";
  EXPECT_EQ(text("0x100", "", 128), both); // 64 work-items on: the other wave
  EXPECT_EQ(text("0x100", "s_barrier", 128), "");
  EXPECT_EQ(text("0x80", "", 128), ""); // 32 on: the same wave
  EXPECT_EQ(text("0x100", "", 64), "");
}

TEST(LintBarriers, SomeWavesMeetAnotherOne) {
  const char* body = R"(
  v_cmp_gt_u32_e32 vcc, 64, v0
  s_and_saveexec_b64 s[4:5], vcc
  s_cbranch_execz .Lskip
  s_barrier
.Lskip:
  s_or_b64 exec, exec, s[4:5]
  {}
  s_endpgm
)";
  const auto found = lint(build(format(body, "s_barrier"), "gfx942"), LintOptions());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->findings.size(), 1u);
  EXPECT_EQ(found->findings[0].rule, "barrier.divergent");
  EXPECT_EQ(found->findings[0].severity, Severity::note);
  // Waves that end are counted out.
  EXPECT_TRUE(lint(build(format(body, ""), "gfx942"), LintOptions())->findings.empty());
}

TEST(LintRelaxable, WeakestSufficientValues) {
  const auto notes = [](const std::string& body) {
    std::string all;
    const auto report = lint(build(body, "gfx942"), {.relaxable = true});
    for (const auto& finding : report->findings)
      all += fmt::format("{} {} {}: {}\n", finding.rule, finding.need.value_or(99), finding.have.value_or(99),
                         finding.text);
    return all;
  };
  EXPECT_EQ(notes("  global_load_dword v1, v0, s[0:1]\n  global_load_dword v2, v0, s[2:3]\n  s_waitcnt vmcnt(0)\n"
                  "  v_mov_b32_e32 v3, v1\n  s_waitcnt vmcnt(0)\n  v_mov_b32_e32 v4, v2\n  s_endpgm\n"),
            "wait.relaxable 1 0: s_waitcnt vmcnt(0)\n");
  EXPECT_EQ(notes("  v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], 0\n  s_nop 9\n  v_mov_b32_e32 v9, v4\n"
                  "  s_nop 3\n  s_endpgm\n"),
            "nop.relaxable 7 10: s_nop 9\nnop.relaxable 0 4: s_nop 3\n");
}

const char* loadAndUse = R"(
  global_load_dword v1, v0, s[0:1]
  global_load_dword v2, v0, s[2:3]
  v_cvt_f32_u32_e32 v9, v8
  s_waitcnt vmcnt({})
  v_mov_b32_e32 v3, v1
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v4, v2
  s_endpgm
)";

TEST(LintBaseline, OnlyWhatIsNewCounts) {
  const auto object = [](const char* wait) { return build(format(loadAndUse, wait), "gfx942"); };
  const auto rules = [](const object::CodeObject& k0, const object::CodeObject& k1) {
    const auto judged = lintAgainst(k0, k1, {.paths = false});
    std::string all;
    for (const auto& finding : judged->fresh.findings)
      all += finding.rule + " " + finding.text + "\n";
    return all;
  };
  EXPECT_EQ(rules(object("1"), object("1")), "");
  EXPECT_EQ(rules(object("0"), object("1")), ""); // an exact relaxation
  EXPECT_EQ(rules(object("1"), object("2")), "wait.vm.raw v_mov_b32_e32 v3, v1\n");
  EXPECT_EQ(rules(object("2"), object("2")), ""); // K0 has it too
}

TEST(LintBaseline, NoPairNearerThanBefore) {
  const auto object = [](const char* between) {
    return build(
        format("  v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], 0\n{}  v_mov_b32_e32 v9, v4\n  s_endpgm\n", between),
        "gfx942");
  };
  const auto fresh = [](const object::CodeObject& k0, const object::CodeObject& k1) {
    return lintAgainst(k0, k1, {.paths = false})->fresh.findings.size();
  };
  EXPECT_EQ(fresh(object("  s_nop 3\n"), object("  s_nop 3\n")), 0u);
  EXPECT_EQ(fresh(object("  s_nop 3\n"), object("  s_nop 4\n")), 0u);
  EXPECT_EQ(fresh(object("  s_nop 3\n"), object("  s_nop 2\n")), 1u);
}

TEST(LintBaseline, WhatABarrierNoLongerFollows) {
  const auto object = [](const char* wait) {
    return build(format("  ds_write_b32 v0, v1\n  {}\n  s_barrier\n  s_endpgm\n", wait), "gfx942", "",
                 {.ldsBytes = 1024});
  };
  const auto judged = lintAgainst(object("s_waitcnt lgkmcnt(0)"), object("s_nop 0"), {.paths = false});
  ASSERT_TRUE(judged);
  ASSERT_EQ(judged->fresh.findings.size(), 1u);
  EXPECT_EQ(judged->fresh.findings[0].rule, "wait.order");
  EXPECT_EQ(judged->fresh.findings[0].text, "s_barrier");
  // Never waited for: nothing to lose.
  EXPECT_EQ(lintAgainst(object("s_nop 0"), object("s_nop 1"), {.paths = false})->fresh.findings.size(), 0u);
}

/// K0 leaves the load in flight at its first barrier and completes it in front of the second. What K0 allows at one
/// barrier excuses nothing at another.
TEST(LintBaseline, WhatIsInFlightAtOneBarrierIsNotAtTheNext) {
  const auto object = [](const std::string& body) {
    return build("  s_waitcnt lgkmcnt(0)\n" + body + "  s_endpgm\n", "gfx942");
  };
  const std::string load = "  global_load_dword v2, v0, s[2:3]\n", barrier = "  s_barrier\n",
                    wait = "  s_waitcnt vmcnt(0)\n";
  const auto k0 = object(load + barrier + wait + barrier);
  const auto fresh = [&](const std::string& body) {
    const auto judged = lintAgainst(k0, object(body), {.paths = false});
    return judged ? judged->fresh.findings.size() : 99;
  };
  EXPECT_EQ(fresh(load + barrier + wait + barrier), 0u);
  EXPECT_GE(fresh(load + barrier + barrier + wait), 1u) << "the wait has sunk below the second barrier";
}

TEST(LintRules, EveryRuleIsListedOnceInOrder) {
  const auto& rules = lintRules();
  for (std::size_t i = 1; i < rules.size(); ++i)
    EXPECT_LT(rules[i - 1].id, rules[i].id);
  for (unsigned rule = 1; rule <= static_cast<unsigned>(program::HazardRule::accumulatorBetween); ++rule) {
    const auto name = program::hazardRuleName(static_cast<program::HazardRule>(rule));
    EXPECT_NE(lintRuleOf(fmt::format("states.{}", name)), nullptr) << name;
  }
  EXPECT_EQ(lintRuleOf("wait.sample.raw")->id, "wait.raw");
  EXPECT_EQ(lintRuleOf("wait.none"), nullptr);
  EXPECT_EQ(manualOf("states.valu-dpp", build("  s_endpgm\n", "gfx950").target()), "CDNA4 ISA 4.5 table 11 row 11");
}

TEST(LintSarif, OneResultForEachFinding) {
  const auto object = build(format(loadAndUse, "2"), "gfx942");
  const LintedFile file{"k.co", object.target(), *lint(object, LintOptions()), {}};
  const auto log = sarifLog({file, {"gone.co", {}, {}, Error{ErrorKind::badInput, "gone.co: no such file"}}});
  EXPECT_EQ(log["version"], "2.1.0");
  const auto& run = log["runs"][0];
  ASSERT_EQ(run["results"].size(), 1u);
  const auto& result = run["results"][0];
  EXPECT_EQ(result["ruleId"], "wait.raw");
  EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()]["id"], "wait.raw");
  EXPECT_EQ(result["level"], "error");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["address"]["absoluteAddress"], file.report.findings[0].address);
  EXPECT_EQ(result["codeFlows"][0]["threadFlows"][0]["locations"].size(), 2u);
  EXPECT_EQ(run["invocations"][0]["executionSuccessful"], false);
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"].size(), 1u);
}

} // namespace
} // namespace asmevo::verify
