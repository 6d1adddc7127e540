// LDS instructions against hand-computed values (CDNA3 ISA, "Data share").
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

#include <array>

namespace asmevo::emulator::test {
namespace {

/// v2 = 4 * lane; LDS[4 * lane] = 100 + lane for the first 64 dwords.
const std::string filledLds = R"(
  v_lshlrev_b32_e32 v2, 2, v0
  v_add_u32_e32 v3, 0x64, v0
  ds_write_b32 v2, v3
  s_waitcnt lgkmcnt(0)
)";

KernelText withLds(const std::string& body, unsigned bytes = 4096) {
  KernelText text{loadPointers(1) + body + storeV1};
  text.ldsBytes = bytes;
  return text;
}

std::vector<std::uint32_t> outOf(const KernelText& text) {
  return run(text, {.buffers = {filled(64)}}).out;
}

TEST(MachineLds, Read2St64CountsInStridesOf64Elements) {
  // LDS[256 * (offset)] holds 100 + lane 0, i.e. only offset 0 was filled; fill offset 3 (768) with 500 + lane.
  const auto out = outOf(withLds(filledLds + R"(
  v_add_u32_e32 v3, 0x1f4, v0
  ds_write_b32 v2, v3 offset:768
  s_waitcnt lgkmcnt(0)
  ds_read2st64_b32 v[4:5], v2 offset0:0 offset1:3
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u32 v1, v4, 16, v5
)"));
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], ((100 + i) << 16) + 500 + i);
}

TEST(MachineLds, Read2B64AndWrite2B64UseEightByteUnits) {
  const auto out = outOf(withLds(R"(
  v_lshlrev_b32_e32 v2, 4, v0
  v_mov_b32_e32 v4, 1
  v_mov_b32_e32 v5, 2
  v_mov_b32_e32 v6, 3
  v_mov_b32_e32 v7, v0
  ds_write2_b64 v2, v[4:5], v[6:7] offset0:2 offset1:3
  s_waitcnt lgkmcnt(0)
  ds_read2_b64 v[8:11], v2 offset0:3 offset1:2
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v8, 24, v8
  v_lshl_or_b32 v8, v9, 16, v8
  v_lshl_or_b32 v8, v10, 8, v8
  v_or_b32_e32 v1, v8, v11
)"));
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], (3u << 24) + (i << 16) + (1u << 8) + 2u);
}

TEST(MachineLds, WideAccessesAndUnalignedOnes) {
  const auto out = outOf(withLds(R"(
  v_lshlrev_b32_e32 v2, 4, v0
  v_mov_b32_e32 v4, 0x03020100
  v_mov_b32_e32 v5, 0x07060504
  v_mov_b32_e32 v6, 0x0b0a0908
  v_mov_b32_e32 v7, 0x0f0e0d0c
  ds_write_b128 v2, v[4:7]
  s_waitcnt lgkmcnt(0)
  ds_read_b64 v[8:9], v2 offset:3
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, v9
)"));
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 0x0a090807u);
}

TEST(MachineLds, OutOfRangeReadsZeroAndWritesNothing) {
  // 512 bytes are allocated. Address 508 + 4 * lane: lane 0 only.
  const auto out = outOf(withLds(filledLds + R"(
  v_mov_b32_e32 v3, 7
  ds_write_b32 v2, v3 offset:508
  ds_write_b64 v2, v[2:3] offset:65528
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, 55
  ds_read_b32 v1, v2 offset:508
)",
                                 512));
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i == 0 ? 7u : 0u) << i;
}

TEST(MachineLds, SubDwordReadsExtend) {
  const auto out = outOf(withLds(R"(
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 0x80f18283
  ds_write_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  ds_read_i8 v4, v2 offset:3
  ds_read_u8 v5, v2 offset:1
  v_mov_b32_e32 v6, 0x12345678
  v_mov_b32_e32 v7, 0x12345678
  ds_read_u16_d16_hi v6, v2 offset:2
  ds_read_i8_d16 v7, v2
  s_waitcnt lgkmcnt(0)
  v_xor_b32_e32 v1, v4, v5
  v_xor_b32_e32 v1, v1, v6
  v_xor_b32_e32 v1, v1, v7
)"));
  EXPECT_EQ(out[0], 0xffffff80u ^ 0x82u ^ 0x80f10000u ^ 0x0000ff83u);
}

TEST(MachineLds, SubDwordWritesTouchTheirBytesOnly) {
  const auto out = outOf(withLds(R"(
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 0
  ds_write_b32 v2, v3
  v_mov_b32_e32 v4, 0xaabbccdd
  ds_write_b8 v2, v4 offset:1
  ds_write_b16_d16_hi v2, v4 offset:2
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v1, v2
)"));
  EXPECT_EQ(out[17], 0xaabbdd00u);
}

TEST(MachineLds, AtomicsReturnOldValuesInLaneOrder) {
  const auto out = outOf(withLds(R"(
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 10
  ds_write_b32 v2, v3
  v_mov_b32_e32 v3, 2
  s_waitcnt lgkmcnt(0)
  ds_add_rtn_u32 v1, v2, v3
)"));
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 10 + 2 * i);
}

TEST(MachineLds, CompareAndStoreTakesCompareFirst) {
  const auto out = outOf(withLds(R"(
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 5
  ds_write_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v4, v0
  v_add_u32_e32 v5, 1, v0
  ds_cmpst_rtn_b32 v1, v2, v4, v5
)"));
  // Lane i replaces i by i + 1: only lanes 5, 6, ... hit.
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], std::max(5u, i)) << i;
}

TEST(MachineLds, FloatAddAndIncrementWrap) {
  const auto out = outOf(withLds(R"(
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  ds_write_b64 v2, v[2:3]
  v_mov_b32_e32 v3, 0.5
  s_waitcnt lgkmcnt(0)
  ds_add_f32 v2, v3
  v_mov_b32_e32 v3, 9
  ds_inc_rtn_u32 v4, v2, v3 offset:4
  ds_read_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u32 v1, v4, 0, v1
)"));
  // 64 * 0.5 = 32.0 = 0x42000000; the counter runs 0 .. 9 and wraps.
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 0x42000000u + i % 10);
}

TEST(MachineLds, SwizzleModes) {
  const auto out = outOf(withLds(R"(
  ds_swizzle_b32 v3, v0 offset:swizzle(QUAD_PERM,3,2,1,0)
  ds_swizzle_b32 v4, v0 offset:swizzle(SWAP,16)
  ds_swizzle_b32 v5, v0 offset:swizzle(BROADCAST,8,2)
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v1, 16, v3
  v_lshl_or_b32 v1, v4, 8, v1
  v_or_b32_e32 v1, v1, v5
)"));
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], ((i ^ 3) << 16) | ((i ^ 16) << 8) | ((i & ~7u) + 2)) << i;
}

TEST(MachineLds, SwizzleRotatesWithinGroupsOf32) {
  // 0xc000 | amount << 5 | mask: rotate by 3, no bits kept; direction bit 10 clear.
  const auto out = outOf(withLds("  ds_swizzle_b32 v1, v0 offset:0xc060\n"));
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], (i & 32) | ((i + 3) & 31)) << i;
}

TEST(MachineLds, PermutePushesAndBpermutePulls) {
  const auto out = outOf(withLds(R"(
  v_sub_u32_e32 v2, 63, v0
  v_lshlrev_b32_e32 v2, 2, v2
  v_add_u32_e32 v3, 0x64, v0
  ds_bpermute_b32 v4, v2, v3
  v_lshrrev_b32_e32 v5, 1, v0
  v_lshlrev_b32_e32 v5, 2, v5
  v_mov_b32_e32 v6, v0
  ds_permute_b32 v7, v5, v6
  s_waitcnt lgkmcnt(0)
  v_lshl_or_b32 v1, v4, 16, v7
)"));
  // Two lanes push to lane i / 2: the higher one wins. Lanes from 32 on receive nothing.
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], ((163 - i) << 16) | (i < 32 ? 2 * i + 1 : 0)) << i;
}

TEST(MachineLds, BpermuteReadsZeroFromInactiveLanes) {
  const auto out = outOf(withLds(R"(
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v3, 9
  v_lshlrev_b32_e32 v2, 2, v0
  v_xor_b32_e32 v2, 4, v2
  s_mov_b64 exec, 0x5
  ds_bpermute_b32 v1, v2, v3
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v1, 1, v1
  s_mov_b64 exec, -1
)"));
  EXPECT_EQ(out[0], 1u);
  EXPECT_EQ(out[1], 0u);
  EXPECT_EQ(out[2], 1u);
}

TEST(MachineLds, AppendCountsActiveLanes) {
  const auto out = outOf(withLds(R"(
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 40
  ds_write_b32 v2, v3 offset:20
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, 16
  s_mov_b64 exec, 0xff
  ds_append v1 offset:4
  s_waitcnt lgkmcnt(0)
  ds_consume v4 offset:4
  s_waitcnt lgkmcnt(0)
  v_lshl_or_b32 v1, v4, 8, v1
  s_mov_b64 exec, -1
)"));
  EXPECT_EQ(out[0], 40u | 48u << 8);
  EXPECT_EQ(out[7], 40u | 48u << 8);
  EXPECT_EQ(out[8], 0u);
}

TEST(MachineLds, DynamicBytesExtendTheAllocation) {
  KernelText text{loadPointers(1) + filledLds + "  ds_read_b32 v1, v2\n" + storeV1};
  const auto none = run(text, {.buffers = {filled(64)}}).out;
  const auto some = run(text, {.dynamicLds = 256, .buffers = {filled(64)}}).out;
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(none[i], 0u);
    EXPECT_EQ(some[i], 100 + i);
  }
}

TEST(MachineLds, IsPoisonedWithNanThatFollowsTheSeed) {
  KernelText text{loadPointers(1) + "  v_lshlrev_b32_e32 v2, 2, v0\n  ds_read_b32 v1, v2\n" + storeV1};
  text.ldsBytes = 512;
  RunOptions other;
  other.poisonSeed = 5;
  const auto a = run(text, {.buffers = {filled(64)}}).out, b = run(text, {.buffers = {filled(64)}}, other).out;
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(a[i] & 0x7fc07fc0, 0x7fc07fc0u);
  EXPECT_NE(a, b);
  RunOptions off;
  off.poisonState = false;
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}, off).out, filled(64, 0));
}

/// CDNA3 ISA 11.3.1: equal offsets are one access, with the first data.
TEST(MachineLds, Write2WithEqualOffsetsWritesOnce) {
  KernelText text{loadPointers(1) + R"(
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 11
  v_mov_b32_e32 v4, 22
  ds_write2_b32 v2, v3, v4 offset0:1 offset1:1
  ds_read_b32 v1, v2 offset:4
  s_waitcnt lgkmcnt(0)
)" + storeV1};
  text.ldsBytes = 512;
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 11));
}

/// Each half with bit 31 set replaces memory's, without that bit; the address is aligned down.
TEST(MachineLds, ConditionalExchangeClearsTheFlagBit) {
  KernelText text{loadPointers(1) + R"(
  v_lshlrev_b32_e32 v2, 3, v0
  v_mov_b32_e32 v4, 0x81234567
  v_mov_b32_e32 v5, 0x01111111
  v_mov_b32_e32 v6, 0xf0f0f0f0
  v_mov_b32_e32 v7, 0xabababab
  ds_write_b64 v2, v[6:7]
  v_add_u32_e32 v3, 5, v2
  ds_condxchg32_rtn_b64 v[8:9], v3, v[4:5]
  ds_read_b64 v[10:11], v2
  s_waitcnt lgkmcnt(0)
  v_xor_b32_e32 v1, v8, v9
  v_xor_b32_e32 v1, v1, v10
  v_xor_b32_e32 v1, v1, v11
)" + storeV1};
  text.ldsBytes = 512;
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out,
            filled(64, 0xf0f0f0f0u ^ 0xababababu ^ 0x01234567u ^ 0xababababu));
}

/// CDNA3 ISA 9.2.3: a NaN comes through quieted, infinities of two signs give the plain quiet NaN, signaling NaNs come
/// out of min and max.
TEST(MachineLds, FloatAtomicsTreatNansByTheManual) {
  const auto atomic = [](const std::string& opcode, std::uint32_t memory, std::uint32_t data) {
    KernelText text{loadPointers(1) +
                    fmt::format(R"(
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, {:#x}
  v_mov_b32_e32 v4, {:#x}
  ds_write_b32 v2, v3
  {} v2, v4
  ds_read_b32 v1, v2
  s_waitcnt lgkmcnt(0)
)",
                                memory, data, opcode) +
                    storeV1};
    text.ldsBytes = 256;
    return run(text, {.buffers = {filled(64)}}).out[5];
  };
  EXPECT_EQ(atomic("ds_add_f32", 0x3f800000, 0xffa12345), 0xffe12345u);
  EXPECT_EQ(atomic("ds_add_f32", 0x7f800001, 0xffa12345), 0x7fc00001u);
  EXPECT_EQ(atomic("ds_add_f32", 0x7f800000, 0xff800000), 0x7fc00000u);
  EXPECT_EQ(atomic("ds_min_f32", 0x3f800000, 0x7f800001), 0x7fc00001u);
  EXPECT_EQ(atomic("ds_min_f32", 0x7fc00000, 0x40000000), 0x40000000u);
  EXPECT_EQ(atomic("ds_max_f32", 0x80000000, 0x00000000), 0x00000000u);
  EXPECT_EQ(atomic("ds_min_f32", 0x00000000, 0x80000000), 0x80000000u);
  EXPECT_EQ(atomic("ds_max_f32", 0x3f800000, 0x40000000), 0x40000000u);
  EXPECT_EQ(atomic("ds_pk_add_bf16", 0x3f803f80, 0x3f804000), 0x40004040u); // 1 + 1, 1 + 2
  EXPECT_EQ(atomic("ds_pk_add_f16", 0x3c007c00, 0x3c00fc00), 0x40007e00u);  // 1 + 1, infinity - infinity
}

/// Allocated, reached and the lowest address beyond, where v2 = 4 * lane.
using Extent = std::array<std::uint32_t, 3>;
Extent extentOf(const std::string& lines, unsigned bytes = 4096, const Launch& launch = {.buffers = {filled(64)}}) {
  KernelText text{loadPointers(1) + "  v_lshlrev_b32_e32 v2, 2, v0\n" + lines +
                  "  s_waitcnt vmcnt(0) lgkmcnt(0)\n  s_endpgm\n"};
  text.ldsBytes = bytes;
  const LdsExtent lds = run(text, launch).result.lds;
  return {lds.allocated, lds.reached, lds.beyond};
}
constexpr std::uint32_t nowhere = LdsExtent::nowhere;

TEST(MachineLdsExtent, EveryWayToTheLdsCounts) {
  // Lane 63 is at 252.
  EXPECT_EQ(extentOf("  ds_write_b32 v2, v0\n"), (Extent{4096, 256, nowhere}));
  EXPECT_EQ(extentOf("  ds_write_b8 v2, v0 offset:3\n"), (Extent{4096, 256, nowhere}));
  EXPECT_EQ(extentOf("  ds_read_b128 v[4:7], v2 offset:1024\n"), (Extent{4096, 252 + 1024 + 16, nowhere}));
  EXPECT_EQ(extentOf("  ds_read2st64_b32 v[4:5], v2 offset0:3 offset1:1\n"), (Extent{4096, 252 + 768 + 4, nowhere}));
  EXPECT_EQ(extentOf("  ds_add_rtn_u64 v[4:5], v2, v[2:3] offset:512\n"), (Extent{4096, 252 + 512 + 8, nowhere}));
  EXPECT_EQ(extentOf("  s_mov_b32 m0, 0x200\n  ds_append v4 offset:8\n"), (Extent{4096, 0x208 + 4, nowhere}));
  EXPECT_EQ(extentOf("  s_mov_b32 m0, 0x200\n  ds_write_addtid_b32 v0 offset:8\n"),
            (Extent{4096, 0x208 + 256, nowhere}));
  EXPECT_EQ(extentOf("  s_mov_b32 m0, 0x200\n  global_load_lds_dword v2, s[4:5]\n"),
            (Extent{4096, 0x200 + 256, nowhere}));
  EXPECT_EQ(extentOf("  s_mov_b64 s[8:9], src_shared_base\n  v_mov_b32_e32 v3, s9\n  flat_store_dword v[2:3], v0\n"),
            (Extent{4096, 256, nowhere}));
  // Not through memory.
  EXPECT_EQ(extentOf("  ds_bpermute_b32 v4, v2, v0\n  ds_swizzle_b32 v4, v0 offset:0x8000\n"),
            (Extent{4096, 0, nowhere}));
}

TEST(MachineLdsExtent, OnlyActiveLanesCount) {
  const std::string wild = "  v_mul_u32_u24_e32 v2, 0x1000, v0\n";
  EXPECT_EQ(extentOf(wild + "  s_mov_b64 exec, 1\n  ds_write_b32 v2, v0\n"), (Extent{4096, 4, nowhere}));
  EXPECT_EQ(extentOf("  s_mov_b64 exec, 0xff\n  ds_write_b32 v2, v0\n"), (Extent{4096, 32, nowhere}));
  EXPECT_EQ(extentOf("  s_mov_b64 exec, 0\n  ds_write_b32 v2, v0\n  ds_append v4 offset:8\n"),
            (Extent{4096, 0, nowhere}));
  // Workgroups of 128 over a grid of 256: the second waves' lane 63 is work-item 127.
  EXPECT_EQ(extentOf("  ds_write_b32 v2, v0\n", 4096,
                     {.workgroup = {128, 1, 1}, .grid = {256, 1, 1}, .buffers = {filled(256)}}),
            (Extent{4096, 512, nowhere}));
}

TEST(MachineLdsExtent, BeyondTheAllocation) {
  // 500 bytes are 512 of hardware; dynamic LDS adds.
  EXPECT_EQ(extentOf("  ds_read_b32 v4, v2 offset:508\n", 500), (Extent{512, 512, 512}));
  EXPECT_EQ(extentOf("  ds_read_b64 v[4:5], v2 offset:508\n", 500), (Extent{512, 0, 508}));
  EXPECT_EQ(extentOf("  s_mov_b32 m0, 0x1f8\n  global_load_lds_dword v2, s[4:5]\n", 500), (Extent{512, 512, 512}));
  EXPECT_EQ(extentOf("  ds_read_b32 v4, v2 offset:508\n", 500, {.dynamicLds = 1000, .buffers = {filled(64)}}),
            (Extent{1536, 508 + 256, nowhere}));
}

} // namespace
} // namespace asmevo::emulator::test
