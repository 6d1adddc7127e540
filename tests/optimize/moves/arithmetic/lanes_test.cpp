// Lane exchanges, quieting and invariant vector work. The gate must accept every proposal; wrong neighbours get none.
#include "optimize/edit/lane_values.h"
#include "optimize/moves/arithmetic/drop_quieting.h"
#include "optimize/moves/arithmetic/hoist_vector.h"
#include "optimize/moves/arithmetic/lane_permutes.h"
#include "optimize/optimize_support.h"
#include "verify/proof/value_proof.h"
#include "verify/verify_support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

using tests::textFixture;
using Lines = std::vector<std::string>;

/// The kernel after the move's first proposal; every one must pass the gate. Empty where nothing is proposed.
Lines after(const Move& move, const std::string& code) {
  const auto fixture = textFixture(code);
  MoveContext context = fixture->context();
  context.launches = &fixture->dispatch;
  const auto proposals = move.propose(fixture->program, context);
  if (proposals.empty())
    return {};
  verify::Options options;
  options.seeds = {0};
  options.dataVariants = 0;
  for (const Proposal& proposal : proposals) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(fixture->lines(proposal.program), "\n")));
    const auto verdict = verify::verify(fixture->object, fixture->rebuilt(proposal.program), fixture->dispatch,
                                        tests::simulator(), options);
    EXPECT_TRUE(verdict) << verdict.error().message;
    if (verdict)
      EXPECT_LE(verdict->level, verify::Level::exact) << verdict->reason;
  }
  return fixture->lines(proposals.front().program);
}

bool has(const Lines& lines, const std::string& line) {
  return std::ranges::find(lines, line) != lines.end();
}

LanePattern patternBy(const std::function<unsigned(unsigned)>& from) {
  LanePattern pattern{};
  for (unsigned lane = 0; lane < 64; ++lane)
    pattern[lane] = static_cast<std::uint8_t>(from(lane));
  return pattern;
}

TEST(DppMoves, OfPatterns) {
  const auto xorOf = [](unsigned k) { return dppMoves(patternBy([k](unsigned l) { return l ^ k; })); };
  const std::string all = " row_mask:0xf bank_mask:0xf bound_ctrl:0";
  EXPECT_EQ(xorOf(1), std::vector{"quad_perm:[1,0,3,2]" + all});
  EXPECT_EQ(xorOf(2), std::vector{"quad_perm:[2,3,0,1]" + all});
  EXPECT_EQ(xorOf(3), std::vector{"quad_perm:[3,2,1,0]" + all});
  EXPECT_EQ(xorOf(7), std::vector{"row_half_mirror" + all});
  EXPECT_EQ(xorOf(8), std::vector{"row_ror:8" + all});
  EXPECT_EQ(xorOf(15), std::vector{"row_mirror" + all});
  EXPECT_EQ(xorOf(4)->size(), 2u);
  EXPECT_FALSE(xorOf(16));
  EXPECT_FALSE(xorOf(32));
  EXPECT_FALSE(xorOf(5));
  EXPECT_EQ(dppMoves(patternBy([](unsigned l) { return (l + 63) % 64; })), std::vector{"wave_ror:1" + all});
  EXPECT_EQ(dppMoves(patternBy([](unsigned l) { return (l & 48) + 3; })), std::vector{"row_newbcast:3" + all});
  EXPECT_FALSE(dppMoves(patternBy([](unsigned l) { return (l + 62) % 64; })));
  EXPECT_FALSE(dppMoves(patternBy([](unsigned) { return 0u; })));
}

/// v6 = 4 * lane; `address` makes v7 of it; v8 is exchanged into v9 under `mask`.
std::string exchanging(const std::string& address, const std::string& mask = "", const std::string& offset = "") {
  return R"(
  global_load_dword v8, v1, s[2:3]
  v_mbcnt_lo_u32_b32 v6, -1, 0
  v_mbcnt_hi_u32_b32 v6, -1, v6
  v_lshlrev_b32_e32 v6, 2, v6
  v_mul_lo_u32 v8, v0, v0
)" + address +
         "\n v_mov_b32_e32 v9, 0\n" + mask + "\n s_waitcnt vmcnt(0)\n ds_bpermute_b32 v9, v7, v8" + offset +
         "\n s_waitcnt lgkmcnt(0)\n v_add_u32_e32 v9, v9, v8\n global_store_dword v1, v9, s[2:3] offset:512\n";
}

TEST(LanePermutes, ByAddress) {
  EXPECT_TRUE(has(after(lanePermutesMove(), exchanging("v_xor_b32_e32 v7, 4, v6")),
                  "v_mov_b32_dpp v9, v8 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1"));
  EXPECT_TRUE(has(after(lanePermutesMove(), exchanging("v_xor_b32_e32 v7, 32, v6")),
                  "v_mov_b32_dpp v9, v8 row_ror:8 row_mask:0xf bank_mask:0xf bound_ctrl:1"));
  // The offset is added to the address.
  EXPECT_TRUE(has(after(lanePermutesMove(), exchanging("v_mov_b32_e32 v7, v6", "", " offset:252")),
                  "v_mov_b32_dpp v9, v8 wave_ror:1 row_mask:0xf bank_mask:0xf bound_ctrl:1"));
}

TEST(LanePermutes, LanesThatAreOffGiveZeroAndKeepTheirOwn) {
  for (const char* lanes : {"0x5555555555555555", "0x0f0f00ff12345678"}) {
    const std::string mask =
        fmt::format("s_mov_b32 exec_lo, {:#x}\n s_mov_b32 exec_hi, {:#x}", std::stoull(lanes, nullptr, 16) & 0xffffffff,
                    std::stoull(lanes, nullptr, 16) >> 32);
    for (const char* address : {"v_xor_b32_e32 v7, 8, v6", "v_xor_b32_e32 v7, 16, v6", "v_subrev_u32_e32 v7, 4, v6"})
      EXPECT_FALSE(after(lanePermutesMove(), exchanging(address, mask)).empty()) << address;
  }
}

TEST(LanePermutes, Swizzles) {
  const std::string code = "v_mul_lo_u32 v8, v0, v0\n ds_swizzle_b32 v9, v8 offset:{}\n s_waitcnt lgkmcnt(0)\n"
                           "global_store_dword v1, v9, s[2:3] offset:512\n";
  // xor 8 by masks of 32 lanes; xor 16 has no DPP.
  EXPECT_TRUE(has(after(lanePermutesMove(), fmt::format(fmt::runtime(code), 8 << 10 | 31)),
                  "v_mov_b32_dpp v9, v8 row_ror:8 row_mask:0xf bank_mask:0xf bound_ctrl:1"));
  EXPECT_TRUE(after(lanePermutesMove(), fmt::format(fmt::runtime(code), 16 << 10 | 31)).empty());
}

TEST(LanePermutes, OnlyWhereEveryLaneIsKnown) {
  EXPECT_TRUE(after(lanePermutesMove(), exchanging("v_xor_b32_e32 v7, 64, v6")).empty()); // lane ^ 16
  EXPECT_TRUE(after(lanePermutesMove(), exchanging("v_xor_b32_e32 v7, s6, v6")).empty()); // of memory
  EXPECT_TRUE(after(lanePermutesMove(), exchanging("v_add_u32_e32 v7, v8, v6")).empty()); // of data
  EXPECT_TRUE(after(lanePermutesMove(), exchanging("v_add_u32_e32 v7, -8, v6")).empty()); // two lanes down
  // Written for some lanes only.
  EXPECT_TRUE(after(lanePermutesMove(), exchanging("v_mov_b32_e32 v7, v8\n s_mov_b64 s[10:11], exec\n s_mov_b64 exec, "
                                                   "0xff\n v_xor_b32_e32 v7, 4, v6\n s_mov_b64 exec, s[10:11]"))
                  .empty());
  // xor 4 takes two moves, which both read what is exchanged.
  EXPECT_TRUE(after(lanePermutesMove(), R"(
  v_mbcnt_lo_u32_b32 v6, -1, 0
  v_mbcnt_hi_u32_b32 v6, -1, v6
  v_lshlrev_b32_e32 v6, 2, v6
  v_xor_b32_e32 v7, 16, v6
  ds_bpermute_b32 v6, v7, v6
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v6, s[2:3] offset:512
)")
                  .empty());
}

TEST(LanePermutes, WaitsCountWhatIsLeft) {
  // The wait for all but one operation was for the read in front of the exchange: none may be left out now.
  const Lines lines = after(lanePermutesMove(), R"(
  v_mbcnt_lo_u32_b32 v6, -1, 0
  v_mbcnt_hi_u32_b32 v6, -1, v6
  v_lshlrev_b32_e32 v6, 2, v6
  v_xor_b32_e32 v7, 4, v6
  ds_write_b32 v6, v0
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v8, v6
  ds_bpermute_b32 v9, v7, v0
  s_waitcnt lgkmcnt(1)
  v_mov_b32_e32 v10, v8
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v9, v9, v10
  global_store_dword v1, v9, s[2:3] offset:512
)");
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[tests::position(lines, "v_mov_b32_e32 v10") - 1], "s_waitcnt lgkmcnt(0)");
}

/// v2 and v3 loaded.
const std::string loads = R"(
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0)
)";
const std::string store = "\n  global_store_dword v1, v9, s[2:3] offset:512\n";

TEST(DropQuieting, OfResults) {
  for (const char* quieting : {"v_max_f32_e32 v4, v4, v4", "v_min_f32_e32 v4, v4, v4"})
    for (const char* result : {"v_add_f32_e32 v4, v2, v3", "v_mul_f32_e32 v4, v2, v3", "v_max_f32_e32 v4, v2, v3",
                               "v_fma_f32 v4, v2, v3, v2", "v_pk_mul_f32 v[4:5], v[2:3], v[2:3]"}) {
      const Lines lines =
          after(dropQuietingMove(), loads + result + "\n" + quieting + "\n v_max_f32_e32 v9, v4, v3" + store);
      EXPECT_FALSE(lines.empty()) << result;
      EXPECT_FALSE(has(lines, quieting)) << result;
    }
  // Into another register, and behind a move from another lane.
  const Lines lines = after(dropQuietingMove(), loads + R"(
  v_add_f32_e32 v4, v2, v3
  s_nop 1
  v_mov_b32_dpp v5, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:0
  v_max_f32_e32 v6, v5, v5
  v_max_f32_e32 v9, v4, v6
)" + store);
  EXPECT_TRUE(has(lines, "v_max_f32_e32 v9, v4, v5"));
}

TEST(DropQuieting, NotOfWhatMayBeSignalling) {
  for (const char* made :
       {"v_mov_b32_e32 v4, v2", "v_and_b32_e32 v4, 0x7fffffff, v2", "v_lshlrev_b32_e32 v4, 16, v2",
        "v_add_u32_e32 v4, v2, v3", "v_mov_b32_e32 v4, 0x7f800001", "v_cndmask_b32_e32 v4, 0, v2, vcc",
        // Half of the register is older.
        "v_mov_b32_e32 v4, v2\n v_add_f32_sdwa v4, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
        "src0_sel:DWORD src1_sel:DWORD",
        // Some lanes are older.
        "v_mov_b32_e32 v4, v2\n s_mov_b64 s[8:9], exec\n s_mov_b64 exec, 0xff\n"
        "v_add_f32_e32 v4, v2, v3\n s_mov_b64 exec, s[8:9]",
        "v_mov_b32_e32 v4, v2\n v_add_f32_e32 v5, v2, v3\n s_nop 1\n"
        "v_mov_b32_dpp v4, v5 row_shr:1 row_mask:0xf bank_mask:0xf"})
    EXPECT_TRUE(after(dropQuietingMove(), loads + made + "\n v_max_f32_e32 v9, v4, v4" + store).empty()) << made;
  // Two registers, a sign, a MODE that may change.
  EXPECT_TRUE(after(dropQuietingMove(), loads + "v_add_f32_e32 v4, v2, v3\n v_max_f32_e32 v9, v4, v3" + store).empty());
  EXPECT_TRUE(
      after(dropQuietingMove(), loads + "v_add_f32_e32 v4, v2, v3\n v_max_f32_e64 v9, |v4|, |v4|" + store).empty());
  EXPECT_TRUE(after(dropQuietingMove(), loads +
                                            "v_add_f32_e32 v4, v2, v3\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2),"
                                            " 0\n v_max_f32_e32 v4, v4, v4\n v_mov_b32_e32 v9, v4" +
                                            store)
                  .empty());
}

/// 20 turns of `body`, which adds to v9; in front of it `before`.
std::string loop(const std::string& before, const std::string& body) {
  return "v_mov_b32_e32 v9, 0\n v_mov_b32_e32 v4, 3\n v_mov_b32_e32 v5, 5\n s_mov_b32 s8, 20\n" + before + "\ntop:\n" +
         body + "\n s_sub_u32 s8, s8, 1\n s_cmp_lg_u32 s8, 0\n s_cbranch_scc1 top\n" + store;
}

TEST(HoistVector, WhatTheLoopLeavesAlone) {
  // The register is used again in the same turn, so the compiler could not move it.
  const Lines lines = after(hoistVectorMove(), loop("", R"(
  v_add_u32_e32 v6, 0x400, v4
  v_add_u32_e32 v9, v9, v6
  v_add_u32_e32 v6, 0x800, v5
  v_add_u32_e32 v9, v9, v6
  v_add_u32_e32 v6, 0x400, v4
  v_xor_b32_e32 v9, v9, v6
  v_mov_b32_e32 v6, v9
)"));
  ASSERT_FALSE(lines.empty());
  const auto sums = [](const std::string& line) {
    return line.starts_with("v_add_u32") && line.find("0x400, v4") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(lines, sums), 1);
  const auto top = tests::position(lines, "v_add_u32_e32 v9, v9");
  EXPECT_TRUE(std::none_of(lines.begin() + static_cast<std::ptrdiff_t>(top), lines.end(), sums));
}

TEST(HoistVector, UnderLanesOfTheLoopOnly) {
  // Lanes leave; those that are left were on in front.
  const Lines lines = after(hoistVectorMove(), loop("s_mov_b64 s[10:11], exec", R"(
  v_cmp_ge_u32_e32 vcc, s8, v0
  s_and_saveexec_b64 s[12:13], vcc
  v_add_u32_e32 v6, 0x400, v4
  v_add_u32_e32 v9, v9, v6
  v_mov_b32_e32 v6, v9
  s_or_b64 exec, exec, s[12:13]
)"));
  EXPECT_FALSE(lines.empty());
}

TEST(HoistVector, NotWhatChanges) {
  for (const char* body :
       {// its source, its own result, a mask, the value behind the loop's end
        "v_add_u32_e32 v6, 0x400, v4\n v_add_u32_e32 v9, v9, v6\n v_add_u32_e32 v4, 1, v4",
        "v_add_u32_e32 v4, 0x400, v4\n v_add_u32_e32 v9, v9, v4",
        "v_cmp_eq_u32_e32 vcc, s8, v0\n v_cndmask_b32_e32 v6, v4, v5, vcc\n v_add_u32_e32 v9, v9, v6",
        "v_add_u32_e32 v6, s8, v4\n v_add_u32_e32 v9, v9, v6",
        "v_mov_b32_dpp v6, v4 row_shr:1 row_mask:0xf bank_mask:0xf\n v_add_u32_e32 v9, v9, v6"})
    EXPECT_TRUE(after(hoistVectorMove(), loop("", body)).empty()) << body;
  // More lanes than in front.
  EXPECT_TRUE(after(hoistVectorMove(), loop("s_mov_b64 s[10:11], exec\n s_mov_b64 exec, 0xff",
                                            "s_mov_b64 exec, s[10:11]\n v_add_u32_e32 v6, 0x400, v4\n"
                                            "v_add_u32_e32 v9, v9, v6\n v_mov_b32_e32 v6, 0"))
                  .empty());
}

TEST(LaneValues, FollowIndicesAndMasks) {
  const auto fixture = textFixture(R"(
  v_mbcnt_lo_u32_b32 v6, -1, 0
  v_mbcnt_hi_u32_b32 v6, -1, v6
  v_cmp_gt_u32_e64 s[8:9], 2, v6
  v_cndmask_b32_e64 v7, v6, 5, s[8:9]
  v_and_b32_e32 v8, 63, v0
  v_lshl_add_u32 v10, v8, 2, 16
  v_nop
)");
  const auto& program = fixture->program;
  const auto* function = program.functionOf(0);
  ASSERT_NE(function, nullptr);
  const LaneValues values(program, *function, fixture->context().accumOffset, {true, true});
  std::size_t seen = 0;
  values.walk(function->entryBlock, [&](std::size_t at, const LaneState& state, bool full) {
    EXPECT_TRUE(full);
    if (program.blocks[function->entryBlock].instrs[at].inst->base != "v_nop")
      return;
    ++seen;
    EXPECT_EQ(state.mask(8), 3u);
    for (const auto& [reg, value] :
         {std::pair<unsigned, std::function<unsigned(unsigned)>>{6, [](unsigned l) { return l; }},
          {7, [](unsigned l) { return l < 2 ? 5 : l; }},
          {10, [](unsigned l) { return l * 4 + 16; }}}) {
      const LaneBits* bits = state.of(isa::vgprUnit(reg));
      ASSERT_NE(bits, nullptr) << reg;
      for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(bits->known[lane], ~0u) << reg;
        EXPECT_EQ(bits->value[lane], value(lane)) << reg;
      }
    }
  });
  EXPECT_EQ(seen, 1u);
}

} // namespace
} // namespace asmevo::optimize
