// The MI300X GEMM main loop that AMD traced (ROCm/gfx950-gluon-tutorials, kernels/gemm/gfx942/intra_wave): four waves,
// one per SIMD; per iteration 256 MFMA 16x16x16 f16 (4096 clk), 32 ds_read_b128, 16 ds_write_b128, 16
// buffer_load_dwordx4. Published: the order of the baseline and clk per iteration of it and of reorderings.
#include "timing_support.h"

#include <sstream>

namespace asmevo::timing::fixture {
namespace {

/// "w B R4 M1": M mfma, R ds_read, W ds_write, G buffer_load, B barrier, w waits for LDS, v waits for the oldest loads.
class GemmLoop {
 public:
  explicit GemmLoop(const std::string& order) : program(statements(order)) {}

  /// Clk of a steady iteration.
  double clkPerIteration() const {
    constexpr unsigned iterations = 8;
    std::vector<emulator::WaveTrace> waves;
    for (std::uint64_t wave = 0; wave < 4; ++wave) {
      WaveBuilder b(program);
      std::uint64_t load = 0;
      for (unsigned i = 0; i < iterations; ++i)
        for (std::size_t s = 0; s < kinds.size(); ++s) {
          b.step(s);
          if (kinds[s] == 'R')
            b.lds(16, 16);
          else if (kinds[s] == 'W')
            b.lds(16, 16, true);
          else if (kinds[s] == 'G')
            b.global(0x10'0000'0000 + (load++ * 4 + wave) * 1024, 16);
        }
      waves.push_back(b.step(kinds.size()).trace);
    }
    const Replay run = simulate(program, waves);
    const std::size_t length = kinds.size();
    return static_cast<double>(run.gap(3 * length, 7 * length)) / 4;
  }

  std::string kinds;

 private:
  std::vector<std::string> statements(const std::string& order) {
    std::vector<std::string> result;
    std::istringstream in(order);
    unsigned mfma = 0;
    // Loads are written to LDS one iteration later, in order: the waits let the newer ones stay in flight.
    const unsigned inFlight[] = {15, 13, 12};
    unsigned vectorWaits = 0;
    for (std::string token; in >> token;) {
      const unsigned count = token.size() > 1 ? static_cast<unsigned>(std::stoul(token.substr(1))) : 1;
      for (unsigned i = 0; i < count; ++i) {
        kinds += token[0];
        switch (token[0]) {
        case 'M':
          result.push_back(fmt::format("v_mfma_f32_16x16x16_f16 v[{0}:{1}], v[200:201], v[202:203], v[{0}:{1}]",
                                       mfma % 48 * 4, mfma % 48 * 4 + 3));
          ++mfma;
          break;
        case 'R':
          result.push_back("ds_read_b128 v[204:207], v220");
          break;
        case 'W':
          result.push_back("ds_write_b128 v221, v[208:211]");
          break;
        case 'G':
          result.push_back("buffer_load_dwordx4 v[212:215], v222, s[4:7], 0 offen");
          break;
        case 'B':
          result.push_back("s_barrier");
          break;
        case 'v':
          result.push_back(fmt::format("s_waitcnt vmcnt({})", inFlight[vectorWaits++ % 3]));
          break;
        default:
          result.push_back("s_waitcnt lgkmcnt(0)");
        }
      }
    }
    return result;
  }

  Program program;
};

const std::string clustered = "w B R4 M1 R4 M3 w B M1 R3 M1 v W1 v W2 v W1 G2 M1 G2 W4 M1 G4 M23 R1 M1 R1 M46 R1 M1 R1 "
                              "M1 R1 w B W4 G3 W4 G5 M72 R3 M7 R3 M65 R3 M12 R3 M10 R3 M2 R1 M8";

std::string repeat(const std::string& text, unsigned times) {
  std::string result;
  for (unsigned i = 0; i < times; ++i)
    result += text + " ";
  return result;
}

/// The same work with two MFMA after every ds_read and four after every buffer_load, as their first reordering.
std::string spread() {
  return "w B " + repeat("R1 M2", 8) + "w B " + repeat("R1 M2", 3) + "v W1 M2 v W2 M2 v W1 M2 " + repeat("G1 M4", 4) +
         "W4 " + repeat("G1 M4", 4) + repeat("R1 M2", 5) + "w B W4 " + repeat("G1 M4", 3) + "W4 " + repeat("G1 M4", 5) +
         "M90 " + repeat("R1 M2", 16) + "M32";
}

std::string without(const std::string& order, char kind) {
  std::string result;
  std::istringstream in(order);
  for (std::string token; in >> token;)
    if (token[0] != kind)
      result += token + " ";
  return result;
}

TEST(GemmLoop, CountsAreThePublishedOnes) {
  for (const std::string& order : {clustered, spread()}) {
    const GemmLoop loop(order);
    const auto count = [&](char kind) { return std::count(loop.kinds.begin(), loop.kinds.end(), kind); };
    EXPECT_EQ(count('M'), 256);
    EXPECT_EQ(count('R'), 32);
    EXPECT_EQ(count('W'), 16);
    EXPECT_EQ(count('G'), 16);
    EXPECT_EQ(count('B'), 3);
  }
}

TEST(GemmLoop, SpreadingMemoryOperationsPays) {
  const double baseline = GemmLoop(clustered).clkPerIteration(), reordered = GemmLoop(spread()).clkPerIteration(),
               noWrites = GemmLoop(without(spread(), 'W')).clkPerIteration(),
               mfmaOnly = GemmLoop("M256").clkPerIteration();
  EXPECT_EQ(mfmaOnly, 4096);
  EXPECT_NEAR(baseline, 5877, 0.15 * 5877) << "published baseline";
  // Their best order without the writes ran at 4255; ours is not exactly theirs.
  EXPECT_NEAR(noWrites, 4255, 0.08 * 4255);
  EXPECT_GT(baseline, reordered);
  EXPECT_GT(reordered, noWrites);
  EXPECT_GT(noWrites, mfmaOnly);
}

} // namespace
} // namespace asmevo::timing::fixture
