/// Edited programs, laid out again: every address is read back from the new file's bytes.
#include "program_support.h"

#include "program/debug_sections.h"
#include "program/insertion.h"
#include "program/pc_reference.h"
#include "program/shift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace asmevo;
using namespace asmevo::program;
using namespace asmevo::program::test;

namespace {

Loaded rebuilt(const Loaded& loaded) {
  auto bytes = rebuild(loaded.object, loaded.program, *loaded.codec);
  if (!bytes) {
    ADD_FAILURE() << bytes.error().message;
    std::abort();
  }
  return load(*std::move(bytes), "rebuilt.co");
}

/// The address formed by s_getpc_b64 and the two additions at `low` and `high` in a block, from their encodings.
std::uint64_t formedAddress(const Loaded& loaded, BlockId block, std::size_t getpc, std::size_t low, std::size_t high) {
  const auto& instrs = loaded.program.blocks.at(block).instrs;
  const auto literal = [&](std::size_t index) {
    std::uint32_t value = 0;
    std::memcpy(&value, instrs.at(index).inst->encoding.data() + 4, sizeof value);
    return value;
  };
  return instrs.at(getpc).address + 4 + (literal(low) | std::uint64_t{literal(high)} << 32);
}

const char* const tableLoop = R"(
  s_load_dwordx2 s[6:7], s[0:1], 0x0
  s_mov_b32 s3, 4
loop:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_load_dword s8, s[4:5], 0x0
  s_sub_u32 s3, s3, 1
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 loop
  s_endpgm)";

TEST(Rebuild, TableStillResolvesAfterInsertionIntoItsLoop) {
  Loaded loaded = loadKernel({.body = tableLoop, .data = "table:\n  .long 11, 22, 33, 44"});
  insert(loaded, 1, 0, "v_mov_b32_e32 v0, 0");
  insert(loaded, 1, 2, "v_mov_b32_e32 v1, 0"); // between s_getpc_b64 and its addition
  insert(loaded, 1, 4, "v_mov_b32_e32 v2, 0");
  const Loaded after = rebuilt(loaded);
  ASSERT_EQ(after.program.blocks.size(), 3u);
  ASSERT_EQ(texts(after, 1).size(), 10u);
  EXPECT_EQ(formedAddress(after, 1, 1, 3, 5), symbolAddress(after.object, "table"));
  EXPECT_EQ(encodedTarget(after, after.program.blocks[1].instrs.back().address), after.program.blocks[1].address);
  EXPECT_EQ(after.program.blocks[1].successors, (std::vector<BlockId>{1, 2}));
  EXPECT_EQ(symbolAddress(after.object, "loop"), after.program.blocks[1].address);
  EXPECT_EQ(textOf(after.object).size(), textOf(loaded.object).size() + 12);
  EXPECT_TRUE(after.program.pinned.empty()) << after.program.pinned;
}

TEST(Rebuild, DataBehindCodeThatGrewStillResolves) {
  const std::string writable = R"(
  .section .data,"aw",@progbits
  .p2align 4
variable:
  .long 7, 8
  .text)";
  std::string body = tableLoop;
  while (body.find("table") != std::string::npos)
    body.replace(body.find("table"), 5, "variable");
  Loaded loaded = loadKernel({.body = body, .more = writable});
  ASSERT_GT(symbolAddress(loaded.object, "variable"), symbolAddress(loaded.object, "k"));
  insert(loaded, 1, 0, "s_nop 0", 3000);
  const Loaded after = rebuilt(loaded);
  EXPECT_NE(symbolAddress(after.object, "variable"), symbolAddress(loaded.object, "variable"));
  EXPECT_EQ(formedAddress(after, 1, 3000, 3001, 3002), symbolAddress(after.object, "variable"));
  const auto offset = after.object.fileOffset(symbolAddress(after.object, "variable"));
  ASSERT_TRUE(offset);
  EXPECT_EQ(after.object.bytes()[*offset], 7);
}

TEST(Rebuild, InlineConstantBecomesALiteralWhenTheDistanceNeedsOne) {
  Loaded loaded = loadKernel({R"(
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, 16
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
  s_nop 1
  s_endpgm)"});
  ASSERT_EQ(loaded.program.blocks.size(), 3u);
  ASSERT_EQ(loaded.program.blocks[2].address, symbolAddress(loaded.object, "k") + 20);
  insert(loaded, 0, 1, "s_nop 2", 40);
  const Loaded after = rebuilt(loaded);
  const std::vector<Instr>& instrs = after.program.blocks[0].instrs;
  ASSERT_EQ(instrs.size(), 44u);
  ASSERT_TRUE(instrs[41].pcRef);
  EXPECT_EQ(instrs[41].inst->size, 8u);
  EXPECT_EQ(texts(after, 2), (std::vector<std::string>{"s_endpgm"}));
  EXPECT_EQ(instrs[41].pcRef->target, after.program.blocks[2].address);
}

constexpr std::size_t farAway = 33000; ///< s_nop, 132,000 bytes: beyond a 16-bit dword offset

void expectReaches(const Loaded& after, std::uint64_t branch, std::uint64_t target) {
  EXPECT_EQ(follow(after, encodedTarget(after, branch)), follow(after, target));
}

TEST(Rebuild, LongBackwardBranchGoesOverAnIsland) {
  Loaded loaded = loadKernel({R"(
  s_mov_b32 s3, 4
loop:
  v_add_u32_e32 v1, 1, v1
  s_sub_u32 s3, s3, 1
  s_cbranch_scc1 loop
  s_endpgm)"});
  insert(loaded, 1, 1, "s_nop 0", farAway);
  const Loaded after = rebuilt(loaded);
  const std::uint64_t loop = symbolAddress(after.object, "loop");
  // The only conditional branch of the new file must come back to the loop, and the straight way down must reach it.
  std::size_t conditional = 0, endings = 0;
  for (const Block& block : after.program.blocks)
    for (const Instr& instr : block.instrs) {
      if (flowOf(instr.inst) == Flow::conditional) {
        ++conditional;
        expectReaches(after, instr.address, loop);
        EXPECT_EQ(after.codec->complete(after.program.blocks[0].instrs[0].inst)->text, "s_mov_b32 s3, 4");
      }
      endings += flowOf(instr.inst) == Flow::end;
    }
  EXPECT_EQ(conditional, 1u);
  EXPECT_EQ(endings, 1u);
  // Falling through the loop body: the first instruction after v_add that is no s_nop and no s_branch is s_sub.
  const std::uint64_t sub = follow(after, loop + 4);
  EXPECT_EQ(after.codec->decode(after.object.bytes().subspan(*after.object.fileOffset(sub)))->text,
            "s_sub_u32 s3, s3, 1");
}

TEST(Rebuild, LongForwardBranchesShareIslandsAndAllArrive) {
  Loaded loaded = loadKernel({R"(
  s_cbranch_scc0 far
  s_cbranch_vccz far
  s_cbranch_execz other
  v_mov_b32_e32 v0, 1
  s_cbranch_scc1 near
  v_mov_b32_e32 v0, 2
near:
  s_branch far
other:
  v_mov_b32_e32 v0, 3
far:
  v_mov_b32_e32 v0, 4
  s_endpgm)"});
  const auto other = *loaded.program.blockAt(symbolAddress(loaded.object, "other"));
  insert(loaded, other - 1, 0, "s_nop 0", farAway); // in front of `s_branch far`
  insert(loaded, other, 1, "s_nop 0", 3 * farAway); // behind v_mov of `other`
  const Loaded after = rebuilt(loaded);
  const std::uint64_t far = symbolAddress(after.object, "far");
  const std::uint64_t near = symbolAddress(after.object, "near");
  const std::uint64_t otherNow = symbolAddress(after.object, "other");
  std::vector<std::string> seen;
  for (const Block& block : after.program.blocks)
    for (const Instr& instr : block.instrs) {
      if (flowOf(instr.inst) != Flow::conditional)
        continue;
      const std::string& name = after.codec->complete(instr.inst)->base;
      seen.push_back(name);
      expectReaches(after, instr.address, name == "s_cbranch_execz" ? otherNow : name == "s_cbranch_scc1" ? near : far);
    }
  EXPECT_EQ(seen, (std::vector<std::string>{"s_cbranch_scc0", "s_cbranch_vccz", "s_cbranch_execz", "s_cbranch_scc1"}));
  EXPECT_EQ(follow(after, near), far);
  EXPECT_EQ(follow(after, otherNow + 4), far);
  EXPECT_GT(far - symbolAddress(after.object, "k"), 4 * farAway * 4);
}

TEST(Rebuild, LongCallGoesOverAnIsland) {
  Loaded loaded = loadKernel({.body = "  s_call_b64 s[30:31], callee\n  v_mov_b32_e32 v0, 1\n  s_endpgm",
                              .more = "  .type callee,@function\ncallee:\n  v_mov_b32_e32 v0, 0\n"
                                      "  s_setpc_b64 s[30:31]"});
  insert(loaded, 0, 2, "s_nop 0", farAway);
  const Loaded after = rebuilt(loaded);
  expectReaches(after, symbolAddress(after.object, "k"), symbolAddress(after.object, "callee"));
}

const char* const secondKernel = R"(
  .globl second
  .p2align 8
  .type second,@function
second:
  s_endpgm
  .rodata
  .p2align 6
  .amdhsa_kernel second
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 8
  .end_amdhsa_kernel
  .text)";

TEST(Rebuild, KernelEntriesStayAligned) {
  Loaded loaded = loadKernel({.body = "  v_mov_b32_e32 v0, 1\n  s_endpgm", .more = secondKernel});
  insert(loaded, 0, 0, "v_mov_b32_e32 v1, 1");
  const Loaded after = rebuilt(loaded);
  ASSERT_EQ(after.object.kernels().size(), 2u);
  for (const object::Kernel& kernel : after.object.kernels()) {
    EXPECT_EQ(kernel.entryAddress % 256, 0u) << kernel.name;
    EXPECT_EQ(kernel.entryAddress, symbolAddress(after.object, kernel.name));
  }
  const auto second = after.object.findKernel("second");
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->entryAddress, symbolAddress(after.object, "k") + 512);
}

const KernelText preloadKernel = {.body = R"(
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_branch .Lsecond
  .fill 60, 4, 0xbf800000
.Lsecond:
  v_mov_b32_e32 v0, 1
  s_endpgm)",
                                  .descriptor = "    .amdhsa_user_sgpr_kernarg_preload_length 2\n"
                                                "    .amdhsa_user_sgpr_count 4"};

TEST(Rebuild, PreloadPrologueKeepsIts256Bytes) {
  Loaded loaded = loadKernel(preloadKernel);
  insert(loaded, 0, 0, "s_mov_b32 s20, 0", 5); // takes the room of padding
  const BlockId second = *loaded.program.functions[0].preloadEntry;
  insert(loaded, second, 0, "v_mov_b32_e32 v3, 1", 3);
  const Loaded after = rebuilt(loaded);
  const std::uint64_t entry = symbolAddress(after.object, "k");
  EXPECT_EQ(entry % 256, 0u);
  const BlockId secondNow = *after.program.blockAt(entry + 256);
  EXPECT_EQ(texts(after, secondNow).front(), "v_mov_b32_e32 v3, 1");
  EXPECT_EQ(texts(after, secondNow).size(), 5u);
  EXPECT_EQ(follow(after, entry + 5 * 4 + 12), entry + 256) << "the prologue's branch";
  // Shrinking is made up for in the same way.
  Loaded smaller = loadKernel(preloadKernel);
  smaller.program.blocks[0].instrs.erase(smaller.program.blocks[0].instrs.begin() + 1);
  const Loaded shrunk = rebuilt(smaller);
  EXPECT_EQ(textOf(shrunk.object).size(), textOf(smaller.object).size());
  EXPECT_EQ(texts(shrunk, *shrunk.program.blockAt(entry + 256)).front(), "v_mov_b32_e32 v0, 1");
}

TEST(Rebuild, PreloadPrologueDoesNotGrowPast256Bytes) {
  Loaded loaded = loadKernel(preloadKernel);
  insert(loaded, 0, 0, "s_mov_b32 s20, 0", 61);
  const auto result = rebuild(loaded.object, loaded.program, *loaded.codec);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::refused);
  EXPECT_NE(result.error().message.find("256 bytes"), std::string::npos) << result.error().message;
}

TEST(Rebuild, PinnedCodeIsRebuiltUneditedAndNotMoved) {
  Loaded loaded = loadKernel({"  v_mov_b32_e32 v0, 0\n  .long 0xf4080500\n  s_endpgm"});
  ASSERT_FALSE(loaded.program.pinned.empty());
  const auto same = rebuild(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_TRUE(std::ranges::equal(*same, loaded.object.bytes()));
  insert(loaded, 0, 0, "s_nop 0");
  const auto moved = rebuild(loaded.object, loaded.program, *loaded.codec);
  ASSERT_FALSE(moved);
  EXPECT_NE(moved.error().message.find("undecodable dword"), std::string::npos) << moved.error().message;
  // The same size at the same place is no move.
  loaded.program.blocks[0].instrs.erase(loaded.program.blocks[0].instrs.begin() + 1);
  const auto replaced = rebuild(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(replaced) << replaced.error().message;
}

TEST(Rebuild, ReferenceWithoutItsAnchorIsRefused) {
  Loaded loaded = loadKernel({.body = tableLoop, .data = "table:\n  .long 11, 22, 33, 44"});
  loaded.program.blocks[1].instrs.erase(loaded.program.blocks[1].instrs.begin());
  const auto result = rebuild(loaded.object, loaded.program, *loaded.codec);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("s_getpc_b64"), std::string::npos) << result.error().message;
}

TEST(Rebuild, DebugInformationOfMovedCodeIsHiddenAndNamed) {
  const std::string debug = "  .section .debug_line,\"\",@progbits\n  .long 1, 2, 3\n  .text";
  Loaded loaded = loadKernel({.body = "  v_mov_b32_e32 v0, 1\n  s_endpgm", .more = debug});
  const auto typeOf = [](const object::CodeObject& object) {
    for (const object::Section& section : object.sections())
      if (section.name == ".debug_line")
        return section.type;
    return ~0u;
  };
  ASSERT_EQ(typeOf(loaded.object), 1u); // SHT_PROGBITS
  loaded.program.blocks[0].instrs.at(0).inst = *loaded.codec->assemble("v_mov_b32_e32 v0, 2");
  const Loaded same = rebuilt(loaded);
  EXPECT_EQ(typeOf(same.object), 1u) << "nothing moved";
  EXPECT_TRUE(hiddenDebugSections(loaded.object, same.object).empty());
  insert(loaded, 0, 0, "s_nop 0");
  const Loaded after = rebuilt(loaded);
  EXPECT_EQ(typeOf(after.object), ~0u) << "an unused header has no name";
  EXPECT_EQ(hiddenDebugSections(loaded.object, after.object), (std::vector<std::string>{".debug_line"}));
}

TEST(Rebuild, IslandsKeepOutOfClausesAndDelays) {
  // Every place within reach but the far ends is inside a clause or behind an s_delay_alu.
  const Loaded loaded = load(assembleFile(kernelFile({R"(
  s_clause 0x2
  global_load_b32 v1, v0, s[2:3]
  global_load_b32 v2, v0, s[2:3] offset:4
  global_load_b32 v3, v0, s[2:3] offset:8
  s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
  v_add_nc_u32_e32 v4, v4, v4
  v_add_nc_u32_e32 v5, v4, v4
  v_mov_b32_e32 v6, v5
  s_endpgm)"},
                                                     "gfx1100"),
                                          "gfx1100"));
  EXPECT_EQ(insertionPoints(loaded.program.blocks[0], *loaded.codec),
            (std::vector<bool>{true, false, false, false, true, false, false, true, true}));
}

TEST(Rebuild, ShortBranchesBecomeLongInEveryDirection) {
  const Loaded loaded = loadKernel({R"(
  s_mov_b32 s3, 4
loop:
  v_add_u32_e32 v1, 1, v1
  s_cbranch_vccz skip
  v_add_u32_e32 v2, 1, v2
skip:
  s_sub_u32 s3, s3, 1
  s_cbranch_scc1 loop
  s_cbranch_execz done
  v_add_u32_e32 v3, 1, v3
done:
  s_endpgm)"});
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto edited = scattered(loaded.program, *loaded.codec, {.nops = 20000, .places = 6, .seed = seed});
    ASSERT_TRUE(edited);
    const auto bytes = rebuild(loaded.object, *edited, *loaded.codec);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const Loaded after = load(*bytes);
    const Status same = checkShifted(loaded.object, *edited, after.object, after.program, *loaded.codec);
    EXPECT_TRUE(same) << same.error().message;
    std::size_t islands = 0;
    for (const Block& block : after.program.blocks)
      for (const Instr& instr : block.instrs) {
        islands += flowOf(instr.inst) == Flow::always;
        if (flowOf(instr.inst) != Flow::conditional)
          continue;
        const std::string& name = after.codec->complete(instr.inst)->base;
        const char* const label = name == "s_cbranch_vccz" ? "skip" : name == "s_cbranch_scc1" ? "loop" : "done";
        expectReaches(after, instr.address, symbolAddress(after.object, label));
      }
    EXPECT_GT(islands, 0u) << "480,000 bytes of s_nop, and no branch became long";
  }
}

TEST(Rebuild, SplitAndInsertedBlocksKeepTargets) {
  Loaded loaded = loadKernel({R"(
  s_cbranch_scc0 there
  v_mov_b32_e32 v0, 1
  v_mov_b32_e32 v0, 2
there:
  s_cbranch_scc1 k
  s_endpgm)"});
  loaded.program.splitBlock(1, 1);
  loaded.program.insertBlock(2, loaded.program.blocks[1].section);
  insert(loaded, 2, 0, "v_mov_b32_e32 v0, 7");
  loaded.program.relink();
  EXPECT_EQ(loaded.program.blocks[0].successors, (std::vector<BlockId>{4, 1}));
  EXPECT_EQ(loaded.program.blocks[1].successors, (std::vector<BlockId>{2}));
  const Loaded after = rebuilt(loaded);
  ASSERT_EQ(after.program.blocks.size(), 4u);
  EXPECT_EQ(texts(after, 1),
            (std::vector<std::string>{"v_mov_b32_e32 v0, 1", "v_mov_b32_e32 v0, 7", "v_mov_b32_e32 v0, 2"}));
  EXPECT_EQ(after.program.blocks[2].successors, (std::vector<BlockId>{0, 3}));
}

TEST(Rebuild, ResourcesGoToDescriptorAndMetadata) {
  Loaded loaded = loadKernel({"  v_mov_b32_e32 v0, 1\n  s_endpgm"});
  loaded.program.resources[0] = {.vgprs = 24, .accumOffset = 16, .ldsBytes = 100, .descriptor = {}};
  const Loaded after = rebuilt(loaded);
  const object::Kernel& kernel = after.object.kernels()[0];
  EXPECT_EQ(kernel.descriptor.allocatedVgprs(after.object.target()), 24u);
  EXPECT_EQ(kernel.descriptor.accumOffset(after.object.target()), 16u);
  EXPECT_EQ(kernel.descriptor.groupSegmentSize(), 100u);
  ASSERT_TRUE(kernel.metadata);
  EXPECT_EQ(kernel.metadata->vgprCount, 24u);
  EXPECT_EQ(kernel.metadata->agprCount, 8u);
  EXPECT_EQ(kernel.metadata->groupSegmentFixedSize, 100u);
  EXPECT_EQ(textOf(after.object), textOf(loaded.object));
}

TEST(PatchInPlace, ShorterBlockLeavesEverythingElseAlone) {
  Loaded loaded = loadKernel({.body = R"(
  v_mov_b32_e32 v0, 1
  v_add_u32_e32 v1, 0x12345678, v1
  s_cbranch_scc1 k
  v_mov_b32_e32 v0, 2
  s_endpgm)",
                              .data = "table:\n  .long 1, 2"});
  const Bytes before(loaded.object.bytes().begin(), loaded.object.bytes().end());
  auto& instrs = loaded.program.blocks[0].instrs;
  instrs.erase(instrs.begin() + 1);
  const auto patched = patchInPlace(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(patched) << patched.error().message;
  ASSERT_EQ(patched->size(), before.size());
  const std::uint64_t text = *loaded.object.fileOffset(symbolAddress(loaded.object, "k"));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i >= text + 4 && i < text + 16)
      continue;
    ASSERT_EQ((*patched)[i], before[i]) << "offset " << i;
  }
  const Loaded after = load(*patched);
  EXPECT_EQ(texts(after, 0), (std::vector<std::string>{"v_mov_b32_e32 v0, 1", "s_cbranch_scc1 65534"}));
  EXPECT_EQ(texts(after, 1), (std::vector<std::string>{"s_nop 0", "s_nop 0", "v_mov_b32_e32 v0, 2", "s_endpgm"}));
}

TEST(PatchInPlace, GrowthIsRefusedAndNamesThePlace) {
  Loaded loaded = loadKernel({"  v_mov_b32_e32 v0, 1\n  s_cbranch_scc1 k\n  s_endpgm"});
  insert(loaded, 0, 0, "s_nop 0");
  const auto patched = patchInPlace(loaded.object, loaded.program, *loaded.codec);
  ASSERT_FALSE(patched);
  EXPECT_EQ(patched.error().kind, ErrorKind::refused);
  const std::string place = fmt::format("0x{:x}", symbolAddress(loaded.object, "k") + 8);
  EXPECT_NE(patched.error().message.find(place), std::string::npos) << patched.error().message;
  Loaded last = loadKernel({"  v_mov_b32_e32 v0, 1\n  s_cbranch_scc1 k\n  s_endpgm"});
  insert(last, 1, 0, "s_nop 0");
  EXPECT_FALSE(patchInPlace(last.object, last.program, *last.codec));
}

TEST(PatchInPlace, WorksOnPinnedCode) {
  Loaded loaded = loadKernel({"  v_mov_b32_e32 v0, 0\n  v_mov_b32_e32 v1, 0\n  .long 0xf4080500\n  s_endpgm"});
  ASSERT_FALSE(loaded.program.pinned.empty());
  loaded.program.blocks[0].instrs.erase(loaded.program.blocks[0].instrs.begin());
  const auto patched = patchInPlace(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ(texts(load(*patched), 0), (std::vector<std::string>{"v_mov_b32_e32 v1, 0", "s_nop 0"}));
}

} // namespace
