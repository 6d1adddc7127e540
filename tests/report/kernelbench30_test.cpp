// The kernels of the suite kernelbench30 on the simulator: bit for bit what the same source gives on the host, and
// what the problem asks for.
#include "report/kernelbench30_support.h"

#include "device/run_support.h"
#include "report/suite.h"

#include "host/twins.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <set>

namespace asmevo {
namespace {

using namespace test;

std::string suiteFile() {
  return ASMEVO_SOURCE_DIR "/suites/kernelbench30.json";
}

report::Suite suite() {
  return must(report::loadSuite(suiteFile(), {{"objects", ASMEVO_BINARY_DIR "/kernels/kernelbench30"}}));
}

std::vector<std::string> suiteNames() {
  std::vector<std::string> names;
  for (const report::SuiteKernel& kernel : suite().kernels)
    names.push_back(kernel.name);
  return names;
}

class KernelBench30 : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const report::SuiteKernel& kernel : suite().kernels)
      if (kernel.name == GetParam())
        entry = kernel;
    dispatch = must(report::loadDispatches(entry.verify));
    object = std::make_unique<object::CodeObject>(loadObject(entry.object));
    device = must(device::makeSimulator("mi308x"));
  }

  std::vector<Bytes> run(const dispatch::Case& launch) const {
    const auto kernel = must(device->load(*object, launch.kernel));
    emulator::RunResult result = must(kernel->launch(launch, {}));
    EXPECT_TRUE(result.guardViolations.empty()) << launch.name;
    return std::move(result.buffers);
  }

  report::SuiteKernel entry;
  dispatch::Dispatch dispatch;
  std::unique_ptr<object::CodeObject> object;
  std::unique_ptr<device::Device> device;
};

/// Which of two NaNs an operation hands on is not the source's to say: any NaN is as good as another.
TEST_P(KernelBench30, EqualsTheHostBuild) {
  const dispatch::Comparison anyNan{dispatch::Comparison::Mode::tolerance, 0, 0};
  for (const dispatch::Case& launch : dispatch.cases) {
    const std::vector<Bytes> expected = runTwin(launch.kernel, launch), actual = run(launch);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool floats = launch.buffers[i].dtype == dispatch::DType::f32;
      const auto difference =
          dispatch::compareBuffer(launch.buffers[i], floats ? anyNan : dispatch::Comparison{}, expected[i], actual[i]);
      EXPECT_FALSE(difference) << launch.name << ": " << difference->buffer << "[" << difference->element << "] "
                               << difference->expected << " on the host, " << difference->actual << " emulated; "
                               << difference->count << " differ";
    }
  }
}

TEST_P(KernelBench30, ComputesWhatTheProblemAsksFor) {
  constexpr double largest = std::numeric_limits<float>::max();
  for (const dispatch::Case& launch : dispatch.cases) {
    const Expectation expected = kernelBenchReference(launch);
    const std::vector<double> actual = elements(launch, run(launch), expected.buffer);
    ASSERT_EQ(actual.size(), expected.values.size()) << launch.name;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double want = expected.values[i];
      if (std::isnan(want) || std::fabs(want) > largest)
        ASSERT_TRUE(std::isnan(want) ? std::isnan(actual[i]) : actual[i] == std::copysign(INFINITY, want))
            << launch.name << ": element " << i << " is " << actual[i] << " instead of " << want;
      else
        ASSERT_LE(std::fabs(actual[i] - want), expected.bounds[i])
            << launch.name << ": element " << i << " is " << actual[i] << " instead of " << want;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelBench30, testing::ValuesIn(suiteNames()), [](const auto& i) { return i.param; });

/// The production shapes of the problems, elements of the inputs: those of the suite's first release.
TEST(KernelBench30Suite, TimesTheProblemsShapes) {
  const std::map<std::string, std::vector<std::vector<std::uint64_t>>> shapes = {
      {"p01_square_matmul", {{2048, 2048}, {2048, 2048}}},
      {"p04_matrix_vector", {{256, 131072}, {131072}}},
      {"p05_matrix_scalar", {{16384, 4096}}},
      {"p12_diagonal_matmul", {{4096}, {4096, 4096}}},
      {"p16_matmul_transposed_a", {{4096, 1024}, {4096, 2048}}},
      {"p36_rms_norm", {{16, 64, 65536}}},
      {"p40_layer_norm", {{16, 4194304}}},
      {"p42_max_pool", {{512, 128, 128}}},
      {"p45_average_pool", {{1024, 256, 256}}},
      {"p47_sum_reduction", {{16, 256, 256}}},
      {"p49_max_reduction", {{16, 256, 256}}},
      {"p51_argmax", {{16, 256, 256}}},
      {"p82_depthwise_conv", {{16, 3, 256, 256}, {3, 3, 3}}},
      {"p88_new_gelu", {{2000, 2000}}},
      {"p89_cumsum", {{128, 4000}}},
  };
  for (const report::SuiteKernel& kernel : suite().kernels) {
    const Bytes bytes = must(readFile(kernel.time));
    nlohmann::json json = nlohmann::json::parse(bytes.begin(), bytes.end());
    if (json.contains("cases"))
      json = json["cases"][0];
    const auto expected =
        shapes.contains(kernel.name) ? shapes.at(kernel.name) : std::vector<std::vector<std::uint64_t>>{{16, 16384}};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string buffer = json["args"][i]["buffer"];
      EXPECT_EQ(json["buffers"][buffer]["shape"], nlohmann::json(expected[i])) << kernel.name << " " << buffer;
    }
  }
}

TEST(KernelBench30Suite, HasEveryKernelOnce) {
  const std::vector<std::string> names = suiteNames();
  EXPECT_EQ(names.size(), 30u);
  std::set<std::string> known(names.begin(), names.end());
  known.insert("p40_layer_norm_sums"); // the second kernel of its object
  const std::vector<std::string> twins = host::kernelBenchNames();
  EXPECT_EQ(known, std::set<std::string>(twins.begin(), twins.end()));
}

} // namespace
} // namespace asmevo
