// Damaged code objects and wild programs end in an error or a result, never in a crash.
#include "emulator/machine_support.h"

#include <gtest/gtest.h>

#include <random>

namespace asmevo::emulator::test {
namespace {

/// Uses every memory family, so that flipped bits reach many handlers.
KernelText victim() {
  KernelText text{loadPointers(2) + R"(
  v_lshlrev_b32_e32 v2, 2, v0
  s_mov_b32 s8, s6
  s_and_b32 s9, s7, 0xffff
  s_mov_b32 s10, 256
  s_mov_b32 s11, 0x27000
  s_mov_b32 m0, 0
.Lloop:
  buffer_load_dword v1, v2, s[8:11], 0 offen
  buffer_load_dword v2, s[8:11], 0 offen lds
  global_load_dwordx4 v[4:7], v2, s[6:7]
  ds_read2_b32 v[8:9], v2 offset0:0 offset1:1
  ds_add_rtn_u32 v10, v2, v1
  scratch_store_dword off, v1, off offset:4
  v_accvgpr_write_b32 a0, v1
  v_mfma_f32_4x4x1_16b_f32 a[0:3], v1, v4, a[0:3]
  global_atomic_add v11, v2, v1, s[6:7] sc0
  s_load_dwordx4 s[12:15], s[6:7], 0x10
  ds_bpermute_b32 v12, v2, v1
  v_readlane_b32 s16, v1, 3
  s_barrier
  s_add_u32 s17, s17, 1
  s_cmp_lt_u32 s17, 3
  s_cbranch_scc1 .Lloop
)" + storeV1};
  text.ldsBytes = 1024;
  text.vgprs = 40;
  text.descriptor = ".amdhsa_private_segment_fixed_size 16\n .amdhsa_enable_private_segment 1";
  return text;
}

TEST(MachineHostile, FlippedBitsNeverCrash) {
  const object::CodeObject good = build(victim());
  const Launch launch{.workgroup = {128, 1, 1}, .grid = {256, 1, 1}, .buffers = {filled(256), filled(256)}};
  RunOptions options;
  options.maxInstructions = 20'000;
  std::mt19937_64 random(7);
  std::size_t ran = 0, failed = 0;
  for (unsigned round = 0; round < 250; ++round) {
    Bytes bytes(good.bytes().begin(), good.bytes().end());
    // Half of the rounds damage the code only, the others the whole file.
    const object::Section& code = *good.codeSections().front();
    const std::size_t begin = round % 2 ? code.offset : 0, size = round % 2 ? code.size : bytes.size();
    for (unsigned i = 0; i < 1 + round % 4; ++i)
      bytes[begin + random() % size] ^= static_cast<std::uint8_t>(1u << random() % 8);
    const auto object = object::CodeObject::parse(std::move(bytes), "damaged.co");
    if (!object)
      continue;
    const auto kernel = Kernel::prepare(*object, "");
    if (!kernel)
      continue;
    options.seed = round % 3;
    options.coverage = round % 5 == 0;
    const auto result = (*kernel)->run(caseOf(launch), options);
    if (result) {
      ++ran;
    } else {
      ++failed;
      EXPECT_FALSE(result.error().message.empty());
    }
  }
  EXPECT_GT(ran, 50u);
  EXPECT_GT(failed, 20u);
}

TEST(MachineHostile, RandomWordsAsCodeNeverCrash) {
  std::mt19937_64 random(11);
  RunOptions options;
  options.maxInstructions = 5'000;
  for (unsigned round = 0; round < 12; ++round) {
    std::string body;
    for (unsigned i = 0; i < 512; ++i)
      body += fmt::format("  .long {:#x}\n", static_cast<std::uint32_t>(random()));
    KernelText text{body};
    text.ldsBytes = 1024;
    const auto kernel = Kernel::prepare(build(text), "k");
    ASSERT_TRUE(kernel);
    const auto result = (*kernel)->run(caseOf({.buffers = {filled(64), filled(64)}}), options);
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().kind == ErrorKind::refused || result.error().kind == ErrorKind::fault);
  }
}

TEST(MachineHostile, RelocatableObjectsAreRefusedWithTheRemedy) {
  KernelText text{"  s_nop 0\n"};
  text.linkOptions = "-c";
  const auto kernel = Kernel::prepare(build(text), "k");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind, ErrorKind::refused);
  EXPECT_NE(kernel.error().message.find("link it first"), std::string::npos) << kernel.error().message;
}

} // namespace
} // namespace asmevo::emulator::test
