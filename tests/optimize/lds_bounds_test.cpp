#include "optimize/lds_bounds.h"

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

} // namespace
} // namespace asmevo::optimize
