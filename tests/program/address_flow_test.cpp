/// Code addresses that travel through registers and tables: what recovery makes of them, and that they still lead to
/// the same places after code has moved. The oracle is the symbol table of what stock clang and lld built.
#include "program_support.h"

#include "program/address_flow.h"
#include "program/pc_reference.h"
#include "program/print_assembly.h"
#include "program/reassemble.h"
#include "program/shift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace asmevo;
using namespace asmevo::program;
using namespace asmevo::program::test;

namespace {

Loaded loadFor(const std::string& cpu, const KernelText& kernel) {
  return load(assembleFile(kernelFile(kernel, cpu), cpu));
}

template <class T> T valueOf(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  return *std::move(result);
}

/// Old addresses of a block's successors, ascending.
std::vector<std::uint64_t> successorsOf(const Loaded& loaded, BlockId block) {
  std::vector<std::uint64_t> addresses;
  for (const BlockId id : loaded.program.blocks.at(block).successors)
    addresses.push_back(loaded.program.blocks[id].address);
  std::ranges::sort(addresses);
  return addresses;
}

std::vector<std::uint64_t> symbolsOf(const Loaded& loaded, const std::vector<std::string>& names) {
  std::vector<std::uint64_t> addresses;
  for (const std::string& name : names)
    addresses.push_back(symbolAddress(loaded.object, name));
  std::ranges::sort(addresses);
  return addresses;
}

std::uint64_t dataAt(const object::CodeObject& object, std::uint64_t address, unsigned bytes) {
  std::uint64_t value = 0;
  const auto offset = object.fileOffset(address);
  EXPECT_TRUE(offset);
  if (offset)
    std::memcpy(&value, object.bytes().data() + *offset, bytes);
  return value;
}

/// One s_nop before every block, then runs of them at random: both times the same program by the check, and moved.
std::vector<Loaded> moved(const Loaded& loaded) {
  std::vector<Loaded> files;
  EXPECT_TRUE(loaded.program.pinned.empty()) << loaded.program.pinned;
  for (const bool random : {false, true}) {
    const auto edited = random ? scattered(loaded.program, *loaded.codec, {.nops = 100, .places = 8, .seed = 3})
                               : shifted(loaded.program, *loaded.codec);
    EXPECT_TRUE(edited);
    auto bytes = rebuild(loaded.object, *edited, *loaded.codec);
    EXPECT_TRUE(bytes) << bytes.error().message;
    if (!bytes)
      continue;
    files.push_back(load(*std::move(bytes)));
    const Loaded& after = files.back();
    const Status same = checkShifted(loaded.object, *edited, after.object, after.program, *loaded.codec);
    EXPECT_TRUE(same) << same.error().message;
    EXPECT_GT(textOf(after.object).size(), textOf(loaded.object).size());
  }
  return files;
}

/// The only block that ends in a jump through a register.
BlockId jumpingBlock(const Loaded& loaded) {
  std::optional<BlockId> found;
  for (BlockId id = 0; id < loaded.program.blocks.size(); ++id)
    if (!loaded.program.blocks[id].opaque && flowOf(loaded.program.blocks[id].instrs.back().inst) == Flow::jump &&
        loaded.program.blocks[id].reachable) {
      EXPECT_FALSE(found);
      found = id;
    }
  EXPECT_TRUE(found);
  return found.value_or(0);
}

std::string cases(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("c{0}:\n  v_mov_b32_e32 v1, {0}\n  s_branch join\n", i);
  return text + "join:\n  s_endpgm\n";
}
std::vector<std::string> caseNames(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i)
    names.push_back(fmt::format("c{}", i));
  return names;
}

const std::string relativeJump = R"(
  s_lshl_b32 s3, s2, 2
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_load_dword s8, s[4:5], s3
  s_waitcnt lgkmcnt(0)
  s_ashr_i32 s9, s8, 31
  s_add_u32 s8, s4, s8
  s_addc_u32 s9, s5, s9
  s_setpc_b64 s[8:9]
)";

TEST(JumpTable, RelativeToItself) {
  const Loaded loaded = loadKernel({.body = relativeJump + cases(8),
                                    .data = "table:\n  .long c0-table, c1-table, c2-table, c3-table\n"
                                            "  .long c4-table, c5-table, c6-table, c7-table\n"});
  EXPECT_EQ(successorsOf(loaded, jumpingBlock(loaded)), symbolsOf(loaded, caseNames(8)));
  ASSERT_EQ(loaded.program.functions.size(), 1u) << "cases are no functions";
  ASSERT_EQ(loaded.program.codeTables.size(), 1u);
  EXPECT_EQ(loaded.program.codeTables[0].address, symbolAddress(loaded.object, "table"));
  EXPECT_EQ(loaded.program.codeTables[0].targets.size(), 8u);
  for (const Loaded& after : moved(loaded)) {
    EXPECT_EQ(successorsOf(after, jumpingBlock(after)), symbolsOf(after, caseNames(8)));
    const std::uint64_t table = symbolAddress(after.object, "table");
    for (unsigned i = 0; i < 8; ++i)
      EXPECT_EQ(static_cast<std::uint32_t>(dataAt(after.object, table + 4 * i, 4)),
                static_cast<std::uint32_t>(symbolAddress(after.object, fmt::format("c{}", i)) - table));
  }
}

TEST(JumpTable, OverlappingEntriesAndAnIndexedBase) {
  // The index is added to the table's address, and two cases share a label.
  const std::string body = R"(
  s_lshl_b32 s3, s2, 2
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_add_u32 s6, s4, s3
  s_addc_u32 s7, s5, 0
  s_load_dword s8, s[6:7], 0x0
  s_waitcnt lgkmcnt(0)
  s_ashr_i32 s9, s8, 31
  s_add_u32 s8, s8, s4
  s_addc_u32 s9, s9, s5
  s_setpc_b64 s[8:9]
)";
  const Loaded loaded = loadKernel({.body = body + cases(3),
                                    .data = "table:\n  .long c0-table, c1-table, c1-table, c2-table\nother:\n"
                                            "  .long 7\n"});
  EXPECT_EQ(successorsOf(loaded, jumpingBlock(loaded)), symbolsOf(loaded, caseNames(3)));
  EXPECT_EQ(loaded.program.codeTables.at(0).targets.size(), 4u);
  for (const Loaded& after : moved(loaded)) {
    EXPECT_EQ(successorsOf(after, jumpingBlock(after)), symbolsOf(after, caseNames(3)));
    EXPECT_EQ(dataAt(after.object, symbolAddress(after.object, "other"), 4), 7u);
  }
}

TEST(JumpTable, BetweenCodeAndRelativeToTheProgramCounter) {
  const std::string body = R"(
  s_lshl_b32 s3, s2, 2
  s_getpc_b64 s[4:5]
.Lpc:
  s_add_u32 s10, s4, (table-.Lpc)&4294967295
  s_addc_u32 s11, s5, (table-.Lpc)>>32
  s_load_dword s8, s[10:11], s3
  s_waitcnt lgkmcnt(0)
  s_ashr_i32 s9, s8, 31
  s_add_u32 s8, s4, s8
  s_addc_u32 s9, s5, s9
  s_mov_b64 s[4:5], 0
  s_setpc_b64 s[8:9]
table:
  .long c0-.Lpc, c1-.Lpc, c2-.Lpc, c3-.Lpc, c4-.Lpc
)";
  const Loaded loaded = loadKernel({.body = body + cases(5)});
  EXPECT_EQ(successorsOf(loaded, jumpingBlock(loaded)), symbolsOf(loaded, caseNames(5)));
  const auto table = loaded.program.blockAt(symbolAddress(loaded.object, "table"));
  ASSERT_TRUE(table);
  EXPECT_TRUE(loaded.program.blocks[*table].opaque);
  EXPECT_EQ(loaded.program.blocks[*table].size, 20u);
  for (const Loaded& after : moved(loaded)) {
    EXPECT_EQ(successorsOf(after, jumpingBlock(after)), symbolsOf(after, caseNames(5)));
    std::uint64_t anchor = 0;
    for (const Block& block : after.program.blocks)
      for (const Instr& instr : block.instrs)
        if (instr.getpcId != 0)
          anchor = instr.address + 4;
    for (unsigned i = 0; i < 5; ++i)
      EXPECT_EQ(anchor + dataAt(after.object, symbolAddress(after.object, "table") + 4 * i, 4),
                symbolAddress(after.object, fmt::format("c{}", i)));
  }
}

const std::string pointerTable = R"(
  .section .data,"aw",@progbits
  .p2align 3
table:
  .quad c0, c1, c2, c3, c4, c5, c6, c7
  .quad 99
  .text
)";
const std::string loadPointer = R"(
  s_lshl_b32 s3, s2, 3
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_load_dwordx2 s[8:9], s[4:5], s3
  s_waitcnt lgkmcnt(0)
)";

TEST(JumpTable, OfRelocatedAddresses) {
  const Loaded loaded = loadKernel({.body = loadPointer + "  s_setpc_b64 s[8:9]\n" + cases(8), .more = pointerTable});
  EXPECT_EQ(successorsOf(loaded, jumpingBlock(loaded)), symbolsOf(loaded, caseNames(8)));
  ASSERT_EQ(loaded.program.functions.size(), 1u) << "cases are no functions";
  EXPECT_FALSE(loaded.program.blocks[*loaded.program.blockAt(symbolAddress(loaded.object, "c3"))].entersByRegister);
  for (const Loaded& after : moved(loaded)) {
    EXPECT_EQ(successorsOf(after, jumpingBlock(after)), symbolsOf(after, caseNames(8)));
    EXPECT_EQ(dataAt(after.object, symbolAddress(after.object, "table") + 64, 8), 99u);
  }
}

TEST(JumpTable, WhoseEndIsNotCertainPins) {
  // The word behind the table is neither an entry nor padding: anything could be the last entry.
  const Loaded loaded =
      loadKernel({.body = relativeJump + cases(2), .data = "table:\n  .long c0-table, c1-table, 0x7fffffff\n"});
  EXPECT_NE(loaded.program.pinned.find("the end of the table"), std::string::npos) << loaded.program.pinned;
  // A symbol's size settles it.
  const Loaded sized = loadKernel({.body = relativeJump + cases(2),
                                   .data = ".type table,@object\n.size table,8\ntable:\n"
                                           "  .long c0-table, c1-table, 0x7fffffff\n"});
  EXPECT_TRUE(sized.program.pinned.empty()) << sized.program.pinned;
  EXPECT_EQ(successorsOf(sized, jumpingBlock(sized)), symbolsOf(sized, caseNames(2)));
}

const std::string functions = R"(
  .type f0,@function
f0:
  v_mov_b32_e32 v0, 0
  s_setpc_b64 s[30:31]
.Lend_f0:
  .size f0, .Lend_f0-f0
f1:
  v_mov_b32_e32 v0, 1
  s_setpc_b64 s[30:31]
)";

TEST(FunctionTable, CallThroughRelocatedPointers) {
  const Loaded loaded = loadKernel({.body = loadPointer + "  s_swappc_b64 s[30:31], s[8:9]\n  s_endpgm\n",
                                    .more = functions + "  .section .data,\"aw\",@progbits\n  .p2align 3\n"
                                                        "table:\n  .quad f0, f1, f0\n  .text\n"});
  ASSERT_EQ(loaded.program.functions.size(), 3u) << "the one without a type is a function too";
  ASSERT_EQ(loaded.program.codeTables.size(), 1u);
  const std::vector<BlockId>& targets = loaded.program.codeTables[0].targets;
  const BlockId f0 = *loaded.program.blockAt(symbolAddress(loaded.object, "f0"));
  const BlockId f1 = *loaded.program.blockAt(symbolAddress(loaded.object, "f1"));
  EXPECT_EQ(targets, (std::vector<BlockId>{f0, f1, f0}));
  EXPECT_TRUE(loaded.program.blocks[f1].entersByRegister);
  EXPECT_TRUE(loaded.program.blocks[0].successors.empty()) << "a call is no edge";
  for (const Loaded& after : moved(loaded))
    for (const auto& relocation : after.object.relocations())
      if (relocation.offset == symbolAddress(after.object, "table") + 8) {
        EXPECT_EQ(static_cast<std::uint64_t>(relocation.addend), symbolAddress(after.object, "f1"));
      }
}

TEST(FunctionTable, OnePointerIsOneTarget) {
  std::string body = loadPointer;
  body.replace(body.find("s3\n  s_waitcnt"), 2, "0x8");
  const Loaded loaded = loadKernel({.body = body + "  s_swappc_b64 s[30:31], s[8:9]\n  s_endpgm\n",
                                    .more = functions + "  .section .data,\"aw\",@progbits\n  .p2align 3\n"
                                                        "table:\n  .quad f0, f1, f0\n  .text\n"});
  ASSERT_EQ(loaded.program.codeTables.size(), 1u);
  EXPECT_EQ(loaded.program.codeTables[0].targets,
            (std::vector<BlockId>{*loaded.program.blockAt(symbolAddress(loaded.object, "f1"))}));
}

TEST(AddressFlow, ThroughCopiesAndAcrossBlocks) {
  const Loaded loaded = loadKernel({.body = R"(
  s_getpc_b64 s[4:5]
.Lpc:
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 late
  s_mov_b32 s3, 1
late:
  s_mov_b64 s[10:11], s[4:5]
  s_mov_b64 s[4:5], 0
  v_mov_b32_e32 v0, 0
  s_add_u32 s12, s10, table@rel32@lo+(.Llo-4-.Lpc)
.Llo:
  v_mov_b32_e32 v1, 0
  s_mov_b32 s14, s11
  s_addc_u32 s13, s14, table@rel32@hi+(.Lhi-4-.Lpc)
.Lhi:
  s_load_dword s8, s[12:13], 0x0
  s_endpgm)",
                                    .data = "table:\n  .long 1, 2, 3, 4"});
  std::size_t references = 0;
  for (const Block& block : loaded.program.blocks)
    for (const Instr& instr : block.instrs)
      if (instr.pcRef) {
        EXPECT_EQ(instr.pcRef->target, symbolAddress(loaded.object, "table"));
        ++references;
      }
  EXPECT_EQ(references, 2u);
  (void)moved(loaded);
}

// As hipBLASLt writes its long branches: the label's distance as a literal, a register on the way, and no high half.
const std::string labelsInRegisters = R"(
  s_getpc_b64 s[4:5]
.Lpc:
  s_add_i32 s6, far-.Lpc-4, 4
  s_add_u32 s4, s4, s6
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
  s_endpgm
back:
  s_endpgm
far:
  s_getpc_b64 s[8:9]
.Lpc2:
  s_add_i32 s6, back-.Lpc2-4, 4
  s_abs_i32 s6, s6
  s_sub_u32 s8, s8, s6
  s_subb_u32 s9, s9, 0
  s_setpc_b64 s[8:9]
)";

TEST(AddressFlow, LabelInARegister) {
  const Loaded loaded = loadKernel({.body = labelsInRegisters});
  const BlockId far = *loaded.program.blockAt(symbolAddress(loaded.object, "far"));
  EXPECT_EQ(successorsOf(loaded, 0), symbolsOf(loaded, {"far"}));
  EXPECT_EQ(successorsOf(loaded, far), symbolsOf(loaded, {"back"}));
  for (const Loaded& after : moved(loaded)) {
    EXPECT_EQ(successorsOf(after, 0), symbolsOf(after, {"far"}));
    EXPECT_EQ(successorsOf(after, *after.program.blockAt(symbolAddress(after.object, "far"))),
              symbolsOf(after, {"back"}));
  }
}

TEST(AddressFlow, LabelThatServesOtherwiseAsWellPins) {
  const Loaded loaded = loadKernel({R"(
  s_getpc_b64 s[4:5]
.Lpc:
  s_add_i32 s6, far-.Lpc-4, 4
  v_mov_b32_e32 v0, s6
  s_add_u32 s4, s4, s6
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
far:
  s_endpgm)"});
  EXPECT_NE(loaded.program.pinned.find("a distance and more"), std::string::npos) << loaded.program.pinned;
}

TEST(AddressFlow, ComputedJumpsIntoCodePin) {
  // Slots of 8 bytes: they must not move apart.
  const Loaded slots = loadKernel({R"(
  s_lshl_b32 s3, s2, 3
  s_getpc_b64 s[4:5]
.Lpc:
  s_add_u32 s4, s4, (slots-.Lpc)&4294967295
  s_addc_u32 s5, s5, (slots-.Lpc)>>32
  s_add_u32 s4, s4, s3
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
slots:
  v_mov_b32_e32 v0, 0
  s_endpgm
  v_mov_b32_e32 v0, 1
  s_endpgm)"});
  EXPECT_NE(slots.program.pinned.find("computed"), std::string::npos) << slots.program.pinned;
  const Loaded raw = loadKernel({R"(
  s_lshl_b32 s3, s2, 3
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, s3
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5]
  s_endpgm)"});
  EXPECT_NE(raw.program.pinned.find("program counter"), std::string::npos) << raw.program.pinned;
}

TEST(AddressFlow, CounterOnSomePathsOnlyPins) {
  const Loaded loaded = loadKernel({R"(
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 join
  s_getpc_b64 s[4:5]
join:
  s_add_u32 s4, s4, 16
  s_addc_u32 s5, s5, 0
  s_setpc_b64 s[4:5])"});
  EXPECT_NE(loaded.program.pinned.find("some paths"), std::string::npos) << loaded.program.pinned;
}

TEST(AddressFlow, CounterPassedToAFunctionThatReadsItPins) {
  const auto body = [](const std::string& callee) {
    return loadKernel({.body = "  s_getpc_b64 s[4:5]\n  s_call_b64 s[30:31], f\n  s_endpgm\n",
                       .more = "f:\n" + callee + "  s_setpc_b64 s[30:31]\n"});
  };
  EXPECT_NE(body("  v_mov_b32_e32 v0, s4\n").program.pinned.find("program counter"), std::string::npos);
  EXPECT_EQ(body("  s_mov_b64 s[4:5], 0\n").program.pinned, "");
}

TEST(AddressFlow, Gfx12SignExtendsTheCounter) {
  const Loaded loaded = loadFor("gfx1201", {.body = R"(
  s_getpc_b64 s[4:5]
  s_sext_i32_i16 s5, s5
  s_add_co_u32 s4, s4, table@rel32@lo+8
  s_add_co_ci_u32 s5, s5, table@rel32@hi+16
  s_load_b32 s8, s[4:5], 0x0
  s_endpgm)",
                                            .data = "table:\n  .long 1, 2"});
  const std::vector<Instr>& instrs = loaded.program.blocks[0].instrs;
  ASSERT_TRUE(instrs[2].pcRef && instrs[3].pcRef);
  EXPECT_EQ(instrs[2].pcRef->target, symbolAddress(loaded.object, "table"));
  (void)moved(loaded);
}

const KernelText wideSums = {.body = R"(
  s_get_pc_i64 s[4:5]
.Lpc:
  s_mov_b32 s10, 31
  s_prefetch_inst s[4:5], 0x1000, s10, 0
  s_add_nc_u64 s[6:7], s[4:5], callee-.Lpc
  s_mov_b64 s[4:5], 0
  s_swap_pc_i64 s[30:31], s[6:7]
  s_add_pc_i64 far-.Lnext
.Lnext:
  s_endpgm
far:
  s_get_pc_i64 s[4:5]
.Lpc2:
  s_sub_nc_u64 s[4:5], s[4:5], .Lpc2-near
  s_set_pc_i64 s[4:5]
near:
  s_endpgm
)",
                             .more = "callee:\n  v_mov_b32_e32 v0, 0\n  s_set_pc_i64 s[30:31]\n"};

TEST(AddressFlow, Gfx1250AddsAndJumpsIn64Bits) {
  const Loaded loaded = loadFor("gfx1250", wideSums);
  EXPECT_TRUE(loaded.program.pinned.empty()) << loaded.program.pinned;
  ASSERT_EQ(loaded.program.functions.size(), 2u);
  EXPECT_EQ(loaded.program.functions[1].entry, symbolAddress(loaded.object, "callee"));
  EXPECT_EQ(successorsOf(loaded, 0), symbolsOf(loaded, {"far"}));
  const BlockId far = *loaded.program.blockAt(symbolAddress(loaded.object, "far"));
  EXPECT_EQ(successorsOf(loaded, far), symbolsOf(loaded, {"near"}));
  for (const Loaded& after : moved(loaded)) {
    EXPECT_EQ(successorsOf(after, 0), symbolsOf(after, {"far"}));
    EXPECT_EQ(after.program.functions.at(1).entry, symbolAddress(after.object, "callee"));
    const BlockId farNow = *after.program.blockAt(symbolAddress(after.object, "far"));
    EXPECT_EQ(successorsOf(after, farNow), symbolsOf(after, {"near"}));
  }
}

// A number that is not the plain difference of two addresses has no expression an assembler would get right.
TEST(AddressFlow, OtherDistancesArePrintedAsNumbers) {
  struct Row {
    std::string cpu;
    KernelText kernel;
    std::vector<std::string> numbers;
    std::string target;
  };
  // far is 28 bytes behind .Lpc and back 8 before .Lpc2, and the code adds 4 to each literal.
  const Row rows[] = {
      {"gfx942",
       {.body = labelsInRegisters},
       {"s_add_i32 s6, lit(0x18), 4", "s_add_i32 s6, lit(0xfffffff4), 4"},
       "far"},
      {"gfx1250", wideSums, {"s_add_nc_u64 s[6:7], s[4:5], lit64(0x48)", "s_add_pc_i64 lit64(0x4)"}, "far"},
  };
  for (const Row& row : rows) {
    const Loaded loaded = loadFor(row.cpu, row.kernel);
    const std::string text = valueOf(printAssembly(loaded.object, loaded.program, *loaded.codec));
    for (const std::string& number : row.numbers) {
      const std::size_t at = text.find("\t" + number);
      ASSERT_NE(at, std::string::npos) << number << "\n" << text;
      const std::string line = text.substr(at, text.find('\n', at) - at);
      EXPECT_EQ(line.substr(0, line.find("//")).find(".L"), std::string::npos) << line;
      EXPECT_NE(line.find("pc-relative"), std::string::npos) << line;
    }
    EXPECT_EQ(textOf(load(assembleFile(text, row.cpu)).object), textOf(loaded.object));
    // Lines that are left alone stay references: code put in between moves their targets.
    std::string edited = text;
    const std::size_t at = edited.find(row.target + ":\n");
    ASSERT_NE(at, std::string::npos);
    edited.insert(at, "\ts_nop 1\n\ts_nop 2\n\ts_nop 3\n");
    const Reassembly again = valueOf(reassemble(loaded.object, loaded.program, *loaded.codec, edited, {}));
    const Loaded after = load(valueOf(rebuild(loaded.object, again.program, *loaded.codec)));
    EXPECT_EQ(symbolAddress(after.object, row.target), symbolAddress(loaded.object, row.target) + 12);
    EXPECT_EQ(successorsOf(after, 0), symbolsOf(after, {row.target}));
  }
}

TEST(AddressFlow, BackwardDistanceOf32BitsBecomesALiteralOf64) {
  const Loaded loaded = loadFor("gfx1250", {.body = R"(
  v_mov_b32_e32 v0, 1
back:
  v_mov_b32_e32 v0, 2
  s_add_pc_i64 -8
  s_endpgm)"});
  const std::uint64_t back = symbolAddress(loaded.object, "back");
  EXPECT_EQ(successorsOf(loaded, *loaded.program.blockAt(back)), (std::vector<std::uint64_t>{back}));
  for (const Loaded& after : moved(loaded))
    EXPECT_EQ(successorsOf(after, *after.program.blockAt(symbolAddress(after.object, "back"))),
              symbolsOf(after, {"back"}));
}

TEST(UnknownEncoding, VectorInstructionsMoveAsTheyAre) {
  // gfx1250's tensor load in an encoding LLVM 22 does not know: three dwords, of which the last decodes by itself.
  const Loaded loaded = loadFor("gfx1250", {.body = R"(
  v_mov_b32_e32 v0, 1
  .long 0xd0310000, 0x00200000, 0x7c7c2414
  v_mov_b32_e32 v0, 2
  s_endpgm)"});
  EXPECT_TRUE(loaded.program.pinned.empty()) << loaded.program.pinned;
  ASSERT_EQ(loaded.program.blocks.size(), 3u);
  EXPECT_TRUE(loaded.program.blocks[1].opaque);
  EXPECT_TRUE(loaded.program.blocks[1].reachable);
  EXPECT_EQ(loaded.program.blocks[1].size, 12u);
  EXPECT_EQ(loaded.program.blocks[1].successors, (std::vector<BlockId>{2}));
  for (const Loaded& after : moved(loaded)) {
    const Bytes text = textOf(after.object);
    const std::uint32_t words[] = {0xd0310000, 0x00200000, 0x7c7c2414};
    const auto* begin = reinterpret_cast<const std::uint8_t*>(words);
    EXPECT_NE(std::search(text.begin(), text.end(), begin, begin + sizeof words), text.end());
  }
}

TEST(UnknownEncoding, ScalarAndUnallocatedOnesPin) {
  // s_setvskip's neighbourhood: SOPC 0x7f is no opcode; 0xf4 is no family before gfx10.
  for (const char* const word : {"0xbf7f0000", "0xf4080500"}) {
    const Loaded loaded = loadKernel({fmt::format("  .long {}\n  s_endpgm", word)});
    EXPECT_NE(loaded.program.pinned.find("undecodable dword"), std::string::npos) << word << loaded.program.pinned;
  }
}

TEST(Recover, ModeChangesDoNotEndBlocks) {
  const Loaded loaded = loadKernel({R"(
  s_setvskip s2, 0
  v_mov_b32_e32 v1, 1
  s_setvskip 0, 0
  s_mov_b32 m0, 3
  s_set_gpr_idx_on s3, 1
  v_mov_b32_e32 v2, v1
  s_set_gpr_idx_off
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0
  s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s4
  s_cbranch_scc0 k
  s_endpgm)"});
  ASSERT_EQ(loaded.program.blocks.size(), 2u);
  EXPECT_EQ(loaded.program.blocks[0].instrs.size(), 10u);
  EXPECT_EQ(loaded.program.blocks[0].successors, (std::vector<BlockId>{0, 1}));
  EXPECT_TRUE(loaded.program.pinned.empty()) << loaded.program.pinned;
}

} // namespace
