// MFMA beside VALU, transcendentals and packed operations, in one wave and in two waves of a SIMD, against pyhip's
// gfx942 microbenchmarks (tests/flydsl/attn_4wave/tools/mfma-valu-coissue.md). There 8-byte operations that straddle a
// fetch block cost up to 1 clk more than here.
#include "timing_support.h"

#include <cmath>

namespace asmevo::timing::fixture {
namespace {

constexpr unsigned groups = 256;
const std::string mfma = "v_mfma_f32_16x16x16_bf16 v[{0}:{1}], v[100:101], v[102:103], v[{0}:{1}]";

std::string nthMfma(unsigned i) {
  return fmt::format(fmt::runtime(mfma), i % 4 * 4, i % 4 * 4 + 3);
}

/// Clk per group of a body repeated in one wave, in steady state.
double clkPerGroup(const std::vector<std::string>& body) {
  std::vector<std::string> all;
  for (unsigned g = 0; g < groups; ++g)
    for (const std::string& each : body)
      all.push_back(each == "mfma" ? nthMfma(g) : each);
  const Program program(all);
  const std::size_t size = body.size();
  return static_cast<double>(simulate(program).gap(8 * size, 248 * size)) / 240;
}

/// The same with the work in two waves of one SIMD: clk per group until both are through.
double clkPerGroup(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::vector<std::string> all;
  for (unsigned g = 0; g < groups; ++g)
    for (const std::string& each : first)
      all.push_back(each == "mfma" ? nthMfma(g) : each);
  const std::size_t split = all.size();
  for (unsigned g = 0; g < groups; ++g)
    all.insert(all.end(), second.begin(), second.end());
  const Program program(all);
  const std::size_t end = program.size() - 1;
  const emulator::WaveTrace idle = WaveBuilder(program).step(end).trace;
  // Waves go to SIMDs 0, 2, 1, 3: the fifth shares SIMD 0 with the first.
  const Replay run = simulate(program, {WaveBuilder(program).run(0, split).step(end).trace, idle, idle, idle,
                                        WaveBuilder(program).run(split, end).step(end).trace});
  return static_cast<double>(std::max(run.issue[0].back(), run.issue[4].back()) - run.issue[0].front()) / groups;
}

struct Measured {
  const char* operation;
  std::array<double, 4> sameWave, otherWave; ///< clk over 16.026 for 1 to 4 operations per MFMA
};
const std::array<double, 4> free3 = {0.02, 0.024, 0.028, 4.03}, free3Inter = {-0.014, -0.012, -0.01, 3.97},
                            misaligned3Inter = {-0.014, -0.011, -0.009, 4.97};
const Measured measured[] = {
    {"v_add_f32 v20, v21, v22", free3, free3Inter},
    {"v_sub_f32 v20, v21, v22", free3, free3Inter},
    {"v_mul_f32 v20, v21, v22", free3, free3Inter},
    {"v_fma_f32 v20, v21, v22, v23", free3, misaligned3Inter},
    {"v_fmac_f32 v20, v21, v22", free3, free3Inter},
    {"v_max_f32 v20, v21, v22", free3, free3Inter},
    {"v_max3_f32 v20, v21, v22, v23", free3, misaligned3Inter},
    {"v_cmp_gt_f32 vcc, v21, v22", free3, free3Inter},
    {"v_cndmask_b32 v20, v21, v22, vcc", free3, free3Inter},
    {"v_add_u32 v20, v21, v22", free3, free3Inter},
    {"v_perm_b32 v20, v21, v22, v23", free3, misaligned3Inter},
    {"v_exp_f32 v20, v21", {4.028, 20.028, 36.028, 52.028}, {3.99, 19.966, 35.966, 51.966}},
    {"v_rcp_f32 v20, v21", {4.028, 20.028, 36.028, 52.028}, {3.99, 19.966, 35.966, 51.966}},
    {"v_pk_add_f32 v[20:21], v[22:23], v[24:25]", {12.012, 16.012, 20.013, 24.013}, {4.964, 9.964, 14.964, 19.964}},
    {"v_pk_mul_f32 v[20:21], v[22:23], v[24:25]", {12.012, 16.012, 20.013, 24.013}, {4.964, 9.964, 14.964, 19.965}},
};

TEST(CoIssue, OperationsUnderAnMfmaOfTheSameWave) {
  for (const Measured& m : measured)
    for (unsigned n = 1; n <= 4; ++n) {
      std::vector<std::string> body{"mfma"};
      body.insert(body.end(), n, m.operation);
      EXPECT_NEAR(clkPerGroup(body), 16.026 + m.sameWave[n - 1], 0.1) << n << " x " << m.operation;
    }
}

TEST(CoIssue, OperationsBesideTheMfmaOfAnotherWave) {
  for (const Measured& m : measured)
    for (unsigned n = 1; n <= 4; ++n)
      EXPECT_NEAR(clkPerGroup({"mfma"}, std::vector<std::string>(n, m.operation)), 16.026 + m.otherWave[n - 1],
                  0.2 + n * 1.0)
          << n << " x " << m.operation;
}

TEST(CoIssue, OrderDecidesWhatATranscendentalHides) {
  const std::string add = "v_add_f32 v20, v21, v22", exp = "v_exp_f32 v23, v24";
  EXPECT_NEAR(clkPerGroup({"mfma", add, add, add, "mfma", exp}), 36.053, 0.1);
  EXPECT_NEAR(clkPerGroup({"mfma", "mfma", add, add, add, exp}), 48.052, 0.1);
  EXPECT_NEAR(clkPerGroup({"mfma", "mfma", exp}), 36.040, 0.1);
}

TEST(CoIssue, TranscendentalsHoldTheValuForBothWaves) {
  const std::string exp = "v_exp_f32 v23, v24";
  for (const std::string other :
       {"v_add_f32 v20, v21, v22", "v_max_f32 v20, v21, v22", "v_cndmask_b32 v20, v21, v22, vcc",
        "v_pk_add_f32 v[20:21], v[26:27], v[28:29]", "v_perm_b32 v20, v21, v22, v25"}) {
    EXPECT_NEAR(clkPerGroup({exp, other}), 20.04, 0.1) << other;
    EXPECT_NEAR(clkPerGroup({exp}, {other}), 20.01, 0.6) << other;
  }
  EXPECT_NEAR(clkPerGroup({exp, "v_rcp_f32 v20, v21"}), 32.036, 0.1);
  EXPECT_NEAR(clkPerGroup({exp}, {"v_rcp_f32 v20, v21"}), 32.008, 0.1);
}

} // namespace
} // namespace asmevo::timing::fixture
