#include "host/twin_call.h"

#define ASMEVO_HOST
#include "reviewer/block_sum.hip"
#include "reviewer/heat_step.hip"
#include "reviewer/small_gemm.hip"

namespace asmevo::host {
namespace {

constexpr Twin twins[] = {
    {"block_sum", run<block_sum>},
    {"heat_step", run<heat_step>},
    {"small_gemm", run<small_gemm>},
};

} // namespace

std::span<const Twin> reviewerTwins() {
  return twins;
}

std::vector<std::string> reviewerNames() {
  std::vector<std::string> names;
  for (const Twin& twin : twins)
    names.emplace_back(twin.name);
  return names;
}

} // namespace asmevo::host
