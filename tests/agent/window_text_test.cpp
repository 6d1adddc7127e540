#include "agent/window_text.h"

#include <gtest/gtest.h>

namespace asmevo::agent {
namespace {

class WindowText : public testing::Test {
 protected:
  void SetUp() override {
    object::Target target;
    target.processor = "gfx942";
    target.xnack = target.sramecc = object::Feature::any;
    codec = *isa::Codec::create(target);
    add({"s_mov_b32 s4, 8"});
    add({"v_add_f32_e32 v1, v1, v2", "s_sub_u32 s4, s4, 1", "s_cmp_lg_u32 s4, 0", "s_cbranch_scc1 0"}, 1);
    add({"s_endpgm"});
    program.relink();
  }

  void add(const std::vector<std::string>& lines, std::optional<program::BlockId> target = std::nullopt) {
    program::Block block;
    block.address = program.blocks.size() * 64;
    for (const auto& line : lines) {
      program::Instr instr;
      auto inst = codec->assemble(line);
      ASSERT_TRUE(inst) << line;
      instr.inst = codec->complete(*inst);
      instr.address = block.address + 4 * block.instrs.size();
      if (instr.inst->isBranch())
        instr.target = target;
      block.instrs.push_back(instr);
    }
    program.blocks.push_back(block);
  }

  std::unique_ptr<isa::Codec> codec;
  program::Program program;
};

TEST_F(WindowText, PrintsLabelsAndBranchTargets) {
  EXPECT_EQ(printWindow(program, 0, 1),
            "L0:\n  s_mov_b32 s4, 8\nL1:\n  v_add_f32_e32 v1, v1, v2\n  s_sub_u32 s4, s4, 1\n"
            "  s_cmp_lg_u32 s4, 0\n  s_cbranch_scc1 L1\n");
}

TEST_F(WindowText, UneditedTextKeepsEveryInstruction) {
  const auto edited = applyWindowText(program, *codec, 0, 2, printWindow(program, 0, 2));
  ASSERT_TRUE(edited) << edited.error().message;
  for (std::size_t b = 0; b < 3; ++b) {
    ASSERT_EQ(edited->blocks[b].instrs.size(), program.blocks[b].instrs.size());
    for (std::size_t i = 0; i < program.blocks[b].instrs.size(); ++i) {
      EXPECT_EQ(edited->blocks[b].instrs[i].inst, program.blocks[b].instrs[i].inst);
      EXPECT_EQ(edited->blocks[b].instrs[i].address, program.blocks[b].instrs[i].address);
      EXPECT_EQ(edited->blocks[b].instrs[i].target, program.blocks[b].instrs[i].target);
    }
  }
}

TEST_F(WindowText, EditsAreAssembled) {
  const auto edited = applyWindowText(program, *codec, 1, 1,
                                      "L1:\n s_sub_u32 s4, s4, 1\n v_mul_f32_e32 v1, v1, v2\n s_cbranch_scc0 L2\n");
  ASSERT_TRUE(edited) << edited.error().message;
  ASSERT_EQ(edited->blocks[1].instrs.size(), 3u);
  EXPECT_EQ(edited->blocks[1].instrs[1].inst->text, "v_mul_f32_e32 v1, v1, v2");
  EXPECT_EQ(edited->blocks[1].instrs[1].address, program::noAddress);
  EXPECT_EQ(edited->blocks[1].instrs[2].target, program::BlockId{2});
  EXPECT_EQ(edited->blocks[0].instrs.size(), 1u);
}

TEST_F(WindowText, HostileTextIsRefusedWithItsLine) {
  const std::vector<std::string> texts = {
      ".byte 0\n",
      ".include \"secret\"\n",
      "L1:\n .incbin \"secret\"\n",
      "s_nop 0 ; .byte 1\n",
      "s_nop 0 // s_endpgm\n",
      "x = 5\n",
      "L2:\n s_nop 0\n",
      "L1:\nL1:\n",
      "foo:\n",
      "s_branch L77\n",
      "s_branch 5\n",
      "s_setpc_b64 s[4:5]\n",
      "s_swappc_b64 s[30:31], s[4:5]\n",
      "s_branch L2\n s_nop 0\n",
      "s_nop 0\\n.byte 0\n",
      "v_add_f32 v1, v2, v999\n",
      ".macro m\n.endm\n",
      "s_mov_b32 s4, symbol\n",
  };
  for (const auto& text : texts) {
    const auto edited = applyWindowText(program, *codec, 1, 1, text);
    ASSERT_FALSE(edited) << text;
    EXPECT_NE(edited.error().message.find("line "), std::string::npos) << edited.error().message;
  }
  EXPECT_FALSE(applyWindowText(program, *codec, 2, 1, ""));
  EXPECT_FALSE(applyWindowText(program, *codec, 0, 9, ""));
  EXPECT_FALSE(applyWindowText(program, *codec, 1, 1, std::string(2 << 20, 'a')));
}

} // namespace
} // namespace asmevo::agent
