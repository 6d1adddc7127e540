// Issue distances of waves against the measured ones (facts: gfx950 SQTT/ATT traces, pyhip gfx942, LLVM PR 233721).
#include "timing_support.h"

namespace asmevo::timing::fixture {
namespace {

/// Distance of the last two of `statements`.
Clk distance(std::vector<std::string> statements) {
  const std::size_t last = statements.size() - 1;
  const Program program(std::move(statements));
  return simulate(program).gap(last - 1, last);
}

TEST(Issue, ValuFourClocksDependentOrNot) {
  EXPECT_EQ(distance({"v_add_f32 v0, v1, v2", "v_add_f32 v3, v4, v5"}), 4);
  EXPECT_EQ(distance({"v_add_f32 v0, v1, v2", "v_add_f32 v3, v0, v0"}), 4);
  EXPECT_EQ(distance({"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", "v_pk_mul_f32 v[8:9], v[0:1], v[2:3]"}), 4);
}

TEST(Issue, TranscendentalHoldsTheValuSixteenClocks) {
  EXPECT_EQ(distance({"v_exp_f32 v0, v1", "v_exp_f32 v2, v3"}), 16);
  EXPECT_EQ(distance({"v_rcp_f32 v0, v1", "v_add_f32 v2, v3, v4"}), 16);
  EXPECT_EQ(distance({"v_exp_f32 v0, v1", "s_mov_b32 s0, 0"}), 4);
}

TEST(Issue, ScalarPairs) {
  EXPECT_EQ(distance({"s_add_u32 s0, s1, s2", "s_add_u32 s3, s0, s0"}), 4);
  EXPECT_EQ(distance({"s_mov_b32 s0, 1", "v_mov_b32 v0, s0"}), 4);
  EXPECT_EQ(distance({"s_load_dword s0, s[2:3], 0x0", "s_load_dword s1, s[2:3], 0x4"}), 4);
  EXPECT_EQ(distance({"s_mov_b32 s8, 0", "buffer_load_dword v0, v1, s[4:7], s8 offen"}), 8);
  EXPECT_EQ(distance({"s_or_b64 s[0:1], s[0:1], s[2:3]", "buffer_load_dword v0, v1, s[4:7], 0 offen"}), 8);
}

TEST(Issue, VectorCompareToScalarTwenty) {
  EXPECT_EQ(distance({"v_cmp_gt_u32 vcc, v0, v1", "s_and_saveexec_b64 s[0:1], vcc"}), 20);
  EXPECT_EQ(distance({"v_cmp_gt_u32 s[4:5], v0, v1", "s_mov_b32 s0, 0"}), 20);
  EXPECT_EQ(distance({"v_readfirstlane_b32 s0, v0", "s_mov_b32 s2, s3"}), 20);
  EXPECT_EQ(distance({"v_add_u32 v0, v1, v2", "s_mov_b32 s2, s3"}), 4);
}

TEST(Issue, ValuToMemoryTwelve) {
  EXPECT_EQ(distance({"v_add_u32 v9, v1, v2", "ds_read_b32 v3, v4"}), 12);
  EXPECT_EQ(distance({"v_add_u32 v4, v1, v2", "global_load_dword v3, v4, s[0:1]"}), 12);
  // Whatever SALU lies between.
  const Program program({"v_add_u32 v4, v1, v2", "s_mov_b32 s8, 0", "ds_read_b32 v3, v4"});
  EXPECT_EQ(simulate(program).gap(0, 2), 12);
}

TEST(Issue, NopTakesItsWaitStates) {
  for (const unsigned n : {0U, 1U, 4U, 7U}) {
    const Program program({"v_mov_b32 v0, v1", fmt::format("s_nop {}", n), "v_mov_b32 v2, v3"});
    EXPECT_EQ(simulate(program).gap(1, 2), 4 * (n + 1));
  }
}

TEST(Issue, Branches) {
  // 0: s_add, 1: s_cbranch to itself' next or back, 2: target.
  const Program program({"s_add_u32 s0, s0, s1", "s_cbranch_scc1 -2", "v_mov_b32 v0, v1"});
  const Replay run = simulate(program, {WaveBuilder(program).run(0, 2).run(0, 4).trace});
  EXPECT_EQ(run.gap(0, 1), 8) << "SALU to branch";
  EXPECT_EQ(run.gap(1, 2), 20) << "taken";
  EXPECT_EQ(run.gap(3, 4), 4) << "not taken";
  // Target at 28 with 8 bytes lies in two 32-byte blocks.
  std::vector<std::string> straddling(7, "s_nop 0");
  straddling.push_back("v_add_f32_e64 v0, v1, v2");
  straddling.push_back("s_branch -3");
  const Program far(straddling);
  const Replay back = simulate(far, {WaveBuilder(far).run(0, 9).run(7, 8).step(9).trace});
  EXPECT_EQ(back.gap(8, 9), 24);
}

TEST(Issue, MisalignedLongInstructionsFetchSlower) {
  // pyhip gfx942, streams of 8-byte VALU: 4.016 clk at pc mod 8 = 0, 5.012 at 4; 4-byte ones 4.012.
  const auto rate = [](const std::string& text, bool shifted) {
    std::vector<std::string> code(shifted ? 1 : 0, "s_nop 0");
    code.resize(401, text);
    return static_cast<double>(simulate(Program(code)).gap(40, 360)) / 320;
  };
  EXPECT_NEAR(rate("v_fma_f32 v0, v1, v2, v3", false), 4.016, 0.03);
  EXPECT_NEAR(rate("v_fma_f32 v0, v1, v2, v3", true), 5.012, 0.03);
  EXPECT_NEAR(rate("v_add_f32 v0, v1, v2", true), 4.012, 0.03);
}

TEST(Issue, VccBranchWaitsForTheCompare) {
  EXPECT_EQ(distance({"v_cmp_gt_u32 vcc, v0, v1", "s_cbranch_vccnz 0"}), 24);
  EXPECT_EQ(distance({"v_cmp_gt_u32 vcc, v0, v1", "s_cbranch_scc1 0"}), 4);
}

TEST(Issue, LdsWritesHoldTheWave) {
  const auto hold = [](const std::string& write, unsigned bytes) {
    const Program program({write, "s_mov_b32 s0, 0"});
    return simulate(program, {WaveBuilder(program).step(0).lds(bytes, bytes, true).run(1, 3).trace}).gap(0, 1);
  };
  EXPECT_EQ(hold("ds_write_b32 v0, v1", 4), 8);
  EXPECT_EQ(hold("ds_write_b64 v0, v[2:3]", 8), 12);
  EXPECT_EQ(hold("ds_write_b128 v0, v[4:7]", 16), 20);
}

TEST(Issue, FirstInstructionAfterWaveStart) {
  const Program program({"v_mov_b32 v0, v1"});
  EXPECT_EQ(simulate(program).issue[0][0], 28);
}

TEST(Mfma, BackToBackAtTheMatrixRate) {
  const std::string f16 = "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]";
  EXPECT_EQ(distance({f16, f16}), 16) << "chained through C";
  EXPECT_EQ(distance({f16, "v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], v[4:7]"}), 16);
  const std::string wide = "v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], v[0:15]";
  EXPECT_EQ(distance({wide, wide}), 32);
  const std::string fp8 = "v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[8:9], v[10:11], v[0:3]";
  EXPECT_EQ(distance({fp8, fp8}), 16);
  const std::string f32 = "v_mfma_f32_32x32x2_f32 v[0:15], v32, v33, v[0:15]";
  EXPECT_EQ(distance({f32, f32}), 64);
  const std::string f64 = "v_mfma_f64_16x16x4_f64 v[0:7], v[32:33], v[34:35], v[0:7]";
  EXPECT_EQ(distance({f64, f64}), 32);
}

TEST(Mfma, FollowedByOtherUnits) {
  const std::string narrow = "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]";
  EXPECT_EQ(distance({narrow, "v_add_f32 v20, v21, v22"}), 4) << "8-byte sources";
  EXPECT_EQ(distance({narrow, "s_mov_b32 s0, 0"}), 4);
  EXPECT_EQ(distance({narrow, "ds_read_b32 v20, v21"}), 4);
  EXPECT_EQ(distance({narrow, "v_pk_add_f32 v[20:21], v[22:23], v[24:25]"}), 24) << "4(passes+2)";
  EXPECT_EQ(distance({"v_smfmac_f32_16x16x32_f16 v[0:3], v[8:9], v[12:15], v16", "v_add_f32 v20, v21, v22"}), 8)
      << "16-byte source";
  EXPECT_EQ(distance({"v_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[0:3]", "v_add_f32 v20, v21, v22"}), 40) << "non-XDL";
}

TEST(Mfma, ThreeValuHideUnderOneMfma) {
  // pyhip gfx942, v_mfma_f32_16x16x16_bf16 and N v_add_f32 per group: 16.03, 16.05 ... 20.05 clk.
  for (const unsigned n : {0U, 1U, 2U, 3U, 4U}) {
    std::vector<std::string> body;
    for (int group = 0; group < 8; ++group) {
      body.push_back(fmt::format("v_mfma_f32_16x16x16_bf16 v[{0}:{1}], v[40:41], v[42:43], v[{0}:{1}]", group % 4 * 4,
                                 group % 4 * 4 + 3));
      for (unsigned i = 0; i < n; ++i)
        body.push_back(fmt::format("v_add_f32 v{}, v60, v61", 50 + i));
    }
    const Program program(body);
    EXPECT_EQ(simulate(program).gap(n + 1, 7 * (n + 1)), 6 * (n == 4 ? 20 : 16)) << n;
  }
}

TEST(Mfma, TranscendentalsUnderMfma) {
  // pyhip gfx942: one v_exp_f32 per MFMA costs 4 clk more, two 20.
  for (const unsigned n : {1U, 2U}) {
    std::vector<std::string> body;
    for (int group = 0; group < 8; ++group) {
      body.push_back(fmt::format("v_mfma_f32_16x16x16_bf16 v[{0}:{1}], v[40:41], v[42:43], v[{0}:{1}]", group % 4 * 4,
                                 group % 4 * 4 + 3));
      for (unsigned i = 0; i < n; ++i)
        body.push_back(fmt::format("v_exp_f32 v{}, v60", 50 + i));
    }
    const Program program(body);
    EXPECT_EQ(simulate(program).gap(n + 1, 7 * (n + 1)), 6 * (n == 1 ? 20 : 36)) << n;
  }
}

TEST(Mfma, DependentReaderWaitsForTheResult) {
  // CDNA3 ISA table 37: 7 wait states between a 4-pass XDL and a VALU that reads it; 5 before an overlapped SrcC.
  const std::string producer = "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]";
  EXPECT_EQ(distance({producer, "v_add_f32 v20, v0, v22"}), 32);
  EXPECT_EQ(distance({producer, "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[10:11], v[4:7]"}), 32);
  EXPECT_EQ(distance({producer, "v_mfma_f32_16x16x16_f16 v[2:5], v[8:9], v[10:11], v[2:5]"}), 24);
  EXPECT_EQ(distance({producer, "v_mfma_f32_16x16x16_bf16 v[0:3], v[8:9], v[10:11], v[0:3]"}), 24)
      << "another opcode does not forward";
}

/// n waves on one SIMD: with 4 n waves in a workgroup, wave i goes to SIMD placement i mod 4.
std::vector<emulator::WaveTrace> onOneSimd(const Program& program, const std::vector<emulator::WaveTrace>& wanted) {
  std::vector<emulator::WaveTrace> waves;
  for (const emulator::WaveTrace& wave : wanted) {
    waves.push_back(wave);
    for (int other = 0; other < 3; ++other) {
      emulator::WaveTrace idle;
      idle.path = {program.offset(program.size() - 1)};
      waves.push_back(idle);
    }
  }
  return waves;
}

TEST(Arbitration, TwoValuOfTwoWavesShareASlot) {
  const Chip& mi350x = chip("mi350x");
  const Program simple(std::vector<std::string>(100, "v_mul_f32 v0, v1, v2"));
  const emulator::WaveTrace wave = WaveBuilder(simple).all().trace;
  const Replay two = simulate(simple, onOneSimd(simple, {wave, wave}), mi350x);
  EXPECT_EQ(two.gap(20, 80, 0), 240);
  EXPECT_EQ(two.gap(20, 80, 4), 240);
  // Never three: 300 instructions take 150 slots.
  const Replay three = simulate(simple, onOneSimd(simple, {wave, wave, wave}), mi350x);
  const Clk first = three.issue[0].front();
  EXPECT_NEAR(static_cast<double>(std::max({three.issue[0][99], three.issue[4][99], three.issue[8][99]}) - first), 600,
              24);
  // 223 pairs of two v_mul_f32 in the traces; of the more frequent v_cndmask_b32, v_lshlrev_b32 and compares none with
  // their like, though the other wave was ready 199, 38 and 67 times.
  for (const char* text : {"v_cndmask_b32 v0, v1, v2, vcc", "v_lshlrev_b32 v0, v1, v2", "v_cmp_gt_f32 vcc, v1, v2"}) {
    const Program like(std::vector<std::string>(100, text));
    const emulator::WaveTrace likeWave = WaveBuilder(like).all().trace;
    EXPECT_EQ(simulate(like, onOneSimd(like, {likeWave, likeWave}), mi350x).gap(20, 80, 0), 480) << text;
  }
  // A compare and a select of two waves: 1,291 pairs.
  std::vector<std::string> both(100, "v_cmp_gt_f32 vcc, v1, v2");
  both.resize(200, "v_cndmask_b32 v0, v1, v2, vcc");
  const Program different(both);
  EXPECT_EQ(simulate(different,
                     onOneSimd(different, {WaveBuilder(different).run(0, 100).step(200).trace,
                                           WaveBuilder(different).run(100, 200).step(200).trace}),
                     mi350x)
                .gap(20, 80, 0),
            240);
  // Packed f32 never pairs.
  const Program packed(std::vector<std::string>(100, "v_pk_add_f32 v[0:1], v[2:3], v[4:5]"));
  const emulator::WaveTrace packedWave = WaveBuilder(packed).all().trace;
  EXPECT_EQ(simulate(packed, onOneSimd(packed, {packedWave, packedWave}), mi350x).gap(20, 80, 0), 480);
}

TEST(Arbitration, OneValuPerSlotOnGfx942) {
  // nbody on MI300A takes 357, 452 and 588 clk per body with one, two and three waves per SIMD.
  const Program simple(std::vector<std::string>(100, "v_mul_f32 v0, v1, v2"));
  const emulator::WaveTrace wave = WaveBuilder(simple).all().trace;
  for (const char* name : {"mi300x", "mi300a", "mi308x"}) {
    EXPECT_EQ(simulate(simple, onOneSimd(simple, {wave, wave}), chip(name)).gap(20, 80, 0), 480) << name;
    EXPECT_EQ(simulate(simple, onOneSimd(simple, {wave, wave, wave}), chip(name)).gap(20, 80, 0), 720) << name;
  }
}

TEST(Arbitration, DifferentCategoriesShareASlot) {
  const Program mixed(std::vector<std::string>(100, "s_add_u32 s0, s0, s1"));
  const emulator::WaveTrace scalar = WaveBuilder(mixed).all().trace;
  EXPECT_EQ(simulate(mixed, onOneSimd(mixed, {scalar, scalar})).gap(20, 80, 0), 480) << "one SALU per slot";
  std::vector<std::string> both(100, "v_add_f32 v0, v1, v2");
  both.resize(200, "s_add_u32 s0, s0, s1");
  const Program program(both);
  const Replay run = simulate(program, onOneSimd(program, {WaveBuilder(program).run(0, 100).step(200).trace,
                                                           WaveBuilder(program).run(100, 200).step(200).trace}));
  EXPECT_EQ(run.gap(20, 80, 0), 240);
  EXPECT_EQ(run.gap(20, 80, 4), 240);
}

TEST(Arbitration, MatrixAndVectorWavesOverlap) {
  // pyhip gfx942, two waves of one SIMD, one MFMA against N VALU: 16 clk per group up to N = 3, 20 at N = 4.
  for (const unsigned n : {2U, 3U, 4U}) {
    constexpr unsigned groups = 64;
    std::vector<std::string> code;
    for (unsigned i = 0; i < groups; ++i)
      code.push_back(
          fmt::format("v_mfma_f32_16x16x16_bf16 v[{0}:{1}], v[40:41], v[42:43], v[{0}:{1}]", i % 4 * 4, i % 4 * 4 + 3));
    code.resize(groups + groups * n, "v_add_f32 v50, v51, v52");
    const Program program(code);
    const Replay run =
        simulate(program, onOneSimd(program, {WaveBuilder(program).run(0, groups).step(code.size()).trace,
                                              WaveBuilder(program).run(groups, code.size() + 1).trace}));
    const Clk first = run.issue[0].front();
    const Clk last = std::max(run.issue[0][groups - 1] + 16, run.issue[4][groups * n - 1] + 4);
    EXPECT_NEAR(static_cast<double>(last - first) / groups, n == 4 ? 20 : 16, 0.4) << n;
  }
}

TEST(Barrier, LastArrivalReleasesAll) {
  const Program program({"s_nop 0", "s_nop 15", "s_nop 15", "s_barrier", "v_mov_b32 v0, v1"});
  std::vector<emulator::WaveTrace> waves(4, WaveBuilder(program).step(0).run(3, 6).trace);
  waves[3] = WaveBuilder(program).all().trace; // arrives last
  const Replay run = simulate(program, waves);
  EXPECT_EQ(run.gap(3, 4, 3), 8);
  const Clk arrival = run.issue[3][3];
  for (std::size_t wave = 0; wave < 3; ++wave) {
    const Clk released = run.issue[wave][2] - arrival;
    EXPECT_GE(released, 4);
    EXPECT_LE(released, 11) << "8, at its SIMD's next turn";
  }
}

TEST(Barrier, StallsBelongToTheBarrier) {
  const Program program({"s_nop 15", "s_nop 15", "s_barrier", "v_mov_b32 v0, v1"});
  const Replay run = simulate(program, {WaveBuilder(program).all().trace, WaveBuilder(program).run(2, 5).trace});
  const auto& counters = run.result.counters[program.offset(2) / 4];
  EXPECT_EQ(counters.issued, 2U);
  EXPECT_GT(counters.stalls[static_cast<std::size_t>(Stall::barrier)], 100);
}

TEST(Priority, HigherSetprioGoesFirst) {
  std::vector<std::string> code(100, "v_pk_add_f32 v[0:1], v[2:3], v[4:5]");
  code.push_back("s_setprio 3");
  const Program program(code);
  const Replay run =
      simulate(program, onOneSimd(program, {WaveBuilder(program).run(0, 100).step(101).trace,
                                            WaveBuilder(program).step(100).run(0, 100).step(101).trace}));
  EXPECT_EQ(run.gap(20, 80, 4), 240) << "the high-priority wave runs at full rate";
  EXPECT_GT(run.issue[0][99], run.issue[4][100]);
}

TEST(Deadlock, IsAnErrorNotAHang) {
  const Program program({"s_barrier", "v_mov_b32 v0, v1"});
  // A wave that never ends its trace cannot exist; one that waits at a barrier the other left by ending can go on.
  const Replay run = simulate(program, {WaveBuilder(program).all().trace, WaveBuilder(program).step(2).trace});
  EXPECT_EQ(run.result.instructions, 4U);
}

} // namespace
} // namespace asmevo::timing::fixture
