// Addresses that can be told apart, and those that cannot.
#include "analysis_support.h"
#include "program/analysis/memory_dependence.h"

#include <gtest/gtest.h>

namespace asmevo::program::test {
namespace {

/// May instructions number `first` and `second` depend on each other?
bool depends(const std::string& text, std::size_t first, std::size_t second, bool linearIds = false) {
  const Listing l = listing(text + "\ns_endpgm\n");
  const MemoryDependence memory(l.program, l.kernel(), 64, linearIds);
  const auto place = [&](std::size_t number) {
    const auto [block, index] = l.place(number);
    return Place{block, index};
  };
  const bool forward = memory.mayDepend(place(first), place(second));
  EXPECT_EQ(forward, memory.mayDepend(place(second), place(first)));
  return forward;
}

TEST(Addresses, ScalarBasesByValue) {
  EXPECT_FALSE(depends("s_store_dword s4, s[0:1], 0x0\ns_load_dword s5, s[0:1], 0x4", 0, 1));
  EXPECT_TRUE(depends("s_store_dwordx2 s[4:5], s[0:1], 0x0\ns_load_dword s6, s[0:1], 0x4", 0, 1));
  // A copy of the base is the same base; a base that was written between is not.
  EXPECT_FALSE(depends("s_mov_b64 s[8:9], s[0:1]\ns_store_dword s4, s[0:1], 0x0\ns_load_dword s5, s[8:9], 0x4", 1, 2));
  EXPECT_TRUE(depends("s_store_dword s4, s[0:1], 0x0\ns_mov_b32 s0, s7\ns_load_dword s5, s[0:1], 0x4", 0, 2));
  // Pointers from the kernel arguments may be equal.
  EXPECT_TRUE(depends("s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_store_dword s10, s[4:5], 0x0\n"
                      "s_load_dword s11, s[6:7], 0x4",
                      2, 3));
  EXPECT_FALSE(depends("s_add_u32 s9, s8, 16\ns_store_dword s4, s[0:1], s8\ns_load_dword s5, s[0:1], s9", 1, 2));
}

TEST(Addresses, BasesAcrossBlocks) {
  // s[0:1] is the same before and after the diamond; s2 is not the same on both arms.
  const std::string diamond = R"(
    s_store_dword s4, s[0:1], 0x0
    s_cbranch_scc0 @join
    s_mov_b32 s2, s7
    join:
    s_load_dword s5, s[0:1], 0x4
    s_load_dword s6, s[2:3], 0x4
    s_store_dword s6, s[2:3], 0x0
  )";
  EXPECT_FALSE(depends(diamond, 0, 3));
  EXPECT_FALSE(depends(diamond, 4, 5));
  const std::string before = R"(
    s_store_dword s4, s[2:3], 0x0
    s_cbranch_scc0 @join
    s_mov_b32 s2, s7
    join:
    s_load_dword s6, s[2:3], 0x4
  )";
  EXPECT_TRUE(depends(before, 0, 3));
  const std::string loop = R"(
    s_store_dword s4, s[2:3], 0x0
    loop:
    s_load_dword s6, s[2:3], 0x4
    s_add_u32 s2, s2, 64
    s_cbranch_scc0 @loop
  )";
  EXPECT_TRUE(depends(loop, 0, 1));
}

TEST(Addresses, BuffersOfOneResource) {
  const std::string resource = "s_mov_b32 s7, 0x20000\n";
  // One address for all lanes: offsets tell.
  EXPECT_FALSE(
      depends(resource + "buffer_store_dword v1, off, s[4:7], 0\nbuffer_load_dword v2, off, s[4:7], 0 offset:4", 1, 2));
  EXPECT_TRUE(depends(
      resource + "buffer_store_dwordx2 v[2:3], off, s[4:7], 0\nbuffer_load_dword v4, off, s[4:7], 0 offset:4", 1, 2));
  // An unknown word 3 may have ADD_TID; another resource may overlap.
  EXPECT_TRUE(depends("buffer_store_dword v1, off, s[4:7], 0\nbuffer_load_dword v2, off, s[4:7], 0 offset:4", 0, 1));
  EXPECT_TRUE(depends(resource + "s_mov_b32 s11, 0x20000\nbuffer_store_dword v1, off, s[4:7], 0\n"
                                 "buffer_load_dword v2, off, s[8:11], 0 offset:4",
                      2, 3));
  // Per lane: unknown offsets of lanes may cross.
  EXPECT_TRUE(depends(resource + "buffer_store_dword v1, v9, s[4:7], 0 offen\n"
                                 "buffer_load_dword v2, v9, s[4:7], 0 offen offset:4",
                      1, 2));
  // 64 lanes of 4 bytes end at 256.
  const std::string strided = resource + "v_lshlrev_b32_e32 v9, 2, v0\nbuffer_store_dword v1, v9, s[4:7], s3 offen\n"
                                         "buffer_load_dword v2, v9, s[4:7], s3 offen offset:";
  EXPECT_FALSE(depends(strided + "256", 2, 3, true));
  EXPECT_TRUE(depends(strided + "252", 2, 3, true));
  EXPECT_TRUE(depends(strided + "256", 2, 3, false)); // work-item ids need not follow the lanes
}

TEST(Addresses, GlobalWithScalarBase) {
  const std::string lane = "v_mbcnt_lo_u32_b32 v3, -1, 0\nv_mbcnt_hi_u32_b32 v3, -1, v3\nv_lshlrev_b32_e32 v3, 3, v3\n";
  EXPECT_FALSE(
      depends(lane + "global_store_dwordx2 v3, v[4:5], s[2:3]\nglobal_load_dword v6, v3, s[2:3] offset:512", 3, 4));
  EXPECT_TRUE(
      depends(lane + "global_store_dwordx2 v3, v[4:5], s[2:3]\nglobal_load_dword v6, v3, s[2:3] offset:508", 3, 4));
  // 4 of every 8 bytes each: interleaved, never the same.
  EXPECT_FALSE(depends(lane + "global_store_dword v3, v4, s[2:3]\nglobal_load_dword v6, v3, s[2:3] offset:4", 3, 4));
  EXPECT_TRUE(depends(lane + "global_store_dword v3, v4, s[2:3]\nglobal_load_dword v6, v3, s[4:5] offset:4", 3, 4));
  EXPECT_TRUE(depends("global_store_dword v[2:3], v4, off\nglobal_load_dword v6, v[2:3], off offset:4", 0, 1));
  EXPECT_FALSE(depends("v_mov_b32_e32 v2, s2\nv_mov_b32_e32 v3, s3\nglobal_store_dword v[2:3], v4, off\n"
                       "global_load_dword v6, v[2:3], off offset:4",
                       2, 3));
}

TEST(Addresses, LdsStrides) {
  const std::string base = "v_and_b32_e32 v1, 63, v0\nv_lshlrev_b32_e32 v2, 4, v1\nv_add_u32_e32 v3, 0x400, v2\n";
  EXPECT_FALSE(depends(base + "ds_write_b128 v2, v[4:7]\nds_read_b128 v[8:11], v3", 3, 4, true));
  EXPECT_TRUE(depends(base + "ds_write_b128 v2, v[4:7] offset:16\nds_read_b128 v[8:11], v3", 3, 4, true));
  EXPECT_FALSE(depends(base + "ds_write2_b32 v2, v4, v5 offset1:2\nds_read_b32 v8, v2 offset:4", 3, 4, true));
  EXPECT_TRUE(depends(base + "ds_write2_b32 v2, v4, v5 offset1:1\nds_read_b32 v8, v2 offset:4", 3, 4, true));
  EXPECT_TRUE(depends(base + "ds_write2st64_b32 v2, v4, v5 offset1:4\nds_read_b32 v8, v3", 3, 4, true));
  EXPECT_FALSE(depends(base + "ds_write2st64_b32 v2, v4, v5 offset1:8\nds_read_b32 v8, v3", 3, 4, true));
  EXPECT_FALSE(depends("v_mov_b32_e32 v1, 16\nds_write_b32 v1, v4\nds_read_b32 v8, v1 offset:4", 1, 2));
}

TEST(Addresses, WrittenUnderAnotherExec) {
  // Lanes that the addition skipped still hold something else.
  EXPECT_TRUE(depends("v_mbcnt_lo_u32_b32 v3, -1, 0\nv_mbcnt_hi_u32_b32 v3, -1, v3\ns_mov_b64 s[4:5], exec\n"
                      "s_and_b64 exec, exec, vcc\nv_lshlrev_b32_e32 v3, 2, v3\ns_mov_b64 exec, s[4:5]\n"
                      "ds_write_b32 v3, v4\nds_read_b32 v5, v3 offset:256",
                      6, 7));
  EXPECT_FALSE(depends("v_mbcnt_lo_u32_b32 v3, -1, 0\nv_mbcnt_hi_u32_b32 v3, -1, v3\nv_lshlrev_b32_e32 v3, 2, v3\n"
                       "ds_write_b32 v3, v4\nds_read_b32 v5, v3 offset:256",
                       3, 4));
}

TEST(Addresses, ScratchSlotsOfOneLane) {
  EXPECT_FALSE(depends("scratch_store_dword off, v1, s2 offset:4\nscratch_load_dword v3, off, s2 offset:8", 0, 1));
  EXPECT_FALSE(depends("scratch_store_dword v9, v1, off\nscratch_load_dword v3, v9, off offset:4", 0, 1));
  EXPECT_TRUE(depends("scratch_store_dwordx2 off, v[2:3], s2 offset:4\nscratch_load_dword v3, off, s2 offset:8", 0, 1));
  EXPECT_TRUE(depends("scratch_store_dword off, v1, s2\nscratch_load_dword v3, off, s3 offset:8", 0, 1));
}

TEST(Addresses, CallsForgetEverything) {
  EXPECT_TRUE(
      depends("s_store_dword s4, s[0:1], 0x0\ns_swappc_b64 s[30:31], s[2:3]\ns_load_dword s5, s[0:1], 0x4", 0, 2));
}

TEST(Addresses, ConstantLdsEnd) {
  const auto end = [](const std::string& text) {
    const Listing l = listing(text + "\ns_endpgm\n");
    return constantLdsEnd(l.program, l.kernel());
  };
  EXPECT_EQ(end("s_nop 0"), 0u);
  EXPECT_EQ(end("v_mov_b32_e32 v1, 64\nds_write_b64 v1, v[2:3] offset:8"), 80u);
  EXPECT_EQ(end("v_mbcnt_lo_u32_b32 v3, -1, 0\nv_mbcnt_hi_u32_b32 v3, -1, v3\nv_lshlrev_b32_e32 v3, 2, v3\n"
                "ds_write_b32 v3, v4 offset:512"),
            512u + 256u);
  EXPECT_EQ(end("ds_write_b32 v1, v2"), std::nullopt);
  EXPECT_EQ(end("flat_load_dword v1, v[2:3]"), std::nullopt);
}

} // namespace
} // namespace asmevo::program::test
