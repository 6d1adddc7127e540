// Cuts of declared resources: what is cut, what a proof accepts, and programs that must keep what they declare.
#include "optimize/moves/resources/shrink_resources.h"

#include "optimize/launch_evidence.h"
#include "optimize/optimize_support.h"
#include "verify/verify_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

using tests::MoveFixture;

/// What a test kernel declares and does besides a loop over global memory and an LDS round trip in v0 to v6 and the
/// first 256 bytes of LDS.
struct Declaration {
  unsigned vgprs = 32, accumOffset = 32, lds = 512;
  std::string lines = "";  ///< in front of the end
  std::string callee = ""; ///< behind the kernel
};

std::string replaced(std::string file, const std::string& from, const std::string& to) {
  const auto at = file.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return file.replace(at, from.size(), to);
}

/// 64 workgroups of one wave for each of MI300X's 304 CUs: more than fit at once, whatever is declared.
std::unique_ptr<MoveFixture> fixtureOf(const Declaration& declaration) {
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
)" + declaration.lines + R"(
  ds_read_b32 v6, v5
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v4, v6, v4
  global_store_dword v1, v4, s[2:3]
)");
  text.more = declaration.callee;
  text.descriptor = fmt::format("    .amdhsa_group_segment_fixed_size {}\n", declaration.lds);
  std::string file = program::test::kernelFile(text);
  file = replaced(file, ".amdhsa_next_free_vgpr 32", fmt::format(".amdhsa_next_free_vgpr {}", declaration.vgprs));
  file = replaced(file, ".amdhsa_accum_offset 32", fmt::format(".amdhsa_accum_offset {}", declaration.accumOffset));
  file = replaced(file, ".vgpr_count: 32", fmt::format(".vgpr_count: {}", declaration.vgprs));
  file = replaced(file, ".group_segment_fixed_size: 0", fmt::format(".group_segment_fixed_size: {}", declaration.lds));
  return std::make_unique<MoveFixture>(tests::assembledObject(file), tests::textDispatch(304 * 64));
}

/// VGPRs, accum_offset and LDS bytes of the kernel that each proposal makes.
struct Cut {
  unsigned vgprs = 0, accumOffset = 0;
  std::uint32_t lds = 0;
  bool operator==(const Cut&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Cut& cut) {
  return out << cut.vgprs << " VGPRs, AGPRs from " << cut.accumOffset << ", " << cut.lds << " bytes";
}
std::vector<Cut> cutsOf(const Declaration& declaration) {
  const auto fixture = fixtureOf(declaration);
  std::vector<Cut> cuts;
  for (const auto& proposal : fixture->propose(shrinkResourcesMove())) {
    const auto k1 = fixture->rebuilt(proposal.program);
    const auto& descriptor = k1.kernels()[0].descriptor;
    cuts.push_back(
        {descriptor.allocatedVgprs(k1.target()), descriptor.accumOffset(k1.target()), descriptor.groupSegmentSize()});
  }
  return cuts;
}
using Cuts = std::vector<Cut>;

/// The verdict on a K1 in four workgroups.
verify::Level verdictOf(const MoveFixture& fixture, const object::CodeObject& k1) {
  verify::Options options;
  options.seeds = {0};
  options.dataVariants = 0;
  const auto verdict = verify::verify(fixture.object, k1, tests::textDispatch(), tests::simulator(), options);
  EXPECT_TRUE(verdict) << verdict.error().message;
  return verdict ? verdict->level : verify::Level::unknown;
}

TEST(ShrinkResourcesGroup, NothingIsCutThatGivesNoOccupancy) {
  // 1024 bytes of LDS let as many waves run as the 512 that are reached; v0 to v6 are 8 registers.
  EXPECT_EQ(cutsOf({.vgprs = 256, .lds = 1024}), (Cuts{{8, 8, 1024}}));
  // 32 registers are as good as 8.
  EXPECT_EQ(cutsOf({.vgprs = 32, .lds = 65536}), (Cuts{{32, 32, 512}}));
  EXPECT_EQ(cutsOf({.vgprs = 32, .lds = 512}), Cuts{});
}

TEST(ShrinkResourcesGroup, BothWhereBothAreNeeded) {
  // One workgroup of one wave fits a CU by its LDS, so registers alone change nothing there.
  const Cuts cuts = cutsOf({.vgprs = 256, .lds = 65536});
  ASSERT_FALSE(cuts.empty());
  EXPECT_EQ(cuts.front(), (Cut{8, 8, 512}));
}

TEST(ShrinkResourcesGroup, RegistersAloneAreProved) {
  const auto fixture = fixtureOf({.vgprs = 256, .lds = 1024});
  const auto proposals = fixture->propose(shrinkResourcesMove());
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_TRUE(proposals[0].assumptions.empty());
  EXPECT_EQ(verdictOf(*fixture, fixture->rebuilt(proposals[0].program)), verify::Level::proved);
}

TEST(ShrinkResourcesGroup, AgprsKeepTheirNumbers) {
  const Declaration declaration{.vgprs = 256,
                                .accumOffset = 128,
                                .lines = "  v_accvgpr_write_b32 a3, v4\n  s_nop 1\n  v_accvgpr_read_b32 v4, a3\n"};
  // v0 to v6 are 8 registers, a0 to a3 four more behind them: 12, in granules of 8.
  EXPECT_EQ(cutsOf(declaration), (Cuts{{16, 8, 512}}));
  const auto fixture = fixtureOf(declaration);
  const auto k1 = fixture->rebuilt(fixture->propose(shrinkResourcesMove()).at(0).program);
  EXPECT_EQ(verdictOf(*fixture, k1), verify::Level::proved);
}

TEST(ShrinkResourcesGroup, TheBorderStaysWhereARegisterHasTwoNames) {
  // v130 is a2 while AGPRs start at 128: 128 + 4 registers.
  EXPECT_EQ(cutsOf({.vgprs = 256,
                    .accumOffset = 128,
                    .lines = "  v_accvgpr_write_b32 a3, v4\n  v_mov_b32_e32 v130, v4\n  s_nop 1\n"
                             "  v_accvgpr_read_b32 v4, a3\n"}),
            (Cuts{{136, 128, 512}}));
}

TEST(ShrinkResourcesGroup, CalleesCount) {
  const std::string call = "  s_getpc_b64 s[16:17]\n  s_add_u32 s16, s16, callee@rel32@lo+4\n"
                           "  s_addc_u32 s17, s17, callee@rel32@hi+12\n  s_swappc_b64 s[18:19], s[16:17]\n";
  const std::string callee = "  .type callee,@function\ncallee:\n  v_mov_b32_e32 v99, v4\n  v_mov_b32_e32 v4, v99\n"
                             "  s_setpc_b64 s[18:19]\n.Lend:\n  .size callee, .Lend-callee\n";
  // v99 of the callee: 100 registers, in granules of 8.
  EXPECT_EQ(cutsOf({.vgprs = 256, .lines = call, .callee = callee}), (Cuts{{104, 100, 512}}));
  // Whoever is called may use anything; no launch of the test gets there.
  EXPECT_EQ(cutsOf({.vgprs = 256,
                    .lines = "  s_cmp_eq_u32 s10, 1\n  s_cbranch_scc0 .Lpast\n  s_swappc_b64 s[18:19], s[6:7]\n"
                             ".Lpast:\n"}),
            Cuts{});
}

TEST(ShrinkResourcesGroup, Refusals) {
  // Indexed registers, an address from memory, one past what is declared (dynamic LDS).
  EXPECT_EQ(cutsOf({.vgprs = 256,
                    .lines = "  s_set_gpr_idx_on s10, gpr_idx(SRC0)\n  v_mov_b32_e32 v4, v4\n  s_set_gpr_idx_off\n"}),
            Cuts{});
  EXPECT_EQ(cutsOf({.lds = 65536, .lines = "  ds_read_b32 v3, v2\n  s_waitcnt lgkmcnt(0)\n"}), Cuts{});
  EXPECT_EQ(cutsOf({.lds = 32768, .lines = "  ds_read_b32 v3, v5 offset:32768\n  s_waitcnt lgkmcnt(0)\n"}), Cuts{});
}

TEST(ShrinkResourcesGroup, CodeThatReadsItsAllocationKeepsIt) {
  const std::string gpr = "  s_getreg_b32 s12, hwreg(HW_REG_GPR_ALLOC)\n";
  const std::string lds = "  s_getreg_b32 s12, hwreg(HW_REG_LDS_ALLOC)\n";
  EXPECT_EQ(cutsOf({.vgprs = 256, .lines = gpr}), Cuts{});
  EXPECT_EQ(cutsOf({.lds = 65536, .lines = lds}), Cuts{});
  // The other one says nothing of it.
  EXPECT_EQ(cutsOf({.vgprs = 256, .lines = lds}), (Cuts{{8, 8, 512}}));
  EXPECT_EQ(cutsOf({.lds = 65536, .lines = gpr}), (Cuts{{32, 32, 512}}));
}

TEST(ShrinkResourcesGroup, InPlace) {
  const auto fixture = fixtureOf({.vgprs = 256, .lds = 65536});
  const auto proposals = fixture->propose(shrinkResourcesMove());
  ASSERT_FALSE(proposals.empty());
  auto bytes = program::patchInPlace(fixture->object, proposals[0].program, *fixture->codec);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(bytes->size(), fixture->object.bytes().size());
  const auto k1 = object::CodeObject::parse(*std::move(bytes), "k1.co");
  ASSERT_TRUE(k1) << k1.error().message;
  EXPECT_EQ(k1->kernels()[0].descriptor.allocatedVgprs(k1->target()), 8u);
  EXPECT_EQ(k1->kernels()[0].descriptor.groupSegmentSize(), 512u);
  EXPECT_EQ(program::test::textOf(*k1), program::test::textOf(fixture->object));
  // LDS is not part of a proof.
  EXPECT_EQ(verdictOf(*fixture, *k1), verify::Level::exact);
}

/// LDS at 4 * id + the dword at byte 0x1000 of the buffer.
const std::string readsFar = R"(
  s_load_dword s11, s[2:3], 0x1000
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v3, s11, v5
  ds_write_b32 v3, v0
)";

/// A fixture with what launches show of it: verified cases and timed ones put that dword at other places.
struct Measured {
  Measured(const Declaration& declaration, std::uint32_t verifiedAt, std::uint32_t timedAt,
           std::uint32_t dynamicLds = 0)
      : fixture(fixtureOf(declaration)), verified(at(verifiedAt)), timed(at(timedAt)) {
    verified.cases[0].dynamicLdsBytes = dynamicLds;
    options.seeds = {0};
    options.dataVariants = 0;
  }
  static dispatch::Dispatch at(std::uint32_t offset) {
    dispatch::Dispatch launches = tests::textDispatch();
    for (unsigned byte = 0; byte < 4; ++byte)
      launches.cases[0].buffers[0].initial[0x1000 + byte] = static_cast<std::uint8_t>(offset >> (8 * byte));
    return launches;
  }
  std::vector<Proposal> propose() {
    const LaunchEvidence evidence(
        [&] {
          ++measurements;
          return verify::measureBaseline(fixture->object, verified, tests::simulator(), options);
        },
        timed, tests::simulator());
    MoveContext context = fixture->context();
    context.evidence = &evidence;
    return shrinkResourcesMove().propose(fixture->program, context);
  }
  Cuts cuts() {
    Cuts cuts;
    for (const Proposal& proposal : propose()) {
      const auto& descriptor = fixture->rebuilt(proposal.program).kernels()[0].descriptor;
      cuts.push_back({descriptor.allocatedVgprs(fixture->object.target()),
                      descriptor.accumOffset(fixture->object.target()), descriptor.groupSegmentSize()});
    }
    return cuts;
  }

  std::unique_ptr<MoveFixture> fixture;
  dispatch::Dispatch verified, timed;
  verify::Options options;
  int measurements = 0;
};

TEST(ShrinkResourcesMeasured, WhatNoBoundHoldsIsMeasuredAndAssumed) {
  // 32 waves of one workgroup each fit a CU: 2048 bytes for each are as good as the 1280 that are reached.
  Measured measured({.lds = 65536, .lines = readsFar}, 0, 1024);
  EXPECT_EQ(cutsOf({.lds = 65536, .lines = readsFar}), Cuts{});
  EXPECT_EQ(measured.cuts(), (Cuts{{32, 32, 2048}}));
  const auto proposals = measured.propose();
  ASSERT_EQ(proposals.size(), 1u);
  ASSERT_EQ(proposals[0].assumptions.size(), 1u);
  EXPECT_EQ(proposals[0].assumptions[0],
            "no launch reaches beyond byte 2048 of the LDS: measured at most 1280 in 1 cases, 0 variants of them and "
            "samples of 1 timed cases");
  const auto k1 = measured.fixture->rebuilt(proposals[0].program);
  const auto verdict =
      verify::verify(measured.fixture->object, k1, measured.verified, tests::simulator(), measured.options);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_EQ(verdict->level, verify::Level::exact) << verdict->reason;
  // A launch that was not measured.
  const auto other =
      verify::verify(measured.fixture->object, k1, Measured::at(2048), tests::simulator(), measured.options);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_FALSE(verify::accepted(other->level));
  EXPECT_NE(other->reason.find("of the LDS and has 2048 of K0's 65536 bytes"), std::string::npos) << other->reason;
}

TEST(ShrinkResourcesMeasured, EveryLaunchCounts) {
  // 20,000 + 256 bytes leave room for three workgroups, 40,000 for one.
  EXPECT_EQ((Measured({.lds = 65536, .lines = readsFar}, 20000, 0).cuts()), (Cuts{{32, 32, 21504}}));
  EXPECT_EQ((Measured({.lds = 65536, .lines = readsFar}, 0, 40000).cuts()), Cuts{});
}

TEST(ShrinkResourcesMeasured, RegistersGoAlongWhereTheyAreNeeded) {
  // By registers two waves fit a SIMD: eight workgroups a CU, or 8 KiB for each; without them as many as by LDS.
  const Declaration declaration{.vgprs = 256, .lds = 65536, .lines = readsFar};
  const Cuts cuts = Measured(declaration, 0, 0).cuts();
  ASSERT_FALSE(cuts.empty());
  EXPECT_EQ(cuts.front(), (Cut{8, 8, 2048}));
}

TEST(ShrinkResourcesMeasured, LaunchesWithLdsOfTheirOwnAreNoEvidence) {
  EXPECT_EQ((Measured({.lds = 32768, .lines = readsFar}, 0, 0, 512).cuts()), Cuts{});
}

TEST(ShrinkResourcesMeasured, NothingIsMeasuredInVain) {
  // A bound holds; more LDS for each gives no more waves; the code looks at its allocation.
  Measured bounded({.lds = 65536}, 0, 0), enough({.lds = 2048, .lines = readsFar}, 0, 0),
      looks({.lds = 65536, .lines = readsFar + "  s_getreg_b32 s12, hwreg(HW_REG_LDS_ALLOC)\n"}, 0, 0);
  EXPECT_EQ(bounded.cuts(), (Cuts{{32, 32, 512}}));
  EXPECT_TRUE(bounded.propose().at(0).assumptions.empty());
  EXPECT_EQ(enough.cuts(), Cuts{});
  EXPECT_EQ(looks.cuts(), Cuts{});
  EXPECT_EQ(bounded.measurements + enough.measurements + looks.measurements, 0);
}

} // namespace
} // namespace asmevo::optimize
