/// Control-flow recovery against graphs written down by hand.
#include "program_support.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace asmevo;
using namespace asmevo::program;
using namespace asmevo::program::test;

namespace {

using Ids = std::vector<BlockId>;

TEST(Recover, DiamondAndLoop) {
  const Loaded loaded = loadKernel({R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 else
  v_mov_b32_e32 v1, 1
  s_branch join
else:
  v_mov_b32_e32 v1, 2
join:
  s_mov_b32 s3, 4
loop:
  v_add_u32_e32 v1, v1, v1
  s_sub_u32 s3, s3, 1
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 loop
  s_endpgm)"});
  const Program& program = loaded.program;
  ASSERT_EQ(program.blocks.size(), 6u);
  EXPECT_TRUE(program.pinned.empty()) << program.pinned;
  EXPECT_EQ(texts(loaded, 0),
            (std::vector<std::string>{"s_load_dwordx2 s[4:5], s[0:1], 0x0", "s_cmp_eq_u32 s2, 0", "s_cbranch_scc1 2"}));
  EXPECT_EQ(texts(loaded, 4).size(), 4u);
  EXPECT_EQ(program.blocks[0].successors, (Ids{2, 1}));
  EXPECT_EQ(program.blocks[1].successors, (Ids{3}));
  EXPECT_EQ(program.blocks[2].successors, (Ids{3}));
  EXPECT_EQ(program.blocks[3].successors, (Ids{4}));
  EXPECT_EQ(program.blocks[4].successors, (Ids{4, 5}));
  EXPECT_EQ(program.blocks[5].successors, Ids{});
  EXPECT_EQ(program.blocks[3].predecessors, (Ids{1, 2}));
  EXPECT_EQ(program.blocks[4].predecessors, (Ids{3, 4}));
  EXPECT_EQ(program.blocks[0].address, symbolAddress(loaded.object, "k"));
  EXPECT_EQ(program.blocks[2].address, symbolAddress(loaded.object, "else"));
  EXPECT_EQ(program.blocks[4].size, 16u);
  EXPECT_TRUE(program.blocks[0].entersByRegister);
  EXPECT_FALSE(program.blocks[2].entersByRegister);
  ASSERT_EQ(program.functions.size(), 1u);
  EXPECT_EQ(program.functions[0].name, "k");
  EXPECT_EQ(program.functions[0].kernel, 0u);
  EXPECT_EQ(program.functions[0].blocks, (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(program.functionOf(0), &program.functions[0]);
  EXPECT_EQ(program.functionOf(1), nullptr);
  EXPECT_EQ(program.instructionCount(), 12u);
}

TEST(Recover, IrreducibleLoopIsPlainEdges) {
  const Loaded loaded = loadKernel({R"(
  s_cbranch_vccz middle
top:
  v_mov_b32_e32 v1, 1
middle:
  v_mov_b32_e32 v2, 1
  s_cbranch_execnz top
  s_endpgm)"});
  ASSERT_EQ(loaded.program.blocks.size(), 4u);
  EXPECT_EQ(loaded.program.blocks[0].successors, (Ids{2, 1}));
  EXPECT_EQ(loaded.program.blocks[2].successors, (Ids{1, 3}));
  EXPECT_EQ(loaded.program.blocks[2].predecessors, (Ids{0, 1}));
}

TEST(Recover, CodeAfterTheLastEndpgmIsFound) {
  const Loaded loaded = loadKernel({R"(
  s_cbranch_scc0 behind
  s_endpgm
behind:
  v_mov_b32_e32 v1, 1
  s_branch k)"});
  ASSERT_EQ(loaded.program.blocks.size(), 3u);
  EXPECT_TRUE(loaded.program.blocks[2].reachable);
  EXPECT_EQ(loaded.program.blocks[2].successors, (Ids{0}));
}

// A device function called through s_getpc_b64, s_add_u32, s_addc_u32 and s_swappc_b64, as clang does.
const char* const callBody = R"(
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, callee@rel32@lo+4
  s_addc_u32 s5, s5, callee@rel32@hi+12
  s_swappc_b64 s[30:31], s[4:5]
  s_endpgm)";
const char* const callee = R"(
  .type callee,@function
callee:
  v_mov_b32_e32 v0, 0
  s_setpc_b64 s[30:31]
.Lend_callee:
  .size callee, .Lend_callee-callee)";

TEST(Recover, CallThroughProgramCounter) {
  const Loaded loaded = loadKernel({.body = callBody, .more = callee});
  const Program& program = loaded.program;
  ASSERT_EQ(program.blocks.size(), 2u);
  EXPECT_TRUE(program.pinned.empty()) << program.pinned;
  const std::vector<Instr>& instrs = program.blocks[0].instrs;
  ASSERT_EQ(instrs.size(), 5u);
  const std::uint64_t target = symbolAddress(loaded.object, "callee");
  EXPECT_NE(instrs[0].getpcId, 0u);
  ASSERT_TRUE(instrs[1].pcRef && instrs[2].pcRef);
  EXPECT_EQ(instrs[1].pcRef->target, target);
  EXPECT_FALSE(instrs[1].pcRef->high);
  EXPECT_TRUE(instrs[2].pcRef->high);
  EXPECT_EQ(instrs[2].pcRef->getpcId, instrs[0].getpcId);
  EXPECT_EQ(instrs[3].target, 1u);
  EXPECT_EQ(program.blocks[0].successors, Ids{}) << "a call is no edge";
  ASSERT_EQ(program.functions.size(), 2u);
  EXPECT_EQ(program.functions[1].name, "callee");
  EXPECT_EQ(program.functions[1].entryBlock, 1u);
  EXPECT_EQ(program.functions[0].blocks, (Ids{0})) << "callees are functions of their own";
  EXPECT_TRUE(program.blocks[1].entersByRegister);
}

TEST(Recover, CallByOffset) {
  const Loaded loaded = loadKernel({.body = R"(
  s_call_b64 s[30:31], callee
  s_endpgm)",
                                    .more = callee});
  ASSERT_EQ(loaded.program.blocks.size(), 2u);
  EXPECT_EQ(loaded.program.blocks[0].instrs[0].target, 1u);
  EXPECT_EQ(loaded.program.blocks[0].instrs.size(), 2u) << "a call does not end a block";
}

TEST(Recover, LongJumpThroughProgramCounterIsAnEdge) {
  const Loaded loaded = loadKernel({R"(
  s_getpc_b64 s[8:9]
.Lpc:
  s_add_u32 s8, s8, (far-.Lpc)&4294967295
  s_addc_u32 s9, s9, (far-.Lpc)>>32
  s_setpc_b64 s[8:9]
  s_endpgm
far:
  s_endpgm)"});
  ASSERT_EQ(loaded.program.blocks.size(), 3u);
  EXPECT_EQ(loaded.program.blocks[0].successors, (Ids{2}));
  EXPECT_TRUE(loaded.program.blocks[2].reachable);
  EXPECT_FALSE(loaded.program.blocks[1].reachable);
  EXPECT_EQ(loaded.program.functions.size(), 1u);
}

TEST(Recover, ReferenceSurvivesInstructionsInBetween) {
  const Loaded loaded = loadKernel({.body = R"(
  s_getpc_b64 s[4:5]
.Lpc:
  v_mov_b32_e32 v0, 0
  s_add_u32 s6, s4, table@rel32@lo+(.Llo-4-.Lpc)
.Llo:
  v_mov_b32_e32 v1, 0
  s_addc_u32 s7, s5, table@rel32@hi+(.Lhi-4-.Lpc)
.Lhi:
  s_load_dword s8, s[6:7], 0x0
  s_mov_b64 s[4:5], 0
  s_endpgm)",
                                    .data = "table:\n  .long 1, 2, 3, 4"});
  const std::vector<Instr>& instrs = loaded.program.blocks[0].instrs;
  ASSERT_TRUE(instrs[2].pcRef && instrs[4].pcRef);
  EXPECT_EQ(instrs[2].pcRef->target, symbolAddress(loaded.object, "table"));
  EXPECT_EQ(instrs[4].pcRef->target, symbolAddress(loaded.object, "table"));
  EXPECT_TRUE(loaded.program.pinned.empty()) << loaded.program.pinned;
}

TEST(Recover, ProgramCounterThatEscapesPins) {
  const Loaded loaded = loadKernel({R"(
  s_getpc_b64 s[4:5]
  s_load_dword s8, s[4:5], 0x20
  s_endpgm)"});
  EXPECT_NE(loaded.program.pinned.find("program counter"), std::string::npos) << loaded.program.pinned;
}

TEST(Recover, ProgramCounterReadInALaterBlockPins) {
  const char* const head = "  s_getpc_b64 s[4:5]\n  s_cbranch_scc0 other\n  s_endpgm\nother:\n";
  const Loaded read = loadKernel({std::string(head) + "  s_load_dword s8, s[4:5], 0x20\n  s_endpgm"});
  EXPECT_NE(read.program.pinned.find("program counter"), std::string::npos) << read.program.pinned;
  const Loaded overwritten =
      loadKernel({std::string(head) + "  s_mov_b64 s[4:5], 0\n  s_load_dword s8, s[4:5], 0x20\n  s_endpgm"});
  EXPECT_TRUE(overwritten.program.pinned.empty()) << overwritten.program.pinned;
}

TEST(Recover, UndecodableDwordsNotReachedAreOpaqueAndSilent) {
  const Loaded loaded = loadKernel({R"(
  s_branch over
  .long 0xf4080500, 0x00000000, 0xdeadbeef
over:
  s_endpgm)"});
  const Program& program = loaded.program;
  ASSERT_EQ(program.blocks.size(), 3u);
  EXPECT_TRUE(program.pinned.empty()) << program.pinned;
  EXPECT_TRUE(program.blocks[1].opaque);
  EXPECT_FALSE(program.blocks[1].reachable);
  EXPECT_EQ(program.blocks[1].size, 12u);
  EXPECT_EQ(program.blocks[1].successors, Ids{});
  EXPECT_EQ(program.blocks[2].predecessors, (Ids{0}));
  EXPECT_EQ(program.instructionCount(), 2u);
}

TEST(Recover, UndecodableDwordReachedPinsByAddress) {
  const Loaded loaded = loadKernel({R"(
  v_mov_b32_e32 v0, 0
  .long 0xf4080500
  s_endpgm)"});
  const Program& program = loaded.program;
  ASSERT_EQ(program.blocks.size(), 3u);
  EXPECT_TRUE(program.blocks[1].opaque);
  EXPECT_TRUE(program.blocks[1].reachable);
  EXPECT_EQ(program.blocks[1].size, 4u);
  EXPECT_EQ(program.blocks[1].successors, (Ids{2}));
  const std::string address = fmt::format("0x{:x}", symbolAddress(loaded.object, "k") + 4);
  EXPECT_NE(program.pinned.find(address), std::string::npos) << program.pinned;
}

TEST(Recover, TableInTextIsOpaqueFromWhereItIsReferredTo) {
  const Loaded loaded = loadKernel({R"(
  s_getpc_b64 s[4:5]
.Lpc:
  s_add_u32 s4, s4, (table-.Lpc)&4294967295
  s_addc_u32 s5, s5, (table-.Lpc)>>32
  s_load_dword s8, s[4:5], 0x0
  s_endpgm
table:
  .long 0x7e000280, 0x7e020281, 0x7e040282)"}); // would decode as v_mov_b32
  const Program& program = loaded.program;
  ASSERT_EQ(program.blocks.size(), 2u);
  EXPECT_TRUE(program.blocks[1].opaque);
  EXPECT_EQ(program.blocks[1].size, 12u);
  EXPECT_TRUE(program.pinned.empty()) << program.pinned;
}

TEST(Recover, BranchIntoAnInstructionStaysRawAndPins) {
  const Loaded loaded = loadKernel({R"(
  s_cbranch_scc0 1
  v_add_u32_e32 v0, 0x12345678, v0
  s_endpgm)"});
  const Program& program = loaded.program;
  EXPECT_FALSE(program.blocks[0].instrs.back().target);
  EXPECT_FALSE(program.pinned.empty());
  const std::string inside = fmt::format("0x{:x}", symbolAddress(loaded.object, "k") + 8);
  EXPECT_NE(program.pinned.find(inside), std::string::npos) << program.pinned;
}

TEST(Recover, BranchOutOfTheSectionStaysRawAndPins) {
  const Loaded loaded = loadKernel({"  s_cbranch_scc0 0x4000\n  s_endpgm"});
  EXPECT_FALSE(loaded.program.blocks[0].instrs.back().target);
  EXPECT_NE(loaded.program.pinned.find("goes to"), std::string::npos) << loaded.program.pinned;
}

TEST(Recover, KernargPreloadHasTwoEntries) {
  const Loaded loaded = loadKernel({.body = R"(
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_branch .Lsecond
  .fill 60, 4, 0xbf800000
.Lsecond:
  s_endpgm)",
                                    .descriptor = "    .amdhsa_user_sgpr_kernarg_preload_length 2\n"
                                                  "    .amdhsa_user_sgpr_count 4"});
  const Program& program = loaded.program;
  ASSERT_EQ(program.functions.size(), 1u);
  ASSERT_TRUE(program.functions[0].preloadEntry);
  const Block& second = program.blocks[*program.functions[0].preloadEntry];
  EXPECT_EQ(second.address, program.functions[0].entry + 256);
  EXPECT_TRUE(second.entersByRegister);
  EXPECT_TRUE(second.reachable);
}

// Whatever is in .text, recovery ends, loses no byte, and an unedited rebuild is the same file.
TEST(Recover, RandomCodeIsCarriedThrough) {
  std::string body;
  for (int i = 0; i < 64; ++i)
    body += "  s_nop 0\n";
  const Bytes original = assembleFile(kernelFile({body + "  s_endpgm"}));
  const auto object = object::CodeObject::parse(original, "random.co");
  ASSERT_TRUE(object);
  const auto codec = isa::Codec::create(object->target());
  ASSERT_TRUE(codec);
  const std::uint64_t text = *object->fileOffset(symbolAddress(*object, "k"));
  // Leading bytes of branches, s_getpc_b64, s_setpc_b64, s_swappc_b64, s_add_u32 and s_addc_u32 with literals, so that
  // the random programs have control flow.
  const std::uint32_t shapes[] = {0xbf820000, 0xbf850000, 0xbf880000, 0xbe841c00, 0xbe801d04, 0xbe9e1e04,
                                  0x8004ff04, 0x8205ff05, 0x7e000280, 0xd1000000, 0xbf810000, 0x00000000};
  std::uint64_t state = 1;
  const auto draw = [&] {
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 16);
  };
  std::size_t pinned = 0, opaque = 0;
  for (int round = 0; round < 400; ++round) {
    Bytes bytes = original;
    for (std::size_t i = 0; i < 65; ++i) {
      std::uint32_t word = draw();
      if (draw() % 3 != 0) {
        word = shapes[draw() % std::size(shapes)];
        if (word >> 24 == 0xbf)
          word |= (draw() % 64 - 32) & 0xffff;
      }
      std::memcpy(bytes.data() + text + i * 4, &word, 4);
    }
    const auto mutated = object::CodeObject::parse(bytes, "random.co");
    ASSERT_TRUE(mutated);
    const auto program = Program::recover(*mutated, **codec);
    ASSERT_TRUE(program) << program.error().message;
    std::uint64_t covered = 0;
    for (const Block& block : program->blocks) {
      covered += block.size;
      opaque += block.opaque;
    }
    EXPECT_EQ(covered, 65u * 4);
    pinned += !program->pinned.empty();
    const auto rebuilt = rebuild(*mutated, *program, **codec);
    ASSERT_TRUE(rebuilt) << rebuilt.error().message;
    ASSERT_EQ(*rebuilt, bytes) << "round " << round;
  }
  EXPECT_GT(pinned, 0u);
  EXPECT_GT(opaque, 0u);
}

} // namespace
