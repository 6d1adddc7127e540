// Reads that may see stale data in the caches of an eight-XCD chip.
#include "emulator/coherence/coherence_checker.h"
#include "emulator/race_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator::test {
namespace {

/// Workgroup 0 writes, `reader` reads, both after `touch`; workgroups run one after the other.
std::vector<StrictFinding> stale(const std::string& touch, const std::string& writer, const std::string& reader,
                                 unsigned readerGroup = 1) {
  const std::string body = loadPointers(2) + R"(
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 1
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 .Lwriter
  s_cmp_eq_u32 s2, )" + std::to_string(readerGroup) +
                           "\n  s_cbranch_scc1 .Lreader\n" + touch + "  s_endpgm\n.Lwriter:\n" + writer +
                           "  s_waitcnt vmcnt(0)\n  s_endpgm\n.Lreader:\n" + reader +
                           "  s_waitcnt vmcnt(0) lgkmcnt(0)\n";
  const auto checker = makeCoherenceChecker();
  return findings(
      *checker, {body},
      {.workgroup = {64, 1, 1}, .grid = {64 * (readerGroup + 1), 1, 1}, .buffers = {filled(512), filled(64, 0)}});
}

const std::string store = "  global_store_dword v1, v0, s[4:5]\n";
const std::string load = "  global_load_dword v4, v1, s[4:5]\n";

TEST(Coherence, StoresStayInTheL2OfTheirXcd) {
  const auto found = stale("", store, load);
  ASSERT_EQ(found.size(), 1u) << listing(found);
  EXPECT_EQ(found[0].rule, "coherence_stale_read");
  EXPECT_EQ(found[0].workgroup, 1u);
  EXPECT_EQ(found[0].count, 64u);
  EXPECT_NE(found[0].message.find("buffer_wbl2"), std::string::npos) << found[0].message;
  EXPECT_NE(found[0].message.find("(XCD 1)"), std::string::npos) << found[0].message;
  // Workgroup 8 is on XCD 0, as workgroup 0.
  EXPECT_EQ(listing(stale("", store, load, 8)), "");
}

TEST(Coherence, WriteBacksAndScopeBitsMakeThemVisible) {
  EXPECT_EQ(listing(stale("", store + "  buffer_wbl2 sc1\n", load)), "");
  EXPECT_EQ(listing(stale("", "  global_store_dword v1, v0, s[4:5] sc1\n", load)), "");
  EXPECT_EQ(listing(stale("", "  global_store_dword v1, v0, s[4:5] sc0 sc1\n", load)), "");
  EXPECT_EQ(listing(stale("", "  global_atomic_add v1, v0, s[4:5]\n", load)), "");
  // Without sc1 it does nothing, and sc0 is the scope of a workgroup. A write-back before the store is too early.
  EXPECT_EQ(stale("", store + "  buffer_wbl2 sc0\n", load).size(), 1u);
  EXPECT_EQ(stale("", "  global_store_dword v1, v0, s[4:5] sc0\n", load).size(), 1u);
  EXPECT_EQ(stale("", "  buffer_wbl2 sc1\n" + store, load).size(), 1u);
  // Neither does a load with scope bits reach another XCD's dirty line.
  EXPECT_EQ(stale("", store, "  global_load_dword v4, v1, s[4:5] sc1\n").size(), 1u);
}

/// The reader has the line from before: it reads it, waits for the flag, reads it again.
std::vector<StrictFinding> rereads(const std::string& between, const std::string& second = load,
                                   unsigned readerGroup = 1) {
  // Group 0 spins until the reader has read, so that the order is fixed whoever starts.
  const std::string writer = R"(
.Lready:
  s_sleep 1
  global_load_dword v5, v2, s[6:7] sc1
  s_waitcnt vmcnt(0)
  v_cmp_eq_u32_e32 vcc, 1, v5
  s_cbranch_vccz .Lready
)" + store + R"(
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  global_store_dword v2, v3, s[6:7] offset:128 sc1
)";
  const std::string reader = load + R"(
  s_waitcnt vmcnt(0)
  global_store_dword v2, v3, s[6:7] sc1
.Lspin:
  s_sleep 1
  global_load_dword v5, v2, s[6:7] offset:128 sc1
  s_waitcnt vmcnt(0)
  v_cmp_eq_u32_e32 vcc, 1, v5
  s_cbranch_vccz .Lspin
)" + between + second;
  return stale("", writer, reader, readerGroup);
}

TEST(Coherence, CachedLinesNeedAnInvalidation) {
  const auto other = rereads("");
  ASSERT_EQ(other.size(), 1u) << listing(other);
  EXPECT_NE(other[0].message.find("L2 holds the line"), std::string::npos) << other[0].message;
  const auto same = rereads("", load, 8);
  ASSERT_EQ(same.size(), 1u) << listing(same);
  EXPECT_NE(same[0].message.find("L1 holds the line"), std::string::npos) << same[0].message;
  for (const unsigned group : {1u, 8u}) {
    EXPECT_EQ(listing(rereads("  buffer_inv sc1\n", load, group)), "");
    EXPECT_EQ(listing(rereads("", "  global_load_dword v4, v1, s[4:5] sc1\n", group)), "");
    // Work-group scope does nothing where workgroups have one compute unit.
    EXPECT_EQ(rereads("  buffer_inv sc0\n", load, group).size(), 1u);
    EXPECT_EQ(rereads("", "  global_load_dword v4, v1, s[4:5] sc0\n", group).size(), 1u);
  }
}

TEST(Coherence, OneWorkgroupSeesItsOwnStores) {
  EXPECT_EQ(listing(stale("", load + "  s_waitcnt vmcnt(0)\n" + store + "  s_waitcnt vmcnt(0)\n" + load, "")), "");
}

TEST(Coherence, ScalarCachesAreApart) {
  const std::string scalarLoad = "  s_load_dword s8, s[4:5], 0x0\n  s_waitcnt lgkmcnt(0)\n";
  const std::string rewritten = scalarLoad + store + "  s_waitcnt vmcnt(0)\n";
  const auto found = stale("", rewritten + scalarLoad, "");
  ASSERT_EQ(found.size(), 1u) << listing(found);
  EXPECT_NE(found[0].message.find("scalar cache"), std::string::npos) << found[0].message;
  EXPECT_EQ(listing(stale("", rewritten + "  s_dcache_inv\n" + scalarLoad, "")), "");
  EXPECT_EQ(listing(stale("", rewritten + "  s_load_dword s8, s[4:5], 0x0 glc\n", "")), "");
  EXPECT_EQ(stale("", "  s_store_dword s2, s[4:5], 0x0\n", load, 8).size(), 1u);
  EXPECT_EQ(listing(stale("", "  s_store_dword s2, s[4:5], 0x0\n  s_waitcnt lgkmcnt(0)\n  s_dcache_wb\n", load, 8)),
            "");
}

} // namespace
} // namespace asmevo::emulator::test
