// Every kernel of kernels/ on the simulator, bit for bit against the same source built for the host.
#include "device/run_support.h"

#include "host/twins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

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

/// Sizes around those of waves, workgroups and tiles: the guards, tails and partial tiles of every kernel that takes a
/// size.
TEST(KernelSizes, EqualTheHostBuildAtTheEdges) {
  struct Edge {
    const char* kernel;
    std::vector<std::size_t> arguments; ///< numbers of the size arguments
    std::vector<std::vector<std::int32_t>> sizes;
  };
  const std::vector<std::vector<std::int32_t>> lengths = {{0},   {1},   {3},   {63},   {64},  {65},
                                                          {255}, {256}, {257}, {1023}, {4099}};
  const std::vector<Edge> edges = {
      {"vector_add", {3}, lengths},
      {"saxpy", {3}, lengths},
      {"relu", {2}, lengths},
      {"reduce_dpp", {2}, lengths},
      {"histogram", {2}, lengths},
      {"device_call", {3}, lengths},
      {"table_lookup", {2, 3}, {{0, 37}, {1, 1}, {64, 3}, {65, 37}, {257, 2}}},
      {"softmax", {2}, {{1}, {63}, {64}, {65}, {255}, {256}, {257}, {999}}},
      {"layernorm", {4, 5}, {{1, 1}, {3, 63}, {4, 64}, {5, 65}, {94, 127}, {93, 499}}},
      {"transpose", {2, 3}, {{1, 1}, {31, 33}, {32, 32}, {33, 31}, {65, 7}, {199, 149}}},
      {"matmul_tiled", {3, 4, 5}, {{1, 1, 1}, {15, 17, 16}, {16, 16, 15}, {17, 33, 1}, {99, 89, 69}}},
      {"matmul_mfma", {4}, {{8}, {16}, {24}, {120}}}};
  const auto device = must(device::makeSimulator("mi300x"));
  for (const Edge& edge : edges) {
    const auto kernel = must(device->load(loadObject(kernelObject(edge.kernel)), edge.kernel));
    dispatch::Case launch = loadDispatch(kernelDispatch(edge.kernel)).cases.at(0);
    for (const std::vector<std::int32_t>& size : edge.sizes) {
      for (std::size_t i = 0; i < size.size(); ++i) {
        Bytes& bytes = launch.arguments.at(edge.arguments[i]).bytes;
        ASSERT_EQ(bytes.size(), sizeof size[i]) << edge.kernel;
        std::memcpy(bytes.data(), &size[i], sizeof size[i]);
      }
      const std::vector<Bytes> expected = runTwin(edge.kernel, launch);
      const emulator::RunResult result = must(kernel->launch(launch, {}));
      EXPECT_TRUE(result.guardViolations.empty()) << edge.kernel << " " << size[0];
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto difference = dispatch::compareBuffer(launch.buffers[i], {}, expected[i], result.buffers[i]);
        EXPECT_FALSE(difference) << edge.kernel << " " << size[0] << ": " << difference->buffer << "["
                                 << difference->element << "] " << difference->expected << " on the host, "
                                 << difference->actual << " emulated";
      }
    }
  }
}

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
