// The peephole moves of the arithmetic group on code small enough to say what they must and must not do. Every proposal
// must be proved equal; what a move must refuse, it must not propose at all.
#include "optimize/moves/arithmetic/fuse_integer.h"
#include "optimize/moves/arithmetic/pack_bf16.h"
#include "optimize/moves/arithmetic/pair_floats.h"
#include "optimize/moves/arithmetic/propagate_copies.h"
#include "optimize/optimize_support.h"
#include "verify/proof/value_proof.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

using tests::MoveFixture;
using tests::textFixture;
using Lines = std::vector<std::string>;

/// The kernel of `code` after the move's first proposal, which must be proved; empty where it proposes nothing.
Lines after(const Move& move, const std::string& code) {
  const auto fixture = textFixture(code);
  const auto proposals = fixture->propose(move);
  if (proposals.empty())
    return {};
  EXPECT_FALSE(proposals.front().reason.empty());
  EXPECT_TRUE(proposals.front().assumptions.empty());
  const auto proof = verify::proveEquivalent(fixture->object, fixture->rebuilt(proposals.front().program), "k");
  EXPECT_TRUE(proof && proof->status == verify::ProofStatus::proved)
      << (proof ? proof->reason : proof.error().message) << "\n"
      << fmt::format("{}", fmt::join(fixture->lines(proposals.front().program), "\n"));
  return fixture->lines(proposals.front().program);
}

bool has(const Lines& lines, const std::string& line) {
  return std::ranges::find(lines, line) != lines.end();
}

const std::string loads = R"(
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0) lgkmcnt(0)
)";
const std::string store = "\n  global_store_dword v1, v9, s[2:3] offset:512\n";

struct Case {
  std::string name, code, expected; ///< expected: a line of the result; "" where nothing may be proposed
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}
std::string nameOf(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

class FuseInteger : public testing::TestWithParam<Case> {};
TEST_P(FuseInteger, AsTheTableSays) {
  const Lines lines = after(fuseIntegerMove(), loads + GetParam().code + store);
  if (GetParam().expected.empty())
    EXPECT_TRUE(lines.empty()) << fmt::format("{}", fmt::join(lines, "\n"));
  else
    EXPECT_TRUE(has(lines, GetParam().expected)) << fmt::format("{}", fmt::join(lines, "\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Moves, FuseInteger,
    testing::Values(
        Case{"add3", "v_add_u32_e32 v4, v2, v3\n v_add_u32_e32 v9, v4, v1", "v_add3_u32 v9, v2, v3, v1"},
        Case{"lshlAdd", "v_lshlrev_b32_e32 v4, 3, v2\n v_add_u32_e32 v9, v3, v4", "v_lshl_add_u32 v9, v2, 3, v3"},
        Case{"addLshl", "v_add_u32_e32 v4, v2, v3\n v_lshlrev_b32_e32 v9, 2, v4", "v_add_lshl_u32 v9, v2, v3, 2"},
        Case{"lshlOr", "v_lshlrev_b32_e32 v4, 8, v2\n v_or_b32_e32 v9, v4, v3", "v_lshl_or_b32 v9, v2, 8, v3"},
        Case{"andOr", "v_and_b32_e32 v4, v2, v3\n v_or_b32_e32 v9, v4, v1", "v_and_or_b32 v9, v2, v3, v1"},
        Case{"or3", "v_or_b32_e32 v4, v2, v3\n v_or_b32_e32 v9, v4, v1", "v_or3_b32 v9, v2, v3, v1"},
        Case{"xad", "v_xor_b32_e32 v4, v2, v3\n v_add_u32_e32 v9, v4, v1", "v_xad_u32 v9, v2, v3, v1"},
        Case{"mad24", "v_mul_u32_u24_e32 v4, v2, v3\n v_add_u32_e32 v9, v4, v1", "v_mad_u32_u24 v9, v2, v3, v1"},
        Case{"field", "v_lshrrev_b32_e32 v4, 5, v2\n v_and_b32_e32 v9, 31, v4", "v_bfe_u32 v9, v2, 5, 5"},
        Case{"shiftDownAndUp", "v_lshlrev_b32_e32 v4, 4, v2\n v_lshrrev_b32_e32 v9, 12, v4", "v_bfe_u32 v9, v2, 8, 20"},
        Case{"signedField", "v_lshlrev_b32_e32 v4, 16, v2\n v_ashrrev_i32_e32 v9, 24, v4", "v_bfe_i32 v9, v2, 8, 8"},
        Case{"twoShifts", "v_lshrrev_b32_e32 v4, 3, v2\n v_lshrrev_b32_e32 v9, 4, v4", "v_lshrrev_b32_e32 v9, 7, v2"},
        Case{"bytes",
             "s_mov_b32 s8, 0x7060302\n s_mov_b32 s9, 0xffff0000\n v_lshrrev_b32_e32 v4, 16, v2\n"
             "v_and_or_b32 v9, v3, s9, v4",
             "v_perm_b32 v9, v3, v2, s8"},
        Case{"funnel", "v_lshrrev_b32_e32 v4, 20, v2\n v_lshl_or_b32 v9, v3, 12, v4", "v_alignbit_b32 v9, v3, v2, 20"},
        Case{"rotation",
             "s_mov_b32 s8, 0x5bd1\n s_mov_b32 s9, 0x2de88000\n v_mul_lo_u32 v4, v2, s8\n v_mul_lo_u32 v5, v2, s9\n"
             "v_lshrrev_b32_e32 v6, 17, v4\n v_or_b32_e32 v9, v6, v5",
             "v_alignbit_b32 v9, v4, v4, 17"},
        // As Triton's gumbel sampling has it: the second product in place of the value, the shift in place too.
        Case{"rotationInPlace",
             "s_mov_b32 s8, 0x5bd1\n s_mov_b32 s9, 0x2de88000\n v_mul_lo_u32 v4, v2, s8\n v_mul_lo_u32 v2, v2, s9\n"
             "v_lshrrev_b32_e32 v4, 17, v4\n v_or_b32_e32 v9, v4, v2",
             "v_alignbit_b32 v9, v4, v4, 17"},
        // In place: the maker's source is its destination.
        Case{"inPlace", "v_xor_b32_e32 v2, 8, v2\n v_add_u32_e32 v9, v2, v3", "v_xad_u32 v9, 8, v2, v3"},
        // The source is gone at the user, which then comes to the maker.
        Case{"userMovesUp",
             "v_add_u32_e32 v4, v2, v3\n v_mov_b32_e32 v2, v1\n v_add_u32_e32 v9, v4, v1\n"
             "v_mov_b32_e32 v7, v2\n global_store_dword v1, v7, s[2:3] offset:1024",
             "v_add3_u32 v9, v2, v3, v1"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Refuses, FuseInteger,
    testing::Values(
        Case{"readTwice",
             "v_add_u32_e32 v4, v2, v3\n v_add_u32_e32 v9, v4, v1\n global_store_dword v1, v4, s[2:3] offset:1024", ""},
        Case{"bothSources", "v_add_u32_e32 v4, v2, v3\n v_add_u32_e32 v9, v4, v4", ""},
        Case{"otherLanes",
             "v_add_u32_e32 v4, v2, v3\n s_mov_b64 exec, 1\n v_add_u32_e32 v9, v4, v1\n s_mov_b64 exec, -1", ""},
        Case{"sourceAndResultGone",
             "v_add_u32_e32 v4, v2, v3\n v_mov_b32_e32 v2, v1\n v_mov_b32_e32 v3, v9\n v_add_u32_e32 v9, v4, v2\n"
             "v_add_u32_e32 v9, v9, v3\n v_sub_u32_e32 v9, v9, v2\n v_sub_u32_e32 v9, v9, v3",
             "v_add3_u32 v9, v4, v2, v3"}, // only the second pair
        Case{"maskWithHoles", "v_lshrrev_b32_e32 v4, 5, v2\n v_and_b32_e32 v9, 5, v4", ""},
        Case{"shiftsTooFar", "v_lshrrev_b32_e32 v4, 20, v2\n v_lshrrev_b32_e32 v9, 12, v4", ""},
        Case{"funnelOfOtherCounts", "v_lshrrev_b32_e32 v4, 19, v2\n v_lshl_or_b32 v9, v3, 12, v4", ""},
        Case{"rotationByAnotherConstant",
             "s_mov_b32 s8, 0x5bd1\n s_mov_b32 s9, 0x2de98000\n v_mul_lo_u32 v4, v2, s8\n v_mul_lo_u32 v5, v2, s9\n"
             "v_lshrrev_b32_e32 v6, 17, v4\n v_or_b32_e32 v9, v6, v5",
             ""},
        Case{"noSelector", "s_mov_b32 s9, 0xffff0000\n v_lshrrev_b32_e32 v4, 16, v2\n v_and_or_b32 v9, v3, s9, v4", ""},
        Case{"sdwa",
             "v_add_u32_sdwa v4, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD\n"
             "v_add_u32_e32 v9, v4, v1",
             ""},
        Case{"saturated", "v_add_u32_e64 v4, v2, v3 clamp\n v_add_u32_e32 v9, v4, v1", ""}),
    nameOf);

class PropagateCopies : public testing::TestWithParam<Case> {};
TEST_P(PropagateCopies, AsTheTableSays) {
  const Lines lines = after(propagateCopiesMove(), loads + GetParam().code + store);
  if (GetParam().expected.empty())
    EXPECT_TRUE(lines.empty()) << fmt::format("{}", fmt::join(lines, "\n"));
  else
    EXPECT_TRUE(has(lines, GetParam().expected)) << fmt::format("{}", fmt::join(lines, "\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Moves, PropagateCopies,
    testing::Values(
        Case{"readerUsesSource", "v_mov_b32_e32 v4, v2\n v_add_u32_e32 v9, v4, v3", "v_add_u32_e32 v9, v2, v3"},
        Case{"makerWritesTarget",
             "v_mov_b32_e32 v8, v1\n v_add_u32_e32 v4, v2, v3\n v_mov_b32_e32 v9, v4\n"
             "global_store_dwordx2 v1, v[8:9], s[2:3] offset:1024",
             "v_add_u32_e32 v9, v2, v3"},
        Case{"constant", "v_mov_b32_e32 v4, 7\n v_add_u32_e32 v9, v4, v3", "v_add_u32_e32 v9, 7, v3"},
        Case{"scalar", "v_mov_b32_e32 v4, s6\n v_add_u32_e32 v9, v4, v3", "v_add_u32_e32 v9, s6, v3"},
        Case{"addOfZero", "v_add_u32_e32 v4, 0, v2\n v_xor_b32_e32 v9, v4, v3", "v_xor_b32_e32 v9, v2, v3"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Refuses, PropagateCopies,
    testing::Values(
        Case{"sourceWrittenAgain", "v_mov_b32_e32 v4, v2\n v_add_u32_e32 v2, 1, v2\n v_add_u32_e32 v9, v4, v2", ""},
        Case{"readInOtherLanes",
             "v_mov_b32_e32 v4, v2\n s_mov_b64 exec, 1\n v_add_u32_e32 v9, v4, v3\n s_mov_b64 exec, -1", ""},
        Case{"targetReadBefore",
             "v_add_u32_e32 v2, v2, v3\n v_xor_b32_e32 v5, v9, v2\n v_mov_b32_e32 v9, v2\n"
             "global_store_dword v1, v5, s[2:3] offset:1024\n global_store_dword v1, v2, s[2:3] offset:2048\n"
             "v_add_u32_e32 v2, 1, v2\n v_add_u32_e32 v9, v9, v2",
             ""},
        Case{"operandMustBeAVgpr",
             "v_mov_b32_e32 v4, s6\n global_store_dword v1, v4, s[2:3] offset:1024\n"
             "v_add_u32_e32 v9, v2, v3",
             ""}),
    nameOf);

class Repeats : public testing::TestWithParam<Case> {};
TEST_P(Repeats, AsTheTableSays) {
  const Lines lines = after(commonSubexpressionsMove(), loads + GetParam().code + store);
  if (GetParam().expected.empty())
    EXPECT_TRUE(lines.empty()) << fmt::format("{}", fmt::join(lines, "\n"));
  else
    EXPECT_TRUE(has(lines, GetParam().expected)) << fmt::format("{}", fmt::join(lines, "\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Moves, Repeats,
    testing::Values(
        Case{"again", "v_mul_f32_e32 v4, v2, v3\n v_mul_f32_e32 v5, v2, v3\n v_add_f32_e32 v9, v4, v5",
             "v_add_f32_e32 v9, v4, v4"},
        Case{"sourceChanged",
             "v_mul_f32_e32 v4, v2, v3\n v_add_u32_e32 v2, 1, v2\n v_mul_f32_e32 v5, v2, v3\n"
             "v_add_f32_e32 v9, v4, v5",
             ""},
        Case{"otherMode",
             "v_mul_f32_e32 v4, v2, v3\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3\n v_mul_f32_e32 v5, v2, v3\n"
             "v_add_f32_e32 v9, v4, v5",
             ""},
        Case{"otherLanes",
             "v_mul_f32_e32 v4, v2, v3\n s_mov_b64 exec, 1\n v_mul_f32_e32 v5, v2, v3\n s_mov_b64 exec, -1\n"
             "v_add_f32_e32 v9, v4, v5",
             ""}),
    nameOf);

/// Two values rounded to bf16, as Triton does it; ends in registers v4 and v5.
const std::string rounding = loads + R"(
  v_mov_b32_e32 v6, 0x7fff
  v_mov_b32_e32 v7, 0x7fff0000
  s_movk_i32 s8, 0x7fff
  s_mov_b32 s9, 0x5040100
  s_mov_b32 s10, 0x7060302
  v_bfe_u32 v4, v2, 16, 1
  v_bfe_u32 v5, v3, 16, 1
  v_add3_u32 v4, v2, v4, s8
  v_add3_u32 v5, v3, v5, s8
  v_cmp_o_f32_e64 s[12:13], v2, v2
  v_cmp_o_f32_e32 vcc, v3, v3
)";

TEST(PackBf16, PairsWithoutShifts) {
  const Lines lines = after(packBf16Move(), rounding + R"(
  v_lshrrev_b32_e32 v4, 16, v4
  v_lshrrev_b32_e32 v5, 16, v5
  v_cndmask_b32_e64 v4, v6, v4, s[12:13]
  v_cndmask_b32_e32 v5, v6, v5, vcc
  v_perm_b32 v9, v5, v4, s9
)" + store);
  EXPECT_TRUE(has(lines, "v_cndmask_b32_e64 v4, v7, v4, s[12:13]")) << fmt::format("{}", fmt::join(lines, "\n"));
  EXPECT_TRUE(has(lines, "v_perm_b32 v9, v5, v4, s10"));
  EXPECT_FALSE(has(lines, "v_lshrrev_b32_e32 v4, 16, v4"));
}

TEST(PackBf16, HighWordIsSelected) {
  const Lines lines = after(packBf16Move(), rounding + R"(
  v_and_b32_e32 v5, 0xffff0000, v5
  v_cndmask_b32_e32 v9, v7, v5, vcc
)" + store);
  EXPECT_TRUE(has(lines, "v_cndmask_b32_sdwa v9, v7, v5, vcc dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 "
                         "src1_sel:WORD_1"))
      << fmt::format("{}", fmt::join(lines, "\n"));
}

TEST(PackBf16, Refuses) {
  // A shifted value that is stored too; a mask that is not the high word; a constant with a low half; a condition that
  // SDWA cannot name.
  EXPECT_TRUE(after(packBf16Move(), rounding + R"(
  v_lshrrev_b32_e32 v4, 16, v4
  v_lshrrev_b32_e32 v5, 16, v5
  global_store_dword v1, v5, s[2:3] offset:1024
  v_cndmask_b32_e64 v4, v6, v4, s[12:13]
  v_cndmask_b32_e32 v5, v6, v5, vcc
  v_perm_b32 v9, v5, v4, s9
)" + store)
                  .empty());
  EXPECT_TRUE(after(packBf16Move(), rounding + R"(
  v_and_b32_e32 v5, 0xfffe0000, v5
  v_cndmask_b32_e32 v9, v7, v5, vcc
)" + store)
                  .empty());
  EXPECT_TRUE(after(packBf16Move(), rounding + R"(
  v_and_b32_e32 v5, 0xffff0000, v5
  v_cndmask_b32_e32 v9, v6, v5, vcc
)" + store)
                  .empty());
  EXPECT_TRUE(after(packBf16Move(), rounding + R"(
  v_and_b32_e32 v5, 0xffff0000, v5
  v_cndmask_b32_e64 v9, v7, v5, s[12:13]
)" + store)
                  .empty());
}

/// The identities that the proof needs for these moves, and neighbours that are none.
TEST(PackBf16, ProofTellsNeighboursApart) {
  const auto kernel = [](const std::string& lines) {
    return tests::assembledObject(program::test::kernelFile(tests::bodyOf(rounding + lines + store)));
  };
  const auto k0 = kernel("v_lshrrev_b32_e32 v4, 16, v4\n v_lshrrev_b32_e32 v5, 16, v5\n"
                         "v_cndmask_b32_e64 v4, v6, v4, s[12:13]\n v_cndmask_b32_e32 v5, v6, v5, vcc\n"
                         "v_perm_b32 v9, v5, v4, s9\n");
  const auto status = [&](const std::string& constant, const std::string& selector) {
    const auto k1 = kernel(fmt::format("v_mov_b32_e32 v8, {}\n s_mov_b32 s11, {}\n"
                                       "v_cndmask_b32_e64 v4, v8, v4, s[12:13]\n v_cndmask_b32_e32 v5, v8, v5, vcc\n"
                                       "v_perm_b32 v9, v5, v4, s11\n",
                                       constant, selector));
    const auto proof = verify::proveEquivalent(k0, k1, "k");
    return proof ? proof->status : verify::ProofStatus::refused;
  };
  EXPECT_EQ(status("0x7fff0000", "0x7060302"), verify::ProofStatus::proved);
  EXPECT_EQ(status("0x7fff1234", "0x7060302"), verify::ProofStatus::proved); // the low half is never looked at
  EXPECT_NE(status("0x7ffe0000", "0x7060302"), verify::ProofStatus::proved);
  EXPECT_NE(status("0x7fff0000", "0x7060301"), verify::ProofStatus::proved);
  EXPECT_NE(status("0x7fff0000", "0x3020706"), verify::ProofStatus::proved);
}

/// V_PERM_B32 by a known selector against the same bytes taken out and put together one by one.
TEST(PackBf16, ProofKnowsWhichBytesAreMoved) {
  const auto kernel = [](const std::string& lines) {
    return tests::assembledObject(program::test::kernelFile(tests::bodyOf(loads + lines + store)));
  };
  const auto byBytes = [](std::uint32_t selector) {
    std::string lines = "v_mov_b32_e32 v9, 0\n";
    for (unsigned byte = 0; byte < 4; ++byte) {
      const unsigned number = selector >> (8 * byte) & 7;
      lines += fmt::format("v_bfe_u32 v4, v{}, {}, 8\n v_lshl_or_b32 v9, v4, {}, v9\n", number >= 4 ? 2 : 3,
                           8 * (number % 4), 8 * byte);
    }
    return lines;
  };
  for (const std::uint32_t selector : {0x07060302u, 0x05040100u, 0x04050607u, 0x01020304u, 0x06020703u, 0x00010504u}) {
    SCOPED_TRACE(fmt::format("{:#010x}", selector));
    const auto perm = kernel(fmt::format("s_mov_b32 s8, {:#x}\n v_perm_b32 v9, v2, v3, s8\n", selector));
    const auto same = verify::proveEquivalent(perm, kernel(byBytes(selector)), "k");
    ASSERT_TRUE(same);
    EXPECT_EQ(same->status, verify::ProofStatus::proved) << same->reason;
    for (unsigned byte = 0; byte < 4; ++byte) {
      const auto other = verify::proveEquivalent(perm, kernel(byBytes(selector ^ 1u << (8 * byte + byte % 3))), "k");
      ASSERT_TRUE(other);
      EXPECT_EQ(other->status, verify::ProofStatus::differs);
    }
  }
}

const std::string pairLoads = R"(
  global_load_dwordx2 v[2:3], v1, s[2:3]
  global_load_dwordx2 v[4:5], v1, s[2:3] offset:256
  s_mov_b32 s8, 0x3fb8aa3b
  s_waitcnt vmcnt(0) lgkmcnt(0)
)";
const std::string pairStore = "\n  global_store_dwordx2 v1, v[8:9], s[2:3] offset:512\n";

class PairFloats : public testing::TestWithParam<Case> {};
TEST_P(PairFloats, AsTheTableSays) {
  const Lines lines = after(pairFloatsMove(), pairLoads + GetParam().code + pairStore);
  if (GetParam().expected.empty())
    EXPECT_TRUE(lines.empty()) << fmt::format("{}", fmt::join(lines, "\n"));
  else
    EXPECT_TRUE(has(lines, GetParam().expected)) << fmt::format("{}", fmt::join(lines, "\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Moves, PairFloats,
    testing::Values(
        Case{"multiply", "v_mul_f32_e32 v8, v2, v4\n v_mul_f32_e32 v9, v3, v5", "v_pk_mul_f32 v[8:9], v[2:3], v[4:5]"},
        Case{"highFirst", "v_add_f32_e32 v9, v3, v5\n v_add_f32_e32 v8, v2, v4", "v_pk_add_f32 v[8:9], v[2:3], v[4:5]"},
        Case{"difference", "v_sub_f32_e32 v8, v2, v4\n v_sub_f32_e32 v9, v3, v5",
             "v_pk_add_f32 v[8:9], v[2:3], v[4:5] neg_lo:[0,1] neg_hi:[0,1]"},
        Case{"swappedHalves", "v_subrev_f32_e32 v8, v3, v4\n v_subrev_f32_e32 v9, v2, v5",
             "v_pk_add_f32 v[8:9], v[4:5], v[2:3] op_sel:[0,1] op_sel_hi:[1,0] neg_lo:[0,1] neg_hi:[0,1]"},
        Case{"accumulate", "v_fmac_f32_e32 v8, v2, v4\n v_fmac_f32_e32 v9, v3, v5",
             "v_pk_fma_f32 v[8:9], v[2:3], v[4:5], v[8:9]"},
        Case{"literalInAnSgpr", "v_mul_f32_e32 v8, 0x3fb8aa3b, v2\n v_mul_f32_e32 v9, 0x3fb8aa3b, v3",
             "v_pk_mul_f32 v[8:9], s[8:9], v[2:3] op_sel_hi:[0,1]"},
        Case{"inlineConstant", "v_add_f32_e32 v8, 1.0, v2\n v_add_f32_e32 v9, 1.0, v3",
             "v_pk_add_f32 v[8:9], 1.0, v[2:3] op_sel_hi:[0,1]"},
        Case{"oneSign", "v_mul_f32_e64 v8, -v2, v4\n v_mul_f32_e32 v9, v3, v5",
             "v_pk_mul_f32 v[8:9], v[2:3], v[4:5] neg_lo:[1,0]"},
        Case{"apart", "v_mul_f32_e32 v8, v2, v4\n v_mov_b32_e32 v10, v1\n v_mul_f32_e32 v9, v3, v5",
             "v_pk_mul_f32 v[8:9], v[2:3], v[4:5]"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Refuses, PairFloats,
    testing::Values(
        Case{"dependent", "v_mul_f32_e32 v8, v2, v4\n v_mul_f32_e32 v9, v8, v5", ""},
        Case{"sourcesApart", "v_mov_b32_e32 v9, 0\n v_mul_f32_e32 v8, v2, v5\n v_mul_f32_e32 v9, v4, v5", ""},
        Case{"otherLiterals", "v_mul_f32_e32 v8, 0x3fb8aa3b, v2\n v_mul_f32_e32 v9, 0x3fb8aa3c, v3", ""},
        Case{"literalNowhere", "v_mul_f32_e32 v8, 0x3fb8aa3d, v2\n v_mul_f32_e32 v9, 0x3fb8aa3d, v3", ""},
        Case{"absolute", "v_mul_f32_e64 v8, |v2|, v4\n v_mul_f32_e64 v9, |v3|, v5", ""},
        Case{"clamped", "v_mul_f32_e64 v8, v2, v4 clamp\n v_mul_f32_e64 v9, v3, v5 clamp", ""},
        Case{"otherLanes",
             "v_mul_f32_e32 v8, v2, v4\n s_mov_b64 exec, 1\n v_mul_f32_e32 v9, v3, v5\n s_mov_b64 exec, -1", ""},
        Case{"otherRounding",
             "v_mul_f32_e32 v8, v2, v4\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\n v_mul_f32_e32 v9, v3, v5",
             ""},
        Case{"resultReadBetween", "v_mul_f32_e32 v8, v2, v4\n v_add_u32_e32 v3, v8, v9\n v_mul_f32_e32 v9, v3, v5",
             ""}),
    nameOf);

} // namespace
} // namespace asmevo::optimize
