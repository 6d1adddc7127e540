/// Printed assembly, edited and put back. The oracles are clang-22 with lld-22 for what edited text means, and the
/// original's own bytes for what is not edited.
#include "program_support.h"

#include "program/print_assembly.h"
#include "program/reassemble.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

using namespace asmevo;
using namespace asmevo::program;
using namespace asmevo::program::test;

namespace {

std::string print(const Loaded& loaded, const PrintOptions& options = {}) {
  const auto text = printAssembly(loaded.object, loaded.program, *loaded.codec, options);
  EXPECT_TRUE(text) << text.error().message;
  return text ? *text : std::string();
}

Result<Bytes> reassembled(const Loaded& loaded, const std::string& text, const ReassembleOptions& options = {}) {
  ASMEVO_TRY(const Reassembly result, reassemble(loaded.object, loaded.program, *loaded.codec, text, options));
  return rebuild(loaded.object, result.program, *loaded.codec);
}

/// The object made of edited text; fails the test on an error.
Loaded edited(const Loaded& loaded, const std::string& text, const ReassembleOptions& options = {}) {
  auto bytes = reassembled(loaded, text, options);
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
  return load(bytes ? *std::move(bytes) : Bytes(loaded.object.bytes().begin(), loaded.object.bytes().end()));
}

std::string errorOf(const Loaded& loaded, const std::string& text) {
  const auto bytes = reassembled(loaded, text, {.fileName = "K.s"});
  EXPECT_FALSE(bytes) << "accepted:\n" << text.substr(0, 2000);
  return bytes ? std::string() : bytes.error().message;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << "\n" << text;
  if (at != std::string::npos)
    text.replace(at, what.size(), with);
  return text;
}

/// `text` without anything behind //.
std::string withoutComments(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    out += line.substr(0, line.find("//")) + "\n";
    begin = end + 1;
  }
  return out;
}

const char* const loop = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_mov_b32 s3, 4
again:
  v_add_u32_e32 v0, 1, v0
  s_sub_u32 s3, s3, 1
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 again
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]
  s_endpgm)";

const char* const tableBody = R"(
  s_mov_b32 s3, 4
again:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_load_dword s8, s[4:5], 0x0
  s_sub_u32 s3, s3, 1
  s_cbranch_scc1 again
  s_endpgm)";
const char* const tableData = "other:\n  .long 9\ntable:\n  .long 11, 22";

TEST(Reassemble, UneditedTextIsTheSameFile) {
  std::vector<std::string> paths = ownKernels();
  for (const char* path : {"gfx942/topksoftmax/topksoftmax_12x256x8.co", "gfx942/fmoe_int8_g1u0.co",
                           "gfx942/mla/mla_a16w16_qh16_m16x4_n16x1_coex0_mask1.co",
                           "gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_64x512.co"})
    paths.push_back(corpusPath(path));
  for (const std::string& path : paths) {
    auto file = readFile(path);
    ASSERT_TRUE(file) << file.error().message;
    const Loaded loaded = load(*file, path);
    PrintOptions patchable;
    patchable.patchable = true;
    for (const std::string& text : {print(loaded), print(loaded, patchable), withoutComments(print(loaded)),
                                    withoutComments(print(loaded, patchable))}) {
      const auto result = reassemble(loaded.object, loaded.program, *loaded.codec, text, {});
      ASSERT_TRUE(result) << path << ": " << result.error().message;
      EXPECT_EQ(
          result->kept, loaded.program.instructionCount() +
                            [&] {
                              std::size_t opaque = 0;
                              for (const Block& block : loaded.program.blocks)
                                opaque += block.opaque ? block.instrs.size() : 0;
                              return opaque;
                            }())
          << path;
      EXPECT_EQ(result->assembled, 0u) << path;
      const auto bytes = rebuild(loaded.object, result->program, *loaded.codec);
      ASSERT_TRUE(bytes) << bytes.error().message;
      EXPECT_TRUE(*bytes == *file) << path;
    }
  }
}

TEST(Reassemble, BitsThatPrintAlikeStay) {
  // s_waitcnt with every combination of its unused bits, among others; and v_mov_b32 with a literal that an inline
  // constant could hold.
  const Loaded loaded = loadKernel({"  .long 0xbf8ccf7f, 0xbf8cffff, 0xbf8c0f70, 0xbf8c3f70, 0xbf8cc07f, 0xbf8cf07f\n"
                                    "  .long 0xbf8c0080, 0xbf8c0000, 0x7e0002ff, 0x00000001\n  s_endpgm"});
  PrintOptions patchable;
  patchable.patchable = true;
  const std::string text = print(loaded, patchable);
  EXPECT_EQ(text.find(".long 0xbf8c"), std::string::npos) << text;
  EXPECT_NE(text.find("\tv_mov_b32_e32 v0, lit(0x1) "), std::string::npos) << text;
  // An edit next to them does not touch them.
  const Loaded after = edited(loaded, replaced(text, "\ts_endpgm", "\ts_nop 5\n\ts_endpgm"));
  const Bytes before = textOf(loaded.object), now = textOf(after.object);
  const std::size_t end = 10 * 4;
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + end, now.begin()));
  std::uint32_t word = 0;
  std::memcpy(&word, now.data() + end, sizeof word);
  EXPECT_EQ(word, 0xbf800005u);
  // A line that was changed and changed back by hand, without its comment, still finds its encoding.
  EXPECT_EQ(textOf(edited(loaded, withoutComments(text)).object), before);
}

TEST(Reassemble, UndecodableWordsStay) {
  const Loaded loaded =
      loadKernel({"  s_branch over\n  .long 0xf4080500, 0, 0xdeadbeef\nover:\n  s_nop 1\n  s_endpgm"});
  const std::string text = print(loaded);
  EXPECT_EQ(textOf(edited(loaded, text).object), textOf(loaded.object));
  const Loaded after = edited(loaded, replaced(text, "\ts_nop 1", "\ts_nop 2\n\ts_nop 3"));
  const Bytes now = textOf(after.object);
  const std::uint32_t words[] = {0xf4080500, 0, 0xdeadbeef, 0xbf800002, 0xbf800003, 0xbf810000};
  EXPECT_EQ(std::memcmp(now.data() + 4, words, sizeof words), 0);
}

/// The edit means to us what it means to clang: same .text, and everything else of the file as it was.
void expectAsClang(const Loaded& loaded, const std::string& text) {
  const Loaded ours = edited(loaded, text);
  const Loaded clangs = load(assembleFile(text, loaded.object.target().id()));
  EXPECT_EQ(textOf(ours.object), textOf(clangs.object)) << text;
  EXPECT_EQ(ours.object.metadataText(), loaded.object.metadataText());
}

TEST(Reassemble, EditsMeanWhatClangMakesOfThem) {
  const Loaded loaded = loadKernel({loop});
  const std::string text = print(loaded);
  // inserted, changed and deleted instructions
  expectAsClang(loaded,
                replaced(text, "\ts_sub_u32", "\tv_mov_b32_e32 v2, 0x1234\n\tv_xor_b32 v0, v0, v2\n\ts_sub_u32"));
  expectAsClang(loaded, replaced(text, "v_add_u32_e32 v0, 1, v0", "v_sub_u32_e32 v0, v0, v1"));
  const std::size_t cmp = text.find("\ts_cmp_lg_u32"), cmpEnd = text.find('\n', cmp) + 1;
  expectAsClang(loaded, text.substr(0, cmp) + text.substr(cmpEnd));
  // a new label, branches to it, forward and back
  const std::string labelled =
      replaced(text, "\ts_waitcnt lgkmcnt(0)",
               "skip:\n\ts_nop 1\nskip2: s_waitcnt lgkmcnt(0) // with a label in the line\n\ts_cbranch_vccz skip");
  expectAsClang(loaded, replaced(labelled, "\tv_add_u32_e32", "\ts_cbranch_scc0 skip2\n\tv_add_u32_e32"));
  // two lines in another order, each with its comment
  const std::size_t a = text.find("\tv_add_u32_e32"), b = text.find("\ts_sub_u32"), c = text.find("\ts_cmp_lg_u32");
  expectAsClang(loaded, text.substr(0, a) + text.substr(b, c - b) + text.substr(a, b - a) + text.substr(c));
  // a line twice
  expectAsClang(loaded, text.substr(0, b) + text.substr(a));
  // words, block comments, spacing
  expectAsClang(loaded,
                replaced(text, "\ts_sub_u32", "\t.long 0xbf800007 /* s_nop 7 */\n  s_nop   8 ; more\n\ts_sub_u32"));
}

TEST(Reassemble, ABranchFollowsItsLabel) {
  const Loaded loaded = loadKernel({loop});
  std::string text = print(loaded);
  // The label of the loop, which is a local symbol, goes one instruction up: not in front of the kernel's own.
  text = replaced(text, "again:\n", "");
  text = replaced(text, "\ts_mov_b32 s3, 4", "again:\n\ts_mov_b32 s3, 4");
  const Loaded after = edited(loaded, text);
  const auto clangs = load(assembleFile(text));
  EXPECT_EQ(textOf(after.object), textOf(clangs.object));
}

TEST(Reassemble, ReferencesToDataFollow) {
  const Loaded loaded = loadKernel({.body = tableBody, .data = tableData});
  const std::string text = print(loaded);
  const Loaded after = edited(loaded, replaced(text, "\ts_add_u32", "\tv_mov_b32_e32 v0, 0\n\ts_add_u32"));
  const auto referred = [](const Loaded& object) {
    std::vector<std::uint64_t> targets;
    for (const Block& block : object.program.blocks)
      for (const Instr& instr : block.instrs)
        if (instr.pcRef)
          targets.push_back(instr.pcRef->target);
    return targets;
  };
  const std::uint64_t table = symbolAddress(after.object, "table");
  EXPECT_EQ(referred(after), (std::vector<std::uint64_t>{table, table}));
  // And a reference written anew, in the spelling of the printer and of compilers.
  const std::size_t low = text.find("table@rel32@lo"), high = text.find("table@rel32@hi");
  ASSERT_NE(low, std::string::npos);
  std::string retargeted = text;
  retargeted.replace(high, 5, "other");
  retargeted.replace(low, 5, "other");
  const Loaded other = edited(loaded, retargeted);
  const std::uint64_t place = symbolAddress(other.object, "other");
  EXPECT_EQ(referred(other), (std::vector<std::uint64_t>{place, place}));
  std::string compilers = text;
  compilers.replace(high, compilers.find("//", high) - high, "other@rel32@hi+12 ");
  compilers.replace(low, compilers.find("//", low) - low, "other@rel32@lo+4 ");
  const Loaded again = edited(loaded, compilers);
  EXPECT_EQ(referred(again), (std::vector<std::uint64_t>{place, place}));
}

TEST(Reassemble, CodeCanGrowByPages) {
  const Loaded loaded = loadKernel({.body = tableBody, .data = tableData});
  std::string nops;
  for (int i = 0; i < 3000; ++i)
    nops += "\ts_nop 0\n";
  const Loaded after = edited(loaded, replaced(print(loaded), "\ts_endpgm", nops + "\ts_endpgm"));
  EXPECT_EQ(textOf(after.object).size(), textOf(loaded.object).size() + 12000);
}

TEST(Reassemble, APartLeavesTheRestAlone) {
  const Loaded loaded = loadKernel({loop});
  PrintOptions options;
  options.part = BlockRange{1, 1};
  const std::string part = print(loaded, options);
  EXPECT_EQ(part.find("global_store_dword"), std::string::npos);
  EXPECT_EQ(part.find(".amdhsa"), std::string::npos);
  EXPECT_EQ(textOf(edited(loaded, part).object), textOf(loaded.object));
  const std::string whole = print(loaded);
  const char* what = "\ts_sub_u32 s3, s3, 1";
  EXPECT_EQ(textOf(edited(loaded, replaced(part, what, "\ts_nop 1\n\ts_sub_u32 s3, s3, 1")).object),
            textOf(edited(loaded, replaced(whole, what, "\ts_nop 1\n\ts_sub_u32 s3, s3, 1")).object));
  EXPECT_FALSE(blocksByNumber(loaded.program, 1, 99));
  EXPECT_FALSE(blocksByNumber(loaded.program, 2, 1));
  EXPECT_FALSE(blocksOfKernel(loaded.object, loaded.program, "none"));
  const auto byAddress =
      blocksOfAddresses(loaded.program, loaded.program.blocks[1].address, loaded.program.blocks[1].address + 4);
  ASSERT_TRUE(byAddress);
  EXPECT_EQ(*byAddress, (BlockRange{1, 1}));
}

TEST(Reassemble, ThePreloadPrologueKeepsItsLength) {
  std::string body = "  s_load_dwordx2 s[2:3], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n  s_branch main\n"
                     "  .fill 60, 4, 0xbf800000\nmain:\n  v_mov_b32_e32 v0, s2\n  s_endpgm";
  const Loaded loaded = loadKernel({.body = body, .descriptor = "    .amdhsa_user_sgpr_kernarg_preload_length 2\n"});
  ASSERT_TRUE(loaded.program.functions[0].preloadEntry);
  const std::string text = print(loaded);
  EXPECT_EQ(textOf(edited(loaded, text).object), textOf(loaded.object));
  // Room is made by the padding; without enough of it the edit is refused.
  const Loaded after = edited(loaded, replaced(text, "\ts_waitcnt", "\ts_nop 1\n\ts_waitcnt"));
  EXPECT_EQ(textOf(after.object).size(), textOf(loaded.object).size());
  std::string nops;
  for (int i = 0; i < 70; ++i)
    nops += "\ts_nop 1\n";
  EXPECT_NE(errorOf(loaded, replaced(text, "\ts_waitcnt", nops + "\ts_waitcnt")).find("256 bytes"), std::string::npos);
}

TEST(Reassemble, DataConstantsChangeInPlace) {
  const Loaded loaded = loadKernel({.body = tableBody, .data = tableData});
  const std::string text = print(loaded);
  const Loaded after = edited(loaded, replaced(text, "0x0000000b, 0x00000016", "-2, 0x3f800000"));
  const std::size_t at = *after.object.fileOffset(symbolAddress(after.object, "table"));
  const std::uint32_t expected[] = {0xfffffffe, 0x3f800000};
  EXPECT_EQ(std::memcmp(after.object.bytes().data() + at, expected, sizeof expected), 0);
  EXPECT_EQ(textOf(after.object), textOf(loaded.object));
  const Loaded floats =
      edited(loaded, replaced(text, ".long 0x0000000b, 0x00000016", ".float -2.5\n\t.ascii \"a\\n\\0\\x\""));
  const char bytes[] = {0, 0, 0x20, static_cast<char>(0xc0), 'a', '\n', 0, 'x'};
  EXPECT_EQ(std::memcmp(floats.object.bytes().data() + at, bytes, sizeof bytes), 0);
  for (const char* wrong : {".long 0x0000000b", ".long 0x0000000b, 0x00000016, 1", ".byte 300, 0, 0, 0, 0, 0, 0, 0",
                            ".zero 4000000000", ".fill 2, 4", ".quad table", ".incbin \"/etc/passwd\""})
    EXPECT_FALSE(errorOf(loaded, replaced(text, ".long 0x0000000b, 0x00000016", wrong)).empty()) << wrong;
}

TEST(Reassemble, DescriptorDirectivesChangeDescriptorAndMetadata) {
  const Loaded loaded = loadKernel({loop});
  const std::string text = print(loaded);
  ASSERT_NE(text.find(".amdhsa_kernel k\n"), std::string::npos) << text;
  std::string changed = replaced(text, ".amdhsa_next_free_vgpr 32", ".amdhsa_next_free_vgpr 100");
  changed = replaced(changed, ".amdhsa_accum_offset 32", ".amdhsa_accum_offset 64");
  changed = replaced(changed, ".amdhsa_float_denorm_mode_32 0", ".amdhsa_float_denorm_mode_32 3");
  const Loaded after = edited(loaded, changed);
  const object::Kernel& kernel = after.object.kernels()[0];
  EXPECT_EQ(kernel.descriptor.allocatedVgprs(after.object.target()), 104u); // granule of 8
  EXPECT_EQ(kernel.descriptor.accumOffset(after.object.target()), 64u);
  EXPECT_EQ(kernel.descriptor.floatMode(), 0xf0u);
  ASSERT_TRUE(kernel.metadata);
  EXPECT_EQ(kernel.metadata->vgprCount, 104u);
  EXPECT_EQ(kernel.metadata->agprCount, 40u);
  // clang makes the same descriptor of the same text
  const Loaded clangs = load(assembleFile(changed));
  auto ours = kernel.descriptor, theirs = clangs.object.kernels()[0].descriptor;
  ours.setEntryOffset(0);
  theirs.setEntryOffset(0);
  EXPECT_EQ(ours.raw, theirs.raw);
  const std::string error =
      errorOf(loaded, replaced(text, ".amdhsa_float_denorm_mode_32 0", ".amdhsa_float_denorm_mode_32 9"));
  EXPECT_NE(error.find(".amdhsa_float_denorm_mode_32: value out of range"), std::string::npos) << error;
  EXPECT_FALSE(errorOf(loaded, replaced(text, "\t.end_amdhsa_kernel\n", "")).empty());
  EXPECT_FALSE(errorOf(loaded, replaced(text, ".amdhsa_kernel k", ".amdhsa_kernel j")).empty());
}

TEST(Reassemble, MetadataValuesOfTheSameLengthChange) {
  const Loaded loaded = loadKernel({loop});
  const std::string text = print(loaded);
  const Loaded after = edited(loaded, replaced(text, ".max_flat_workgroup_size: 64", ".max_flat_workgroup_size: 96"));
  EXPECT_EQ(after.object.kernels()[0].metadata->maxFlatWorkgroupSize, 96u);
  EXPECT_NE(errorOf(loaded, replaced(text, ".max_flat_workgroup_size: 64", ".max_flat_workgroup_size: 1024"))
                .find("same encoded length"),
            std::string::npos);
  EXPECT_NE(errorOf(loaded, replaced(text, ".max_flat_workgroup_size: 64", ".max_flat_workgroup_size: [}"))
                .find("no metadata"),
            std::string::npos);
}

TEST(Reassemble, RegistersBeyondTheAllocation) {
  const Loaded loaded = loadKernel({loop});
  const std::string text = print(loaded);
  const std::string high = replaced(text, "\ts_sub_u32", "\tv_mov_b32_e32 v40, v0\n\ts_sub_u32");
  EXPECT_NE(errorOf(loaded, high).find("v40 is beyond the 32 VGPRs"), std::string::npos) << errorOf(loaded, high);
  const Loaded grown = edited(loaded, high, {.fileName = "K.s", .growRegisters = true});
  EXPECT_EQ(grown.object.kernels()[0].descriptor.allocatedVgprs(grown.object.target()), 48u);
  EXPECT_EQ(grown.object.kernels()[0].descriptor.accumOffset(grown.object.target()), 44u);
  const std::string agpr = replaced(text, "\ts_sub_u32", "\tv_accvgpr_write_b32 a3, v0\n\ts_sub_u32");
  EXPECT_NE(errorOf(loaded, agpr).find("a3 is beyond the 0 AGPRs"), std::string::npos);
  const Loaded both = edited(loaded, agpr, {.fileName = "K.s", .growRegisters = true});
  EXPECT_EQ(both.object.kernels()[0].descriptor.allocatedVgprs(both.object.target()), 40u); // 32 + 4, granule 8
  EXPECT_EQ(both.object.kernels()[0].descriptor.accumOffset(both.object.target()), 32u);
  const std::string sgpr = replaced(text, "\ts_sub_u32", "\ts_mov_b32 s99, 0\n\ts_sub_u32");
  EXPECT_NE(errorOf(loaded, sgpr).find("s99 is beyond the 48 SGPRs"), std::string::npos);
}

TEST(Reassemble, ErrorsNamePlaceAndRemedy) {
  const Loaded loaded = loadKernel({loop});
  const std::string text = print(loaded);
  struct Case {
    const char *line, *expected;
  };
  const Case cases[] = {
      {"v_ad_u32_e32 v0, 1, v0", "'v_ad_u32_e32' is no instruction of gfx942"},
      {"v_ad_u32_e32 v0, 1, v0", "did you mean v_add_u32"},
      {"v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", "is not supported on gfx942"},
      {"s_cbranch_scc1 agian", "the label 'agian' is not defined"},
      {"s_cbranch_scc1 agian", "did you mean again?"},
      {"s_cbranch_scc1 -4", "a branch goes to a label"},
      {"v_add_u32_e32 v0, v1", "too few operands"},
      {"v_add_u32_e32 v0, v1", "this file has 'v_add_u32_e32 v0, 1, v0'"},
      {"v_mov_b32_e32 v0, s200", "register index is out of range"},
      {"s_add_u32 s4, s4, tabel@rel32@lo+4", "'tabel' is no label or symbol of the original"},
      {".include \"other.s\"", "the directive '.include' is not accepted"},
      {".incbin \"/etc/passwd\"", "the directive '.incbin' is not accepted"},
      {".macro m", "the directive '.macro' is not accepted"},
      {".globl fresh", "symbols cannot be added"},
      {".long k", "integer constants are expected"},
      {".long 0xbf820001", "a branch in words has no target"},
      {".section .fini_array", "'.fini_array' is no section of the original"},
      {"again:", "'again' is defined twice"},
      {".p2align 12", "aligned to 256 bytes only"},
      {".Lpc9:", "stands behind no s_getpc_b64"},
      {".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"", "the target cannot be changed"},
      {".set fresh, 1", "symbols and their values cannot be added"},
  };
  for (const Case& each : cases) {
    const std::string error =
        errorOf(loaded, replaced(text, "\ts_sub_u32", fmt::format("\t{}\n\ts_sub_u32", each.line)));
    EXPECT_NE(error.find(each.expected), std::string::npos) << each.line << ":\n" << error;
    const std::size_t line =
        static_cast<std::size_t>(
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("\ts_sub_u32")), '\n')) +
        1;
    if (std::string_view(each.line) != "again:")
      EXPECT_TRUE(error.starts_with(fmt::format("K.s:{}:", line)) ||
                  error.find(fmt::format("\nK.s:{}:", line)) != std::string::npos)
          << error;
    EXPECT_NE(error.find(fmt::format("\t{}\n", each.line)), std::string::npos) << error;
  }
  // The caret stands under what is wrong.
  const std::string error = errorOf(loaded, replaced(text, "\ts_sub_u32", "\tv_mov_b32_e32 v0, s200\n\ts_sub_u32"));
  EXPECT_NE(error.find("\tv_mov_b32_e32 v0, s200\n\t                  ^"), std::string::npos) << error;
}

TEST(Reassemble, AllErrorsAtOnceUpToAScreenful) {
  const Loaded loaded = loadKernel({loop});
  std::string lines;
  for (int i = 0; i < 50; ++i)
    lines += "\tv_nonsense v0\n";
  const std::string error = errorOf(loaded, replaced(print(loaded), "\ts_sub_u32", lines + "\ts_sub_u32"));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = error.find("is no instruction of", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, 20u);
}

TEST(Reassemble, WhatOthersReferToCannotGo) {
  const Loaded loaded = loadKernel({loop});
  const std::string text = print(loaded);
  EXPECT_NE(errorOf(loaded, replaced(text, "again:\n", "")).find("'again' is not defined"), std::string::npos);
  // The kernel's own label in front of other code moves its entry off its alignment: refused by the rebuild.
  const std::size_t begin = text.find("k:\n");
  ASSERT_NE(begin, std::string::npos);
  const Loaded functions = loadKernel({.body = "  s_nop 1\n  s_endpgm", .more = R"(
  .globl f
  .type f,@function
f:
  s_nop 2
  s_setpc_b64 s[30:31]
.Lend_f:
  .size f, .Lend_f-f
)"});
  std::string swapped = print(functions);
  const std::size_t f = swapped.find("f:\n"), k = swapped.find("k:\n");
  ASSERT_LT(k, f);
  swapped.replace(f, 1, "k");
  swapped.replace(k, 1, "f");
  EXPECT_NE(errorOf(functions, swapped).find("keep their order"), std::string::npos);
}

TEST(Reassemble, TargetIdsArePartOfTheText) {
  std::string file = kernelFile({"  s_endpgm"});
  for (std::size_t at = 0; (at = file.find("--gfx942", at)) != std::string::npos; at += 10)
    file.replace(at, 8, "--gfx942:sramecc+:xnack-");
  const Loaded loaded = load(assembleFile(file, "gfx942:sramecc+:xnack-"));
  const std::string text = print(loaded);
  EXPECT_NE(text.find(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-\""), std::string::npos);
  EXPECT_NE(text.find("-mcpu=gfx942:sramecc+:xnack- "), std::string::npos);
  EXPECT_EQ(textOf(edited(loaded, text).object), textOf(loaded.object));
  EXPECT_NE(
      errorOf(loaded, replaced(text, "gfx942:sramecc+:xnack-\"", "gfx942\"")).find("the target cannot be changed"),
      std::string::npos);
}

TEST(Reassemble, MutatedTextIsTakenOrRefused) {
  const Loaded loaded = loadKernel({.body = tableBody, .data = tableData});
  const std::string text = print(loaded);
  std::mt19937 random(12345);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const std::string_view pieces[] = {"\"",
                                     "\\",
                                     "/*",
                                     "*/",
                                     "//",
                                     ":",
                                     "\n",
                                     "\t.zero 99999999999\n",
                                     "(",
                                     ")",
                                     "@rel32@lo+",
                                     "-",
                                     "0x",
                                     ",",
                                     "[0:1]",
                                     "\t.p2align 63\n",
                                     ".Lpc1",
                                     "k:\n",
                                     "\ts_branch ",
                                     "\0x",
                                     "\xff",
                                     "99999999999999999999",
                                     "\t.section .rodata\n",
                                     "\t.amdhsa_kernel k\n",
                                     "\t.amdgpu_metadata\n",
                                     "\ts_endpgm\n"};
  std::size_t accepted = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string mutated = text;
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t at = below(mutated.size());
      switch (below(4)) {
      case 0:
        mutated[at] = static_cast<char>(random());
        break;
      case 1:
        mutated.insert(at, pieces[below(std::size(pieces))]);
        break;
      case 2:
        mutated.erase(at, 1 + below(40));
        break;
      default: { // a line somewhere else
        const std::size_t line = mutated.rfind('\n', at) + 1;
        const std::size_t end = std::min(mutated.find('\n', line), mutated.size() - 1) + 1;
        const std::string copy = mutated.substr(line, end - line);
        mutated.insert(mutated.rfind('\n', below(mutated.size())) + 1, copy);
      }
      }
      if (mutated.empty())
        mutated = text;
    }
    const auto bytes = reassembled(loaded, mutated);
    if (!bytes) {
      EXPECT_FALSE(bytes.error().message.empty());
      continue;
    }
    ++accepted;
    EXPECT_TRUE(object::CodeObject::parse(*bytes, "mutated")) << mutated;
  }
  EXPECT_GT(accepted, 100u);
  EXPECT_LT(accepted, 1400u);
}

} // namespace
