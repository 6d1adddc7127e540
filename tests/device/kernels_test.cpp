// Every kernel of kernels/ on the simulator, bit for bit against the same source built for the host.
#include "device/run_support.h"

#include "host/twins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace asmevo {
namespace {

using namespace test;

class Kernels : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    launch = loadDispatch(kernelDispatch(GetParam())).cases.at(0);
    expected = runTwin(GetParam(), launch);
    device = must(device::makeSimulator("mi300x"));
    kernel = must(device->load(loadObject(kernelObject(GetParam())), GetParam()));
  }

  void expectTwinsResult(const emulator::RunOptions& options) {
    const emulator::RunResult result = must(kernel->launch(launch, options));
    EXPECT_TRUE(result.guardViolations.empty());
    ASSERT_EQ(result.buffers.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto difference = dispatch::compareBuffer(launch.buffers[i], {}, expected[i], result.buffers[i]);
      EXPECT_FALSE(difference) << difference->buffer << "[" << difference->element << "] " << difference->expected
                               << " on the host, " << difference->actual << " emulated; " << difference->count
                               << " differ";
    }
  }

  dispatch::Case launch;
  std::vector<Bytes> expected;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<device::LoadedKernel> kernel;
};

TEST_P(Kernels, EqualTheHostBuild) {
  // The launch does something: some buffer is not what it was.
  bool changed = false;
  for (std::size_t i = 0; i < expected.size(); ++i)
    changed |= expected[i] != launch.buffers[i].initial;
  ASSERT_TRUE(changed);
  expectTwinsResult({});
}

TEST_P(Kernels, DoNotDependOnTheOrderOfWaves) {
  emulator::RunOptions options;
  options.seed = 7;
  expectTwinsResult(options);
  options.seed = 0;
  options.waveToBarrier = true;
  options.poisonSeed = 99;
  expectTwinsResult(options);
  options.waveToBarrier = false;
  options.threads = 2;
  expectTwinsResult(options);
}

TEST_P(Kernels, AreCountedAndTimed) {
  emulator::RunOptions options;
  options.coverage = true;
  const emulator::RunResult result = must(kernel->launch(launch, options));
  std::uint64_t waves = 1, items = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    waves *= (launch.gridSize[d] + launch.workgroupSize[d] - 1) / launch.workgroupSize[d];
    items *= launch.workgroupSize[d];
  }
  if (GetParam() != "launch_shape") { // it has partial workgroups
    EXPECT_EQ(result.waves, waves * ((items + 63) / 64));
  }
  std::uint64_t executed = 0;
  for (const auto& [address, count] : result.coverage)
    executed += count;
  EXPECT_EQ(executed, result.waveInstructions);

  const timing::Estimate estimate = must(kernel->time(launch));
  EXPECT_GT(estimate.cycles, 0);
  EXPECT_TRUE(std::isfinite(estimate.microseconds));
  EXPECT_FALSE(estimate.instructions.empty());
  EXPECT_EQ(must(kernel->time(launch)).cycles, estimate.cycles);
  // What the model charges is code that ran, at the addresses the object has it.
  std::uint64_t issued = 0;
  for (const timing::InstructionProfile& line : estimate.instructions) {
    const auto ran = [&](const auto& entry) { return entry.first == estimate.codeAddress + line.offset; };
    EXPECT_TRUE(line.issued == 0 || std::any_of(result.coverage.begin(), result.coverage.end(), ran)) << line.offset;
    issued += line.issued;
  }
  EXPECT_GT(issued, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(host::kernelNames()), [](const auto& i) { return i.param; });

/// The twins are the oracle, so two of them are held against what the mathematics says.
TEST(Twins, MatmulIsAMatmul) {
  const dispatch::Case launch = loadDispatch(kernelDispatch("matmul_mfma")).cases.at(0);
  const std::vector<Bytes> buffers = runTwin("matmul_mfma", launch);
  const auto a = elements(launch, buffers, "a"), b = elements(launch, buffers, "b"), c = elements(launch, buffers, "c");
  for (std::size_t row = 0; row < 256; ++row)
    for (std::size_t column = 0; column < 256; ++column) {
      double sum = 0, size = 0;
      for (std::size_t k = 0; k < 128; ++k) {
        sum += a[row * 128 + k] * b[column * 128 + k];
        size += std::fabs(a[row * 128 + k] * b[column * 128 + k]);
      }
      ASSERT_NEAR(c[row * 256 + column], sum, size * 1e-6) << row << " " << column;
    }
}

TEST(Twins, SoftmaxRowsSumToOne) {
  const dispatch::Case launch = loadDispatch(kernelDispatch("softmax")).cases.at(0);
  const std::vector<Bytes> buffers = runTwin("softmax", launch);
  const auto in = elements(launch, buffers, "in"), out = elements(launch, buffers, "out");
  for (std::size_t row = 0; row < 24; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 1000; ++i)
      sum += std::exp(in[row * 1000 + i]);
    for (std::size_t i = 0; i < 1000; ++i) {
      const double want = std::exp(in[row * 1000 + i]) / sum;
      ASSERT_NEAR(out[row * 1000 + i], want, 2e-6 * want) << row << " " << i;
    }
  }
}

/// A sampled workgroup that waits for one outside the sample: the whole grid has to run for it.
TEST(Simulator, TimesWorkgroupsThatWaitForEachOther) {
  const dispatch::Case launch = loadDispatch(dataFile("device/wait_for_next.dispatch.json")).cases.at(0);
  const auto simulator = must(device::makeSimulator("mi300x"));
  const auto kernel = must(simulator->load(loadObject(kernelObject("wait_for_next")), ""));
  EXPECT_EQ(elements(launch, must(kernel->launch(launch, {})).buffers, "values"),
            (std::vector<double>{64, 32, 16, 8, 4, 2}));
  EXPECT_GT(must(kernel->time(launch)).cycles, 0);
}

TEST(Simulator, NamesItselfAndRefusesUnknownChipsAndKernels) {
  const auto simulator = must(device::makeSimulator("mi300a"));
  EXPECT_EQ(simulator->name(), "sim:mi300a");
  EXPECT_TRUE(simulator->modelled());
  EXPECT_FALSE(device::makeSimulator("mi300z"));
  const auto missing = simulator->load(loadObject(kernelObject("relu")), "gelu");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("relu"), std::string::npos) << missing.error().message;
}

} // namespace
} // namespace asmevo
