// Races in LDS, and the completion rules of LDS instructions and LDS-DMA.
#include "emulator/race/race_detector.h"
#include "emulator/race_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator::test {
namespace {

std::vector<StrictFinding> races(const std::string& body, const RunOptions& options = {}) {
  const auto detector = makeRaceDetector();
  KernelText text{body};
  text.ldsBytes = 4096;
  return findings(*detector, text, {.workgroup = {128, 1, 1}, .grid = {256, 1, 1}, .buffers = {filled(256)}}, options);
}

const std::string addresses = R"(
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, 0x100, v1
)";

TEST(RaceLds, WriteAndReadOfAnotherWave) {
  const auto exchange = [](const std::string& between) {
    return races(addresses + "  ds_write_b32 v1, v0\n" + between + "  ds_read_b32 v3, v2\n");
  };
  const auto found = exchange("  s_waitcnt lgkmcnt(0)\n");
  ASSERT_EQ(found.size(), 1u) << listing(found);
  EXPECT_EQ(found[0].rule, "lds_race");
  EXPECT_EQ(found[0].consumer - found[0].producer, 12u);
  EXPECT_NE(found[0].message.find("LDS + 0x"), std::string::npos) << found[0].message;
  EXPECT_EQ(listing(exchange("  s_waitcnt lgkmcnt(0)\n  s_barrier\n")), "");
  const auto unwaited = exchange("  s_barrier\n");
  ASSERT_EQ(unwaited.size(), 1u) << listing(unwaited);
  EXPECT_NE(unwaited[0].message.find("not waited for"), std::string::npos) << unwaited[0].message;
}

TEST(RaceLds, ReadThatIsOverwrittenByAnotherWave) {
  const auto reuse = [](const std::string& between) {
    return races(addresses + "  ds_read_b32 v3, v2\n" + between + "  ds_write_b32 v1, v0\n");
  };
  EXPECT_EQ(listing(reuse("  s_waitcnt lgkmcnt(0)\n  s_barrier\n")), "");
  const auto found = reuse("  s_waitcnt lgkmcnt(0)\n");
  ASSERT_EQ(found.size(), 1u) << listing(found);
  // The write leads.
  EXPECT_EQ(found[0].producer - found[0].consumer, 12u);
  EXPECT_EQ(reuse("  s_barrier\n").size(), 1u);
}

TEST(RaceLds, LoopsThatReuseABufferNeedBothBarriers) {
  const auto loop = [](const std::string& second) {
    return races(addresses + R"(
  s_mov_b32 s8, 4
.Lloop:
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
)" + second + R"(
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lloop
)");
  };
  EXPECT_EQ(listing(loop("  s_barrier\n")), "");
  EXPECT_EQ(loop("").size(), 1u);
}

TEST(RaceLds, TwoElementFormsReachBothPlaces) {
  // The second element, 256 bytes on, is the other wave's.
  const auto found = races(addresses + "  ds_write2st64_b32 v1, v0, v0 offset0:0 offset1:1\n");
  ASSERT_EQ(found.size(), 1u) << listing(found);
  EXPECT_EQ(listing(races(addresses + "  ds_write2st64_b32 v1, v0, v0 offset0:0 offset1:2\n")), "");
}

TEST(RaceLds, AtomicsAndPlainAccesses) {
  const std::string zero = "  v_mov_b32_e32 v4, 0\n  v_mov_b32_e32 v5, 1\n";
  EXPECT_EQ(listing(races(zero + "  ds_add_u32 v4, v5\n  ds_add_rtn_u32 v6, v4, v5\n")), "");
  EXPECT_EQ(races(zero + "  ds_add_u32 v4, v5\n  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v6, v4\n").size(), 1u);
}

TEST(RaceLds, DmaIsCompleteByVmcntOnly) {
  const auto dma = [](const std::string& wait) {
    return races(loadPointers(1) + R"(
  v_readfirstlane_b32 s9, v0
  s_lshl_b32 s9, s9, 2
  s_mov_b32 m0, s9
  s_mov_b32 s6, 0x400
  s_mov_b32 s7, 0x20000
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, 0x100, v1
  buffer_load_dword v1, s[4:7], 0 offen lds
)" + wait + R"(
  s_barrier
  ds_read_b32 v3, v2
)");
  };
  EXPECT_EQ(listing(dma("  s_waitcnt vmcnt(0)")), "");
  EXPECT_EQ(dma("  s_waitcnt lgkmcnt(0)").size(), 1u);
}

TEST(RaceLds, WorkgroupsHaveLdsOfTheirOwn) {
  EXPECT_EQ(listing(races(addresses + "  ds_write_b32 v1, v0\n  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v3, v1\n")), "");
}

TEST(RaceLds, LanesThatDisagree) {
  const auto found = races("  v_mov_b32_e32 v4, 0\n  v_lshlrev_b32_e32 v1, 4, v0\n  s_nop 0\n"
                           "  v_readfirstlane_b32 s6, v0\n  s_lshl_b32 s6, s6, 4\n  v_mov_b32_e32 v4, s6\n"
                           "  ds_write_b32 v4, v0\n");
  ASSERT_EQ(found.size(), 1u) << listing(found);
  EXPECT_EQ(found[0].rule, "lane_conflict");
  EXPECT_NE(found[0].message.find("LDS + 0x0"), std::string::npos) << found[0].message;
}

} // namespace
} // namespace asmevo::emulator::test
