// 64-bit address arithmetic in front of global accesses. Every proposal must be proved equal; what a move must refuse,
// it must not propose at all.
#include "optimize/moves/memory/fold_addresses.h"
#include "optimize/optimize_support.h"
#include "verify/proof/value_proof.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::optimize {
namespace {

struct Case {
  std::string name, code, expected; ///< expected: a line of the result; "" where nothing may be proposed
  std::size_t fewer = 0;            ///< instructions
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}
std::string nameOf(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

class FoldAddresses : public testing::TestWithParam<Case> {};
TEST_P(FoldAddresses, AsTheTableSays) {
  const auto fixture = tests::textFixture(GetParam().code);
  const auto proposals = fixture->propose(foldAddressesMove());
  if (GetParam().expected.empty()) {
    EXPECT_TRUE(proposals.empty());
    return;
  }
  ASSERT_FALSE(proposals.empty());
  const Proposal& first = proposals.front();
  const auto before = fixture->lines(fixture->program), lines = fixture->lines(first.program);
  const std::string text = fmt::format("{}", fmt::join(lines, "\n"));
  EXPECT_TRUE(first.assumptions.empty());
  EXPECT_NE(std::ranges::find(lines, GetParam().expected), lines.end()) << text;
  EXPECT_EQ(std::ranges::count_if(before, [](const std::string& l) { return l.starts_with("v_"); }) -
                std::ranges::count_if(lines, [](const std::string& l) { return l.starts_with("v_"); }),
            static_cast<std::ptrdiff_t>(GetParam().fewer))
      << text;
  const auto proof = verify::proveEquivalent(fixture->object, fixture->rebuilt(first.program), "k");
  EXPECT_TRUE(proof && proof->status == verify::ProofStatus::proved)
      << (proof ? proof->reason : proof.error().message) << "\n"
      << text;
}

/// zext(v1) + constant + s[2:3] in v[4:5], as assembly kernels write it.
std::string chain(const std::string& constant) {
  return "v_add_co_u32_e32 v4, vcc, " + constant +
         ", v1\n v_addc_co_u32_e64 v5, vcc, 0, 0, vcc\n v_add_co_u32_e64 v4, vcc, v4, s2\n v_mov_b32_e32 v6, s3\n"
         "v_addc_co_u32_e32 v5, vcc, v5, v6, vcc\n";
}
const std::string load = "global_load_dword v8, v[4:5], off\n";
/// No lane accesses memory from here on: for addresses that lead nowhere.
const std::string noLanes = "s_mov_b64 exec, 0\n";
const std::string store = "s_waitcnt vmcnt(0) lgkmcnt(0)\n global_store_dword v1, v8, s[2:3] offset:2048\n";

INSTANTIATE_TEST_SUITE_P(
    Moves, FoldAddresses,
    testing::Values(
        Case{"baseAndOffset", chain("0x400") + load + store, "global_load_dword v8, v1, s[2:3] offset:1024", 5},
        Case{"noOffset", chain("0") + load + store, "global_load_dword v8, v1, s[2:3]", 5},
        Case{"ownOffset", chain("0x400") + "global_load_dword v8, v[4:5], off offset:-1024 nt\n" + store,
             "global_load_dword v8, v1, s[2:3] nt", 5},
        Case{"noLanes", noLanes + chain("4") + load + store, "global_load_dword v8, v1, s[2:3] offset:4", 5},
        Case{"store", chain("0x800") + "global_store_dword v[4:5], v1, off\n",
             "global_store_dword v1, v1, s[2:3] offset:2048", 5},
        // The next chain overwrites what the first one left.
        Case{"two",
             chain("0") + load + chain("0x400") + "global_load_dword v9, v[4:5], off\n s_waitcnt vmcnt(0)\n" +
                 "v_add_u32_e32 v8, v8, v9\n" + store,
             "global_load_dword v9, v1, s[2:3] offset:1024", 10}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Refuses, FoldAddresses,
    testing::Values(
        Case{"offsetTooLarge", chain("0x1000") + load + store, ""},
        // As an unsigned addend, -16 carries into the high half.
        Case{"negative", noLanes + chain("-16") + load + store, ""},
        Case{"baseChanged", chain("0x400") + "s_add_u32 s2, s2, 4\n" + load + store, ""},
        Case{"offsetChanged", chain("0x400") + "v_mov_b32_e32 v1, 0\n" + load + store, ""},
        Case{"otherLanes", "s_mov_b64 exec, 1\n" + chain("0x400") + noLanes + load + store, ""},
        Case{"otherCarry",
             noLanes +
                 "v_add_co_u32_e32 v4, vcc, s2, v1\n v_mov_b32_e32 v6, s3\n v_cmp_eq_u32_e32 vcc, 0, v1\n"
                 "v_addc_co_u32_e64 v5, vcc, 0, v6, vcc\n" +
                 load + store,
             ""},
        Case{"otherHighHalf",
             noLanes +
                 "v_add_co_u32_e32 v4, vcc, s2, v1\n v_mov_b32_e32 v6, s2\n v_addc_co_u32_e64 v5, vcc, 0, v6, vcc\n" +
                 load + store,
             ""}),
    nameOf);

} // namespace
} // namespace asmevo::optimize
