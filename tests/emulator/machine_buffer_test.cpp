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

// CDNA3 ISA 9.1.6: with ECC, 16-bit loads write the whole register.
TEST(MachineBuffer, D16LoadsClearTheOtherHalf) {
  const auto text = KernelText{descriptor(256) + lane4 + R"(
  v_mov_b32_e32 v1, 0x11112222
  v_mov_b32_e32 v3, 0x11112222
  buffer_load_short_d16 v1, v2, s[8:11], 0 offen
  buffer_load_short_d16_hi v3, v2, s[8:11], 0 offen
  s_waitcnt vmcnt(0)
  global_store_dword v2, v3, s[4:5] offset:256
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(128), filled(64, 0x5555abcd)}});
  EXPECT_EQ(outcome.out[0], 0x0000abcdu);
  EXPECT_EQ(outcome.out[64], 0xabcd0000u);
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

TEST(MachineBuffer, SwizzledAccessWithoutAnIndexIsRefusedByName) {
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

/// Records of 8 bytes, 8 indices side by side: dword 1 of record i is at (i / 8 * 8 + 4) * 8 + i % 8 * 4 bytes.
TEST(MachineBuffer, SwizzledRecordsInterleaveTheirDwords) {
  const auto text = KernelText{descriptor(60, 0x80000000 | 8 << 16) +
                               "  buffer_load_dword v1, v0, s[8:11], 0 idxen offset:4\n" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(128, 1000)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i < 60 ? 1000 + i / 8 * 16 + 8 + i % 8 : 0u) << i;
  const auto wide =
      KernelText{descriptor(64, 0x80000000 | 8 << 16) + "  buffer_load_dwordx2 v[2:3], v0, s[8:11], 0 idxen\n"};
  EXPECT_NE(runError(wide, {.buffers = {filled(64), filled(128)}}).message.find("swizzled"), std::string::npos);
}

TEST(MachineBuffer, AddTidAddsTheLaneAndHasNoRange) {
  constexpr std::uint32_t addTid = 1u << 23;
  const auto text =
      KernelText{descriptor(0, 8 << 16, addTid) + "  buffer_load_dword v1, off, s[8:11], 0 offset:4\n" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(128, 7)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], 7 + 2 * i + 1) << i;
  // The format bits extend the stride: 0x4004 - 0x4000 = 4 is not what is added for lane 1.
  const auto extended = KernelText{descriptor(0, 4 << 16, addTid | 1 << 15) +
                                   "  s_mov_b64 exec, 2\n  buffer_load_dword v1, off, s[8:11], 0\n" + storeV1};
  EXPECT_EQ(run(extended, {.buffers = {filled(64), iota(0x1002, 0)}}).out[1], 0x4004u / 4);
}

TEST(MachineBuffer, AFormatOfZeroIsAnUnboundResource) {
  const auto text = KernelText{descriptor(256, 0, 0) + lane4 + R"(
  v_mov_b32_e32 v3, 5
  buffer_store_dword v3, v2, s[8:11], 0 offen
  buffer_load_dword v1, v2, s[8:11], 0 offen
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(64, 1)}});
  EXPECT_EQ(outcome.out, filled(64, 0));
  EXPECT_EQ(outcome.buffer(1), iota(64, 1));
}

constexpr std::uint32_t identitySelect = 4 | 5 << 3 | 6 << 6 | 7 << 9;
std::uint32_t format(unsigned data, unsigned number, std::uint32_t select = identitySelect) {
  return select | number << 12 | data << 15;
}
const std::string store4 = "  s_waitcnt vmcnt(0)\n  v_lshlrev_b32_e32 v30, 4, v0\n"
                           "  global_store_dwordx4 v30, v[4:7], s[4:5]\n";

TEST(MachineBuffer, TypedLoadsConvertByTheInstructionsFormat) {
  const auto text = KernelText{descriptor(256) + lane4 + R"(
  tbuffer_load_format_xyzw v[4:7], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_UNORM] offen
)" + store4};
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  auto outcome = run(text, {.buffers = {filled(256), filled(64, 0x00ff8001)}});
  EXPECT_EQ(outcome.out[8], bits(1.0f / 255.0f));
  EXPECT_EQ(outcome.out[9], bits(128.0f / 255.0f));
  EXPECT_EQ(outcome.out[10], bits(1.0f));
  EXPECT_EQ(outcome.out[11], 0u);
  const auto snorm = KernelText{descriptor(256) + lane4 + R"(
  tbuffer_load_format_xyz v[4:6], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_SNORM] offen
  v_mov_b32_e32 v7, 0
)" + store4};
  outcome = run(snorm, {.buffers = {filled(256), filled(64, 0x8000c001)}});
  EXPECT_EQ(outcome.out[0], bits(-16383.0f / 32767.0f));
  EXPECT_EQ(outcome.out[1], bits(-1.0f)); // -32768 is -1 too
  EXPECT_EQ(outcome.out[2], 0u);          // a component that the format lacks
  const auto small = KernelText{descriptor(256) + lane4 + R"(
  tbuffer_load_format_xyz v[4:6], v2, s[8:11], 0 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT] offen
  v_mov_b32_e32 v7, 0
)" + store4};
  // 11 bits: 1.5 = 15 << 6 | 32; 11 bits: 2^-20, the least denormal; 10 bits: infinity.
  outcome = run(small, {.buffers = {filled(256), filled(64, (15u << 6 | 32) | 1u << 11 | (31u << 5) << 22)}});
  EXPECT_EQ(outcome.out[0], bits(1.5f));
  EXPECT_EQ(outcome.out[1], bits(0x1p-20f));
  EXPECT_EQ(outcome.out[2], 0x7f800000u);
}

TEST(MachineBuffer, FormattedLoadsUseTheResourcesFormatAndSelect) {
  // 32_32 as integers; y is the constant 1, z the format's x.
  const std::uint32_t select = 4 | 1 << 3 | 4 << 6 | 0 << 9;
  const auto text = KernelText{descriptor(20, 0, format(11, 4, select)) + R"(
  v_lshlrev_b32_e32 v2, 3, v0
  buffer_load_format_xyzw v[4:7], v2, s[8:11], 0 offen
)" + store4};
  const Outcome outcome = run(text, {.buffers = {filled(256), iota(128, 50)}});
  EXPECT_EQ(std::vector(outcome.out.begin() + 4, outcome.out.begin() + 8), (std::vector<std::uint32_t>{52, 1, 52, 0}));
  // Record 2 starts in range but does not end there: all or nothing, and the constant stays.
  EXPECT_EQ(std::vector(outcome.out.begin() + 8, outcome.out.begin() + 12), (std::vector<std::uint32_t>{0, 1, 0, 0}));
}

TEST(MachineBuffer, D16FormatsPackTwoComponentsToARegister) {
  const auto text = KernelText{descriptor(256, 0, format(10, 0)) + lane4 + R"(
  buffer_load_format_d16_xyz v[4:5], v2, s[8:11], 0 offen
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v7, 0
)" + store4};
  const Outcome outcome = run(text, {.buffers = {filled(256), filled(64, 0x33ff00ff)}});
  EXPECT_EQ(outcome.out[0], 0x00003c00u); // 1, 0
  EXPECT_EQ(outcome.out[1], 0x00003c00u);
}

TEST(MachineBuffer, TypedStoresPlaceExactNumbersAndRefuseOthers) {
  const auto kernel = [](const std::string& values, std::uint32_t word3) {
    return KernelText{descriptor(256, 0, word3) + lane4 + values +
                      "  buffer_store_format_xy v[4:5], v2, s[8:11], 0 offen\n"};
  };
  const std::string values = "  v_mov_b32_e32 v4, 7\n  v_add_u32_e32 v5, 300, v0\n";
  EXPECT_EQ(run(kernel(values, format(5, 4)), {.buffers = {filled(64), filled(64)}}).buffer(1)[3], 303u << 16 | 7u);
  const std::string halves = "  v_mov_b32_e32 v4, 1.0\n  v_mov_b32_e32 v5, -0.5\n";
  EXPECT_EQ(run(kernel(halves, format(5, 7)), {.buffers = {filled(64), filled(64)}}).buffer(1)[3], 0xb8003c00u);
  const std::string ones = "  v_mov_b32_e32 v4, 1.0\n  v_mov_b32_e32 v5, -1.0\n";
  EXPECT_EQ(run(kernel(ones, format(5, 1)), {.buffers = {filled(64), filled(64)}}).buffer(1)[3], 0x80017fffu);
  const std::string large = "  v_mov_b32_e32 v4, 0x11170\n  v_mov_b32_e32 v5, 0\n";
  const Error error = runError(kernel(large, format(5, 4)), {.buffers = {filled(64), filled(64)}});
  EXPECT_EQ(error.kind, ErrorKind::refused);
  EXPECT_NE(error.message.find("cannot hold exactly"), std::string::npos) << error.message;
  EXPECT_EQ(runError(kernel(values, format(1, 7)), {.buffers = {filled(64), filled(64)}}).kind, ErrorKind::refused);
}

} // namespace
} // namespace asmevo::emulator::test
