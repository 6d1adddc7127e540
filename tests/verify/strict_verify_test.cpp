// Strict runs as part of the verdict: what static lint and runs in order cannot see.
#include "verify/strict_runs.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::verify {
namespace {

using object::CodeObject;
using tests::Editable;

Options quick() {
  Options options;
  options.seeds = {0};
  options.dataVariants = 0;
  return options;
}

Verdict judge(const CodeObject& k0, const CodeObject& k1, const std::string& kernel, const Options& options = quick()) {
  auto verdict = verify(k0, k1, tests::kernelDispatch(kernel), tests::simulator(), options);
  EXPECT_TRUE(verdict) << (verdict ? "" : verdict.error().message);
  return verdict ? *std::move(verdict) : Verdict{};
}

/// transpose without the wait between its LDS writes and the barrier.
CodeObject withoutReleaseWait(const CodeObject& k0) {
  return tests::edited(k0, [](Editable& e) {
    Editable::Place place = e.find("s_barrier");
    --place.index;
    EXPECT_EQ(e.at(place).inst->text, "s_waitcnt lgkmcnt(0)");
    e.replace(place, "s_nop 0");
  });
}

TEST(StrictVerify, AMissingWaitBeforeABarrierIsUnsafe) {
  const CodeObject k0 = tests::kernelObject("transpose");
  const Verdict verdict = judge(k0, withoutReleaseWait(k0), "transpose");
  EXPECT_EQ(verdict.level, Level::unsafe) << verdict.reason;
  EXPECT_EQ(verdict.gate, "lint");
  // Registers are all waited for; other waves' LDS is not.
  EXPECT_FALSE(verdict.newFindings.empty());
  for (const Finding& finding : verdict.newFindings)
    EXPECT_EQ(finding.rule, "wait.order") << finding.message;
}

TEST(StrictVerify, WhatK0BreaksItselfIsNamedAndDoesNotReject) {
  const CodeObject broken = withoutReleaseWait(tests::kernelObject("transpose"));
  const CodeObject k1 = tests::edited(broken, [](Editable& e) { e.insert({e.find("s_barrier").block, 0}, "s_nop 0"); });
  const Verdict verdict = judge(broken, k1, "transpose");
  EXPECT_TRUE(accepted(verdict.level)) << verdict.reason;
  EXPECT_TRUE(std::ranges::any_of(verdict.knownStrictFindings, [](const Finding& f) { return f.rule == "lds_race"; }));
  EXPECT_TRUE(verdict.newStrictFindings.empty());
  const auto json = receipt(broken, k1, verdict, tests::kernelDispatch("transpose"), tests::simulator());
  EXPECT_EQ(json.at("strict").at("also_in_k0"), verdict.knownStrictFindings.size());
  EXPECT_EQ(json.at("strict").at("cases").at(0).at("deliveries"), nlohmann::json::array({"late", "lds-early", "wave"}));
}

TEST(StrictVerify, LargeDispatchesRunASampleAndSaySo) {
  const CodeObject k0 = tests::kernelObject("transpose");
  const CodeObject k1 = tests::edited(k0, [](Editable& e) { e.insert({e.find("s_barrier").block, 0}, "s_nop 0"); });
  Options options = quick();
  options.strictBudget = 2000;
  const Verdict sampled = judge(k0, k1, "transpose", options);
  ASSERT_EQ(sampled.strict.size(), 1u);
  EXPECT_NE(sampled.strict[0].workgroups.find(" of "), std::string::npos) << sampled.strict[0].workgroups;
  EXPECT_TRUE(accepted(sampled.level)) << sampled.reason;
  EXPECT_TRUE(judge(k0, k1, "transpose").strict[0].workgroups.starts_with("all "));
  EXPECT_EQ(judge(k0, withoutReleaseWait(k0), "transpose", options).level, Level::unsafe);
}

TEST(StrictVerify, SamplesHaveBothEndsAndFitTheBudget) {
  EXPECT_TRUE(strictSample(100, 1000, 1000, 1).empty());
  const std::vector<std::uint64_t> sample = strictSample(4096, 4096 * 1000, 64 * 1000, 1);
  ASSERT_EQ(sample.size(), 64u);
  EXPECT_EQ(sample.front(), 0u);
  EXPECT_EQ(sample.back(), 4095u);
  EXPECT_TRUE(std::ranges::is_sorted(sample));
  EXPECT_EQ(strictSample(4096, 4096 * 1000, 64 * 1000, 1), sample);
  EXPECT_NE(strictSample(4096, 4096 * 1000, 64 * 1000, 2), sample);
}

} // namespace
} // namespace asmevo::verify
