// Buffer accesses: descriptor fields, the range check and its granularity, LDS DMA, atomics. Expected values follow the
// CDNA3 ISA's "Range checking" and LLVM's documentation of out-of-bounds buffer accesses, worked out by hand.
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator::test {
namespace {

/// s[8:11] = descriptor of the second buffer with `records`; `word1` is or-ed into the address's upper half.
std::string descriptor(unsigned records, std::uint32_t word1 = 0, std::uint32_t word3 = 0x00027000) {
  return loadPointers(2) + fmt::format(R"(
  s_mov_b32 s8, s6
  s_and_b32 s9, s7, 0xffff
  s_or_b32 s9, s9, {:#x}
  s_mov_b32 s10, {}
  s_mov_b32 s11, {:#x}
)",
                                       word1, records, word3);
}

const std::string lane4 = "  v_lshlrev_b32_e32 v2, 2, v0\n";

TEST(MachineBuffer, RawRangeCheckIsInBytesAndPerDword) {
  // 10 dwords and 2 bytes in range: the dword that straddles the end counts as outside.
  const auto text = KernelText{descriptor(42) + lane4 + "  buffer_load_dword v1, v2, s[8:11], 0 offen\n" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(64, 100)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i < 10 ? 100 + i : 0u) << i;
}

TEST(MachineBuffer, ShortsAndBytesAreCheckedWithTheirOwnSize) {
  const auto text = KernelText{descriptor(42) + lane4 + R"(
  buffer_load_ushort v1, v2, s[8:11], 0 offen
  buffer_load_sbyte v3, v2, s[8:11], 0 offen offset:1
  s_waitcnt vmcnt(0)
  v_lshl_or_b32 v1, v3, 16, v1
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), filled(64, 0x8081f0ff)}});
  for (unsigned i = 0; i < 64; ++i)
    // Bytes 40 and 41 are the last ones in range; byte 1 of a dword is 0xf0 = -16.
    EXPECT_EQ(outcome.out[i], i <= 10 ? 0xfff0f0ffu : 0u) << i;
}

TEST(MachineBuffer, StrideWithoutIndexDoesNotScaleTheRange) {
  const auto text =
      KernelText{descriptor(16, 4 << 16) + lane4 + "  buffer_load_dword v1, v2, s[8:11], 0 offen\n" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(64, 1)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i < 4 ? 1 + i : 0u) << i;
}

TEST(MachineBuffer, IndexedAccessChecksTheIndexAgainstRecords) {
  // Records of 8 bytes, 5 of them: index * 8 + 4.
  const auto text =
      KernelText{descriptor(5, 8 << 16) + "  buffer_load_dword v1, v0, s[8:11], 0 idxen offset:4\n" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(128)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i < 5 ? 2 * i + 1 : 0u) << i;
}

TEST(MachineBuffer, IndexAndOffsetTogether) {
  const auto text = KernelText{descriptor(64, 8 << 16) + R"(
  v_mov_b32_e32 v2, v0
  v_mov_b32_e32 v3, 4
  buffer_load_dword v1, v[2:3], s[8:11], 0 idxen offen
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(128)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], 2 * i + 1) << i;
}

TEST(MachineBuffer, SoffsetMovesTheAddressAndShrinksTheRange) {
  // Bytes 16 to 63 are in range: with soffset 16, offsets below 48.
  const auto text = KernelText{descriptor(64) + lane4 + R"(
  s_mov_b32 s12, 16
  buffer_load_dword v1, v2, s[8:11], s12 offen
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(80)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i < 12 ? i + 4 : 0u) << i;
}

TEST(MachineBuffer, OffsetsThatPassFourGigabytesDoNotWrap) {
  // Offset -4 + 8: with 32-bit wrap it would read dword 1; the sum saturates and is out of range.
  const auto text = KernelText{descriptor(0xfffffff0) + R"(
  v_mov_b32_e32 v2, -4
  buffer_load_dword v1, v2, s[8:11], 0 offen offset:8
)" + storeV1};
  EXPECT_EQ(run(text, {.buffers = {filled(64), iota(80)}}).out[0], 0u);
}

TEST(MachineBuffer, WideLoadsAreCheckedDwordByDword) {
  const auto text = KernelText{descriptor(24) + R"(
  v_lshlrev_b32_e32 v2, 4, v0
  buffer_load_dwordx4 v[4:7], v2, s[8:11], 0 offen
  s_waitcnt vmcnt(0)
  v_lshlrev_b32_e32 v2, 4, v0
  global_store_dwordx4 v2, v[4:7], s[4:5]
)"};
  const Outcome outcome = run(text, {.buffers = {filled(256), iota(256, 7)}});
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(outcome.out[i], i < 6 ? 7 + i : 0u) << i;
}

TEST(MachineBuffer, OutOfRangeStoresVanishDwordByDword) {
  const auto text = KernelText{descriptor(24) + R"(
  v_lshlrev_b32_e32 v2, 4, v0
  v_mov_b32_e32 v4, 1
  v_mov_b32_e32 v5, 2
  v_mov_b32_e32 v6, 3
  v_mov_b32_e32 v7, 4
  buffer_store_dwordx4 v[4:7], v2, s[8:11], 0 offen
)"};
  const auto stored = run(text, {.buffers = {filled(1), filled(256)}}).buffer(1);
  const std::vector<std::uint32_t> expected{1, 2, 3, 4, 1, 2};
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(stored[i], i < 6 ? expected[i] : 0xcccccccc) << i;
}

TEST(MachineBuffer, ExecMaskedLanesNeitherLoadNorStore) {
  const auto text = KernelText{descriptor(256) + lane4 + R"(
  v_mov_b32_e32 v1, 9
  s_mov_b64 exec, 0x10
  buffer_load_dword v1, v2, s[8:11], 0 offen
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 0x30
  global_store_dword v2, v1, s[4:5]
)"};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(64, 50)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i == 4 ? 54u : i == 5 ? 9u : 0xcccccccc) << i;
}

TEST(MachineBuffer, LdsDmaAddsTheInstructionOffsetToBothAddresses) {
  KernelText text{descriptor(256) + lane4 + R"(
  s_mov_b32 m0, 512
  buffer_load_dword v2, s[8:11], 0 offen offset:16 lds
  s_waitcnt vmcnt(0)
  ds_read_b32 v1, v2 offset:528
)" + storeV1};
  text.ldsBytes = 1024;
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(64, 1000)}});
  // LDS[512 + 16 + 4 * lane] = memory[16 + 4 * lane]; the last four lanes are out of range and deliver 0.
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i < 60 ? 1004 + i : 0u) << i;
}

TEST(MachineBuffer, LdsDmaSkipsInactiveLanes) {
  KernelText text{descriptor(256) + lane4 + R"(
  v_mov_b32_e32 v3, 77
  ds_write_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, 0
  s_mov_b64 exec, 0xff00
  buffer_load_dword v2, s[8:11], 0 offen lds
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, -1
  ds_read_b32 v1, v2
)" + storeV1};
  text.ldsBytes = 256;
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(64)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i >= 8 && i < 16 ? i : 77u) << i;
}

TEST(MachineBuffer, AgprsAreLoadedAndStoredDirectly) {
  KernelText text{descriptor(256) + lane4 + R"(
  buffer_load_dword a3, v2, s[8:11], 0 offen
  s_waitcnt vmcnt(0)
  v_accvgpr_read_b32 v1, a3
  global_store_dword v2, a3, s[4:5] offset:256
)" + storeV1};
  text.vgprs = 40;
  const Outcome outcome = run(text, {.buffers = {filled(128), iota(64, 5)}});
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(outcome.out[i], 5 + i);
    EXPECT_EQ(outcome.out[64 + i], 5 + i);
  }
}

TEST(MachineBuffer, D16LoadsKeepTheOtherHalf) {
  const auto text = KernelText{descriptor(256) + lane4 + R"(
  v_mov_b32_e32 v1, 0x11112222
  v_mov_b32_e32 v3, 0x11112222
  buffer_load_short_d16 v1, v2, s[8:11], 0 offen
  buffer_load_short_d16_hi v3, v2, s[8:11], 0 offen
  s_waitcnt vmcnt(0)
  global_store_dword v2, v3, s[4:5] offset:256
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(128), filled(64, 0x5555abcd)}});
  EXPECT_EQ(outcome.out[0], 0x1111abcdu);
  EXPECT_EQ(outcome.out[64], 0xabcd2222u);
}

TEST(MachineBuffer, ReturningAtomicGivesTheOldValueAndDropsOutOfRangeLanes) {
  // All lanes add 1 to dword 0; lanes from 32 on aim outside and get 0.
  const auto text = KernelText{descriptor(64) + R"(
  v_mov_b32_e32 v1, 1
  v_lshrrev_b32_e32 v2, 5, v0
  v_lshlrev_b32_e32 v2, 6, v2
  buffer_atomic_add v1, v2, s[8:11], 0 offen sc0
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), filled(64, 1000)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i < 32 ? 1000 + i : 0u) << i;
  EXPECT_EQ(outcome.buffer(1)[0], 1032u);
  EXPECT_EQ(outcome.buffer(1)[16], 1000u);
}

TEST(MachineBuffer, SwizzledDescriptorsAreRefusedByName) {
  const auto text = KernelText{descriptor(256, 0x80000000) + lane4 + "  buffer_load_dword v1, v2, s[8:11], 0 offen\n"};
  const Error error = runError(text, {.buffers = {filled(64), filled(64)}});
  EXPECT_EQ(error.kind, ErrorKind::refused);
  EXPECT_NE(error.message.find("swizzled"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("buffer_load_dword v1, v2, s[8:11], 0 offen"), std::string::npos) << error.message;
}

TEST(MachineBuffer, ScalarBufferLoadsReadZeroBehindTheEnd) {
  const auto text = KernelText{descriptor(12) + R"(
  s_buffer_load_dwordx4 s[12:15], s[8:11], 0x4
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s12
  v_cmp_eq_u32_e32 vcc, 1, v0
  v_mov_b32_e32 v3, s13
  v_cndmask_b32_e32 v1, v1, v3, vcc
  v_cmp_eq_u32_e32 vcc, 2, v0
  v_mov_b32_e32 v3, s14
  v_cndmask_b32_e32 v1, v1, v3, vcc
  v_cmp_eq_u32_e32 vcc, 3, v0
  v_mov_b32_e32 v3, s15
  v_cndmask_b32_e32 v1, v1, v3, vcc
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(64, 21)}});
  EXPECT_EQ(outcome.out[0], 22u);
  EXPECT_EQ(outcome.out[1], 23u);
  EXPECT_EQ(outcome.out[2], 0u);
  EXPECT_EQ(outcome.out[3], 0u);
}

} // namespace
} // namespace asmevo::emulator::test
