// Edits that an optimizer makes, one by one, and the mistakes next to each.
#include "verify/proof/proof_support.h"
#include "verify/proof/sides.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace asmevo::verify {
namespace {

using test::assembled;
using test::loop;
using test::straight;

enum class Expect { proved, notProved, differs };

struct Pair {
  const char* name;
  const char* k0;
  const char* k1;
  Expect expected;
};

void expectStatus(const ProofResult& proof, Expect expected) {
  switch (expected) {
  case Expect::proved:
    EXPECT_EQ(proof.status, ProofStatus::proved) << proof.reason;
    break;
  case Expect::notProved:
    EXPECT_NE(proof.status, ProofStatus::proved) << proof.reason;
    break;
  case Expect::differs:
    EXPECT_EQ(proof.status, ProofStatus::differs) << statusName(proof.status) << ": " << proof.reason;
    EXPECT_TRUE(proof.counterexample.has_value());
    break;
  }
}

class Equivalences : public testing::TestWithParam<Pair> {};

/// straight(lines) without the assembler: the lines go into the empty kernel in front of its store.
Side sideOfLines(const std::string& lines) {
  static const object::CodeObject object = assembled(straight(""));
  static const Side empty = [] {
    auto side = openSide(object, "k");
    EXPECT_TRUE(side) << side.error().message;
    return *std::move(side);
  }();
  program::Program program = *empty.program;
  for (auto& block : program.blocks) {
    const auto store = std::ranges::find_if(
        block.instrs, [](const program::Instr& instr) { return instr.inst->base == "global_store_dword"; });
    if (store == block.instrs.end())
      continue;
    auto at = static_cast<std::size_t>(store - block.instrs.begin());
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line); ++at) {
      auto inst = empty.codec->assemble(line.substr(line.find_first_not_of(' ')));
      EXPECT_TRUE(inst) << line << ": " << (inst ? "" : inst.error().message);
      program::Instr instr;
      instr.inst = inst ? empty.codec->complete(*inst) : nullptr;
      block.instrs.insert(block.instrs.begin() + static_cast<std::ptrdiff_t>(at), instr);
    }
    break;
  }
  return sideOf(empty, std::move(program));
}

TEST_P(Equivalences, Verdict) {
  const Pair& pair = GetParam();
  SCOPED_TRACE(std::string("K0:\n") + pair.k0 + "\nK1:\n" + pair.k1);
  Side k0 = sideOfLines(pair.k0), k1 = sideOfLines(pair.k1);
  expectStatus(proveSides(k0, k1), pair.expected);
}

constexpr Pair pairs[] = {
    // Addresses.
    {"LdsOffsetFolded", "v_add_u32 v5, 16, v1\n ds_read_b32 v4, v5\n s_waitcnt 0",
     "ds_read_b32 v4, v1 offset:16\n s_waitcnt 0", Expect::proved},
    {"LdsOffsetFoldedWrongly", "v_add_u32 v5, 16, v1\n ds_read_b32 v4, v5\n s_waitcnt 0",
     "ds_read_b32 v4, v1 offset:12\n s_waitcnt 0", Expect::differs},
    {"CarryPairIsScalarBase",
     "v_mov_b32 v7, s3\n v_add_co_u32_e32 v6, vcc, s2, v1\n v_addc_co_u32_e32 v7, vcc, 0, v7, vcc\n "
     "global_load_dword v4, v[6:7], off offset:8\n s_waitcnt 0",
     "global_load_dword v4, v1, s[2:3] offset:8\n s_waitcnt 0", Expect::proved},
    {"CarryPairIsWideAdd",
     "v_mov_b32 v7, s3\n v_add_co_u32_e32 v6, vcc, s2, v1\n v_addc_co_u32_e32 v7, vcc, 0, v7, vcc\n "
     "global_load_dword v4, v[6:7], off\n s_waitcnt 0",
     "v_mov_b32 v8, v1\n v_mov_b32 v9, 0\n v_lshl_add_u64 v[6:7], s[2:3], 0, v[8:9]\n "
     "global_load_dword v4, v[6:7], off\n s_waitcnt 0",
     Expect::proved},
    {"CarryLost",
     "v_mov_b32 v7, s3\n v_add_co_u32_e32 v6, vcc, s2, v1\n v_addc_co_u32_e32 v7, vcc, 0, v7, vcc\n "
     "global_load_dword v4, v[6:7], off\n s_waitcnt 0",
     "v_mov_b32 v7, s3\n v_add_u32 v6, s2, v1\n global_load_dword v4, v[6:7], off\n s_waitcnt 0", Expect::differs},
    {"ConstantInCarryPairFolded",
     "v_mov_b32 v6, v2\n v_mov_b32 v7, v3\n v_add_co_u32_e32 v8, vcc, 64, v6\n v_addc_co_u32_e32 v9, vcc, 0, v7, vcc\n "
     "global_load_dword v4, v[8:9], off\n s_waitcnt 0",
     "v_mov_b32 v6, v2\n v_mov_b32 v7, v3\n global_load_dword v4, v[6:7], off offset:64\n s_waitcnt 0", Expect::proved},
    // A buffer's offset register has 32 bits; the sum with the immediate does not wrap.
    {"BufferOffsetMayWrap", "v_add_u32 v5, 16, v2\n buffer_load_dword v4, v5, s[8:11], 0 offen\n s_waitcnt 0",
     "buffer_load_dword v4, v2, s[8:11], 0 offen offset:16\n s_waitcnt 0", Expect::notProved},
    {"BufferOffsetThatFits",
     "v_and_b32 v6, 0xffff, v2\n v_add_u32 v5, 16, v6\n buffer_load_dword v4, v5, s[8:11], 0 offen\n s_waitcnt 0",
     "v_and_b32 v6, 0xffff, v2\n buffer_load_dword v4, v6, s[8:11], 0 offen offset:16\n s_waitcnt 0", Expect::proved},
    // Arithmetic.
    {"ShiftForMultiplication", "v_mul_lo_u32 v4, v2, 8", "v_lshlrev_b32 v4, 3, v2", Expect::proved},
    {"WrongShift", "v_mul_lo_u32 v4, v2, 8", "v_lshlrev_b32 v4, 4, v2", Expect::differs},
    {"ShiftAndAdd", "v_lshlrev_b32 v5, 2, v2\n v_add_u32 v4, v5, v3", "v_lshl_add_u32 v4, v2, 2, v3", Expect::proved},
    {"OrOfFieldsIsSum", "v_and_b32 v5, 0xff, v2\n v_lshlrev_b32 v6, 8, v3\n v_or_b32 v4, v5, v6",
     "v_and_b32 v5, 0xff, v2\n v_lshl_add_u32 v4, v3, 8, v5", Expect::proved},
    {"OrIsNoSum", "v_lshlrev_b32 v6, 8, v3\n v_or_b32 v4, v2, v6", "v_lshl_add_u32 v4, v3, 8, v2", Expect::differs},
    {"SumByExclusiveOr", "v_add_u32 v4, v2, v3",
     "v_xor_b32 v5, v2, v3\n v_and_b32 v6, v2, v3\n v_lshl_add_u32 v4, v6, 1, v5", Expect::proved},
    {"MinimumBySelect", "v_cmp_lt_u32_e32 vcc, v2, v3\n v_cndmask_b32_e32 v4, v3, v2, vcc", "v_min_u32 v4, v2, v3",
     Expect::proved},
    {"SignedIsNotUnsigned", "v_min_u32 v4, v2, v3", "v_min_i32 v4, v2, v3", Expect::differs},
    {"RotateByAlignbit", "v_lshlrev_b32 v5, 7, v2\n v_lshrrev_b32 v6, 25, v2\n v_or_b32 v4, v5, v6",
     "v_alignbit_b32 v4, v2, v2, 25", Expect::proved},
    {"UniformWorkToTheScalarUnit", "v_mov_b32 v5, s6\n v_add_u32 v5, s7, v5\n v_lshlrev_b32 v4, 1, v5",
     "s_add_u32 s8, s6, s7\n s_lshl_b32 s8, s8, 1\n v_mov_b32 v4, s8", Expect::proved},
    {"ConstantFromRegister", "v_add_u32 v4, 0x12345, v2", "s_mov_b32 s8, 0x12345\n v_add_u32 v4, s8, v2",
     Expect::proved},
    {"CommonSubexpression", "v_mul_lo_u32 v5, v2, v3\n v_mul_lo_u32 v6, v2, v3\n v_add_u32 v4, v5, v6",
     "v_mul_lo_u32 v5, v2, v3\n v_add_u32 v4, v5, v5", Expect::proved},
    // Floating point: what commutes and what does not.
    {"SumCommutes", "v_add_f32 v4, v2, v3", "v_add_f32 v4, v3, v2", Expect::proved},
    {"FactorsCommute", "v_fma_f32 v4, v2, v3, v2", "v_fma_f32 v4, v3, v2, v2", Expect::proved},
    {"SumsDoNotAssociate", "v_add_f32 v5, v2, v3\n v_add_f32 v4, v5, v1", "v_add_f32 v5, v3, v1\n v_add_f32 v4, v2, v5",
     Expect::differs},
    {"MinimumDoesNotCommute", "v_min_f32 v4, v2, v3", "v_min_f32 v4, v3, v2", Expect::notProved},
    {"TimesOneIsNoMove", "v_mul_f32 v4, 1.0, v2", "v_mov_b32 v4, v2", Expect::differs},
    {"FusedIsNotTwoRoundings", "v_mul_f32 v5, v2, v3\n v_add_f32 v4, v5, v3", "v_fma_f32 v4, v2, v3, v3",
     Expect::differs},
    {"PackedIsTwoScalars", "v_pk_add_f32 v[8:9], v[2:3], v[2:3]\n v_add_f32 v4, v8, v9",
     "v_add_f32 v8, v2, v2\n v_add_f32 v9, v3, v3\n v_add_f32 v4, v8, v9", Expect::proved},
    {"PackedWithCrossedHalves",
     "v_pk_add_f32 v[8:9], v[2:3], v[2:3] op_sel:[0,1] op_sel_hi:[1,0]\n v_sub_f32 v4, v8, v9",
     "v_add_f32 v8, v2, v3\n v_add_f32 v9, v3, v2\n v_sub_f32 v4, v8, v9", Expect::proved},
    // Loads.
    {"WideIsTwoNarrow", "global_load_dwordx2 v[8:9], v1, s[2:3] offset:16\n s_waitcnt 0\n v_add_u32 v4, v8, v9",
     "global_load_dword v8, v1, s[2:3] offset:16\n global_load_dword v9, v1, s[2:3] offset:20\n s_waitcnt 0\n "
     "v_add_u32 "
     "v4, v8, v9",
     Expect::proved},
    {"WideWithSwappedHalves", "global_load_dwordx2 v[8:9], v1, s[2:3] offset:16\n s_waitcnt 0\n v_sub_u32 v4, v8, v9",
     "global_load_dword v9, v1, s[2:3] offset:16\n global_load_dword v8, v1, s[2:3] offset:20\n s_waitcnt 0\n "
     "v_sub_u32 "
     "v4, v8, v9",
     Expect::differs},
    {"DeadHalfDropped", "global_load_dwordx2 v[8:9], v1, s[2:3] offset:16\n s_waitcnt 0\n v_mov_b32 v4, v8",
     "global_load_dword v8, v1, s[2:3] offset:16\n s_waitcnt 0\n v_mov_b32 v4, v8", Expect::proved},
    {"LoadOfMoreMayFault", "global_load_dword v8, v1, s[2:3] offset:16\n s_waitcnt 0\n v_mov_b32 v4, v8",
     "global_load_dwordx2 v[8:9], v1, s[2:3] offset:16\n s_waitcnt 0\n v_mov_b32 v4, v8", Expect::notProved},
    {"TwoLdsReadsInOne",
     "ds_read_b32 v8, v1 offset:4\n ds_read_b32 v9, v1 offset:12\n s_waitcnt 0\n v_sub_u32 v4, v8, v9",
     "ds_read2_b32 v[8:9], v1 offset0:1 offset1:3\n s_waitcnt 0\n v_sub_u32 v4, v8, v9", Expect::proved},
    {"HalvesLoadedInPlace",
     "s_mov_b32 s8, 0x5040100\n ds_read_u16 v5, v1\n ds_read_u16 v6, v1 offset:2\n s_waitcnt 0\n v_perm_b32 v4, v6, "
     "v5, s8",
     "ds_read_u16_d16 v5, v1\n ds_read_u16_d16_hi v6, v1 offset:2\n s_waitcnt 0\n v_or_b32 v4, v5, v6", Expect::proved},
    {"PackByPermute", "s_mov_b32 s8, 0xffff0000\n v_lshrrev_b32 v5, 16, v2\n v_and_or_b32 v4, v3, s8, v5",
     "s_mov_b32 s8, 0x7060302\n v_perm_b32 v4, v3, v2, s8", Expect::proved},
    {"PackByPermuteWrongBytes", "s_mov_b32 s8, 0xffff0000\n v_lshrrev_b32 v5, 16, v2\n v_and_or_b32 v4, v3, s8, v5",
     "s_mov_b32 s8, 0x7060301\n v_perm_b32 v4, v3, v2, s8", Expect::differs},
    {"UniformStoresApart", "v_mov_b32 v5, 0\n v_mov_b32 v4, v2\n ds_write_b32 v5, v2\n ds_write_b32 v5, v3 offset:4",
     "v_mov_b32 v5, 0\n v_mov_b32 v4, v2\n ds_write_b32 v5, v3 offset:4\n ds_write_b32 v5, v2", Expect::proved},
    {"UniformStoresThatMeet", "v_mov_b32 v5, 0\n v_mov_b32 v4, v2\n ds_write_b32 v5, v2\n ds_write_b32 v5, v3 offset:3",
     "v_mov_b32 v5, 0\n v_mov_b32 v4, v2\n ds_write_b32 v5, v3 offset:3\n ds_write_b32 v5, v2", Expect::differs},
    // Lanes.
    {"SelectForExec",
     "v_mov_b32 v4, v2\n v_cmp_gt_u32_e32 vcc, v2, v3\n s_and_saveexec_b64 s[8:9], vcc\n v_mov_b32 v4, v3\n s_mov_b64 "
     "exec, s[8:9]",
     "v_cmp_gt_u32_e32 vcc, v2, v3\n v_cndmask_b32_e32 v4, v2, v3, vcc", Expect::proved},
    {"SelectTheWrongWay",
     "v_mov_b32 v4, v2\n v_cmp_gt_u32_e32 vcc, v2, v3\n s_and_saveexec_b64 s[8:9], vcc\n v_mov_b32 v4, v3\n s_mov_b64 "
     "exec, s[8:9]",
     "v_cmp_gt_u32_e32 vcc, v2, v3\n v_cndmask_b32_e32 v4, v3, v2, vcc", Expect::differs},
    {"FirstLaneOfUniform", "s_mov_b64 exec, -1\n v_mov_b32 v5, s6\n v_readfirstlane_b32 s8, v5\n v_add_u32 v4, s8, v2",
     "s_mov_b64 exec, -1\n v_add_u32 v4, s6, v2", Expect::proved},
    {"FirstLaneOfNobody",
     "s_mov_b64 exec, s[6:7]\n v_mov_b32 v5, s6\n v_readfirstlane_b32 s8, v5\n s_mov_b64 exec, -1\n v_mov_b32 v4, s8",
     "s_mov_b64 exec, -1\n v_mov_b32 v4, s6", Expect::notProved},
    {"LaneWrittenAndRead",
     "v_mov_b32 v4, v2\n v_writelane_b32 v5, s6, 3\n v_readlane_b32 s8, v5, 3\n v_add_u32 v4, s8, v4",
     "v_mov_b32 v4, v2\n v_add_u32 v4, s6, v4", Expect::proved},
    {"LaneExchangeByDpp", "s_mov_b64 exec, -1\n ds_swizzle_b32 v4, v2 offset:swizzle(QUAD_PERM,1,0,3,2)\n s_waitcnt 0",
     "s_mov_b64 exec, -1\n v_mov_b32_dpp v4, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", Expect::proved},
    {"LaneExchangeOfOthers",
     "s_mov_b64 exec, -1\n ds_swizzle_b32 v4, v2 offset:swizzle(QUAD_PERM,1,0,3,2)\n s_waitcnt 0",
     "s_mov_b64 exec, -1\n v_mov_b32_dpp v4, v2 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf", Expect::differs},
    {"MaskLogic",
     "v_cmp_gt_u32_e64 s[8:9], v2, v3\n v_cmp_lt_u32_e64 s[10:11], 5, v2\n s_and_b64 vcc, s[8:9], s[10:11]\n "
     "v_cndmask_b32_e32 v4, v2, v3, vcc",
     "v_cmp_gt_u32_e64 s[8:9], v2, v3\n v_cndmask_b32_e64 v5, v2, v3, s[8:9]\n v_cmp_lt_u32_e32 vcc, 5, v2\n "
     "v_cndmask_b32_e32 v4, v2, v5, vcc",
     Expect::proved},
};

INSTANTIATE_TEST_SUITE_P(Proof, Equivalences, testing::ValuesIn(pairs),
                         [](const auto& info) { return std::string(info.param.name); });

ProofResult prove(const program::test::KernelText& k0, const program::test::KernelText& k1,
                  const ProofOptions& options = {}) {
  auto proof = proveEquivalent(assembled(k0), assembled(k1), "k", options);
  EXPECT_TRUE(proof) << proof.error().message;
  return proof ? *std::move(proof) : ProofResult{};
}

TEST(ProofWalk, RegistersMayBeRenamedThroughALoop) {
  const auto k0 = loop("s_mov_b32 s9, 3", "s_add_u32 s9, s9, s6");
  const auto renamedBy = [](const char* counter) {
    const std::string s(counter);
    return straight("  s_mov_b32 " + s +
                    ", 4\n  v_mov_b32 v9, 0\n  s_mov_b32 s12, 3\n.Lloop:\n  s_add_u32 s12, s12, s6\n"
                    "  v_add_u32 v9, s12, v9\n  s_sub_u32 " +
                    s + ", " + s + ", 1\n  s_cmp_lg_u32 " + s + ", 0\n  s_cbranch_scc1 .Lloop\n  v_mov_b32 v4, v9\n");
  };
  expectStatus(prove(k0, renamedBy("s13")), Expect::proved);
  // The counter lives where the sum does.
  expectStatus(prove(k0, renamedBy("s12")), Expect::notProved);
}

TEST(ProofWalk, LoopsMayBeUnrolledWithTheirTest) {
  const std::string turn = "  v_add_u32 v4, s9, v4\n  s_sub_u32 s10, s10, 1\n  s_cmp_lg_u32 s10, 0\n";
  const std::string before = "  s_mov_b32 s10, 4\n  v_mov_b32 v4, 0\n  s_mov_b32 s9, 3\n.Lloop:\n";
  const auto once = straight(before + turn + "  s_cbranch_scc1 .Lloop\n");
  const auto twice = straight(before + turn + "  s_cbranch_scc0 .Lend\n" + turn + "  s_cbranch_scc1 .Lloop\n.Lend:\n");
  const auto wrong = straight(before + turn + "  s_cbranch_scc0 .Lend\n  v_add_u32 v4, s9, v4\n" + turn +
                              "  s_cbranch_scc1 .Lloop\n.Lend:\n");
  expectStatus(prove(once, twice), Expect::proved);
  expectStatus(prove(once, wrong), Expect::notProved);
}

TEST(ProofWalk, BranchesMayBeTurnedRound) {
  const auto branching = [](const std::string& test, const std::string& first, const std::string& second) {
    return straight("  v_mov_b32 v4, v2\n  s_cmp_eq_u32 s6, s7\n  " + test + " .Lother\n  " + first +
                    "\n  s_branch .Lend\n.Lother:\n  " + second + "\n.Lend:\n");
  };
  const std::string add = "v_add_u32 v4, 1, v4", sub = "v_subrev_u32 v4, 2, v4";
  expectStatus(prove(branching("s_cbranch_scc1", add, sub), branching("s_cbranch_scc0", sub, add)), Expect::proved);
  expectStatus(prove(branching("s_cbranch_scc1", add, sub), branching("s_cbranch_scc0", add, sub)), Expect::notProved);
}

TEST(ProofWalk, CounterexamplesCanBeRunAgain) {
  const auto proof = prove(straight("v_sub_u32 v4, v2, v3"), straight("v_sub_u32 v4, v3, v2"));
  ASSERT_EQ(proof.status, ProofStatus::differs) << proof.reason;
  ASSERT_TRUE(proof.counterexample);
  const Counterexample& c = *proof.counterexample;
  EXPECT_NE(c.address, 0u);
  EXPECT_FALSE(c.registers.empty());
  for (const auto& r : c.registers)
    EXPECT_EQ(r.lanes.size(), r.name[0] == 'v' && r.name != "vcc_lo" && r.name != "vcc_hi" ? 64u : 1u) << r.name;
  EXPECT_NE(c.text().find(c.difference), std::string::npos);
  // Verdicts and states repeat.
  const auto again = prove(straight("v_sub_u32 v4, v2, v3"), straight("v_sub_u32 v4, v3, v2"));
  ASSERT_TRUE(again.counterexample);
  EXPECT_EQ(again.counterexample->text(), c.text());
}

TEST(ProofWalk, WindowsAreCachedByTheirForm) {
  ProofCache cache;
  ProofOptions options;
  options.cache = &cache;
  const auto k0 = straight("v_mul_lo_u32 v5, v2, v3\n v_lshlrev_b32 v6, 3, v5\n v_add_u32 v4, v6, v2");
  const auto k1 = straight("v_mul_lo_u32 v5, v2, v3\n v_lshl_add_u32 v4, v5, 3, v2");
  const auto first = prove(k0, k1, options);
  ASSERT_EQ(first.status, ProofStatus::proved) << first.reason;
  ASSERT_EQ(first.windows.size(), 1u);
  EXPECT_FALSE(first.windows[0].fromCache);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_TRUE(prove(k0, k1, options).windows.at(0).fromCache);
  // Other registers, the same form.
  const auto renamed = prove(straight("v_mul_lo_u32 v15, v2, v3\n v_lshlrev_b32 v16, 3, v15\n v_add_u32 v4, v16, v2"),
                             straight("v_mul_lo_u32 v15, v2, v3\n v_lshl_add_u32 v4, v15, 3, v2"), options);
  EXPECT_TRUE(renamed.windows.at(0).fromCache);
  // Another constant is another window.
  const auto other = prove(k0, straight("v_mul_lo_u32 v5, v2, v3\n v_lshl_add_u32 v4, v5, 4, v2"), options);
  EXPECT_FALSE(other.windows.at(0).fromCache);
  EXPECT_EQ(other.status, ProofStatus::differs);
  EXPECT_EQ(cache.size(), 1u);

  const std::string path = testing::TempDir() + "/proofs.txt";
  ASSERT_TRUE(cache.save(path));
  ProofCache loaded;
  ASSERT_TRUE(loaded.load(path));
  EXPECT_EQ(loaded.size(), 1u);
}

TEST(ProofWalk, WideLdsAccessesRestOnTheAllocation) {
  const auto proof =
      prove(straight("ds_read_b32 v8, v1\n ds_read_b32 v9, v1 offset:4\n s_waitcnt 0\n v_sub_u32 v4, v8, v9"),
            straight("ds_read_b64 v[8:9], v1\n s_waitcnt 0\n v_sub_u32 v4, v8, v9"));
  ASSERT_EQ(proof.status, ProofStatus::proved) << proof.reason;
  ASSERT_EQ(proof.assumptions.size(), 1u);
  EXPECT_NE(proof.assumptions[0].find("LDS"), std::string::npos);
}

} // namespace
} // namespace asmevo::verify
