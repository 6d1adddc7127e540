// Every move on real kernels, and each move on programs small enough to say what it must and must not do.
#include "optimize/moves/arithmetic/dead_code.h"
#include "optimize/moves/arithmetic/hoist_scalar.h"
#include "optimize/moves/resources/shrink_resources.h"
#include "optimize/moves/scheduling/relax_waits.h"
#include "optimize/moves/scheduling/schedule.h"
#include "optimize/optimize_support.h"
#include "verify/proof/value_proof.h"
#include "verify/verify_support.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace asmevo::optimize {
namespace {

using tests::MoveFixture;
using tests::position;
using tests::textFixture;
using Lines = std::vector<std::string>;

struct Checked {
  std::size_t proposals = 0;
  std::size_t undecided = 0; ///< the proof cannot follow them, so they are lost; all that runs is equal
};

/// Proposals of all moves; at most `limit` of each move are run.
Checked checkAllMoves(const MoveFixture& fixture, std::size_t limit) {
  verify::Options options;
  options.seeds = {0};
  options.dataVariants = 0;
  auto baseline = verify::measureBaseline(fixture.object, fixture.dispatch, tests::simulator(), options);
  EXPECT_TRUE(baseline) << baseline.error().message;
  options.baseline = *baseline;
  Checked checked;
  for (const Move* move : moveTable()) {
    SCOPED_TRACE(std::string(move->name()));
    std::size_t number = 0;
    for (const Proposal& proposal : fixture.propose(*move)) {
      if (number++ == limit)
        break;
      SCOPED_TRACE(proposal.reason);
      ++checked.proposals;
      EXPECT_FALSE(proposal.reason.empty());
      const object::CodeObject k1 = fixture.rebuilt(proposal.program);
      // Another control flow is beyond the proof: runs decide, as far as the kernel's cases reach.
      // So are loads done under EXEC of another place.
      const bool reshaped = proposal.program.blocks.size() != fixture.program.blocks.size() ||
                            move->name() == std::string_view("batch-guarded-loads");
      const auto proof = verify::proveEquivalent(fixture.object, k1, fixture.kernel->name);
      EXPECT_TRUE(proof) << proof.error().message;
      if (!proof)
        continue;
      const auto verdict = verify::verify(fixture.object, k1, fixture.dispatch, tests::simulator(), options);
      EXPECT_TRUE(verdict) << verdict.error().message;
      if (!verdict)
        continue;
      const bool unreached = reshaped && verdict->gate == "coverage";
      const bool undecided = verdict->level == verify::Level::unknown && !unreached;
      if (undecided)
        ++checked.undecided;
      else if (!reshaped)
        EXPECT_EQ(proof->status, verify::ProofStatus::proved) << proof->reason;
      EXPECT_TRUE(unreached || undecided || verdict->level <= verify::Level::exact) << verdict->reason;
      for (const verify::CaseResult& one : verdict->cases)
        EXPECT_TRUE(one.equal) << one.name << ": " << one.detail;
      EXPECT_TRUE(verdict->newFindings.empty()) << verdict->newFindings.front().message;
      EXPECT_TRUE(verdict->newStrictFindings.empty()) << verdict->newStrictFindings.front().message;
    }
  }
  return checked;
}

TEST(Moves, EveryProposalForEveryKernelVerifies) {
  std::size_t proposals = 0, undecided = 0;
  for (const std::string& path : program::test::ownKernels()) {
    const std::string name = std::filesystem::path(path).stem();
    if (!std::filesystem::exists(tests::kernelDispatchPath(name)))
      continue;
    SCOPED_TRACE(name);
    const Checked checked = checkAllMoves(MoveFixture(tests::kernelObject(name), tests::kernelDispatch(name)), 12);
    proposals += checked.proposals;
    undecided += checked.undecided;
  }
  EXPECT_GE(proposals, 30u);
  EXPECT_LE(undecided, 1u);
}

MoveFixture production(const std::string& object, const std::string& dispatch) {
  const std::string path = ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942/" + object;
  return {*object::CodeObject::load(path),
          *dispatch::loadDispatch(ASMEVO_SOURCE_DIR "/tests/data/dispatch/" + dispatch)};
}

TEST(Moves, ProposalsForProductionKernelsVerify) {
  const Checked topk =
      checkAllMoves(production("topksoftmax/topksoftmax_12x256x8.co", "topksoftmax_12x256x8.dispatch.json"), 3);
  EXPECT_GE(topk.proposals, 3u);
  EXPECT_EQ(topk.undecided, 0u);
  const Checked fmha =
      checkAllMoves(production("fmha_v3_fwd/MI300/fwd_hd128_bf16_rtne.co", "fmha_fwd_hd128_300x200.dispatch.json"), 1);
  EXPECT_GE(fmha.proposals, 2u);
  EXPECT_LE(fmha.undecided, 1u);
}

/// Lines of the kernel from the first that starts with `from`.
Lines tail(const MoveFixture& fixture, const program::Program& program, const std::string& from) {
  const Lines all = fixture.lines(program);
  return {all.begin() + static_cast<std::ptrdiff_t>(position(all, from)), all.end()};
}

TEST(RelaxWaits, ExactCountsInFrontOfEachUse) {
  const auto fixture = textFixture(R"(
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32_e32 v4, v2, v2
  v_add_u32_e32 v5, v3, v4
  global_store_dword v1, v5, s[2:3]
)");
  const Lines expected = {"global_load_dword v2, v1, s[2:3]",
                          "global_load_dword v3, v1, s[2:3] offset:256",
                          "s_waitcnt vmcnt(1)",
                          "v_add_u32_e32 v4, v2, v2",
                          "s_waitcnt vmcnt(0)",
                          "v_add_u32_e32 v5, v3, v4",
                          "global_store_dword v1, v5, s[2:3]",
                          "s_endpgm"};
  bool found = false;
  for (const Proposal& proposal : fixture->propose(relaxWaitsMove()))
    found |= tail(*fixture, proposal.program, "global_load_dword v2") == expected;
  EXPECT_TRUE(found) << [&] {
    std::string all;
    for (const Proposal& proposal : fixture->propose(relaxWaitsMove()))
      all += fmt::format("{}\n\n", fmt::join(fixture->lines(proposal.program), "\n"));
    return all;
  }();
}

/// A wait between lines `operation` and `end` is low enough to complete the operation; those of its counter start with
/// `prefix`.
bool completed(const Lines& lines, std::size_t operation, std::size_t end, const std::string& prefix,
               const std::string& counter) {
  int younger = 0;
  for (std::size_t i = operation + 1; i < end; ++i) {
    younger += lines[i].starts_with(prefix);
    const auto at = lines[i].find(counter);
    if (at != std::string::npos && std::stoi(lines[i].substr(at + counter.size())) <= younger)
      return true;
  }
  return false;
}

/// What may not weaken: a wait between a store and what makes the store known to others.
class Publishing : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(Publishing, WaitStays) {
  const auto [store, publisher] = GetParam();
  const auto fixture = textFixture(fmt::format(R"(
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:256
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32_e32 v4, v2, v2
  v_add_u32_e32 v5, v3, v4
  v_mov_b32_e32 v6, 1
  v_mov_b32_e32 v7, 2
  {}
  s_waitcnt vmcnt(0) lgkmcnt(0)
  {}
  global_load_dword v8, v1, s[2:3] offset:512
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v9, v8, v7
  global_store_dword v1, v9, s[2:3] offset:512
)",
                                               store, publisher));
  std::size_t proposals = 0;
  const bool lds = store.starts_with("ds_");
  for (const Move* move : {&relaxWaitsMove(), &scheduleMove()})
    for (const Proposal& proposal : fixture->propose(*move)) {
      ++proposals;
      const Lines lines = fixture->lines(proposal.program);
      const std::size_t stored = position(lines, store), published = position(lines, publisher);
      ASSERT_LT(published, lines.size());
      ASSERT_LT(stored, published) << move->name();
      EXPECT_TRUE(completed(lines, stored, published, lds ? "ds_" : "global_", lds ? "lgkmcnt(" : "vmcnt("))
          << move->name() << ": " << proposal.reason << "\n"
          << fmt::format("{}", fmt::join(lines, "\n"));
    }
  EXPECT_GT(proposals, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Moves, Publishing,
    testing::Values(
        std::pair<std::string, std::string>("global_store_dword v1, v6, s[2:3] offset:1024", "s_barrier"),
        std::pair<std::string, std::string>("global_store_dword v1, v6, s[2:3] offset:1024",
                                            "global_atomic_add v1, v7, s[2:3]"),
        std::pair<std::string, std::string>("global_store_dword v1, v6, s[2:3] offset:1024",
                                            "global_store_dword v1, v7, s[2:3] offset:2048 sc0 sc1"),
        std::pair<std::string, std::string>("global_store_dword v1, v6, s[2:3] offset:1024",
                                            "global_store_dword v1, v7, s[2:3] offset:2048"),
        std::pair<std::string, std::string>("global_store_dword v1, v6, s[2:3] offset:1024", "ds_write_b32 v1, v7"),
        std::pair<std::string, std::string>("ds_write_b32 v1, v6", "s_barrier"),
        std::pair<std::string, std::string>("ds_write_b32 v1, v6", "global_store_dword v1, v7, s[2:3] offset:2048")));

TEST(RelaxWaits, ScalarLoadsInFlightNeedZero) {
  const auto fixture = textFixture(R"(
  ds_read_b32 v2, v1
  s_load_dword s8, s[2:3], 0x10
  s_load_dword s9, s[2:3], 0x20
  s_waitcnt lgkmcnt(0)
  s_add_u32 s8, s8, 1
  v_add_u32_e32 v4, s9, v2
  v_add_u32_e32 v4, s8, v4
  global_store_dword v1, v4, s[2:3]
)");
  for (const Move* move : {&relaxWaitsMove(), &scheduleMove()})
    for (const Proposal& proposal : fixture->propose(*move)) {
      const Lines lines = tail(*fixture, proposal.program, "s_load_dword s9");
      EXPECT_LT(position(lines, "s_waitcnt lgkmcnt(0)"), position(lines, "s_add_u32"));
      EXPECT_LT(position(lines, "s_waitcnt lgkmcnt(0)"), position(lines, "v_add_u32"));
      for (const auto& line : lines)
        EXPECT_TRUE(line.find("lgkmcnt") == std::string::npos || line.find("lgkmcnt(0)") != std::string::npos) << line;
    }
}

TEST(Schedule, IndependentWorkGoesBehindALoad) {
  const auto fixture = textFixture(R"(
  v_mul_f32_e32 v5, s7, v0
  v_mul_f32_e32 v6, v5, v0
  v_mul_f32_e32 v7, v6, v0
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v2, v7
  global_store_dword v1, v4, s[2:3]
)");
  bool earlier = false;
  for (const Proposal& proposal : fixture->propose(scheduleMove())) {
    const Lines lines = fixture->lines(proposal.program);
    EXPECT_LT(position(lines, "s_waitcnt vmcnt(0)"), position(lines, "v_add_f32"));
    earlier |= position(lines, "global_load_dword v2") < position(lines, "v_mul_f32_e32 v6");
  }
  EXPECT_TRUE(earlier) << [&] {
    std::string all;
    for (const Proposal& proposal : fixture->propose(scheduleMove()))
      all += fmt::format("{}\n\n", fmt::join(fixture->lines(proposal.program), "\n"));
    return all;
  }();
}

TEST(Schedule, LdsDmaIsWaitedForBeforeItIsRead) {
  const auto fixture = textFixture(R"(
  s_mov_b32 m0, 0
  v_mov_b32_e32 v7, 3
  s_nop 0
  global_load_lds_dword v1, s[2:3]
  v_mul_f32_e32 v5, v0, v0
  v_mul_f32_e32 v6, v5, v0
  s_waitcnt vmcnt(0)
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  v_add_f32_e32 v4, v2, v6
  v_add_f32_e32 v4, v4, v7
  global_store_dword v1, v4, s[2:3]
)");
  std::size_t proposals = 0;
  for (const Move* move : {&relaxWaitsMove(), &scheduleMove()})
    for (const Proposal& proposal : fixture->propose(*move)) {
      ++proposals;
      const Lines lines = fixture->lines(proposal.program);
      const std::size_t dma = position(lines, "global_load_lds"), read = position(lines, "ds_read");
      EXPECT_LT(dma, position(lines, "s_waitcnt vmcnt(0)"));
      EXPECT_LT(position(lines, "s_waitcnt vmcnt(0)"), read);
      EXPECT_LT(position(lines, "s_mov_b32 m0"), dma);
    }
  EXPECT_GT(proposals, 0u);
}

TEST(Schedule, LongNopsPaceWaves) {
  const auto fixture = textFixture(R"(
  global_load_dword v2, v1, s[2:3]
  v_mul_f32_e32 v5, v0, v0
  s_nop 15
  v_mul_f32_e32 v6, v5, v0
  global_load_dword v3, v1, s[2:3] offset:256
  v_mul_f32_e32 v7, v6, v0
  v_mul_f32_e32 v8, v0, v0
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v4, v2, v3
  v_add_f32_e32 v4, v4, v7
  v_add_f32_e32 v4, v4, v8
  global_store_dword v1, v4, s[2:3]
)");
  std::size_t proposals = 0;
  for (const Proposal& proposal : fixture->propose(scheduleMove())) {
    ++proposals;
    const Lines lines = fixture->lines(proposal.program);
    const std::size_t nop = position(lines, "s_nop 15");
    ASSERT_LT(nop, lines.size());
    for (const char* before : {"global_load_dword v2", "v_mul_f32_e32 v5"})
      EXPECT_LT(position(lines, before), nop);
    for (const char* after : {"v_mul_f32_e32 v6", "global_load_dword v3", "v_mul_f32_e32 v8"})
      EXPECT_GT(position(lines, after), nop);
  }
  EXPECT_GT(proposals, 0u);
}

TEST(Schedule, IndexedRegionsKeepTheirOrder) {
  const auto fixture = textFixture(R"(
  global_load_dword v2, v1, s[2:3]
  v_mov_b32_e32 v8, 1
  v_mov_b32_e32 v9, 2
  s_waitcnt vmcnt(0)
  s_set_gpr_idx_on s6, gpr_idx(DST)
  v_mul_f32_e32 v5, v2, v2
  v_mov_b32_e32 v6, v0
  v_mov_b32_e32 v7, v8
  s_set_gpr_idx_off
  v_add_f32_e32 v4, v5, v6
  v_add_f32_e32 v4, v4, v9
  global_store_dword v1, v4, s[2:3]
)");
  for (const Proposal& proposal : fixture->propose(scheduleMove())) {
    const Lines lines = fixture->lines(proposal.program);
    const std::size_t on = position(lines, "s_set_gpr_idx_on");
    EXPECT_EQ(position(lines, "v_mul_f32_e32 v5"), on + 1);
    EXPECT_EQ(position(lines, "v_mov_b32_e32 v6"), on + 2);
    EXPECT_EQ(position(lines, "v_mov_b32_e32 v7"), on + 3);
    EXPECT_EQ(position(lines, "s_set_gpr_idx_off"), on + 4);
  }
  // v7 by name is dead; what the region writes is v[7 + s6].
  const auto deletions = fixture->propose(deadCodeMove());
  for (const Proposal& proposal : deletions)
    EXPECT_LT(position(fixture->lines(proposal.program), "v_mov_b32_e32 v7"), fixture->lines(proposal.program).size());
}

TEST(DeadCode, DeadAndRepeatedWorkGoes) {
  const auto fixture = textFixture(R"(
  s_mov_b32 s8, 5
  v_mov_b32_e32 v9, v0
  v_add_u32_e32 v4, s8, v1
  s_mov_b32 s8, 5
  v_add_u32_e32 v4, s8, v4
  s_branch .Lnext
.Lnext:
  global_store_dword v1, v4, s[2:3]
)");
  const auto proposals = fixture->propose(deadCodeMove());
  ASSERT_EQ(proposals.size(), 1u);
  // s[6:7] are loaded and never used, but a load is not ALU work.
  EXPECT_EQ(tail(*fixture, proposals[0].program, "s_mov_b32 s8"),
            (Lines{"s_mov_b32 s8, 5", "v_add_u32_e32 v4, s8, v1", "v_add_u32_e32 v4, s8, v4",
                   "global_store_dword v1, v4, s[2:3]", "s_endpgm"}));
}

TEST(DeadCode, PartialWritesThatAreReadStay) {
  const auto fixture = textFixture(R"(
  v_mov_b32_e32 v4, v0
  s_mov_b64 s[8:9], exec
  s_mov_b64 exec, s[6:7]
  v_mov_b32_e32 v4, v1
  s_mov_b64 exec, s[8:9]
  global_store_dword v1, v4, s[2:3]
)");
  EXPECT_TRUE(fixture->propose(deadCodeMove()).empty());
}

/// v5 counts and nobody asks; s8 decides when the loop ends.
TEST(DeadCode, WhatOnlyCountsItselfGoes) {
  const auto fixture = textFixture(R"(
  s_mov_b32 s8, 0
  s_mov_b32 s9, 0
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, v0
.Ltop:
  s_add_i32 s8, s8, 1
  s_add_i32 s9, s9, 3
  v_add_u32_e32 v5, s9, v5
  v_add_u32_e32 v4, s8, v4
  s_cmp_lg_u32 s8, 4
  s_cbranch_scc1 .Ltop
  global_store_dword v1, v4, s[2:3]
)");
  const auto proposals = fixture->propose(deadCodeMove());
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(tail(*fixture, proposals[0].program, "s_mov_b32 s8"),
            (Lines{"s_mov_b32 s8, 0", "v_mov_b32_e32 v4, 0", "s_add_i32 s8, s8, 1", "v_add_u32_e32 v4, s8, v4",
                   "s_cmp_lg_u32 s8, 4", "s_cbranch_scc1", "global_store_dword v1, v4, s[2:3]", "s_endpgm"}));
}

/// What is written over in all lanes is dead where waves are whole, and only there.
TEST(DeadCode, OldValuesOfInactiveLanesCountWhereWavesMayBePartial) {
  const auto fixture = textFixture(R"(
  v_mov_b32_e32 v4, v0
  v_mov_b32_e32 v4, v1
  global_store_dword v1, v4, s[2:3]
)");
  EXPECT_TRUE(fixture->propose(deadCodeMove()).empty());
  MoveContext context = fixture->context();
  context.launches = &fixture->dispatch;
  const auto proposals = deadCodeMove().propose(fixture->program, context);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_FALSE(proposals[0].assumptions.empty());
  EXPECT_EQ(tail(*fixture, proposals[0].program, "v_mov_b32_e32 v4"),
            (Lines{"v_mov_b32_e32 v4, v1", "global_store_dword v1, v4, s[2:3]", "s_endpgm"}));
}

/// Four turns of a loop that uses s9.
std::string loop(const std::string& before, const std::string& top, const std::string& bottom = "") {
  return "  s_mov_b32 s10, 4\n  v_mov_b32_e32 v4, 0\n" + before + "\n.Lloop:\n" + top +
         "\n  v_add_u32_e32 v4, s9, v4\n" + bottom +
         "\n  s_sub_u32 s10, s10, 1\n  s_cmp_lg_u32 s10, 0\n  s_cbranch_scc1 .Lloop\n"
         "  global_store_dword v1, v4, s[2:3]\n";
}

TEST(HoistScalar, InvariantsGoInFrontOfTheLoop) {
  const auto fixture = textFixture(loop("", "  s_lshl_b32 s9, s6, 4"));
  const auto proposals = fixture->propose(hoistScalarMove());
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(tail(*fixture, proposals[0].program, "s_mov_b32 s10"),
            (Lines{"s_mov_b32 s10, 4", "v_mov_b32_e32 v4, 0", "s_lshl_b32 s9, s6, 4", "v_add_u32_e32 v4, s9, v4",
                   "s_sub_u32 s10, s10, 1", "s_cmp_lg_u32 s10, 0", "s_cbranch_scc1",
                   "global_store_dword v1, v4, s[2:3]", "s_endpgm"}));
  const auto k1 = fixture->rebuilt(proposals[0].program);
  const auto proof = verify::proveEquivalent(fixture->object, k1, "k");
  ASSERT_TRUE(proof);
  EXPECT_EQ(proof->status, verify::ProofStatus::proved) << proof->reason;
}

TEST(HoistScalar, Refusals) {
  // The source changes, SCC is used, the result has another writer, the value is read before it is computed, the source
  // is still in flight in front of the loop.
  for (const auto& [before, top, bottom] : std::vector<std::array<std::string, 3>>{
           {"", "  s_lshl_b32 s9, s6, 4", "  s_add_u32 s6, s6, 1"},
           {"", "  s_lshl_b32 s9, s6, 4", "  s_cselect_b32 s11, s6, s7\n  v_add_u32_e32 v4, s11, v4"},
           {"", "  s_lshl_b32 s9, s6, 4", "  s_mov_b32 s9, 1"},
           {"  s_mov_b32 s9, 0", "", "  s_lshl_b32 s9, s6, 4"},
           {"  s_load_dword s12, s[2:3], 0x10", "  s_waitcnt lgkmcnt(0)\n  s_lshl_b32 s9, s12, 4", ""}}) {
    const auto fixture = textFixture(loop(before, top, bottom));
    for (const auto& proposal : fixture->propose(hoistScalarMove()))
      ADD_FAILURE() << fmt::format("{}", fmt::join(fixture->lines(proposal.program), "\n"));
  }
}

/// `file` with everything that `from` stands for replaced.
std::string replaced(std::string file, const std::string& from, const std::string& to) {
  const auto at = file.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return file.replace(at, from.size(), to);
}

/// A latency-bound kernel with these declarations.
std::string declaring(unsigned vgprs, unsigned lds, const std::string& more = "") {
  auto text = tests::bodyOf(R"(
  v_lshlrev_b32_e32 v5, 2, v0
  ds_write_b32 v5, v0
  v_mov_b32_e32 v4, 0
  s_mov_b32 s10, 8
.Lloop:
  global_load_dword v2, v1, s[2:3]
  v_add_u32_e32 v1, 0x4000, v1
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v4
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 .Lloop
)" + more + R"(
  ds_read_b32 v6, v5
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v4, v6, v4
  global_store_dword v1, v4, s[2:3]
)");
  text.descriptor = fmt::format("    .amdhsa_group_segment_fixed_size {}\n", lds);
  std::string file = program::test::kernelFile(text);
  file = replaced(file, ".amdhsa_next_free_vgpr 32", fmt::format(".amdhsa_next_free_vgpr {}", vgprs));
  file = replaced(file, ".vgpr_count: 32", fmt::format(".vgpr_count: {}", vgprs));
  return replaced(file, ".group_segment_fixed_size: 0", fmt::format(".group_segment_fixed_size: {}", lds));
}

/// 64 workgroups of one wave for each of MI300X's 304 CUs: more than fit at once, whatever is declared.
MoveFixture resourceFixture(const std::string& file) {
  return {tests::assembledObject(file), tests::textDispatch(304 * 64)};
}

TEST(ShrinkResources, VgprsToWhatIsNamed) {
  const MoveFixture fixture = resourceFixture(declaring(256, 512));
  const auto proposals = fixture.propose(shrinkResourcesMove());
  ASSERT_EQ(proposals.size(), 1u);
  const auto k1 = fixture.rebuilt(proposals[0].program);
  // v0 to v6, in granules of 8.
  EXPECT_EQ(k1.kernels()[0].descriptor.allocatedVgprs(k1.target()), 8u);
  EXPECT_EQ(k1.kernels()[0].metadata->vgprCount, 8u);
  const double before = *modelledCycles(fixture.object, fixture.dispatch, tests::simulator());
  const double after = *modelledCycles(k1, fixture.dispatch, tests::simulator());
  EXPECT_LT(after, before * 0.8);
}

TEST(ShrinkResources, LdsToWhatIsReached) {
  const MoveFixture fixture = resourceFixture(declaring(32, 65536));
  const auto proposals = fixture.propose(shrinkResourcesMove());
  ASSERT_EQ(proposals.size(), 1u);
  const auto k1 = fixture.rebuilt(proposals[0].program);
  // 64 work-items of 4 bytes reach byte 256, in granules of 512.
  EXPECT_EQ(k1.kernels()[0].descriptor.groupSegmentSize(), 512u);
  EXPECT_EQ(k1.kernels()[0].metadata->groupSegmentFixedSize, 512u);
  EXPECT_LT(*modelledCycles(k1, fixture.dispatch, tests::simulator()),
            *modelledCycles(fixture.object, fixture.dispatch, tests::simulator()) * 0.5);
}

TEST(ShrinkResources, Refusals) {
  // No occupancy step: 32 VGPRs and no LDS to speak of are as good as 8.
  EXPECT_TRUE(resourceFixture(declaring(32, 512)).propose(shrinkResourcesMove()).empty());
  // Indexed registers may be any.
  EXPECT_TRUE(resourceFixture(declaring(256, 512,
                                        "  s_set_gpr_idx_on s10, gpr_idx(SRC0)\n  v_mov_b32_e32 v4, v4\n"
                                        "  s_set_gpr_idx_off\n"))
                  .propose(shrinkResourcesMove())
                  .empty());
  // An LDS address from memory.
  EXPECT_TRUE(resourceFixture(declaring(32, 65536, "  ds_read_b32 v3, v2\n  s_waitcnt lgkmcnt(0)\n"))
                  .propose(shrinkResourcesMove())
                  .empty());
  // A high register that is used stays declared.
  const MoveFixture high = resourceFixture(declaring(256, 512, "  v_mov_b32_e32 v99, v4\n  v_mov_b32_e32 v4, v99\n"));
  const auto proposals = high.propose(shrinkResourcesMove());
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(high.rebuilt(proposals[0].program).kernels()[0].descriptor.allocatedVgprs(high.object.target()), 104u);
}

} // namespace
} // namespace asmevo::optimize
