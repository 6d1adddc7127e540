// Pairs of programs and whether the second may be called the same as the first.
#include "verify/proof/value_proof.h"

#include "verify/proof/proof_support.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

namespace asmevo::verify {
namespace {

using program::test::KernelText;
using test::assembled;
using test::loop;
using test::straight;

enum class Expect { proved, rejected };

void expectVerdict(const object::CodeObject& k0, const object::CodeObject& k1, const std::string& kernel,
                   Expect expected) {
  for (const auto* side : {&k0, &k1}) {
    const auto self = proveEquivalent(*side, *side, kernel);
    ASSERT_TRUE(self) << self.error().message;
    EXPECT_EQ(self->status, ProofStatus::proved) << (side == &k0 ? "K0: " : "K1: ") << self->reason;
    EXPECT_EQ(self->editedBlocks, 0u);
  }
  const auto proof = proveEquivalent(k0, k1, kernel);
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_EQ(proof->status == ProofStatus::proved, expected == Expect::proved) << proof->reason;
  if (expected == Expect::rejected) {
    EXPECT_FALSE(proof->reason.empty());
  }
}

void expectTexts(const KernelText& k0, const KernelText& k1, Expect expected) {
  SCOPED_TRACE("K0:\n" + k0.body + k0.more + "K1:\n" + k1.body + k1.more);
  expectVerdict(assembled(k0), assembled(k1), "k", expected);
}

struct Pair {
  const char* name;
  const char* k0;
  const char* k1;
  Expect expected;
};

class Straight : public testing::TestWithParam<Pair> {};

TEST_P(Straight, Verdict) {
  expectTexts(straight(GetParam().k0), straight(GetParam().k1), GetParam().expected);
}

constexpr Pair pairs[] = {
    {"Reordered", "v_add_f32_e32 v5, v2, v3\n v_mul_f32_e32 v6, v2, v3\n v_sub_f32_e32 v4, v5, v6",
     "v_mul_f32_e32 v6, v2, v3\n v_add_f32_e32 v5, v2, v3\n v_sub_f32_e32 v4, v5, v6", Expect::proved},
    {"LoadsReordered",
     "global_load_dword v5, v1, s[2:3] offset:4\n ds_read_b32 v6, v1\n s_waitcnt 0\n v_add_u32 v4, v5, v6",
     "ds_read_b32 v6, v1\n global_load_dword v5, v1, s[2:3] offset:4\n s_waitcnt 0\n v_add_u32 v4, v5, v6",
     Expect::proved},
    {"RenamedTemporary", "v_mul_f32_e32 v9, v2, v3\n v_add_f32_e32 v4, v9, v2",
     "v_mul_f32_e32 v12, v2, v3\n v_add_f32_e32 v4, v12, v2", Expect::proved},
    {"RepeatedMoveRemoved", "s_mov_b32 s8, 5\n v_mul_lo_u32 v5, v2, s8\n s_mov_b32 s8, 5\n v_add_u32 v4, s8, v5",
     "s_mov_b32 s8, 5\n v_mul_lo_u32 v5, v2, s8\n v_add_u32 v4, s8, v5", Expect::proved},
    {"DeadRemoved", "v_mul_f32_e32 v9, v2, v3\n v_mov_b32_e32 v4, v2", "v_mov_b32_e32 v4, v2", Expect::proved},
    {"WaitsAndNops", "v_mov_b32_e32 v4, v2", "s_nop 3\n s_waitcnt 0\n s_setprio 1\n v_mov_b32_e32 v4, v2\n s_nop 1",
     Expect::proved},
    {"Vop3Form", "v_add_f32_e32 v4, v2, v3", "v_add_f32_e64 v4, v2, v3", Expect::proved},
    {"SameSwap", "v_swap_b32 v2, v3\n v_mov_b32 v4, v2", "v_swap_b32 v2, v3\n s_nop 0\n v_mov_b32_e64 v4, v2",
     Expect::proved},

    {"LiveRemoved", "v_mov_b32_e32 v4, v2\n v_add_f32_e32 v4, v4, v3", "v_mov_b32_e32 v4, v2", Expect::rejected},
    {"WrongRegister", "v_add_f32_e32 v4, v2, v3", "v_add_f32_e32 v4, v2, v2", Expect::rejected},
    {"SwappedOperands", "v_sub_f32_e32 v4, v2, v3", "v_sub_f32_e32 v4, v3, v2", Expect::rejected},
    {"OtherConstant", "v_add_u32_e32 v4, 0x12345, v2", "v_add_u32_e32 v4, 0x12346, v2", Expect::rejected},
    {"OtherOffset", "global_load_dword v4, v1, s[2:3] offset:4\n s_waitcnt 0",
     "global_load_dword v4, v1, s[2:3] offset:8\n s_waitcnt 0", Expect::rejected},
    {"OtherStoreOffset", "v_mov_b32 v4, v2\n global_store_dword v1, v4, s[2:3] offset:4",
     "v_mov_b32 v4, v2\n global_store_dword v1, v4, s[2:3] offset:8", Expect::rejected},
    {"StoreOverLoad", "global_store_dword v1, v2, s[2:3] offset:4\n global_load_dword v4, v1, s[2:3]\n s_waitcnt 0",
     "global_load_dword v4, v1, s[2:3]\n global_store_dword v1, v2, s[2:3] offset:4\n s_waitcnt 0", Expect::rejected},
    {"StoreOverBarrier", "v_mov_b32 v4, v2\n ds_write_b32 v1, v3\n s_waitcnt 0\n s_barrier",
     "v_mov_b32 v4, v2\n s_barrier\n ds_write_b32 v1, v3\n s_waitcnt 0", Expect::rejected},
    {"LoadOverBarrier", "s_barrier\n ds_read_b32 v4, v1\n s_waitcnt 0", "ds_read_b32 v4, v1\n s_waitcnt 0\n s_barrier",
     Expect::rejected},
    {"SccClobbered",
     "s_add_u32 s9, s6, s7\n s_cmp_eq_u32 s6, s7\n s_cselect_b32 s8, s6, 0\n v_mov_b32 v4, s8\n v_add_u32 v4, s9, v4",
     "s_cmp_eq_u32 s6, s7\n s_add_u32 s9, s6, s7\n s_cselect_b32 s8, s6, 0\n v_mov_b32 v4, s8\n v_add_u32 v4, s9, v4",
     Expect::rejected},
    {"CarryClobbered", "v_add_co_u32_e32 v5, vcc, v2, v3\n v_addc_co_u32_e32 v4, vcc, v2, v3, vcc",
     "v_add_co_u32_e32 v5, vcc, v2, v3\n v_cmp_eq_u32_e32 vcc, v2, v3\n v_addc_co_u32_e32 v4, vcc, v2, v3, vcc",
     Expect::rejected},
    {"ExecOverValu",
     "v_mov_b32 v4, v2\n v_cmp_gt_u32_e32 vcc, v2, v3\n s_and_saveexec_b64 s[8:9], vcc\n v_mov_b32 v4, v3\n s_mov_b64 "
     "exec, s[8:9]",
     "v_mov_b32 v4, v2\n v_cmp_gt_u32_e32 vcc, v2, v3\n v_mov_b32 v4, v3\n s_and_saveexec_b64 s[8:9], vcc\n s_mov_b64 "
     "exec, s[8:9]",
     Expect::rejected},
    {"PartialWriteRemoved",
     "v_mov_b32 v4, v2\n s_mov_b64 s[8:9], exec\n s_mov_b64 exec, s[6:7]\n v_mov_b32 v4, v3\n s_mov_b64 exec, s[8:9]",
     "s_mov_b64 s[8:9], exec\n s_mov_b64 exec, s[6:7]\n v_mov_b32 v4, v3\n s_mov_b64 exec, s[8:9]", Expect::rejected},
    {"SwapOfOtherRegister", "v_swap_b32 v2, v3\n v_mov_b32 v4, v2", "v_swap_b32 v3, v2\n v_mov_b32 v4, v3",
     Expect::rejected},
    {"AccumulatorMattersInPlace", "v_mov_b32 v4, v2\n v_fmac_f32_e32 v4, v2, v3",
     "v_mov_b32 v4, v3\n v_fmac_f32_e32 v4, v2, v3", Expect::rejected},
    {"ScopedLoadsReordered",
     "global_load_dword v4, v1, s[2:3] sc1\n global_load_dword v5, v1, s[2:3] offset:4 sc1\n s_waitcnt 0\n v_add_u32 "
     "v4, v4, v5",
     "global_load_dword v5, v1, s[2:3] offset:4 sc1\n global_load_dword v4, v1, s[2:3] sc1\n s_waitcnt 0\n v_add_u32 "
     "v4, v4, v5",
     Expect::rejected},
    {"ScopedLoadRepeated",
     "global_load_dword v4, v1, s[2:3] sc1\n s_waitcnt 0\n global_load_dword v4, v1, s[2:3] sc1\n s_waitcnt 0",
     "global_load_dword v4, v1, s[2:3] sc1\n s_waitcnt 0", Expect::rejected},
    {"DmaOverLdsRead",
     "s_mov_b32 m0, 0\n global_load_lds_dword v1, s[2:3]\n s_waitcnt 0\n ds_read_b32 v4, v1\n s_waitcnt 0",
     "s_mov_b32 m0, 0\n ds_read_b32 v4, v1\n s_waitcnt 0\n global_load_lds_dword v1, s[2:3]\n s_waitcnt 0",
     Expect::rejected},
    {"AtomicsSwapped", "v_mov_b32 v4, v2\n global_atomic_add v1, v2, s[2:3]\n global_atomic_smax v1, v3, s[2:3]",
     "v_mov_b32 v4, v2\n global_atomic_smax v1, v3, s[2:3]\n global_atomic_add v1, v2, s[2:3]", Expect::rejected},
    {"LaneExchangeSeesAllLanes",
     "v_mov_b32 v5, v2\n s_mov_b64 exec, s[6:7]\n v_mov_b32 v5, v3\n v_readlane_b32 s8, v5, 7\n v_mov_b32 v4, s8",
     "s_mov_b64 exec, s[6:7]\n v_mov_b32 v5, v3\n v_readlane_b32 s8, v5, 7\n v_mov_b32 v4, s8", Expect::rejected},
};

INSTANTIATE_TEST_SUITE_P(ValueProof, Straight, testing::ValuesIn(pairs),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ValueProof, InvariantsMayLeaveTheLoop) {
  expectTexts(loop("", "s_lshl_b32 s9, s6, 4"), loop("s_lshl_b32 s9, s6, 4", ""), Expect::proved);
  expectTexts(loop("", "s_lshl_b32 s8, s6, 4\n s_add_u32 s9, s8, s7"),
              loop("s_lshl_b32 s8, s6, 4\n s_add_u32 s9, s8, s7", ""), Expect::proved);
}

TEST(ValueProof, FactsEndWhereTheirSourcesChange) {
  expectTexts(loop("", "s_lshl_b32 s9, s6, 4", "s_add_u32 s6, s6, 1"),
              loop("s_lshl_b32 s9, s6, 4", "", "s_add_u32 s6, s6, 1"), Expect::rejected);
  expectTexts(loop("", "s_lshl_b32 s9, s6, 4", "s_mov_b32 s9, 0"), loop("s_lshl_b32 s9, s6, 4", "", "s_mov_b32 s9, 0"),
              Expect::rejected);
  expectTexts(loop("", "s_lshl_b32 s9, s6, 4"), loop("s_lshl_b32 s9, s6, 5", ""), Expect::rejected);
  // Only one of two ways into the loop computes the value.
  const auto entered = [](const std::string& jump, const std::string& top) {
    return straight("  s_mov_b32 s10, 4\n  v_mov_b32 v4, 0\n  s_mov_b32 s9, 0\n" + jump + "\n.Lloop:\n" + top + R"(
  v_add_u32 v4, s9, v4
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 .Lloop
)");
  };
  expectTexts(entered("s_cmp_eq_u32 s6, 0\n s_cbranch_scc1 .Lloop", "s_lshl_b32 s9, s6, 4"),
              entered("s_cmp_eq_u32 s6, 0\n s_cbranch_scc1 .Lloop\n s_lshl_b32 s9, s6, 4", ""), Expect::rejected);
}

TEST(ValueProof, BranchConditionsAndTargets) {
  const auto branchy = [](const std::string& branch) {
    return straight("  v_mov_b32 v4, v2\n  s_cmp_eq_u32 s6, s7\n" + branch +
                    "\n  v_mov_b32 v4, v3\n.La:\n  v_add_u32 v4, 1, v4\n.Lb:\n  v_add_u32 v4, 2, v4\n");
  };
  expectTexts(branchy("s_cbranch_scc1 .La"), branchy("s_nop 1\n s_cbranch_scc1 .La"), Expect::proved);
  expectTexts(branchy("s_cbranch_scc1 .La"), branchy("s_cbranch_scc0 .La"), Expect::rejected);
  expectTexts(branchy("s_cbranch_scc1 .La"), branchy("s_cbranch_scc1 .Lb"), Expect::rejected);
  expectTexts(branchy("s_cbranch_scc1 .La"), branchy("s_cmp_eq_u32 s6, 0\n s_cbranch_scc1 .La"), Expect::rejected);
  expectTexts(branchy("s_cbranch_scc1 .La"), branchy(""), Expect::rejected);
}

TEST(ValueProof, IndexedRegisters) {
  const auto indexed = [](const std::string& inside, const std::string& after) {
    return straight("  v_mov_b32 v5, v2\n  v_mov_b32 v6, v3\n  s_set_gpr_idx_on s6, gpr_idx(SRC0)\n" + inside +
                    "\n  s_set_gpr_idx_off\n" + after);
  };
  expectTexts(indexed("v_mov_b32 v7, v5", "v_add_u32 v8, v2, v3\n v_add_u32 v9, 1, v2\n v_add3_u32 v4, v7, v8, v9"),
              indexed("v_mov_b32 v7, v5", "v_add_u32 v9, 1, v2\n v_add_u32 v8, v2, v3\n v_add3_u32 v4, v7, v8, v9"),
              Expect::proved);
  expectTexts(indexed("v_mov_b32 v7, v5\n v_mov_b32 v8, v6", "v_add_u32 v4, v7, v8"),
              indexed("v_mov_b32 v8, v6\n v_mov_b32 v7, v5", "v_add_u32 v4, v7, v8"), Expect::rejected);
  expectTexts(indexed("v_mov_b32 v4, v5", ""), indexed("v_mov_b32 v4, v6", ""), Expect::rejected);
  // A read moved in front of the region that may write its source.
  const auto written = [](const std::string& before, const std::string& after) {
    return straight("  v_mov_b32 v5, v2\n  v_mov_b32 v6, v3\n" + before +
                    "  s_set_gpr_idx_on s6, gpr_idx(DST)\n  v_mov_b32 v5, v3\n  s_set_gpr_idx_off\n" + after);
  };
  expectTexts(written("", "v_add_u32 v4, 1, v6"), written("v_add_u32 v4, 1, v6\n", ""), Expect::rejected);
}

TEST(ValueProof, IndexingThatCrossesBlocks) {
  // The second block runs with indexing on: v5 there is v[5 + s6].
  const auto across = [](const std::string& inside) {
    return straight("  v_mov_b32 v4, 0\n  s_cmp_eq_u32 s7, 0\n  s_set_gpr_idx_on s6, gpr_idx(DST)\n"
                    "  s_cbranch_scc1 .Loff\n" +
                    inside + "\n.Loff:\n  s_set_gpr_idx_off\n");
  };
  expectTexts(across("v_mov_b32 v4, v2\n v_mov_b32 v5, v3"), across("v_mov_b32 v5, v3\n v_mov_b32 v4, v2"),
              Expect::rejected);
}

TEST(ValueProof, CalledFunctions) {
  const auto k0 = tests::kernelObject("device_call");
  const auto same = tests::edited(k0, [](tests::Editable& e) { e.insert(e.find("s_mov_b32"), "s_nop 0"); });
  expectVerdict(k0, same, "device_call", Expect::proved);
  const auto edit = [&](const std::function<void(tests::Editable&)>& change) {
    expectVerdict(k0, tests::edited(k0, change), "device_call", Expect::rejected);
  };
  edit([](tests::Editable& e) { e.replace(e.find("v_rcp_f32"), "v_rsq_f32_e32 v1, v1"); });
  edit([](tests::Editable& e) { e.erase(e.find("v_exp_f32")); });
  // A branch around the calls skips less than it did.
  edit([](tests::Editable& e) {
    const auto branch = e.find("s_cbranch_execz");
    *e.at(branch).target = branch.block + 1;
    e.program.relink();
  });
  // An argument computed behind the call.
  edit([](tests::Editable& e) {
    const auto move = e.find("v_lshl_add_u64", 0);
    e.replace(move, "v_lshl_add_u64 v[0:1], s[6:7], 0, v[10:11]");
  });
}

TEST(ValueProof, PcRelativeHalvesKeepTheirRegisters) {
  const auto k0 = tests::kernelObject("device_call");
  const auto k1 = tests::edited(k0, [](tests::Editable& e) {
    // s_add_u32 s4, s4, <callee>: now into s6.
    const auto add = e.find("s_add_u32");
    ASSERT_TRUE(e.at(add).pcRef);
    const auto reference = e.at(add).pcRef;
    e.replace(add, "s_add_u32 s6, s4, 0x12345678");
    e.at(add).pcRef = reference;
  });
  const auto proof = proveEquivalent(k0, k1, "device_call");
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_NE(proof->status, ProofStatus::proved) << proof->reason;
}

TEST(ValueProof, CallOfAnotherFunction) {
  const auto calling = [](const std::string& callee) {
    KernelText text =
        straight("  v_mov_b32 v4, v2\n  s_getpc_b64 s[4:5]\n  s_add_u32 s4, s4, " + callee +
                 "@rel32@lo+4\n  s_addc_u32 s5, s5, " + callee + "@rel32@hi+12\n  s_swappc_b64 s[30:31], s[4:5]\n");
    text.more = R"(
  .p2align 8
  .type one,@function
one:
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32 v4, 1, v4
  s_setpc_b64 s[30:31]
  .size one, .-one
  .p2align 8
  .type two,@function
two:
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32 v4, 2, v4
  s_setpc_b64 s[30:31]
  .size two, .-two
)";
    return text;
  };
  expectTexts(calling("one"), calling("two"), Expect::rejected);
}

TEST(ValueProof, LongJumpsAreFollowed) {
  const auto jumping = [](const std::string& there) {
    return straight(R"(
  v_mov_b32 v4, v2
  s_getpc_b64 s[4:5]
.Lanchor:
  s_add_u32 s4, s4, .Lfar-.Lanchor
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
  s_endpgm
.Lfar:
)" + there);
  };
  expectTexts(jumping("v_add_u32 v4, 1, v4"), jumping("s_nop 0\n v_add_u32 v4, 1, v4"), Expect::proved);
  expectTexts(jumping("v_add_u32 v4, 1, v4"), jumping("v_add_u32 v4, 2, v4"), Expect::rejected);
}

TEST(ValueProof, AccumulatorsMayLieElsewhere) {
  const auto k0 = assembled(straight("  v_accvgpr_write_b32 a1, v2\n  v_accvgpr_write_b32 a2, v3\n  s_nop 1\n"
                                     "  s_cmp_eq_u32 s6, s7\n  s_cbranch_scc1 .Lskip\n  v_accvgpr_write_b32 a1, v3\n"
                                     ".Lskip:\n  s_nop 1\n  v_accvgpr_read_b32 v4, a1\n"));
  const auto moved = [&](unsigned accumOffset, const char* lastRead) {
    return tests::edited(k0, [&](tests::Editable& e) {
      e.program.resources[0].accumOffset = accumOffset;
      e.program.resources[0].vgprs = 48;
      if (lastRead)
        e.replace(e.find("v_accvgpr_read_b32"), lastRead);
    });
  };
  const auto status = [&](const object::CodeObject& k1) {
    const auto proof = proveEquivalent(k0, k1, "k");
    return proof ? proof->status : ProofStatus::refused;
  };
  EXPECT_EQ(status(moved(16, nullptr)), ProofStatus::proved);
  EXPECT_NE(status(moved(16, "v_accvgpr_read_b32 v4, a2")), ProofStatus::proved);
  // a1 of K0 and a1 of K1 are other registers: the old number is not what K0 wrote.
  EXPECT_NE(status(moved(16, "v_mov_b32_e32 v4, v33")), ProofStatus::proved);
}

TEST(ValueProof, KernelsOfTheRepository) {
  // A product of two loads, and what else people try with it.
  const auto k0 = tests::kernelObject("matmul_tiled");
  const auto verdict = [&](const std::function<void(tests::Editable&)>& change, Expect expected) {
    expectVerdict(k0, tests::edited(k0, change), "matmul_tiled", expected);
  };
  verdict([](tests::Editable& e) { e.insert(e.find("s_barrier"), "s_nop 4"); }, Expect::proved);
  verdict([](tests::Editable& e) { e.erase(e.find("s_barrier")); }, Expect::rejected);
  verdict([](tests::Editable& e) { e.insert(e.find("s_barrier"), "s_barrier"); }, Expect::rejected);
  verdict([](tests::Editable& e) { e.erase(e.find("ds_write_b32")); }, Expect::rejected);
}

/// Twenty additions in another order.
std::pair<object::CodeObject, object::CodeObject> reorderedSums() {
  std::string k0 = "v_mul_lo_u32 v5, v2, v3\n v_mul_lo_u32 v6, v3, v3\n";
  std::string k1 = "v_mul_lo_u32 v6, v3, v3\n v_mul_lo_u32 v5, v2, v3\n";
  for (std::string* text : {&k0, &k1})
    for (int i = 0; i < 20; ++i)
      *text += " v_add_u32 v5, v5, v6\n";
  for (std::string* text : {&k0, &k1})
    *text += " v_add_u32 v4, v5, v2";
  return {assembled(straight(k0)), assembled(straight(k1))};
}

TEST(Limits, WhatTakesTooLongOrTooMuchMemoryIsATimeout) {
  const auto [k0, k1] = reorderedSums();
  const auto statusOf = [&](const ProofOptions& options) { return proveEquivalent(k0, k1, "k", options)->status; };
  EXPECT_EQ(statusOf({}), ProofStatus::proved);
  ProofOptions noWindowTime, noTime, noMemory;
  noWindowTime.windowSeconds = 0;
  noTime.seconds = 0;
  noMemory.terms = 100;
  EXPECT_EQ(statusOf(noWindowTime), ProofStatus::timeout);
  EXPECT_EQ(statusOf(noTime), ProofStatus::timeout);
  EXPECT_EQ(statusOf(noMemory), ProofStatus::timeout);
}

TEST(Limits, ASolverWithoutBudgetProvesNothingWrong) {
  const auto k0 = assembled(straight("v_mul_lo_u32 v4, v2, v3"));
  const auto k1 = assembled(straight("v_mul_lo_u32 v4, v2, v2"));
  ProofOptions none;
  none.resourceLimit = 1;
  none.trials = 0;
  EXPECT_NE(proveEquivalent(k0, k1, "k", none)->status, ProofStatus::proved);
}

} // namespace
} // namespace asmevo::verify
