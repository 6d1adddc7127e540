#include "program/analysis/soft_clauses.h"

#include <gtest/gtest.h>

namespace asmevo::program {
namespace {

std::vector<std::pair<std::uint32_t, std::uint32_t>> conflicts(const std::vector<std::string>& lines) {
  object::Target target;
  target.processor = "gfx942";
  target.xnack = target.sramecc = object::Feature::any;
  auto codec = *isa::Codec::create(target);
  Program program;
  program.blocks.resize(1);
  for (const auto& line : lines) {
    auto inst = codec->assemble(line);
    EXPECT_TRUE(inst) << line;
    Instr instr;
    instr.inst = codec->complete(*inst);
    program.blocks[0].instrs.push_back(instr);
  }
  Function function;
  function.blocks = {0};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  for (const auto& finding : softClauseConflicts(program, function, 128))
    result.emplace_back(finding.first.index, finding.second.index);
  return result;
}

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// The rules are LLVM's (GCNHazardRecognizer::checkSoftClauseHazards); the lines are what llc puts an s_nop into or not.
TEST(SoftClauses, ALoadOverItsOwnAddressMustStandAlone) {
  EXPECT_EQ(conflicts({"global_load_dwordx4 v[0:3], v[0:1], off", "global_load_dwordx4 v[4:7], v[8:9], off"}),
            (Pairs{{0, 1}}));
  EXPECT_EQ(
      conflicts({"global_load_dwordx4 v[0:3], v[0:1], off", "s_nop 0", "global_load_dwordx4 v[4:7], v[8:9], off"}),
      Pairs{});
  EXPECT_EQ(conflicts({"global_load_dword v2, v[0:1], off", "global_load_dword v3, v[0:1], off"}), Pairs{});
}

TEST(SoftClauses, ALaterLoadMustNotOverwriteAnEarlierAddress) {
  EXPECT_EQ(conflicts({"s_load_dwordx2 s[4:5], s[0:1], 0x0", "s_load_dwordx2 s[0:1], s[2:3], 0x0"}), (Pairs{{0, 1}}));
  EXPECT_EQ(conflicts({"global_load_dword v9, v[0:1], off", "global_load_dword v8, v[2:3], off",
                       "global_load_dword v0, v[4:5], off"}),
            (Pairs{{0, 2}}));
}

TEST(SoftClauses, AStoreDoesNotFollowLoads) {
  EXPECT_EQ(conflicts({"global_load_dword v9, v[0:1], off", "global_store_dword v[2:3], v8, off"}), (Pairs{{0, 1}}));
  EXPECT_EQ(conflicts({"global_store_dword v[2:3], v8, off", "global_store_dword v[4:5], v8, off"}), Pairs{});
}

TEST(SoftClauses, OtherKindsEndAClause) {
  EXPECT_EQ(
      conflicts({"s_load_dword s4, s[0:1], 0x0", "global_load_dword v0, v[0:1], off", "s_load_dword s0, s[2:3], 0x0"}),
      Pairs{});
  EXPECT_EQ(
      conflicts({"global_load_dword v9, v[0:1], off", "v_mov_b32_e32 v7, 0", "global_load_dword v0, v[4:5], off"}),
      Pairs{});
}

} // namespace
} // namespace asmevo::program
