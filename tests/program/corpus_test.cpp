/// Real objects, production kernels and our own: as they are, shifted, and through assembly and stock tools.
#include "program_support.h"

#include "program/pc_reference.h"
#include "program/shift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace asmevo;
using namespace asmevo::program;
using namespace asmevo::program::test;

namespace {

// One of every family of the corpus. f4gemm has encodings whose don't-care bits LLVM would clear (facts: gfx950).
const char* const productionObjects[] = {
    "gfx942/topksoftmax/topksoftmax_12x256x8.co",
    "gfx942/bf16gemm/bf16gemm_outf32_tn_32x64_pf3.co",
    "gfx942/fmha_v3_fwd/MI300/fwd_hd128_bf16_rtne.co",
    "gfx942/pa/pa_bf16_noquant_gqa8_1tg_4w.co",
    "gfx942/fmoe_int8_g1u0.co",
    "gfx942/mla/mla_a16w16_qh16_m16x4_n16x1_coex0_mask1.co",
    "gfx942/all_reduce.co",
    "gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_64x512.co",
};

std::vector<std::string> everyObject() {
  std::vector<std::string> paths = ownKernels();
  EXPECT_GE(paths.size(), 12u) << "the kernels target builds at least twelve";
  for (const char* const path : productionObjects)
    paths.push_back(corpusPath(path));
  return paths;
}

Loaded loadFile(const std::string& path) {
  auto bytes = readFile(path);
  if (!bytes)
    ADD_FAILURE() << bytes.error().message << " (scripts/corpus brings the production objects)";
  return load(bytes ? *std::move(bytes) : Bytes{}, path);
}

TEST(Corpus, UneditedRebuildIsTheSameFile) {
  for (const std::string& path : everyObject()) {
    const Loaded loaded = loadFile(path);
    EXPECT_TRUE(loaded.program.pinned.empty()) << path << ": " << loaded.program.pinned;
    const auto bytes = rebuild(loaded.object, loaded.program, *loaded.codec);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_TRUE(std::ranges::equal(*bytes, loaded.object.bytes())) << path;
    const auto patched = patchInPlace(loaded.object, loaded.program, *loaded.codec);
    ASSERT_TRUE(patched) << patched.error().message;
    EXPECT_TRUE(std::ranges::equal(*patched, loaded.object.bytes())) << path;
  }
}

// Counts from LLVM: llvm-objdump-22 -d FILE, lines with an encoding.
TEST(Corpus, InstructionCountsAreLlvms) {
  EXPECT_EQ(loadFile(corpusPath(productionObjects[0])).program.instructionCount(), 2450u);
}

Bytes shiftedFile(const Loaded& loaded) {
  const auto edited = shifted(loaded.program, *loaded.codec);
  EXPECT_TRUE(edited);
  auto bytes = rebuild(loaded.object, *edited, *loaded.codec);
  if (!bytes) {
    ADD_FAILURE() << bytes.error().message;
    return {};
  }
  return *std::move(bytes);
}

Status checkAgainst(const Loaded& loaded, Bytes bytes) {
  ASMEVO_TRY(const object::CodeObject object, object::CodeObject::parse(std::move(bytes), "shifted.co"));
  ASMEVO_TRY(const Program program, Program::recover(object, *loaded.codec));
  ASMEVO_TRY(const Program edited, shifted(loaded.program, *loaded.codec));
  return checkShifted(loaded.object, edited, object, program, *loaded.codec);
}

TEST(Corpus, ShiftedIsTheSameProgramPlusTheNops) {
  for (const std::string& path : everyObject()) {
    const Loaded loaded = loadFile(path);
    const Bytes bytes = shiftedFile(loaded);
    const Status same = checkAgainst(loaded, bytes);
    EXPECT_TRUE(same) << path << ": " << same.error().message;
    // And by an independent count: one s_nop 0 more per block, at least.
    const auto nops = [](const object::CodeObject& object) {
      const Bytes text = textOf(object);
      const std::uint32_t nop = 0xbf800000;
      std::size_t count = 0;
      for (std::size_t i = 0; i + 4 <= text.size(); i += 4)
        count += std::memcmp(text.data() + i, &nop, 4) == 0;
      return count;
    };
    std::size_t blocks = 0;
    for (const Block& block : loaded.program.blocks)
      blocks += !block.opaque;
    const auto object = object::CodeObject::parse(bytes, path);
    ASSERT_TRUE(object);
    EXPECT_GE(nops(*object), nops(loaded.object) + blocks) << path;
  }
}

// The check itself must see a wrong branch, a missing s_nop, a changed instruction, symbol, descriptor and note.
TEST(Corpus, ShiftCheckSeesPlantedFaults) {
  const Loaded loaded = loadFile(corpusPath(productionObjects[0]));
  const Bytes good = shiftedFile(loaded);
  ASSERT_TRUE(checkAgainst(loaded, good));
  const Loaded now = load(good);
  std::size_t branches = 0, nops = 0;
  for (const Block& block : now.program.blocks)
    for (const Instr& instr : block.instrs) {
      const std::size_t at = *now.object.fileOffset(instr.address);
      Bytes bad = good;
      if (instr.inst->isBranch()) {
        bad[at] = static_cast<std::uint8_t>(bad[at] + 1);
        ++branches;
      } else if (&instr == &block.instrs.front()) {
        bad[at] = 1; // s_nop 1
        ++nops;
      } else if (instr.inst->size == 8) {
        bad[at + 4] ^= 1;
      } else {
        continue;
      }
      EXPECT_FALSE(checkAgainst(loaded, bad)) << "fault at 0x" << std::hex << instr.address;
    }
  EXPECT_GT(branches, 20u);
  EXPECT_GT(nops, 50u);

  const std::size_t descriptor = now.object.kernels()[0].descriptorFileOffset;
  Bytes bad = good;
  bad[descriptor] ^= 4; // group_segment_fixed_size
  EXPECT_FALSE(checkAgainst(loaded, bad));
  bad = good;
  bad[now.object.metadataNote()->offset + now.object.metadataNote()->size - 1] ^= 1;
  EXPECT_FALSE(checkAgainst(loaded, bad));
  for (const object::Section& section : now.object.sections()) {
    if (section.name != ".symtab")
      continue;
    bad = good;
    bad[section.offset + 24 + 8] ^= 4; // value of the first symbol
    EXPECT_FALSE(checkAgainst(loaded, bad));
  }
}

Bytes noteOf(const object::CodeObject& object) {
  const auto note = object.metadataNote();
  if (!note)
    return {};
  const auto bytes = object.bytes().subspan(note->offset, note->size);
  return {bytes.begin(), bytes.end()};
}

/// Prints, reassembles with stock tools, and compares what has to be equal.
void expectReassembles(const Loaded& loaded, const std::string& path) {
  const auto text = printAssembly(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(text) << text.error().message;
  const Loaded again = load(assembleFile(*text, loaded.object.target().id()), path + " reassembled");
  EXPECT_EQ(textOf(again.object), textOf(loaded.object)) << path;
  EXPECT_EQ(noteOf(again.object), noteOf(loaded.object)) << path;
  EXPECT_EQ(again.object.flags(), loaded.object.flags()) << path;
  EXPECT_EQ(again.object.abiVersion(), loaded.object.abiVersion()) << path;
  ASSERT_EQ(again.object.kernels().size(), loaded.object.kernels().size()) << path;
  for (const object::Kernel& kernel : loaded.object.kernels()) {
    const auto other = again.object.findKernel(kernel.name);
    ASSERT_TRUE(other) << path;
    auto a = kernel.descriptor.raw, b = (*other)->descriptor.raw;
    std::fill_n(a.begin() + 16, 8, std::uint8_t{0});
    std::fill_n(b.begin() + 16, 8, std::uint8_t{0});
    EXPECT_EQ(a, b) << path << " " << kernel.name;
    EXPECT_EQ((*other)->entryAddress - again.object.codeSections()[0]->address,
              kernel.entryAddress - loaded.object.codeSections()[0]->address)
        << path;
  }
}

TEST(Assembly, StockToolsGiveTheSameObject) {
  for (const std::string& path : everyObject())
    expectReassembles(loadFile(path), path);
}

TEST(Assembly, IsDeterministic) {
  const Loaded a = loadFile(corpusPath(productionObjects[0]));
  const Loaded b = loadFile(corpusPath(productionObjects[0]));
  const auto first = printAssembly(a.object, a.program, *a.codec);
  const auto second = printAssembly(b.object, b.program, *b.codec);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  std::size_t labels = 0;
  for (const object::Symbol& symbol : a.object.symbols()) {
    if (!symbol.name.starts_with("label_"))
      continue;
    ++labels;
    EXPECT_NE(first->find("\n" + symbol.name + ":\n"), std::string::npos) << symbol.name;
  }
  EXPECT_GT(labels, 30u);
}

TEST(Assembly, UndecodableWordsAndTargetIdSurvive) {
  std::string text = kernelFile({"  s_branch over\n  .long 0xf4080500, 0, 0xdeadbeef\nover:\n  s_endpgm"});
  for (std::size_t at = 0; (at = text.find("--gfx942", at)) != std::string::npos; at += 10)
    text.replace(at, 8, "--gfx942:sramecc+:xnack-");
  const Loaded loaded = load(assembleFile(text, "gfx942:sramecc+:xnack-"));
  EXPECT_EQ(loaded.object.target().id(), "gfx942:sramecc+:xnack-");
  expectReassembles(loaded, "target id");
}

TEST(Assembly, EncodingsThatTheAssemblerWouldChangeAreWords) {
  // v_mov_b32 with a literal that an inline constant could hold, and s_waitcnt with its unused bits 13:12 set.
  const Loaded loaded = loadKernel({"  .long 0x7e0002ff, 0x00000001\n  .long 0xbf8c3070\n  s_endpgm"});
  expectReassembles(loaded, "unusual encodings");
  const auto text = printAssembly(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("\t.long 0xbf8c3070"), std::string::npos) << *text;
}

TEST(Assembly, MetadataThatDoesNotLexIsARawNote) {
  Bytes bytes = assembleFile(kernelFile({"  s_endpgm"}));
  const std::string name = "\xa3out"; // msgpack: a string of three characters
  const auto found = std::search(bytes.begin(), bytes.end(), name.begin(), name.end(),
                                 [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
  ASSERT_NE(found, bytes.end());
  *(found + 2) = ';';
  const Loaded loaded = load(std::move(bytes));
  const auto text = printAssembly(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->find(".amdgpu_metadata"), std::string::npos);
  expectReassembles(loaded, "semicolon");
}

TEST(Assembly, EditedTextKeepsReferencesRight) {
  const Loaded loaded = loadKernel({.body = R"(
  s_mov_b32 s3, 4
again:
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_load_dword s8, s[4:5], 0x0
  s_sub_u32 s3, s3, 1
  s_cbranch_scc1 again
  s_endpgm)",
                                    .data = "other:\n  .long 9\ntable:\n  .long 11, 22"});
  auto text = printAssembly(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(text) << text.error().message;
  const std::size_t add = text->find("\ts_add_u32");
  ASSERT_NE(add, std::string::npos);
  text->insert(add, "\tv_mov_b32_e32 v0, 0\n\tv_mov_b32_e32 v0, 0x1234\n");
  const Loaded after = load(assembleFile(*text));
  const std::vector<Instr>& instrs = after.program.blocks.at(1).instrs;
  ASSERT_EQ(instrs.size(), 8u);
  ASSERT_TRUE(instrs[3].pcRef);
  EXPECT_EQ(instrs[3].pcRef->target, symbolAddress(after.object, "table"));
  EXPECT_EQ(instrs.back().target, 1u);
}

TEST(Assembly, RelocatableIsRefused) {
  const Loaded loaded = load(assembleFile(kernelFile({"  s_endpgm"}), "gfx942 -c"));
  const auto unedited = rebuild(loaded.object, loaded.program, *loaded.codec);
  ASSERT_TRUE(unedited) << unedited.error().message;
  EXPECT_TRUE(std::ranges::equal(*unedited, loaded.object.bytes()));
  const auto text = printAssembly(loaded.object, loaded.program, *loaded.codec);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("link it first"), std::string::npos);
}

} // namespace
