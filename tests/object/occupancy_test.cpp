/// Occupancy on every kind of target against what LLVM's backend says when it compiles the same register counts.

#include "object/container_support.h"
#include "object/review.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace asmevo::object {
namespace {

using testing::runTool;
using testing::TestFolder;

constexpr unsigned counts[] = {1, 24, 25, 48, 64, 65, 84, 96, 97, 128, 129, 168, 192, 193, 256};

struct Case {
  const char* target;
  unsigned waveSize; ///< 0: the target's own
};

class CompiledOccupancy : public ::testing::TestWithParam<Case> {};

TEST_P(CompiledOccupancy, AgreesWithTheBackend) {
  const auto& [target, waveSize] = GetParam();
  const TestFolder folder;
  std::string source;
  for (const unsigned count : counts)
    source +=
        fmt::format("__attribute__((reqd_work_group_size(64, 1, 1))) kernel void k{}() {{ __asm volatile(\"\" ::: "
                    "\"v{}\"); }}\n",
                    count, count - 1);
  ASSERT_TRUE(writeFileAtomic(folder.at("k.cl"), source));
  std::vector<std::string> command = {"clang-22",
                                      "-x",
                                      "cl",
                                      "-O1",
                                      "-nogpulib",
                                      "-target",
                                      "amdgcn-amd-amdhsa",
                                      std::string("-mcpu=") + target,
                                      "-Rpass-analysis=kernel-resource-usage",
                                      folder.at("k.cl"),
                                      "-o",
                                      folder.at("k.co")};
  if (waveSize == 64)
    command.push_back("-mwavefrontsize64");
  std::istringstream remarks(runTool(command).err);
  std::map<std::string, unsigned> expected;
  std::string name;
  for (std::string line; std::getline(remarks, line);) {
    const auto after = [&](const std::string& key) {
      const std::size_t found = line.find(key);
      return found == std::string::npos ? std::string() : line.substr(found + key.size());
    };
    if (const std::string text = after("Function Name: "); !text.empty())
      name = text.substr(0, text.find(' '));
    if (const std::string text = after("Occupancy [waves/SIMD]: "); !text.empty())
      expected[name] = static_cast<unsigned>(std::stoul(text));
  }
  ASSERT_EQ(expected.size(), std::size(counts));
  const auto object = CodeObject::load(folder.at("k.co"));
  ASSERT_TRUE(object) << object.error().message;
  ASSERT_EQ(object->kernels().size(), std::size(counts));
  EXPECT_EQ(object->target().processor, target);
  for (const Kernel& kernel : object->kernels())
    EXPECT_EQ(occupancyOf(object->target(), kernel).wavesPerSimd, expected.at(kernel.name)) << kernel.name;
}

INSTANTIATE_TEST_SUITE_P(Targets, CompiledOccupancy,
                         ::testing::Values(Case{"gfx803", 0}, Case{"gfx900", 0}, Case{"gfx906", 0}, Case{"gfx908", 0},
                                           Case{"gfx90a", 0}, Case{"gfx942", 0}, Case{"gfx950", 0}, Case{"gfx1010", 0},
                                           Case{"gfx1030", 0}, Case{"gfx1030", 64}, Case{"gfx1100", 0},
                                           Case{"gfx1100", 64}, Case{"gfx1102", 0}, Case{"gfx1151", 0},
                                           Case{"gfx1201", 0}, Case{"gfx1201", 64}, Case{"gfx1250", 0},
                                           Case{"gfx9-4-generic", 0}, Case{"gfx11-generic", 0}),
                         [](const auto& test) {
                           std::string name = test.param.target;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + (test.param.waveSize == 64 ? "_wave64" : "");
                         });

} // namespace
} // namespace asmevo::object
