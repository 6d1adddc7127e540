// Where an edited kernel first does something else than the original.
#include "verify/divergence.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

namespace asmevo::tests {
namespace {

using verify::Divergence;
using verify::DivergenceReport;

DivergenceReport diverge(const std::string& kernel, const std::function<void(Editable&)>& edit) {
  const object::CodeObject k0 = kernelObject(kernel);
  const auto report = verify::findDivergence(k0, edited(k0, edit), kernelDispatch(kernel).cases.at(0));
  EXPECT_TRUE(report) << report.error().message;
  return *report;
}

std::uint64_t addressOf(const std::string& kernel, const std::string& base) {
  Editable original(kernelObject(kernel));
  return original.at(original.find(base)).address;
}

TEST(Divergence, EqualKernelsHaveNone) {
  for (const char* kernel : {"vector_add", "matmul_tiled", "histogram"}) {
    const DivergenceReport report = diverge(kernel, [](Editable&) {});
    EXPECT_FALSE(report.first) << kernel << ": " << report.first->where;
    EXPECT_TRUE(report.differentBuffers.empty());
    EXPECT_TRUE(report.notes.empty());
    EXPECT_GT(report.visits, report.waves) << kernel;
  }
}

TEST(Divergence, CodeThatMovesIsNoDifference) {
  // Everything behind the inserted instructions has other addresses, also the ones that end up in registers.
  for (const char* kernel : {"device_call", "table_lookup", "reduce_dpp"}) {
    const DivergenceReport report = diverge(kernel, [](Editable& e) {
      for (unsigned i = 0; i < 40; ++i)
        e.insert({e.program.functions.front().entryBlock, 0}, "s_nop 0");
    });
    EXPECT_FALSE(report.first) << kernel << ": " << report.first->where;
    EXPECT_TRUE(report.differentBuffers.empty()) << kernel;
  }
}

TEST(Divergence, WrongArithmeticIsFoundWhereItIsStored) {
  const DivergenceReport report = diverge("vector_add", [](Editable& e) {
    const auto at = e.find("v_add_f32");
    std::string text = e.at(at).inst->text;
    text.replace(0, 9, "v_sub_f32");
    e.replace(at, text);
  });
  ASSERT_TRUE(report.first);
  const Divergence& first = *report.first;
  EXPECT_EQ(first.workgroup, 0u);
  EXPECT_EQ(first.wave, 0u);
  ASSERT_TRUE(first.lane);
  EXPECT_EQ(first.kind, Divergence::Kind::memory);
  EXPECT_EQ(first.where, fmt::format("buffer 'c' + {:#x}", *first.lane * 4));
  EXPECT_EQ(first.k0.pc, addressOf("vector_add", "global_store_dword"));
  EXPECT_NE(first.k0.value, first.k1.value);
  EXPECT_EQ(first.k0.text, first.k1.text);
}

TEST(Divergence, WrongRegisterIsFoundBeforeItsStore) {
  // The last multiply-add of the loop over tiles takes a wrong factor; the sum is stored after the loop.
  std::uint64_t at = 0;
  const DivergenceReport report = diverge("matmul_tiled", [&](Editable& e) {
    const auto place = e.find("v_fmac_f32", 15);
    at = e.at(place).address;
    const std::string text = e.at(place).inst->text; // "v_fmac_f32_e32 vSUM, vA, vB"
    const std::size_t a = text.find(", v") + 2, b = text.rfind(", v") + 2;
    e.replace(place, text.substr(0, b) + text.substr(a, b - 2 - a));
  });
  ASSERT_TRUE(report.first);
  const Divergence& first = *report.first;
  EXPECT_EQ(first.kind, Divergence::Kind::reg);
  EXPECT_TRUE(first.where.starts_with("v")) << first.where;
  EXPECT_EQ(first.k0.pc, at);
  EXPECT_TRUE(first.k0.text.starts_with("v_fmac_f32_e32 " + first.where)) << first.k0.text;
  EXPECT_TRUE(first.k1.text.starts_with("v_fmac_f32_e32 " + first.where)) << first.k1.text;
  EXPECT_NE(first.k0.value, first.k1.value);
  EXPECT_TRUE(first.lane);
}

TEST(Divergence, BranchesThatGoElsewhere) {
  const DivergenceReport report = diverge("vector_add", [](Editable& e) {
    // No lane is in range: the body is skipped.
    const auto at = e.find("s_and_saveexec_b64");
    e.replace(at, "s_mov_b64 exec, 0");
  });
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->kind, Divergence::Kind::controlFlow);
  EXPECT_EQ(report.first->where, "next block");
  EXPECT_NE(report.first->k0.value, report.first->k1.value);
}

TEST(Divergence, KernelsThatFaultAreComparedUpToThere) {
  const DivergenceReport report = diverge("vector_add", [](Editable& e) {
    const auto at = e.find("global_store_dword");
    e.insert(at, "s_trap 2");
  });
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_TRUE(report.notes[0].starts_with("K1: ")) << report.notes[0];
}

TEST(Divergence, LimitOnWhatIsKeptIsSaid) {
  const object::CodeObject k0 = kernelObject("vector_add");
  verify::DivergenceOptions options;
  options.maxVisits = 3;
  const auto report = verify::findDivergence(k0, k0, kernelDispatch("vector_add").cases.at(0), options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->first);
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_EQ(report->visits, 3u);
}

} // namespace
} // namespace asmevo::tests
