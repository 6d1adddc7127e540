// What a trace says of memory accesses beyond their lines: look-ups, passes, cache policy, results, kernel arguments.
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator {
namespace {

using namespace test;

/// The global accesses of one wave that runs `body` with v0 = lane, s[4:5] = a buffer of 64 KB.
std::vector<MemoryAccess> accessesOf(const std::string& body, Space space = Space::global) {
  RunOptions options;
  options.traceWorkgroups = {0};
  const Outcome outcome = run({loadPointers(1) + body + "  s_endpgm\n"}, {.buffers = {filled(16384, 0)}}, options);
  std::vector<MemoryAccess> accesses;
  for (const MemoryAccess& access : outcome.result.traces.at(0).waves.at(0).accesses)
    if (access.space == space)
      accesses.push_back(access);
  return accesses;
}

TEST(MemoryTrace, LookupsByWidthAndStride) {
  const auto lookups = [](const std::string& address, const std::string& load) {
    return accessesOf("  " + address + "\n  " + load + "\n  s_waitcnt vmcnt(0)\n").at(0).lookups;
  };
  const std::string dword = "global_load_dword v4, v1, s[4:5]", wide = "global_load_dwordx4 v[4:7], v1, s[4:5]";
  // Sixteen lanes of a dword are one block of 64 bytes; wider ones go four lanes at a time (vcopy: 16 for dwordx2).
  EXPECT_EQ(lookups("v_lshlrev_b32_e32 v1, 2, v0", dword), 4);
  EXPECT_EQ(lookups("v_lshlrev_b32_e32 v1, 3, v0", "global_load_dwordx2 v[4:5], v1, s[4:5]"), 16);
  EXPECT_EQ(lookups("v_lshlrev_b32_e32 v1, 4, v0", wide), 16);
  EXPECT_EQ(lookups("v_lshlrev_b32_e32 v1, 3, v0", dword), 8) << "two dwords apart";
  EXPECT_EQ(lookups("v_lshlrev_b32_e32 v1, 6, v0", dword), 64) << "a block each";
  EXPECT_EQ(lookups("v_lshlrev_b32_e32 v1, 8, v0", dword), 64);
  EXPECT_EQ(lookups("v_mov_b32_e32 v1, 0", dword), 4) << "one address";
  EXPECT_EQ(lookups("v_lshl_add_u32 v1, v0, 4, 32", wide), 32) << "every four lanes straddle two blocks";
  EXPECT_EQ(lookups("v_lshlrev_b32_e32 v1, 2, v0\n  s_mov_b64 exec, 0xffff", dword), 1);
}

TEST(MemoryTrace, PassesOfAnAtomic) {
  const auto passes = [](const std::string& address) {
    return accessesOf("  " + address + "\n  v_mov_b32_e32 v2, 1\n  global_atomic_add v1, v2, s[4:5]\n").at(0).passes;
  };
  EXPECT_EQ(passes("v_mov_b32_e32 v1, 0"), 64);
  EXPECT_EQ(passes("v_lshlrev_b32_e32 v1, 2, v0"), 1);
  EXPECT_EQ(passes("v_and_b32_e32 v1, 28, v0"), 8) << "lanes 0-3 and 32-35 share a dword, and so on";
}

TEST(MemoryTrace, PolicyResultsAndArguments) {
  const auto accesses = accessesOf("  v_lshlrev_b32_e32 v1, 2, v0\n"
                                   "  global_load_dword v2, v1, s[4:5]\n"
                                   "  global_load_dword v2, v1, s[4:5] nt\n"
                                   "  global_load_dword v2, v1, s[4:5] sc0 sc1\n"
                                   "  global_store_dword v1, v1, s[4:5] sc1\n"
                                   "  global_atomic_add v1, v1, s[4:5]\n"
                                   "  global_atomic_add v2, v1, v1, s[4:5] sc0\n");
  ASSERT_EQ(accesses.size(), 6u);
  const std::uint8_t policies[] = {0, policyNt, policySc0 | policySc1, policySc1, 0, policySc0};
  const bool returns[] = {true, true, true, false, false, true};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(accesses[i].cachePolicy, policies[i]) << i;
    EXPECT_EQ(accesses[i].returns, returns[i]) << i;
  }
  const auto scalar = accessesOf("  s_load_dword s8, s[4:5], 0x0\n  s_waitcnt lgkmcnt(0)\n", Space::scalar);
  ASSERT_EQ(scalar.size(), 2u);
  EXPECT_TRUE(scalar[0].kernarg);
  EXPECT_FALSE(scalar[1].kernarg) << "a buffer";
}

} // namespace
} // namespace asmevo::emulator
