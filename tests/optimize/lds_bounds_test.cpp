#include "optimize/lds_bounds.h"

#include "optimize/optimize_support.h"

#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

/// A one-block kernel of 256 work-items made from assembly lines.
class LdsBounds : public testing::Test {
 protected:
  std::optional<std::uint32_t> reach(const std::vector<std::string>& lines, unsigned workgroup = 256) {
    object::Target target;
    target.processor = "gfx942";
    target.xnack = target.sramecc = object::Feature::any;
    codec = *isa::Codec::create(target);
    program::Program program;
    program::Block block;
    block.address = 0;
    for (const auto& line : lines) {
      auto inst = codec->assemble(line);
      EXPECT_TRUE(inst) << line;
      program::Instr instr;
      instr.inst = codec->complete(*inst);
      block.instrs.push_back(instr);
    }
    program.blocks.push_back(block);
    program::Function function;
    function.blocks = {0};
    object::Kernel kernel;
    if (workgroup > 0) {
      kernel.metadata.emplace();
      kernel.metadata->maxFlatWorkgroupSize = workgroup;
    }
    timing::Estimate profile;
    const std::vector<HotWindow> windows;
    // Only kernel, workgroup size and accum_offset are read.
    const object::CodeObject empty{};
    const MoveContext context{empty, kernel, *codec, profile, windows, 128, 64};
    return ldsReach(program, function, context);
  }
  std::unique_ptr<isa::Codec> codec;
};

TEST_F(LdsBounds, WorkItemIdTimesFour) {
  // 255 * 4 + 4 bytes = 1024.
  EXPECT_EQ(reach({"v_lshlrev_b32_e32 v1, 2, v0", "ds_write_b32 v1, v2", "s_endpgm"}), 1024u);
  // + offset 1024, 8 bytes: 255 * 4 + 1024 + 8 = 2052, in granules of 512.
  EXPECT_EQ(reach({"v_lshlrev_b32_e32 v1, 2, v0", "ds_read_b64 v[2:3], v1 offset:1024", "s_endpgm"}), 2560u);
  EXPECT_EQ(reach({"v_and_b32_e32 v1, 63, v0", "v_lshlrev_b32_e32 v1, 4, v1", "ds_read_b128 v[4:7], v1", "s_endpgm"}),
            1024u);
}

TEST_F(LdsBounds, TheLargestLaunchableWorkgroupCounts) {
  // Nothing says how large a workgroup may be: 1024 work-items, whatever the dispatch at hand has (64).
  EXPECT_EQ(reach({"v_lshlrev_b32_e32 v1, 2, v0", "ds_write_b32 v1, v2", "s_endpgm"}, 0), 4096u);
}

TEST_F(LdsBounds, SignExtendedImmediatesAreNotSmall) {
  EXPECT_EQ(reach({"s_movk_i32 s4, 0x100", "v_mov_b32_e32 v1, s4", "ds_read_b32 v2, v1", "s_endpgm"}), 512u);
  EXPECT_EQ(reach({"s_movk_i32 s4, 0x8000", "v_mov_b32_e32 v1, s4", "ds_read_b32 v2, v1", "s_endpgm"}), std::nullopt);
}

TEST_F(LdsBounds, TwoAddressForms) {
  // offsets count in elements (x64 with st64): 0 + 3 * 64 * 4 + 4 = 772.
  EXPECT_EQ(reach({"v_mov_b32_e32 v1, 0", "ds_read2st64_b32 v[2:3], v1 offset0:1 offset1:3", "s_endpgm"}), 1024u);
}

TEST_F(LdsBounds, UnknownAddressesAreNotBounded) {
  EXPECT_EQ(reach({"global_load_dword v1, v[2:3], off", "s_waitcnt vmcnt(0)", "ds_read_b32 v4, v1", "s_endpgm"}),
            std::nullopt);
  EXPECT_EQ(reach({"v_mov_b32_e32 v1, s7", "ds_read_b32 v4, v1", "s_endpgm"}), std::nullopt);
  EXPECT_EQ(reach({"v_sub_u32_e32 v1, v0, v0", "ds_read_b32 v4, v1", "s_endpgm"}), std::nullopt);
  EXPECT_EQ(reach({"flat_load_dword v4, v[0:1]", "s_endpgm"}), std::nullopt);
}

TEST_F(LdsBounds, LanesThatKeepOldValuesCount) {
  // Inactive lanes of v1 may still hold 4 * id when the narrower EXEC ends.
  EXPECT_EQ(reach({"v_lshlrev_b32_e32 v1, 2, v0", "s_and_saveexec_b64 s[4:5], vcc", "v_mov_b32_e32 v1, 0",
                   "s_mov_b64 exec, s[4:5]", "ds_read_b32 v4, v1", "s_endpgm"}),
            1024u);
}

TEST_F(LdsBounds, DirectToLdsLoads) {
  // M0 + offset + 64 lanes of 4 bytes.
  EXPECT_EQ(reach({"s_mov_b32 m0, 0x400", "buffer_load_dword v1, s[4:7], 0 offen lds", "s_endpgm"}), 1536u);
  EXPECT_EQ(reach({"s_mov_b32 m0, s9", "buffer_load_dword v1, s[4:7], 0 offen lds", "s_endpgm"}), std::nullopt);
}

/// Of a kernel with branches: v0 = work-item id of 64, v1 = 4 * id.
std::optional<std::uint32_t> reachOf(const std::string& lines) {
  const auto fixture = tests::textFixture(lines);
  return ldsReach(fixture->program, *fixture->program.functionOf(0), fixture->context());
}

TEST(LdsBoundsOfPaths, ALoopThatTogglesBuffers) {
  EXPECT_EQ(reachOf(R"(
  v_mov_b32_e32 v2, v1
.Lloop:
  ds_write_b32 v2, v0
  v_xor_b32_e32 v2, 0x1000, v2
  s_sub_u32 s6, s6, 1
  s_cbranch_scc0 .Lloop
)"),
            0x1000u + 512);
}

TEST(LdsBoundsOfPaths, ARotationOfPlaces) {
  EXPECT_EQ(reachOf(R"(
  s_mov_b32 s8, 0
  s_mov_b32 s9, 0x400
  s_mov_b32 s10, 0x800
.Lloop:
  s_add_u32 m0, 0x100, s8
  s_nop 0
  global_load_lds_dword v1, s[2:3]
  s_mov_b32 s11, s8
  s_mov_b32 s8, s9
  s_mov_b32 s9, s10
  s_mov_b32 s10, s11
  s_sub_u32 s6, s6, 1
  s_cbranch_scc0 .Lloop
)"),
            0xa00u);
}

TEST(LdsBoundsOfPaths, APointerThatOnlyGrowsHasNoBound) {
  const auto grows = [](const std::string& change) {
    return reachOf(R"(
  v_mov_b32_e32 v2, v1
.Lloop:
  ds_write_b32 v2, v0
)" + change + R"(
  s_sub_u32 s6, s6, 1
  s_cbranch_scc0 .Lloop
)");
  };
  EXPECT_EQ(grows("  v_add_u32_e32 v2, 0x100, v2\n"), std::nullopt);
  EXPECT_EQ(grows("  v_lshlrev_b32_e32 v2, 1, v2\n"), std::nullopt);
  // A mask wraps it.
  EXPECT_EQ(grows("  v_add_u32_e32 v2, 0x100, v2\n  v_and_b32_e32 v2, 0x3fc, v2\n"), 1024u);
}

TEST(LdsBoundsOfPaths, LanesThatComeBackHaveNewValues) {
  // v2 is narrowed in between; by the time v3 is written all lanes are on again, whatever it was before.
  const auto restored = [](const std::string& mask) {
    return reachOf(R"(
  global_load_dword v3, v1, s[2:3]
  s_mov_b32 s8, -1
  s_mov_b32 s9, -1
  v_cmp_gt_u32_e32 vcc, 8, v0
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, vcc
  v_mov_b32_e32 v2, 0
  s_mov_b64 exec, )" +
                   mask +
                   R"(
  v_mov_b32_e32 v3, v1
  ds_write_b32 v3, v0
)");
  };
  EXPECT_EQ(restored("s[8:9]"), 512u);
  EXPECT_EQ(restored("s[6:7]"), std::nullopt);
}

TEST(LdsBoundsOfPaths, DifferencesAndFactors) {
  // 3 - 0..1 times 0x200.
  EXPECT_EQ(reachOf("  v_and_b32_e32 v2, 1, v0\n  v_sub_u32_e32 v2, 3, v2\n  v_mul_u32_u24_e32 v2, 0x200, v2\n"
                    "  ds_write_b32 v2, v0\n"),
            0x600u + 512);
  // May be less than nothing.
  EXPECT_EQ(reachOf("  v_and_b32_e32 v2, 7, v0\n  v_sub_u32_e32 v2, 3, v2\n  ds_write_b32 v2, v0\n"), std::nullopt);
}

} // namespace
} // namespace asmevo::optimize
