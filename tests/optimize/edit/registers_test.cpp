// The register kit: other registers in one instruction, free ones, and how many more there may be.
#include "optimize/edit/registers.h"
#include "optimize/optimize_support.h"

#include <gtest/gtest.h>

namespace asmevo::optimize {
namespace {

class Rename : public testing::Test {
 protected:
  void SetUp() override {
    object::Target target;
    target.processor = "gfx942";
    target.xnack = target.sramecc = object::Feature::any;
    codec = *isa::Codec::create(target);
  }
  isa::InstRef inst(const std::string& text) {
    const auto made = codec->assemble(text);
    EXPECT_TRUE(made) << text;
    return codec->complete(*made);
  }
  std::string replaced(const std::string& text, RegisterTuple from, RegisterTuple to) {
    const auto result = replaceRegisters(*inst(text), from, to, *codec);
    return result ? (*result)->text : "refused";
  }
  std::unique_ptr<isa::Codec> codec;
};

TEST_F(Rename, EveryOperandThatNamesTheRegister) {
  using enum RegisterFile;
  EXPECT_EQ(replaced("v_fma_f32 v1, v2, -|v2|, s4", {vgpr, 2, 1}, {vgpr, 77, 1}), "v_fma_f32 v1, v77, -|v77|, s4");
  EXPECT_EQ(replaced("v_fmac_f32_e32 v1, v2, v3", {vgpr, 1, 1}, {vgpr, 9, 1}), "v_fmac_f32_e32 v9, v2, v3");
  EXPECT_EQ(replaced("global_load_dwordx4 v[4:7], v[2:3], off offset:16", {vgpr, 4, 4}, {vgpr, 20, 4}),
            "global_load_dwordx4 v[20:23], v[2:3], off offset:16");
  // Part of a larger run of registers keeps its place in it.
  EXPECT_EQ(replaced("ds_write_b64 v1, v[6:7]", {vgpr, 4, 4}, {vgpr, 20, 4}), "ds_write_b64 v1, v[22:23]");
  EXPECT_EQ(replaced("v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], v[4:5], a[0:15]", {agpr, 0, 16}, {agpr, 32, 16}),
            "v_mfma_f32_32x32x8_f16 a[32:47], v[2:3], v[4:5], a[32:47]");
  EXPECT_EQ(replaced("s_load_dwordx2 s[2:3], s[0:1], 0x8", {sgpr, 2, 2}, {sgpr, 40, 2}),
            "s_load_dwordx2 s[40:41], s[0:1], 0x8");
  EXPECT_EQ(replaced("v_add_u32_e32 v1, v2, v3", {vgpr, 9, 1}, {vgpr, 8, 1}), "v_add_u32_e32 v1, v2, v3");
}

TEST_F(Rename, RefusesWhatItCannotSay) {
  using enum RegisterFile;
  // An operand only partly covered; pairs at odd numbers; AGPRs where VALU has none.
  EXPECT_EQ(replaced("ds_write_b64 v1, v[6:7]", {vgpr, 6, 1}, {vgpr, 20, 1}), "refused");
  EXPECT_EQ(replaced("ds_write_b64 v1, v[6:7]", {vgpr, 6, 2}, {vgpr, 21, 2}), "refused");
  EXPECT_EQ(replaced("v_add_u32_e32 v1, v2, v3", {vgpr, 2, 1}, {agpr, 2, 1}), "refused");
  EXPECT_EQ(replaced("v_add_u32_e32 v1, v2, v3", {vgpr, 2, 1}, {vgpr, 20, 2}), "refused");
  const OperandRename constant[] = {{1, 5, vgpr}};
  EXPECT_FALSE(renameOperands(*inst("v_mov_b32_e32 v1, 5"), constant, *codec));
  const OperandRename carry[] = {{1, 4, sgpr}};
  EXPECT_FALSE(renameOperands(*inst("v_add_co_u32_e32 v1, vcc, v2, v3"), carry, *codec));
  const OperandRename none[] = {{7, 4, vgpr}};
  EXPECT_FALSE(renameOperands(*inst("v_mov_b32_e32 v1, v2"), none, *codec));
}

TEST_F(Rename, TuplesAndTheirAlignment) {
  const object::Target& target = codec->target();
  using enum RegisterFile;
  EXPECT_EQ(registerText({vgpr, 3, 1}), "v3");
  EXPECT_EQ(registerText({agpr, 4, 4}), "a[4:7]");
  EXPECT_EQ(alignmentOf(sgpr, 2, target), 2u);
  EXPECT_EQ(alignmentOf(sgpr, 8, target), 4u);
  EXPECT_EQ(alignmentOf(vgpr, 3, target), 2u);
  EXPECT_EQ(alignmentOf(vgpr, 1, target), 1u);
  EXPECT_FALSE(tupleOf(inst("s_mov_b64 exec, s[2:3]")->operands[0]));
  EXPECT_EQ(tupleOf(inst("s_mov_b64 exec, s[2:3]")->operands[1]), (RegisterTuple{sgpr, 2, 2}));
}

constexpr const char* straight = R"(
  global_load_dword v2, v1, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v0
  global_store_dword v1, v4, s[2:3]
)";

program::BlockId entryOf(const tests::MoveFixture& fixture) {
  return fixture.program.functions.front().entryBlock;
}

TEST(RegisterKit, FreeIsWhatNobodyTouchesOrWaitsFor) {
  const auto fixture = tests::textFixture(straight);
  const MoveContext context = fixture->context();
  const RegisterKit kit(fixture->program, context);
  ASSERT_TRUE(kit.isKnown());
  EXPECT_EQ(kit.budget().vgprsUsed, 5u);
  const program::BlockId blocks[] = {entryOf(*fixture)};
  isa::RegSet busy = kit.busyOver(blocks);
  for (const unsigned v : {0u, 1u, 2u, 4u})
    EXPECT_TRUE(busy.test(isa::vgprUnit(v))) << v;
  EXPECT_FALSE(busy.test(isa::vgprUnit(3)));
  EXPECT_EQ(kit.take(RegisterFile::vgpr, 1, busy), (RegisterTuple{RegisterFile::vgpr, 3, 1}));
  EXPECT_EQ(kit.take(RegisterFile::vgpr, 2, busy), (RegisterTuple{RegisterFile::vgpr, 6, 2}));
  EXPECT_EQ(kit.take(RegisterFile::vgpr, 1, busy), (RegisterTuple{RegisterFile::vgpr, 5, 1}));
  EXPECT_EQ(kit.take(RegisterFile::vgpr, 1, busy), (RegisterTuple{RegisterFile::vgpr, 8, 1}));
}

TEST(RegisterKit, VgprsGrowToTheNextOccupancyStep) {
  // 512 VGPRs of a lane and SIMD: 8 waves have 64 each (CDNA3 ISA, register allocation in granules of 8).
  const auto fixture = tests::textFixture(straight);
  MoveContext context = fixture->context();
  timing::Estimate unlimited = fixture->profile;
  unlimited.occupancyLimiter = "waves";
  const MoveContext full{context.object,  context.kernel,      context.codec,        unlimited,
                         context.windows, context.accumOffset, context.workgroupSize};
  EXPECT_EQ(RegisterKit(fixture->program, full).budget().vgprEnd, 64u);
  // With one workgroup of one wave on a CU, the grid is the limit and a wave may have all 256.
  timing::Estimate single = fixture->profile;
  single.occupancyLimiter = "grid";
  single.workgroupsPerCu = 1;
  const MoveContext alone{context.object,  context.kernel,      context.codec,        single,
                          context.windows, context.accumOffset, context.workgroupSize};
  EXPECT_EQ(RegisterKit(fixture->program, alone).budget().vgprEnd, 256u);
}

TEST(RegisterKit, NothingIsFreeWhereOperandsDoNotSay) {
  const auto fixture = tests::textFixture(R"(
  s_set_gpr_idx_on s6, gpr_idx(DST)
  v_mov_b32_e32 v2, v0
  s_set_gpr_idx_off
  global_store_dword v1, v2, s[2:3]
)");
  const MoveContext context = fixture->context();
  const RegisterKit kit(fixture->program, context);
  EXPECT_FALSE(kit.isKnown());
  const program::BlockId blocks[] = {entryOf(*fixture)};
  isa::RegSet busy = kit.busyOver(blocks);
  EXPECT_FALSE(kit.take(RegisterFile::vgpr, 1, busy));
  EXPECT_TRUE(kit.busyEverywhere().test(isa::vgprUnit(200)));
}

TEST(RegisterKit, ADeadRegisterIsFreeOnlyOnceItsLoadIsBack) {
  // v7 is never read; until the wait it may still come back.
  const auto fixture = tests::textFixture(R"(
  global_load_dword v7, v1, s[2:3]
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 middle
  s_nop 0
middle:
  v_mov_b32_e32 v4, 1
  s_waitcnt vmcnt(0)
  s_cmp_lg_u32 s6, 1
  s_cbranch_scc1 last
  s_nop 0
last:
  global_store_dword v1, v4, s[2:3]
)");
  const MoveContext context = fixture->context();
  const RegisterKit kit(fixture->program, context);
  const auto blockOf = [&](const std::string& base) {
    for (program::BlockId id = 0; id < fixture->program.blocks.size(); ++id)
      for (const auto& instr : fixture->program.blocks[id].instrs)
        if (instr.inst->base == base)
          return id;
    return program::BlockId{0};
  };
  const program::BlockId middle[] = {blockOf("v_mov_b32")}, last[] = {blockOf("global_store_dword")};
  EXPECT_TRUE(kit.busyOver(middle).test(isa::vgprUnit(7)));
  EXPECT_FALSE(kit.busyOver(last).test(isa::vgprUnit(7)));
}

TEST(WholeWaves, LaunchesAndMetadataSaySo) {
  const auto fixture = tests::textFixture(straight);
  MoveContext context = fixture->context();
  EXPECT_EQ(wholeWavesOf(context), WholeWaves::unknown);
  context.launches = &fixture->dispatch;
  EXPECT_EQ(wholeWavesOf(context), WholeWaves::assumed);
  fixture->dispatch.cases.front().workgroupSize = {48, 1, 1};
  EXPECT_EQ(wholeWavesOf(context), WholeWaves::unknown);
}

} // namespace
} // namespace asmevo::optimize
