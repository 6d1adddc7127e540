// Counterexamples as tests: written, read back, and run on later candidates.
#include "verify/proof/kept_counterexamples.h"

#include "verify/proof/proof_support.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

namespace asmevo::verify {
namespace {

/// vector_add that adds `a` to itself.
object::CodeObject wrongOperand(const object::CodeObject& k0) {
  return tests::edited(k0, [](tests::Editable& e) {
    const auto add = e.find("v_add_f32");
    const std::string text = e.at(add).inst->text;
    const auto& operands = e.at(add).inst->operands;
    const auto v = [&](std::size_t i) { return "v" + std::to_string(operands[i].index); };
    e.replace(add, "v_add_f32_e32 " + v(0) + ", " + v(1) + ", " + v(1));
  });
}

TEST(KeptCounterexamples, AKeptStateRefusesWithoutASearch) {
  const auto k0 = tests::kernelObject("vector_add");
  const auto k1 = wrongOperand(k0);
  KeptCounterexamples kept;
  ProofOptions blind;
  blind.trials = 0;
  blind.questions = 0;
  blind.kept = &kept;
  auto proof = proveEquivalent(k0, k1, "vector_add", blind);
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_EQ(proof->status, ProofStatus::timeout) << proof->reason; // no question may be asked
  EXPECT_EQ(kept.size(), 0u);

  ProofOptions searching;
  searching.kept = &kept;
  proof = proveEquivalent(k0, k1, "vector_add", searching);
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_EQ(proof->status, ProofStatus::differs) << proof->reason;
  ASSERT_EQ(kept.size(), 1u);

  KeptCounterexamples copy;
  ASSERT_TRUE(copy.read(kept.json("abc"), "abc"));
  EXPECT_EQ(copy.json("abc"), kept.json("abc"));
  blind.kept = &copy;
  proof = proveEquivalent(k0, k1, "vector_add", blind);
  ASSERT_TRUE(proof) << proof.error().message;
  ASSERT_EQ(proof->status, ProofStatus::differs) << proof->reason;
  EXPECT_EQ(proof->counterexample->registers.size(), kept.at(proof->counterexample->address)[0].registers.size());
  EXPECT_EQ(copy.size(), 1u) << "the same state is kept once";
}

TEST(KeptCounterexamples, OtherKernelsAndDamagedFilesAreRefused) {
  Counterexample one{0x1900, 7, {{"s4", {5}}, {"v3", std::vector<std::uint32_t>(64, 9)}}, "v1 differs"};
  KeptCounterexamples kept;
  EXPECT_TRUE(kept.add(one));
  EXPECT_FALSE(kept.add(one));
  const auto good = kept.json("abc");
  EXPECT_EQ(good.at("counterexamples").at(0).at("registers").at("v3").size(), 64u);
  EXPECT_EQ(good.at("counterexamples").at(0).at("registers").at("s4").at(0), "0x5");
  KeptCounterexamples reader;
  EXPECT_FALSE(reader.read(good, "abd"));
  EXPECT_FALSE(reader.read(nlohmann::json::array(), "abc"));
  const auto broken = [&](const char* key, const nlohmann::json& value) {
    auto file = good;
    file["counterexamples"][0][key] = value;
    return !reader.read(file, "abc");
  };
  EXPECT_TRUE(broken("window", 3));
  EXPECT_TRUE(broken("window", "0x123456789012345678"));
  EXPECT_TRUE(broken("memory_seed", "seven"));
  EXPECT_TRUE(broken("registers", {{"s4", {"0x100000000"}}}));
  EXPECT_TRUE(broken("registers", {{"v3", {"0x1", "0x2"}}}));
  EXPECT_TRUE(broken("registers", {{"v9999", {"0x1"}}}));
  EXPECT_EQ(reader.size(), 0u);
  EXPECT_TRUE(reader.read(good, "abc"));
  EXPECT_EQ(reader.size(), 1u);
}

} // namespace
} // namespace asmevo::verify
