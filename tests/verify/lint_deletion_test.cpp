// Every wait and s_nop of the compiled kernels, taken out alone: lint against the original flags each that matters. The
// program lint_deletions does the same over more targets and options of the compiler (scripts/lint_pool).
#include "verify/lint_deletion.h"

#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <unistd.h>

namespace asmevo::tests {
namespace {

struct Counts {
  std::size_t tried = 0, live = 0, undecided = 0;
  std::string missed;
};

Counts removeAll(object::CodeObject object) {
  DeletionTarget target(std::move(object));
  Counts counts;
  for (const auto& candidate : target.candidates()) {
    const auto trial = target.remove(candidate);
    if (!trial)
      continue;
    ++counts.tried;
    counts.undecided += !trial->live;
    if (!trial->live.value_or(false))
      continue;
    ++counts.live;
    if (!trial->flagged)
      counts.missed += fmt::format("{:#x}: {}\n", trial->address, trial->text);
  }
  return counts;
}

class LintDeletion : public testing::TestWithParam<const char*> {};

TEST_P(LintDeletion, EveryLiveOneIsFlagged) {
  const Counts counts = removeAll(kernelObject(GetParam()));
  EXPECT_GE(counts.live, 1u);
  EXPECT_EQ(counts.undecided, 0u);
  EXPECT_EQ(counts.missed, "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, LintDeletion,
                         testing::Values("device_call", "histogram", "launch_shape", "layernorm", "matmul_mfma",
                                         "matmul_tiled", "reduce_dpp", "relu", "saxpy", "softmax", "table_lookup",
                                         "transpose", "vector_add", "wait_for_next"),
                         [](const auto& info) { return std::string(info.param); });

/// The same sources for another target, by name and target.
class LintDeletionElsewhere : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(LintDeletionElsewhere, EveryLiveOneIsFlagged) {
  const auto [name, target] = GetParam();
  const std::filesystem::path output =
      std::filesystem::temp_directory_path() / fmt::format("asmevo_deletion_{}_{}_{}.co", ::getpid(), name, target);
  const std::string command =
      fmt::format("clang++-22 -x hip --offload-arch={} --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc "
                  "-I{}/kernels -std=c++20 -O2 {}/kernels/{}.hip -o {}",
                  target, ASMEVO_SOURCE_DIR, ASMEVO_SOURCE_DIR, name, output.string());
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  auto object = object::CodeObject::load(output.string());
  std::filesystem::remove(output);
  ASSERT_TRUE(object);
  const Counts counts = removeAll(*std::move(object));
  EXPECT_GE(counts.live, 8u);
  EXPECT_EQ(counts.undecided, 0u);
  EXPECT_EQ(counts.missed, "");
}

INSTANTIATE_TEST_SUITE_P(Targets, LintDeletionElsewhere,
                         testing::Values(std::pair("layernorm", "gfx90a"), std::pair("layernorm", "gfx950"),
                                         std::pair("softmax", "gfx90a"), std::pair("softmax", "gfx950"),
                                         std::pair("reduce_dpp", "gfx950"), std::pair("histogram", "gfx950")),
                         [](const auto& info) { return std::string(info.param.first) + "_" + info.param.second; });

// The oracle of the deletions finds nothing wrong with a compiled kernel, and every wait of this one matters.
TEST(PathViolations, OfACompiledKernel) {
  const Editable whole(kernelObject("relu"));
  const auto& kernel = *whole.program.functionOf(0);
  EXPECT_EQ(pathViolations(whole.program, kernel, 256)->size(), 0u);
  const auto waits = removeAll(kernelObject("relu"));
  EXPECT_EQ(waits.live, waits.tried);
}

} // namespace
} // namespace asmevo::tests
