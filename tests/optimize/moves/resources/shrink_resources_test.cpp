// Cuts of declared resources: what is cut, what a proof accepts, and programs that must keep what they declare.
#include "optimize/moves/resources/shrink_resources.h"

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

} // namespace
} // namespace asmevo::optimize
