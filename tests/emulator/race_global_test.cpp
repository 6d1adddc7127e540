// Races in global memory: waves and workgroups with and without barriers, atomics and waits.
#include "emulator/race/race_detector.h"
#include "emulator/race_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator::test {
namespace {

std::vector<StrictFinding> races(const std::string& body, const Launch& launch, const RunOptions& options = {}) {
  const auto detector = makeRaceDetector();
  return findings(*detector, {body}, launch, options);
}

const Launch twoWaves{.workgroup = {128, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(512)}};
const Launch twoGroups{.workgroup = {64, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(512), filled(64, 0)}};

/// Each lane stores its element and loads that of the other wave; `between` stands in the middle.
std::string handover(const std::string& between) {
  return loadPointers(1) + R"(
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, 0x100, v1
  global_store_dword v1, v0, s[4:5]
)" + between +
         R"(
  global_load_dword v4, v2, s[4:5] sc0
  s_waitcnt vmcnt(0)
  global_store_dword v1, v4, s[4:5] offset:512
)";
}

TEST(RaceGlobal, HandoverWithoutBarrierRacesInEverySchedule) {
  std::vector<RunOptions> schedules(3);
  schedules[1].seed = 7;
  schedules[2].waveToBarrier = true;
  for (const RunOptions& schedule : schedules) {
    const auto found = races(handover("  s_waitcnt vmcnt(0)\n"), twoWaves, schedule);
    ASSERT_EQ(found.size(), 1u) << listing(found);
    EXPECT_EQ(found[0].rule, "global_race");
    // The store has 8 bytes, the wait 4; the write is the producer whatever came first.
    EXPECT_EQ(found[0].consumer - found[0].producer, 12u);
    EXPECT_EQ(found[0].workgroup, 0u);
    EXPECT_GE(found[0].count, 64u);
    EXPECT_NE(found[0].message.find("buffer 'out' + 0x"), std::string::npos) << found[0].message;
  }
}

TEST(RaceGlobal, BarrierAfterTheWaitOrders) {
  EXPECT_EQ(listing(races(handover("  s_waitcnt vmcnt(0)\n  s_barrier\n"), twoWaves)), "");
}

TEST(RaceGlobal, BarrierWithoutTheWaitDoesNot) {
  const auto found = races(handover("  s_barrier\n"), twoWaves);
  ASSERT_EQ(found.size(), 1u) << listing(found);
  EXPECT_NE(found[0].message.find("not waited for"), std::string::npos) << found[0].message;
}

TEST(RaceGlobal, PartialWaitsCoverTheOlderOperations) {
  // Two stores to different places; vmcnt(1) leaves the second in flight.
  const auto body = [](const std::string& offset) {
    return loadPointers(1) + R"(
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, 0x100, v1
  global_store_dword v1, v0, s[4:5]
  global_store_dword v1, v0, s[4:5] offset:1024
  s_waitcnt vmcnt(1)
  s_barrier
  global_load_dword v4, v2, s[4:5] offset:)" +
           offset + "\n";
  };
  EXPECT_EQ(listing(races(body("0"), twoWaves)), "");
  EXPECT_EQ(races(body("1024"), twoWaves).size(), 1u);
}

TEST(RaceGlobal, WavesThatEndedAreWaitedForByTheBarrier) {
  // Wave 0 stores and ends; wave 1 passes its barrier and reads.
  const std::string body = loadPointers(1) + R"(
  v_readfirstlane_b32 s6, v0
  v_and_b32_e32 v1, 63, v0
  v_lshlrev_b32_e32 v1, 2, v1
  s_cmp_lt_u32 s6, 64
  s_cbranch_scc0 .Lsecond
  global_store_dword v1, v0, s[4:5]
  s_endpgm
.Lsecond:
  s_barrier
  global_load_dword v4, v1, s[4:5]
)";
  EXPECT_EQ(listing(races(body, twoWaves)), "");
}

TEST(RaceGlobal, WorkgroupsAreNotOrderedByEnding) {
  // Both groups store to the same dwords; group 0 has ended before group 1 begins here.
  const auto found = races(loadPointers(1) + R"(
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v3, s2
  global_store_dword v1, v3, s[4:5]
)",
                           twoGroups);
  ASSERT_EQ(found.size(), 1u) << listing(found);
  EXPECT_EQ(found[0].producer, found[0].consumer);
  EXPECT_EQ(found[0].count, 64u);
  EXPECT_NE(found[0].message.find("of workgroups 0 and 1"), std::string::npos) << found[0].message;
  EXPECT_EQ(found[0].message.find("same value"), std::string::npos) << found[0].message;
}

TEST(RaceGlobal, StoresOfTheSameValueAreNoFindingUnlessAskedFor) {
  const KernelText text{loadPointers(1) + R"(
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v3, 5
  global_store_dword v1, v3, s[4:5]
  global_store_short v1, v3, s[4:5] offset:1024
)"};
  RaceOptions options;
  const auto silent = makeRaceDetector(options);
  EXPECT_EQ(listing(findings(*silent, text, twoGroups)), "");
  ASSERT_EQ(silent->notes().size(), 1u);
  EXPECT_TRUE(silent->notes()[0].starts_with("2 pairs")) << silent->notes()[0];
  options.sameValue = true;
  const auto loud = makeRaceDetector(options);
  const auto found = findings(*loud, text, twoGroups);
  ASSERT_EQ(found.size(), 2u) << listing(found);
  EXPECT_NE(found[0].message.find("same value"), std::string::npos) << found[0].message;
}

TEST(RaceGlobal, NeighbouringBytesAreApart) {
  // Group g stores byte g of every dword, or byte 0.
  const auto body = [](const std::string& offset) {
    return loadPointers(1) + R"(
  v_lshlrev_b32_e32 v1, 2, v0
)" + offset +
           R"(
  v_mov_b32_e32 v3, s2
  global_store_byte v1, v3, s[4:5]
)";
  };
  EXPECT_EQ(listing(races(body("  v_add_u32_e32 v1, s2, v1"), twoGroups)), "");
  EXPECT_EQ(races(body(""), twoGroups).size(), 1u);
  // A dword over a byte of another group.
  EXPECT_EQ(
      races(body("  v_add_u32_e32 v1, s2, v1") + "  global_store_dword v1, v3, s[4:5] offset:-1\n", twoGroups).empty(),
      false);
}

TEST(RaceGlobal, AtomicsDoNotRaceWithAtomics) {
  EXPECT_EQ(listing(races(loadPointers(1) + R"(
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v3, 1
  global_atomic_add v1, v3, s[4:5]
  global_atomic_add v2, v1, v3, s[4:5] sc0
  s_waitcnt vmcnt(0)
)",
                          twoGroups)),
            "");
}

TEST(RaceGlobal, AtomicsRaceWithPlainAccesses) {
  const auto found = races(loadPointers(1) + R"(
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v3, 1
  global_atomic_add v1, v3, s[4:5]
  s_waitcnt vmcnt(0)
  global_load_dword v2, v1, s[4:5]
)",
                           twoGroups);
  ASSERT_EQ(found.size(), 1u) << listing(found);
  EXPECT_EQ(found[0].consumer - found[0].producer, 12u);
}

TEST(RaceGlobal, EarlierAtomicsOfOtherWavesAreNotForgotten) {
  // Waves 0 and 1 add to one dword, wave 0 first; wave 1 then reads it. Its own add is before its read, wave 0's is
  // not.
  const auto found = races(loadPointers(1) + R"(
  v_readfirstlane_b32 s6, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v3, 1
  global_atomic_add v1, v3, s[4:5]
  s_waitcnt vmcnt(0)
  s_cmp_lt_u32 s6, 64
  s_cbranch_scc1 .Lend
  global_load_dword v2, v1, s[4:5]
.Lend:
)",
                           twoWaves);
  EXPECT_EQ(found.size(), 1u) << listing(found);
}

/// Group 0 stores data and then a flag; group 1, which runs later, reads the flag and then the data. The flag is the
/// first dword of the second buffer.
std::string messagePassing(const std::string& release, const std::string& acquire) {
  return loadPointers(2) + R"(
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 1
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lreader
  global_store_dword v1, v0, s[4:5]
)" + release +
         R"(
  s_endpgm
.Lreader:
)" + acquire +
         R"(
  global_load_dword v4, v1, s[4:5]
  s_waitcnt vmcnt(0)
)";
}

TEST(RaceGlobal, FlagsHandDataOver) {
  const std::string release = "  s_waitcnt vmcnt(0)\n  global_store_dword v2, v3, s[6:7] sc1\n";
  const std::string acquire = R"(
.Lspin:
  s_sleep 1
  global_load_dword v5, v2, s[6:7] sc1
  s_waitcnt vmcnt(0)
  v_cmp_eq_u32_e32 vcc, 1, v5
  s_cbranch_vccz .Lspin
)";
  EXPECT_EQ(listing(races(messagePassing(release, acquire), twoGroups)), "");
  // The spinning workgroup first: it is found ready later.
  RunOptions seeded;
  seeded.seed = 3;
  EXPECT_EQ(listing(races(messagePassing(release, acquire), twoGroups, seeded)), "");

  const auto unwaited = races(messagePassing("  global_store_dword v2, v3, s[6:7] sc1\n", acquire), twoGroups);
  EXPECT_EQ(unwaited.size(), 1u) << listing(unwaited);

  // The data are asked for before the flag is there.
  const auto early = races(messagePassing(release, "  global_load_dword v5, v2, s[6:7] sc1\n"), twoGroups);
  EXPECT_EQ(early.size(), 1u) << listing(early);

  // Plain accesses are no synchronisation: flag and data race.
  const auto plain = races(messagePassing("  s_waitcnt vmcnt(0)\n  global_store_dword v2, v3, s[6:7]\n",
                                          "  global_load_dword v5, v2, s[6:7]\n  s_waitcnt vmcnt(0)\n"),
                           twoGroups);
  EXPECT_EQ(plain.size(), 2u) << listing(plain);

  // sc0 is the scope of one workgroup.
  const auto narrow = races(messagePassing("  s_waitcnt vmcnt(0)\n  global_store_dword v2, v3, s[6:7] sc0\n",
                                           "  global_load_dword v5, v2, s[6:7] sc0\n  s_waitcnt vmcnt(0)\n"),
                            twoGroups);
  EXPECT_FALSE(narrow.empty());
}

TEST(RaceGlobal, ReadModifyWritesHandDataOverAlongTheirChain) {
  // Three groups count up; the last one to come reads what the first stored.
  const std::string body = loadPointers(2) + R"(
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 1
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lcount
  global_store_dword v1, v0, s[4:5]
.Lcount:
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_atomic_add v5, v2, v3, s[6:7] sc0
  s_mov_b64 exec, -1
  WAIT
  s_cmp_eq_u32 s2, 2
  s_cbranch_scc0 .Lend
  global_load_dword v4, v1, s[4:5]
.Lend:
)";
  const auto with = [&](const std::string& wait) {
    std::string text = body;
    text.replace(text.find("WAIT"), 4, wait);
    Launch launch = twoGroups;
    launch.grid = {192, 1, 1};
    return races(text, launch);
  };
  EXPECT_EQ(listing(with("s_waitcnt vmcnt(0)")), "");
  EXPECT_EQ(with("s_nop 0").size(), 1u);
}

TEST(RaceGlobal, LanesThatDisagreeAreAConflictOfTheirOwn) {
  const auto store = [](const std::string& value, const std::string& instruction = "global_store_dword") {
    return loadPointers(1) + "  v_mov_b32_e32 v1, 0\n  v_mov_b32_e32 v3, " + value + "\n  " + instruction +
           " v1, v3, s[4:5]\n";
  };
  const Launch oneWave{.buffers = {filled(64)}};
  const auto found = races(store("v0"), oneWave);
  ASSERT_EQ(found.size(), 1u) << listing(found);
  EXPECT_EQ(found[0].rule, "lane_conflict");
  EXPECT_EQ(found[0].lane, 1u);
  EXPECT_NE(found[0].message.find("lanes 0 and 1"), std::string::npos) << found[0].message;
  EXPECT_EQ(listing(races(store("7"), oneWave)), "");
  EXPECT_EQ(races(store("v0", "global_store_byte"), oneWave).size(), 1u);
  // The high halves of small numbers are all zero.
  EXPECT_EQ(listing(races(store("v0", "global_store_short_d16_hi"), oneWave)), "");
}

TEST(RaceGlobal, MemoryIsBoundedWithANote) {
  RaceOptions options;
  options.memoryLimit = 20'000;
  const auto detector = makeRaceDetector(options);
  const std::string body = loadPointers(1) + R"(
  v_lshlrev_b32_e32 v1, 2, v0
  s_movk_i32 s8, 0x1000
.Lloop:
  global_load_dword v3, v1, s[4:5]
  s_waitcnt vmcnt(0)
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lloop
)";
  EXPECT_EQ(listing(findings(*detector, {body}, {.buffers = {filled(64)}})), "");
  ASSERT_EQ(detector->notes().size(), 1u);
  EXPECT_NE(detector->notes()[0].find("not judged after"), std::string::npos) << detector->notes()[0];
}

} // namespace
} // namespace asmevo::emulator::test
