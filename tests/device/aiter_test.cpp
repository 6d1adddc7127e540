// Production objects of AITer on the simulator, against what they compute, in doubles.
#include "device/run_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace asmevo {
namespace {

using namespace test;

emulator::RunResult runProduction(const std::string& object, const dispatch::Case& launch,
                                  const emulator::RunOptions& options = {}) {
  const auto device = must(device::makeSimulator("mi300x"));
  const auto kernel = must(device->load(loadObject(corpusObject(object)), launch.kernel));
  emulator::RunResult result = must(kernel->launch(launch, options));
  EXPECT_TRUE(result.guardViolations.empty());
  return result;
}

/// Inputs come back as they went in.
void expectUntouched(const dispatch::Case& launch, const emulator::RunResult& result,
                     std::initializer_list<const char*> names) {
  for (const char* name : names)
    for (std::size_t i = 0; i < launch.buffers.size(); ++i)
      if (launch.buffers[i].name == name) {
        EXPECT_EQ(result.buffers[i], launch.buffers[i].initial) << name;
      }
}

TEST(Aiter, TopkSoftmaxPicksTheLargestAndNormalises) {
  const dispatch::Case launch = loadDispatch(dataFile("dispatch/topksoftmax_12x256x8.dispatch.json")).cases.at(0);
  const emulator::RunResult result = runProduction("topksoftmax/topksoftmax_12x256x8.co", launch);
  expectUntouched(launch, result, {"logits"});
  const auto logits = elements(launch, result.buffers, "logits");
  const auto ids = elements(launch, result.buffers, "ids"), weights = elements(launch, result.buffers, "weights");
  constexpr std::size_t tokens = 29, experts = 256, topk = 8;
  ASSERT_EQ(ids.size(), tokens * topk);
  for (std::size_t token = 0; token < tokens; ++token) {
    const double* row = &logits[token * experts];
    std::vector<std::size_t> order(experts);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return row[a] > row[b] || (row[a] == row[b] && a < b); });
    double sum = 0;
    for (std::size_t k = 0; k < topk; ++k)
      sum += std::exp(row[order[k]]);
    for (std::size_t k = 0; k < topk; ++k) {
      EXPECT_EQ(ids[token * topk + k], static_cast<double>(order[k])) << token << " " << k;
      const double want = std::exp(row[order[k]]) / sum;
      EXPECT_NEAR(weights[token * topk + k], want, 1e-5 * want + 1e-7) << token << " " << k;
    }
  }
}

TEST(Aiter, AttentionForward) {
  const dispatch::Case launch = loadDispatch(dataFile("dispatch/fmha_fwd_hd128_300x200.dispatch.json")).cases.at(0);
  const emulator::RunResult result = runProduction("fmha_v3_fwd/MI300/fwd_hd128_bf16_rtne.co", launch);
  expectUntouched(launch, result, {"q", "k", "v"});
  const auto q = elements(launch, result.buffers, "q"), k = elements(launch, result.buffers, "k");
  const auto v = elements(launch, result.buffers, "v"), o = elements(launch, result.buffers, "o");
  const auto lse = elements(launch, result.buffers, "lse");
  // q, o: [queries, heads, 128]; k, v: [keys, 1, 128]; lse: [heads, queries].
  constexpr std::size_t queries = 300, keys = 200, heads = 2, size = 128;
  const double scale = 1 / std::sqrt(128.0);
  double errorSquares = 0, squares = 0;
  std::vector<double> weight(keys), want(size);
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t i = 0; i < queries; ++i) {
      const double* query = &q[(i * heads + head) * size];
      double largest = -1e300, sum = 0;
      for (std::size_t j = 0; j < keys; ++j) {
        weight[j] = scale * std::inner_product(query, query + size, &k[j * size], 0.0);
        largest = std::max(largest, weight[j]);
      }
      for (double& w : weight)
        sum += w = std::exp(w - largest);
      std::fill(want.begin(), want.end(), 0.0);
      for (std::size_t j = 0; j < keys; ++j)
        for (std::size_t d = 0; d < size; ++d)
          want[d] += weight[j] / sum * v[j * size + d];
      for (std::size_t d = 0; d < size; ++d) {
        const double have = o[(i * heads + head) * size + d];
        ASSERT_NEAR(have, want[d], 0.02 + std::fabs(want[d]) / 128) << head << " " << i << " " << d;
        errorSquares += (have - want[d]) * (have - want[d]);
        squares += want[d] * want[d];
      }
      const double logSum = largest + std::log(sum);
      ASSERT_NEAR(lse[head * queries + i], logSum, 1e-3 + 1e-4 * std::fabs(logSum)) << head << " " << i;
    }
  EXPECT_LT(std::sqrt(errorSquares / squares), 8e-3);
}

} // namespace
} // namespace asmevo
