// Wide loads of which some dwords are never read. Every proposal must be proved equal.
#include "optimize/moves/memory/narrow_loads.h"
#include "optimize/optimize_support.h"
#include "verify/proof/value_proof.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

struct Case {
  std::string name, code, expected; ///< expected: a line of the result; "" where nothing may be proposed
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}
std::string nameOf(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

class NarrowLoads : public testing::TestWithParam<Case> {};
TEST_P(NarrowLoads, AsTheTableSays) {
  const auto fixture = tests::textFixture(GetParam().code);
  const auto proposals = fixture->propose(narrowLoadsMove());
  if (GetParam().expected.empty()) {
    EXPECT_TRUE(proposals.empty());
    return;
  }
  ASSERT_FALSE(proposals.empty());
  const Proposal& first = proposals.front();
  const auto lines = fixture->lines(first.program);
  const std::string text = fmt::format("{}", fmt::join(lines, "\n"));
  EXPECT_TRUE(first.assumptions.empty());
  EXPECT_NE(std::ranges::find(lines, GetParam().expected), lines.end()) << text;
  const auto proof = verify::proveEquivalent(fixture->object, fixture->rebuilt(first.program), "k");
  EXPECT_TRUE(proof && proof->status == verify::ProofStatus::proved)
      << (proof ? proof->reason : proof.error().message) << "\n"
      << text;
}

const std::string wait = "\n s_waitcnt vmcnt(0) lgkmcnt(0)\n";
const std::string store4 = wait + "global_store_dword v1, v4, s[2:3] offset:512\n";
const std::string store5 = wait + "global_store_dword v1, v5, s[2:3] offset:512\n";
const std::string store67 = wait + "global_store_dwordx2 v1, v[6:7], s[2:3] offset:512\n";
const std::string scalarStore = wait + "v_mov_b32_e32 v4, s14\n global_store_dword v1, v4, s[2:3] offset:512\n";

INSTANTIATE_TEST_SUITE_P(
    Moves, NarrowLoads,
    testing::Values(Case{"lowOfTwo", "global_load_dwordx2 v[4:5], v1, s[2:3] offset:8" + store4,
                         "global_load_dword v4, v1, s[2:3] offset:8"},
                    Case{"highOfTwo", "global_load_dwordx2 v[4:5], v1, s[2:3]" + store5,
                         "global_load_dword v5, v1, s[2:3] offset:4"},
                    Case{"keepsHint", "global_load_dwordx2 v[4:5], v1, s[2:3] offset:8 nt" + store5,
                         "global_load_dword v5, v1, s[2:3] offset:12 nt"},
                    Case{"toOffsetZero", "global_load_dwordx2 v[4:5], v1, s[2:3] offset:-4" + store5,
                         "global_load_dword v5, v1, s[2:3]"},
                    Case{"highPairOfFour", "global_load_dwordx4 v[4:7], v1, s[2:3] offset:16" + store67,
                         "global_load_dwordx2 v[6:7], v1, s[2:3] offset:24"},
                    Case{"secondOfFour", "global_load_dwordx4 v[4:7], v1, s[2:3]" + store5,
                         "global_load_dword v5, v1, s[2:3] offset:4"},
                    // v5 and v6: a pair would start at an odd register, three from v4 on do not.
                    Case{"oddPairOfFour",
                         "global_load_dwordx4 v[4:7], v1, s[2:3]" + wait +
                             "v_add_u32_e32 v8, v5, v6\n global_store_dword v1, v8, s[2:3] offset:512",
                         "global_load_dwordx3 v[4:6], v1, s[2:3]"},
                    Case{"overwrittenBeforeRead",
                         "global_load_dwordx2 v[4:5], v1, s[2:3]" + wait +
                             "v_mov_b32_e32 v5, 7\n global_store_dwordx2 v1, v[4:5], s[2:3] offset:512",
                         "global_load_dword v4, v1, s[2:3]"},
                    Case{"scalarPart", "s_load_dwordx4 s[12:15], s[2:3], 0x10" + scalarStore,
                         "s_load_dword s14, s[2:3], 0x18"}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Refuses, NarrowLoads,
    testing::Values(Case{"allRead",
                         "global_load_dwordx2 v[4:5], v1, s[2:3]" + wait +
                             "global_store_dwordx2 v1, v[4:5], s[2:3] offset:512",
                         ""},
                    Case{"wideReadOfDeadHalf", // the instruction reads both, whatever becomes of them
                         "global_load_dwordx2 v[4:5], v1, s[2:3]" + wait +
                             "v_lshlrev_b64 v[4:5], 1, v[4:5]\n global_store_dword v1, v4, s[2:3] offset:512",
                         ""},
                    Case{"overwrittenInSomeLanes",
                         "global_load_dwordx2 v[4:5], v1, s[2:3]" + wait +
                             "s_mov_b64 exec, 1\n v_mov_b32_e32 v5, 7\n s_mov_b64 exec, -1\n"
                             "global_store_dwordx2 v1, v[4:5], s[2:3] offset:512",
                         ""},
                    Case{"firstAndLast",
                         "global_load_dwordx4 v[4:7], v1, s[2:3]" + wait +
                             "v_add_u32_e32 v8, v4, v7\n global_store_dword v1, v8, s[2:3] offset:512",
                         ""},
                    Case{"offsetTooLarge", "global_load_dwordx2 v[4:5], v1, s[2:3] offset:4092" + store5, ""},
                    Case{"scopeBits", "global_load_dwordx2 v[4:5], v1, s[2:3] sc1" + store4, ""},
                    // A swizzled resource checks the range of the element as a whole.
                    Case{"buffer", "buffer_load_dwordx2 v[4:5], v1, s[4:7], 0 offen" + store4, ""},
                    Case{"lds", "ds_read_b64 v[4:5], v1" + store4, ""}),
    nameOf);

} // namespace
} // namespace asmevo::optimize
