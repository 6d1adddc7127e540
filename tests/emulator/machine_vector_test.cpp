// Global, flat, scratch and scalar memory: addresses, widths, masks, atomics, faults.
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

#include <bit>

namespace asmevo::emulator::test {
namespace {

const std::string lane4 = "  v_lshlrev_b32_e32 v2, 2, v0\n";
/// v[4:5] = address of the second buffer + 4 * lane.
const std::string address2 = lane4 + R"(
  v_mov_b32_e32 v5, s7
  v_add_co_u32_e32 v4, vcc, s6, v2
  v_addc_co_u32_e32 v5, vcc, 0, v5, vcc
)";

TEST(MachineGlobal, VectorAndScalarBasesWithSignedOffsets) {
  const auto text = KernelText{loadPointers(2) + address2 + R"(
  global_load_dword v1, v[4:5], off offset:8
  v_add_u32_e32 v2, 64, v2
  global_load_dword v3, v2, s[6:7] offset:-64
  s_waitcnt vmcnt(0)
  v_lshl_or_b32 v1, v1, 16, v3
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(80, 3)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], (i + 5) << 16 | (i + 3));
}

TEST(MachineGlobal, WideLoadsAndStoresContiguousAndScattered) {
  // Lane i moves 16 bytes from record i to record 63 - i.
  const auto text = KernelText{loadPointers(2) + R"(
  v_lshlrev_b32_e32 v2, 4, v0
  global_load_dwordx4 v[4:7], v2, s[6:7]
  v_sub_u32_e32 v3, 63, v0
  v_lshlrev_b32_e32 v3, 4, v3
  s_waitcnt vmcnt(0)
  global_store_dwordx4 v3, v[4:7], s[4:5]
)"};
  const Outcome outcome = run(text, {.buffers = {filled(256), iota(256)}});
  for (unsigned i = 0; i < 64; ++i)
    for (unsigned k = 0; k < 4; ++k)
      EXPECT_EQ(outcome.out[4 * i + k], 4 * (63 - i) + k);
}

TEST(MachineGlobal, ThreeDwordsUnaligned) {
  const auto text = KernelText{loadPointers(2) + R"(
  v_mul_u32_u24_e32 v2, 12, v0
  global_load_dwordx3 v[4:6], v2, s[6:7] offset:2
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v1, v6
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(200, 0x00010000, 0x00010001)}});
  const auto source = iota(200, 0x00010000, 0x00010001);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], source[3 * i + 2] >> 16 | source[3 * i + 3] << 16);
}

TEST(MachineGlobal, StoresOfBytesAndHalves) {
  const auto text = KernelText{loadPointers(1) + lane4 + R"(
  v_mov_b32_e32 v3, 0xaabbccdd
  global_store_byte v2, v3, s[4:5]
  global_store_byte_d16_hi v2, v3, s[4:5] offset:1
  global_store_short_d16_hi v2, v3, s[4:5] offset:2
)"};
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out, filled(64, 0xaabbbbdd));
}

TEST(MachineGlobal, AtomicsReturnAndCombine) {
  const auto text = KernelText{loadPointers(2) + R"(
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 1.0
  global_atomic_add_f32 v2, v3, s[6:7]
  global_atomic_umax v2, v0, s[6:7] offset:4
  v_mov_b32_e32 v4, 0x3f803f80
  global_atomic_pk_add_bf16 v2, v4, s[6:7] offset:8
  v_mov_b32_e32 v4, 0x3c003c00
  global_atomic_pk_add_f16 v2, v4, s[6:7] offset:12
  v_mov_b32_e32 v4, v0
  v_mov_b32_e32 v5, 1
  global_atomic_add_x2 v[6:7], v2, v[4:5], s[6:7] offset:16 sc0
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v1, v7
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), filled(6, 0)}});
  const auto memory = outcome.buffer(1);
  EXPECT_EQ(memory[0], std::bit_cast<std::uint32_t>(64.0f));
  EXPECT_EQ(memory[1], 63u);
  EXPECT_EQ(memory[2], 0x42804280u); // 64.0 twice in bf16
  EXPECT_EQ(memory[3], 0x54005400u); // 64.0 twice in f16
  EXPECT_EQ(memory[4], 63u * 64 / 2);
  EXPECT_EQ(memory[5], 64u);
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i); // the high halves of the old values
}

TEST(MachineGlobal, CompareAndSwapTakesTheNewValueFirst) {
  const auto text = KernelText{loadPointers(2) + R"(
  v_mov_b32_e32 v2, 0
  v_add_u32_e32 v4, 1, v0
  v_mov_b32_e32 v5, v0
  global_atomic_cmpswap v1, v2, v[4:5], s[6:7] sc0
)" + storeV1};
  const Outcome outcome = run(text, {.buffers = {filled(64), filled(1, 20)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], std::max(20u, i));
  EXPECT_EQ(outcome.buffer(1)[0], 64u);
}

TEST(MachineGlobal, FaultNamesEverything) {
  const auto text = KernelText{loadPointers(1) + R"(
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
  s_cmp_lg_u32 s2, 1
  s_cbranch_scc1 .Lend
  v_cmp_eq_u32_e32 vcc, 5, v0
  v_mov_b32_e32 v4, s4
  v_mov_b32_e32 v5, s5
  v_cndmask_b32_e64 v5, v5, 0, vcc
  global_load_dwordx2 v[6:7], v[4:5], off offset:16
.Lend:
)"};
  const Error error = runError(text, {.workgroup = {128, 1, 1}, .grid = {256, 1, 1}, .buffers = {filled(64)}});
  EXPECT_EQ(error.kind, ErrorKind::fault);
  for (const char* part : {"'global_load_dwordx2 v[6:7], v[4:5], off offset:16'", "kernel 'k'", "lane 5",
                           "load of 8 bytes", "wave 0 of workgroup 1 (1,0,0)", "no buffer", "nearest is"})
    EXPECT_NE(error.message.find(part), std::string::npos) << part << " in " << error.message;
}

TEST(MachineGlobal, StoresToCodeFault) {
  const auto text = KernelText{R"(
  s_getpc_b64 s[4:5]
  v_mov_b32_e32 v2, 0
  global_store_dword v2, v0, s[4:5]
)"};
  const Error error = runError(text, {.buffers = {filled(1)}});
  EXPECT_EQ(error.kind, ErrorKind::fault);
  EXPECT_NE(error.message.find("read-only"), std::string::npos) << error.message;
}

TEST(MachineGlobal, MisalignedAtomicsFault) {
  const auto text = KernelText{loadPointers(1) + "  v_mov_b32_e32 v2, 2\n  global_atomic_add v2, v0, s[4:5]\n"};
  const Error error = runError(text, {.buffers = {filled(4)}});
  EXPECT_EQ(error.kind, ErrorKind::fault);
  EXPECT_NE(error.message.find("not aligned"), std::string::npos) << error.message;
}

TEST(MachineGlobal, StoresIntoGuardZonesAreReported) {
  const auto text = KernelText{loadPointers(2) + R"(
  v_mov_b32_e32 v2, 0
  global_store_dword v2, v2, s[4:5] offset:256
  global_store_dword v2, v2, s[6:7] offset:-4
)"};
  const Outcome outcome = run(text, {.grid = {1, 1, 1}, .buffers = {filled(64), filled(64)}});
  ASSERT_EQ(outcome.result.guardViolations.size(), 2u);
  EXPECT_EQ(outcome.result.guardViolations[0].buffer, "out");
  EXPECT_EQ(outcome.result.guardViolations[0].offset, 256);
  EXPECT_EQ(outcome.result.guardViolations[1].buffer, "b1");
  EXPECT_EQ(outcome.result.guardViolations[1].offset, -1);
}

TEST(MachineScratch, SpillsComeBackPerLane) {
  KernelText text{loadPointers(1) + R"(
  v_add_u32_e32 v3, 0x3e8, v0
  scratch_store_dword off, v3, off offset:8
  s_mov_b32 s8, 4
  scratch_store_dword off, v0, s8
  v_mov_b32_e32 v3, 0
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v4, 8
  scratch_load_dword v5, v4, off
  scratch_load_dword v6, off, off offset:4
  s_waitcnt vmcnt(0)
  v_lshl_or_b32 v1, v6, 16, v5
)" + storeV1};
  text.descriptor = ".amdhsa_private_segment_fixed_size 16\n .amdhsa_enable_private_segment 1";
  const Outcome outcome = run(text, {.workgroup = {128, 1, 1}, .grid = {128, 1, 1}, .buffers = {filled(128)}});
  for (unsigned i = 0; i < 128; ++i)
    EXPECT_EQ(outcome.out[i], i << 16 | (1000 + i)) << i;
}

TEST(MachineScratch, BeyondTheSegmentFaults) {
  KernelText text{"  scratch_store_dword off, v0, off offset:16\n"};
  text.descriptor = ".amdhsa_private_segment_fixed_size 16\n .amdhsa_enable_private_segment 1";
  const Error error = runError(text, {.buffers = {filled(1)}});
  EXPECT_EQ(error.kind, ErrorKind::fault);
  EXPECT_NE(error.message.find("scratch offset 0x10"), std::string::npos) << error.message;
}

TEST(MachineFlat, AperturesSelectLdsAndScratch) {
  KernelText text{loadPointers(2) + R"(
  s_mov_b64 s[8:9], src_shared_base
  s_mov_b64 s[10:11], src_private_base
  v_lshlrev_b32_e32 v4, 2, v0
  v_mov_b32_e32 v5, s9
  v_add_u32_e32 v6, 7, v0
  flat_store_dword v[4:5], v6
  v_mov_b32_e32 v8, 4
  v_mov_b32_e32 v9, s11
  v_mov_b32_e32 v10, 0x3e8
  v_add_u32_e32 v10, v10, v0
  flat_store_dword v[8:9], v10
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_read_b32 v11, v4
  scratch_load_dword v12, off, off offset:4
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_lshl_or_b32 v1, v12, 16, v11
)" + storeV1};
  text.ldsBytes = 256;
  text.descriptor = ".amdhsa_private_segment_fixed_size 8\n .amdhsa_enable_private_segment 1";
  const Outcome outcome = run(text, {.buffers = {filled(64), filled(64)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], (1000 + i) << 16 | (7 + i));
}

TEST(MachineFlat, MixesGlobalAndLdsLanes) {
  KernelText text{loadPointers(2) + R"(
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 0x63
  ds_write_b32 v2, v3
  s_mov_b64 s[8:9], src_shared_base
  v_and_b32_e32 v3, 1, v0
  v_cmp_eq_u32_e32 vcc, 1, v3
  v_mov_b32_e32 v4, s6
  v_mov_b32_e32 v5, s7
  v_add_u32_e32 v4, v4, v2
  v_mov_b32_e32 v6, s9
  v_cndmask_b32_e32 v4, v4, v2, vcc
  v_cndmask_b32_e32 v5, v5, v6, vcc
  s_waitcnt lgkmcnt(0)
  flat_load_dword v1, v[4:5]
)" + storeV1};
  text.ldsBytes = 256;
  const Outcome outcome = run(text, {.buffers = {filled(64), iota(64)}});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i % 2 ? 0x63u : i) << i;
}

TEST(MachineScalarMemory, LoadsStoresAndAtomics) {
  const auto text = KernelText{loadPointers(2) + R"(
  s_mov_b32 s8, 8
  s_load_dword s9, s[6:7], s8
  s_load_dwordx2 s[10:11], s[6:7], 0x10
  s_waitcnt lgkmcnt(0)
  s_add_u32 s9, s9, s10
  s_store_dword s9, s[4:5], 0x4 glc
  s_mov_b32 s12, 3
  s_atomic_dec s12, s[6:7], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_store_dword s12, s[4:5], 0x0 glc
  s_dcache_wb
)"};
  const Outcome outcome = run(text, {.buffers = {filled(2), std::vector<std::uint32_t>{0, 1, 20, 3, 400, 5}}});
  EXPECT_EQ(outcome.out[1], 420u);
  EXPECT_EQ(outcome.out[0], 0u);       // old value
  EXPECT_EQ(outcome.buffer(1)[0], 3u); // 0 wraps to the operand
}

TEST(MachineScalarMemory, FaultsOutsideTheArena) {
  const auto text = KernelText{"  s_mov_b64 s[4:5], 0\n  s_load_dword s6, s[4:5], 0x40\n"};
  const Error error = runError(text, {.buffers = {filled(1)}});
  EXPECT_EQ(error.kind, ErrorKind::fault);
  EXPECT_NE(error.message.find("scalar load of 4 bytes at 0x40"), std::string::npos) << error.message;
}

TEST(MachineScalarMemory, ClocksRepeatAndAdvance) {
  const auto text = KernelText{loadPointers(1) + R"(
  s_memtime s[8:9]
  s_nop 0
  s_nop 0
  s_memtime s[10:11]
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s8, s10, s8
  v_mov_b32_e32 v1, s8
)" + storeV1};
  EXPECT_EQ(run(text, {.buffers = {filled(64)}}).out[0], 12u); // three instructions at four cycles
}

} // namespace
} // namespace asmevo::emulator::test
