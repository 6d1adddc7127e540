/// The pieces that reading and writing assembly is made of.
#include "program_support.h"

#include "program/assembly_lines.h"
#include "program/descriptor_text.h"
#include "program/text_diagnostics.h"

#include <gtest/gtest.h>

using namespace asmevo;
using namespace asmevo::program;
using namespace asmevo::program::test;

namespace {

TEST(AssemblyLines, LabelsStatementsAndComments) {
  const std::string text =
      "a: \"b c\":\tv_mov_b32 v0, v1 // 00000000100C: 7E000301\n# whole line\n  .ascii \"x // y\" ; z\n"
      "/* one\n two */ s_nop /* in */ 0\n.amdgpu_metadata\n - a: // b\n.end_amdgpu_metadata\r\n";
  const AssemblyLines lines = lexAssembly(text);
  ASSERT_EQ(lines.statements.size(), 9u);
  EXPECT_EQ(lines.statements[0].text, "a");
  EXPECT_EQ(lines.statements[1].text, "\"b c\"");
  EXPECT_EQ(lines.statements[1].kind, Statement::Kind::label);
  EXPECT_EQ(lines.statements[2].text, "v_mov_b32 v0, v1");
  EXPECT_EQ(lines.statements[2].column, 10u);
  EXPECT_EQ(commentAddress(lines.statements[2].comment), 0x100cu);
  EXPECT_EQ(lines.statements[3].text, ".ascii \"x // y\"");
  EXPECT_EQ(lines.statements[4].text, "s_nop");
  EXPECT_EQ(lines.statements[5].text, "0"); // the assembler will say so
  EXPECT_EQ(lines.statements[7].kind, Statement::Kind::metadata);
  EXPECT_EQ(lines.statements[7].text, " - a: // b");
  EXPECT_EQ(lines.statements[8].text, ".end_amdgpu_metadata");
}

TEST(AssemblyLines, CanonicalFormIgnoresSpacing) {
  EXPECT_EQ(canonicalStatement("v_add_f32_e32  v0 ,v1,  v2"), canonicalStatement("\tv_add_f32_e32 v0, v1, v2 "));
  EXPECT_NE(canonicalStatement("v_add_f32 v0, v1"), canonicalStatement("v_add_f32_e32 v0, v1"));
  EXPECT_EQ(canonicalStatement(".ascii \"a  b\""), ".ascii \"a  b\"");
}

TEST(AssemblyLines, Constants) {
  EXPECT_EQ(integerConstant("0x1F"), 31u);
  EXPECT_EQ(integerConstant("-1"), ~std::uint64_t{0});
  EXPECT_EQ(integerConstant("010"), 8u);
  EXPECT_EQ(integerConstant("0b101"), 5u);
  for (const char* wrong : {"", "-", "0x", "12a", "99999999999999999999", "08", "1 "})
    EXPECT_FALSE(integerConstant(wrong)) << wrong;
  EXPECT_FALSE(commentAddress(" 100C: 7E000301"));
  EXPECT_FALSE(commentAddress(" 00000000100C 7E000301"));
}

TEST(TextDiagnostics, EditDistanceCountsSwapsOnce) {
  EXPECT_EQ(editDistance("v_add", "v_add", 3), 0u);
  EXPECT_EQ(editDistance("v_ad", "v_add", 3), 1u);
  EXPECT_EQ(editDistance("v_dad", "v_add", 3), 1u);
  EXPECT_EQ(editDistance("kitten", "sitting", 5), 3u);
  EXPECT_EQ(editDistance("abc", "xyz", 1), 2u); // one more than the limit
  EXPECT_EQ(nearest("agian", {"k", "again", "L_1700"}), "again");
  EXPECT_EQ(nearest("zzz", {"k", "again"}), "");
}

TEST(TextDiagnostics, NearestMnemonicsAreThoseOfTheTarget) {
  const auto of = [](const char* processor, const char* word) {
    auto codec = isa::Codec::create({.processor = processor});
    EXPECT_TRUE(codec);
    return nearestMnemonics(word, **codec);
  };
  ASSERT_FALSE(of("gfx942", "v_mfma_f32_16x16x16_fp16").empty());
  EXPECT_EQ(of("gfx942", "v_mfma_f32_16x16x16_fp16").front(),
            "v_mfma_f32_16x16x16f16"); // LLVM's own name, an alias for its assembler
  EXPECT_EQ(of("gfx942", "s_brnch").front(), "s_branch");
  const auto waits = of("gfx1201", "s_wait_loadcont");
  EXPECT_EQ(waits.front(), "s_wait_loadcnt");
}

TEST(DescriptorText, DirectivesMakeTheSameBytes) {
  const Loaded loaded = loadKernel({"  s_endpgm"});
  const object::KernelDescriptor& descriptor = loaded.object.kernels()[0].descriptor;
  const auto directives = descriptorDirectives(loaded.object.target(), loaded.object.abiVersion(), descriptor);
  ASSERT_TRUE(directives);
  // What kernelFile says.
  const auto value = [&](const std::string& name) -> std::uint64_t {
    for (const auto& [each, number] : *directives)
      if (each == name)
        return number;
    ADD_FAILURE() << name;
    return ~std::uint64_t{0};
  };
  EXPECT_EQ(value(".amdhsa_next_free_vgpr"), 32u);
  EXPECT_EQ(value(".amdhsa_accum_offset"), 32u);
  EXPECT_EQ(value(".amdhsa_kernarg_size"), 8u);
  auto again = assembleDescriptor(loaded.object.target(), loaded.object.abiVersion(), *directives);
  ASSERT_TRUE(again) << again.error().message;
  again->setEntryOffset(descriptor.entryOffset());
  EXPECT_EQ(again->raw, descriptor.raw);
}

TEST(DescriptorText, BitsNoDirectiveSetsHaveNoDirectives) {
  const Loaded loaded = loadKernel({"  s_endpgm"});
  object::KernelDescriptor descriptor = loaded.object.kernels()[0].descriptor;
  descriptor.raw[12] = 1; // reserved
  EXPECT_FALSE(descriptorDirectives(loaded.object.target(), loaded.object.abiVersion(), descriptor));
}

TEST(DescriptorText, NamesAreChecked) {
  const object::Target target{.processor = "gfx942", .xnack = object::Feature::any, .sramecc = object::Feature::any};
  for (const char* name : {".include \"x\"\n", ".amdhsa_", "amdhsa_next_free_vgpr", ".amdhsa_x;s_nop", ".amdhsa_none"})
    EXPECT_FALSE(assembleDescriptor(target, 3, {{name, 1}})) << name;
}

} // namespace
