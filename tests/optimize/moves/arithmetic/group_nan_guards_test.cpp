// NaN guards tested in groups: what is made of rounding code, that it rounds right whatever the values are, and which
// guards stay where they are.
#include "optimize/moves/arithmetic/group_nan_guards.h"

#include "optimize/moves/arithmetic/nan_test.h"
#include "optimize/optimize_support.h"
#include "verify/verify_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace asmevo::optimize {
namespace {

using tests::MoveFixture;
using Lines = std::vector<std::string>;

constexpr unsigned valueCount = 8, lanes = 64, resultBase = 1024; ///< dwords of the buffer in front of the results

dispatch::Dispatch floatDispatch() {
  auto parsed = dispatch::parseDispatch(R"({"asmevo_dispatch": 1, "kernel": "k", "workgroup_size": [64, 1, 1],
      "grid_size": [64, 1, 1], "args": [{"buffer": "x"}],
      "buffers": {"x": {"dtype": "f32", "shape": [64, 32], "init": {"normal": {"mean": 0, "std": 1, "seed": 3}}}}})",
                                        ".", "text");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *std::move(parsed);
}

/// Values in v2 to v9, 0x7fff in v31, a NaN's bits in v30; `code` leaves what is stored in the same registers.
std::unique_ptr<MoveFixture> fixtureOf(const std::string& code) {
  std::string text = "v_mov_b32_e32 v31, 0x7fff\n v_mov_b32_e32 v30, 0x7fff0000\n v_add_u32_e32 v20, 0x1000, v1\n";
  for (unsigned i = 0; i < valueCount; ++i)
    text += fmt::format("global_load_dword v{}, v1, s[2:3] offset:{}\n", 2 + i, 256 * i);
  text += "s_waitcnt vmcnt(0)\n" + code;
  for (unsigned i = 0; i < valueCount; ++i)
    text += fmt::format("global_store_dword v20, v{}, s[2:3] offset:{}\n", 2 + i, 256 * i);
  return std::make_unique<MoveFixture>(tests::assembledObject(program::test::kernelFile(tests::bodyOf(text))),
                                       floatDispatch());
}

/// As AITer's kernels round: guard by guard, one mask.
std::string rounded(unsigned v, const std::string& between = "") {
  return fmt::format("v_cmp_u_f32_e64 s[10:11], v{0}, v{0}\n v_bfe_u32 v12, v{0}, 16, 1\n v_add3_u32 v12, v{0}, v12, "
                     "v31\n {1}\n v_cndmask_b32_e64 v{0}, v12, v30, s[10:11]\n v_lshrrev_b32_e32 v{0}, 16, v{0}\n",
                     v, between);
}

std::string roundedAll(unsigned count = valueCount) {
  std::string code;
  for (unsigned i = 0; i < count; ++i)
    code += rounded(2 + i);
  return code;
}

/// As Triton's kernels do: ordered comparisons of four values first, selects behind the next ones' arithmetic.
std::string tritonForm() {
  std::string code = "s_movk_i32 s8, 0x7fff\n v_mov_b32_e32 v30, 0x7fff\n";
  for (unsigned quad = 0; quad < 2; ++quad) {
    for (unsigned i = 4 * quad; i < 4 * quad + 4; ++i)
      code += fmt::format("v_bfe_u32 v{1}, v{0}, 16, 1\n v_add3_u32 v{1}, v{0}, v{1}, s8\n v_lshrrev_b32_e32 v{1}, 16, "
                          "v{1}\n v_cmp_o_f32_e64 s[{2}:{3}], v{0}, v{0}\n",
                          2 + i, 12 + i % 4, 10 + 2 * (i % 4), 11 + 2 * (i % 4));
    for (unsigned i = 4 * quad; i < 4 * quad + 4; ++i)
      code += fmt::format("v_cndmask_b32_e64 v{}, v30, v{}, s[{}:{}]\n", 2 + i, 12 + i % 4, 10 + 2 * (i % 4),
                          11 + 2 * (i % 4));
  }
  return code;
}

std::size_t countOf(const Lines& lines, const std::string& prefix) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.starts_with(prefix); }));
}

/// What runs where the branch is not taken.
Lines hotLines(const MoveFixture& fixture, const Proposal& proposal) {
  Lines lines = fixture.lines(proposal.program);
  lines.erase(std::ranges::find(lines, "s_endpgm"), lines.end());
  return lines;
}

std::uint32_t bf16Of(std::uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// Runs the program with `bits` as the first values and compares all results with the host's rounding.
void expectRounded(const MoveFixture& fixture, const Proposal& proposal, const std::vector<std::uint32_t>& bits) {
  const auto kernel = tests::simulator().load(fixture.rebuilt(proposal.program), "k");
  ASSERT_TRUE(kernel);
  dispatch::Case launch = fixture.dispatch.cases[0];
  std::memcpy(launch.buffers[0].initial.data(), bits.data(), 4 * bits.size());
  const auto run = (*kernel)->launch(launch, {});
  ASSERT_TRUE(run);
  ASSERT_TRUE(run->guardViolations.empty());
  const auto dword = [](const auto& bytes, std::size_t i) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    return value;
  };
  for (std::size_t i = 0; i < std::size_t{valueCount} * lanes; ++i)
    ASSERT_EQ(dword(run->buffers[0], resultBase + i), bf16Of(dword(launch.buffers[0].initial, i))) << i;
}

const std::vector<std::vector<std::uint32_t>> inputs = {
    {},                                                           // no NaN at all
    {0x3f808000, 0x3f818000, 0x00000001, 0x80000000, 0x7f7fffff}, // ties, a denormal, -0, up to infinity
    {0x7f800000, 0xff800000, 0x7f800000},                         // infinities only
    std::vector<std::uint32_t>(valueCount* lanes, 0x7f7fffff),    // sums overflow
    std::vector<std::uint32_t>(valueCount* lanes, 0xffc00001),    // all NaN
    [] {
      std::vector<std::uint32_t> last(valueCount * lanes, 0x3f800000);
      last.back() = 0x7f800001; // a signalling one, in one lane of the last value
      return last;
    }(),
};

verify::Verdict verdictOn(const MoveFixture& fixture, const Proposal& proposal) {
  auto verdict = verify::verify(fixture.object, fixture.rebuilt(proposal.program), fixture.dispatch, tests::simulator(),
                                verify::Options{});
  EXPECT_TRUE(verdict) << verdict.error().message;
  return verdict ? *std::move(verdict) : verify::Verdict{};
}

TEST(GroupNanGuards, OneTestForEveryFormOfIt) {
  const auto fixture = fixtureOf(roundedAll());
  const auto proposals = fixture->propose(groupNanGuardsMove());
  ASSERT_EQ(proposals.size(), 3u);
  const std::vector<Lines> tests = {
      {"v_pk_mul_f32 ", "v_pk_fma_f32 ", "v_cmp_u_f32_e32 vcc", "s_cbranch_vccnz"},
      {"v_mul_f32_e32 ", "v_fmac_f32_e32 ", "v_cmp_u_f32_e32 vcc", "s_cbranch_vccnz"},
      {"v_cmp_u_f32_e64 vcc, v2, v3", "s_or_b64 vcc, vcc, ", "s_cbranch_scc1"},
  };
  const std::vector<std::size_t> lengths = {4, 6, 8}; // two pairs each and a sum of pairs; two each; likewise
  for (std::size_t p = 0; p < proposals.size(); ++p) {
    SCOPED_TRACE(p);
    EXPECT_TRUE(proposals[p].assumptions.empty());
    const Lines all = fixture->lines(proposals[p].program), hot = hotLines(*fixture, proposals[p]);
    EXPECT_EQ(countOf(hot, "v_cndmask_b32"), 0u);
    EXPECT_EQ(countOf(all, "v_cndmask_b32"), valueCount);
    EXPECT_EQ(countOf(all, "v_bfe_u32"), 2 * valueCount);
    EXPECT_EQ(countOf(hot, "v_mov_b32"), 2u) << "no copies";
    for (const std::string& line : tests[p])
      EXPECT_NE(countOf(hot, line), 0u) << line;
    EXPECT_EQ(all[all.size() - 1], "s_branch") << "back from the copy";
    const std::size_t plain = fixture->lines(fixture->program).size();
    EXPECT_EQ(hot.size() + 1 + 2 * valueCount, plain + lengths[p]) << fmt::format("{}", fmt::join(hot, "\n"));
    for (const auto& bits : inputs)
      expectRounded(*fixture, proposals[p], bits);
  }
}

TEST(GroupNanGuards, ComparisonsInFrontOfTheTestGoToTheCopy) {
  const auto fixture = fixtureOf(tritonForm());
  const auto proposals = fixture->propose(groupNanGuardsMove());
  ASSERT_FALSE(proposals.empty());
  for (const Proposal& proposal : proposals) {
    EXPECT_EQ(countOf(hotLines(*fixture, proposal), "v_cmp_o_f32"), 0u);
    EXPECT_EQ(countOf(fixture->lines(proposal.program), "v_cmp_o_f32"), valueCount);
    for (const auto& bits : inputs)
      expectRounded(*fixture, proposal, bits);
  }
}

/// The gate runs data with NaN, so both ways are executed.
TEST(GroupNanGuards, TheGateAcceptsAndCoversTheCopy) {
  for (const std::string& code : {roundedAll(), tritonForm()}) {
    const auto fixture = fixtureOf(code);
    const auto proposals = fixture->propose(groupNanGuardsMove());
    ASSERT_FALSE(proposals.empty());
    const verify::Verdict verdict = verdictOn(*fixture, proposals.front());
    EXPECT_TRUE(verify::accepted(verdict.level)) << verdict.reason;
    EXPECT_TRUE(verdict.uncoveredNew.empty());
    EXPECT_TRUE(verdict.uncoveredEdits.empty());
  }
}

/// A copy that rounds another way is found out.
TEST(GroupNanGuards, TheGateSeesAWrongCopy) {
  const auto fixture = fixtureOf(roundedAll());
  auto proposals = fixture->propose(groupNanGuardsMove());
  ASSERT_FALSE(proposals.empty());
  program::Program& edited = proposals.front().program;
  auto& copy = edited.blocks.back().instrs;
  const auto select = std::ranges::find_if(copy, [](const auto& i) { return i.inst->base == "v_cndmask_b32"; });
  ASSERT_NE(select, copy.end());
  auto wrong = fixture->codec->assemble("v_cndmask_b32_e64 v2, v12, v31, s[10:11]");
  ASSERT_TRUE(wrong);
  select->inst = fixture->codec->complete(*wrong);
  const verify::Verdict verdict = verdictOn(*fixture, proposals.front());
  EXPECT_FALSE(verify::accepted(verdict.level)) << verdict.reason;
}

/// A loop's head: the test stands in the block that the back edge enters.
TEST(GroupNanGuards, AtTheHeadOfALoop) {
  std::string code = "s_mov_b32 s9, 3\n top:\n";
  for (unsigned i = 0; i < valueCount; ++i)
    code +=
        fmt::format("v_cmp_u_f32_e64 s[10:11], v{0}, v{0}\n v_bfe_u32 v12, v{0}, 16, 1\n v_add3_u32 v12, v{0}, v12, "
                    "v31\n v_cndmask_b32_e64 v{0}, v12, v30, s[10:11]\n v_and_b32_e32 v{0}, 0xffff0000, v{0}\n",
                    2 + i);
  code += "s_sub_u32 s9, s9, 1\n s_cmp_lg_u32 s9, 0\n s_cbranch_scc1 top\n";
  for (unsigned i = 0; i < valueCount; ++i)
    code += fmt::format("v_lshrrev_b32_e32 v{0}, 16, v{0}\n", 2 + i);
  const auto fixture = fixtureOf(code);
  const auto proposals = fixture->propose(groupNanGuardsMove());
  ASSERT_FALSE(proposals.empty());
  for (const Proposal& proposal : proposals)
    for (const auto& bits : inputs)
      expectRounded(*fixture, proposal, bits);
}

struct Refusal {
  std::string name, code;
};
class GroupNanGuardsRefuse : public testing::TestWithParam<Refusal> {};
TEST_P(GroupNanGuardsRefuse, NothingIsProposed) {
  const auto fixture = fixtureOf(GetParam().code);
  EXPECT_TRUE(fixture->propose(groupNanGuardsMove()).empty());
}

std::string eachWith(const std::string& between) {
  std::string code;
  for (unsigned i = 0; i < valueCount; ++i)
    code += rounded(2 + i, between);
  return code;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GroupNanGuardsRefuse,
    testing::Values(Refusal{"tooFew", roundedAll(3)},
                    // Each value is computed from the rounded one before it.
                    Refusal{"chained",
                            [] {
                              std::string code;
                              for (unsigned i = 0; i < valueCount; ++i)
                                code +=
                                    rounded(2 + i) +
                                    (i + 1 < valueCount ? fmt::format("v_add_f32_e32 v{0}, v{0}, v{1}\n", 3 + i, 2 + i)
                                                        : "");
                              return code;
                            }()},
                    Refusal{"otherLanesBetween", eachWith("s_mov_b64 exec, s[6:7]")},
                    Refusal{"otherRoundingBetween", eachWith("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3")},
                    // The mask has a second reader.
                    Refusal{"maskReadAgain", eachWith("s_or_b64 s[12:13], s[10:11], s[12:13]")},
                    // Written between comparison and select: the select decides by another mask.
                    Refusal{"anotherMask", eachWith("s_mov_b64 s[10:11], s[6:7]")},
                    Refusal{"twoValues",
                            [] {
                              std::string code = roundedAll();
                              for (unsigned i = 0; i < valueCount; ++i) {
                                const auto at = code.find(fmt::format("v{0}, v{0}\n", 2 + i));
                                code.replace(at, 2, i == 0 ? "v9" : "v2");
                              }
                              return code;
                            }()}),
    [](const auto& info) { return info.param.name; });

} // namespace
} // namespace asmevo::optimize
