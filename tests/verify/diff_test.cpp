/// Differences of pairs that clang-22 assembles from texts whose differences are known.
#include "program/program_support.h"

#include "verify/diff.h"
#include "verify/instruction_alignment.h"

#include <gtest/gtest.h>

#include <numeric>

namespace asmevo::verify {
namespace {

using program::test::assembleFile;
using program::test::kernelFile;
using program::test::KernelText;

object::CodeObject objectOf(const KernelText& kernel) {
  auto object = object::CodeObject::parse(assembleFile(kernelFile(kernel)), "k.co");
  EXPECT_TRUE(object) << object.error().message;
  return *std::move(object);
}

ObjectDiff diffOf(const KernelText& before, const KernelText& after) {
  auto diff = diffObjects(objectOf(before), objectOf(after));
  EXPECT_TRUE(diff) << (diff ? "" : diff.error().message);
  return diff ? *std::move(diff) : ObjectDiff{};
}

std::size_t count(const ObjectDiff& diff, DiffKind kind) {
  return diff.counts[static_cast<std::size_t>(kind)];
}

const DiffEntry* first(const ObjectDiff& diff, DiffKind kind) {
  for (const BlockDiff& block : diff.blocks)
    for (const DiffEntry& entry : block.entries)
      if (entry.kind == kind)
        return &entry;
  ADD_FAILURE() << "no entry of kind " << diffKindName(kind) << "\n" << diffText(diff, {});
  static const DiffEntry none;
  return &none;
}

const char* const base = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_add_u32_e32 v2, 1, v0
  v_mul_lo_u32 v3, v2, v0
  v_xor_b32_e32 v0, v3, v2
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]
  s_endpgm)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(Diff, EqualFilesAreIdentical) {
  const ObjectDiff diff = diffOf({base}, {base});
  EXPECT_TRUE(diff.identical);
  EXPECT_TRUE(diff.blocks.empty());
  EXPECT_EQ(count(diff, DiffKind::same), 8u);
  EXPECT_EQ(diffText(diff, {}), "identical\n");
}

TEST(Diff, AddedAndRemoved) {
  const ObjectDiff diff = diffOf({base}, {replaced(base, "  v_mul_lo_u32 v3, v2, v0\n", "  v_mov_b32_e32 v3, 7\n")});
  EXPECT_EQ(count(diff, DiffKind::removed), 1u);
  EXPECT_EQ(count(diff, DiffKind::added), 1u);
  EXPECT_EQ(first(diff, DiffKind::removed)->textBefore, "v_mul_lo_u32 v3, v2, v0");
  EXPECT_EQ(first(diff, DiffKind::added)->textAfter, "v_mov_b32_e32 v3, 7");
  EXPECT_EQ(count(diff, DiffKind::same), 7u);
}

TEST(Diff, AConsistentRenamingIsARenaming) {
  std::string renamed = replaced(base, "v_add_u32_e32 v2, 1, v0", "v_add_u32_e32 v9, 1, v0");
  renamed = replaced(renamed, "v_mul_lo_u32 v3, v2, v0", "v_mul_lo_u32 v3, v9, v0");
  renamed = replaced(renamed, "v_xor_b32_e32 v0, v3, v2", "v_xor_b32_e32 v0, v3, v9");
  const ObjectDiff diff = diffOf({base}, {renamed});
  EXPECT_EQ(count(diff, DiffKind::renamed), 3u) << diffText(diff, {});
  EXPECT_EQ(count(diff, DiffKind::same), 5u);
  EXPECT_EQ(diff.renames, (std::map<std::string, std::string>{{"v2", "v9"}}));
  EXPECT_EQ(first(diff, DiffKind::renamed)->detail, "v2 -> v9");
  // One use that does not follow reads another value: that is a change.
  const ObjectDiff broken = diffOf({base}, {replaced(renamed, "v_xor_b32_e32 v0, v3, v9", "v_xor_b32_e32 v0, v3, v8")});
  EXPECT_EQ(count(broken, DiffKind::renamed), 2u) << diffText(broken, {});
  EXPECT_EQ(count(broken, DiffKind::changed), 1u);
  // So is an operand that no definition was renamed to.
  const ObjectDiff operand = diffOf({base}, {replaced(base, "v_mul_lo_u32 v3, v2, v0", "v_mul_lo_u32 v3, v2, v1")});
  EXPECT_EQ(count(operand, DiffKind::changed), 1u);
  EXPECT_EQ(count(operand, DiffKind::renamed), 0u);
}

TEST(Diff, MovedInstructionsAreMoved) {
  std::string moved = replaced(base, "  v_lshlrev_b32_e32 v1, 2, v0\n", "");
  moved = replaced(moved, "  s_waitcnt", "  v_lshlrev_b32_e32 v1, 2, v0\n  s_waitcnt");
  const ObjectDiff diff = diffOf({base}, {moved});
  EXPECT_EQ(count(diff, DiffKind::moved), 1u) << diffText(diff, {});
  EXPECT_EQ(count(diff, DiffKind::removed) + count(diff, DiffKind::added), 0u);
  EXPECT_EQ(first(diff, DiffKind::moved)->textAfter, "v_lshlrev_b32_e32 v1, 2, v0");
}

TEST(Diff, WaitsAreWeakerOrStronger) {
  const auto detail = [](const char* wait) {
    const ObjectDiff diff = diffOf({base}, {replaced(base, "s_waitcnt vmcnt(0) lgkmcnt(0)", wait)});
    EXPECT_EQ(count(diff, DiffKind::wait), 1u) << diffText(diff, {});
    return first(diff, DiffKind::wait)->detail;
  };
  EXPECT_EQ(detail("s_waitcnt vmcnt(2) lgkmcnt(0)"), "vmcnt 0 -> 2: weaker");
  EXPECT_EQ(detail("s_waitcnt lgkmcnt(0)"), "vmcnt 0 -> none: weaker");
  EXPECT_EQ(detail("s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"), "expcnt none -> 0: stronger");
  EXPECT_EQ(detail("s_waitcnt vmcnt(1) expcnt(0) lgkmcnt(0)"),
            "expcnt none -> 0, vmcnt 0 -> 1: neither weaker nor stronger");
}

TEST(Diff, BranchesAreComparedByBlocks) {
  const char* const branchy = R"(
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 one
  s_nop 1
one:
  v_mov_b32_e32 v0, 1
two:
  v_mov_b32_e32 v0, 2
  s_cbranch_scc1 two
  s_endpgm)";
  // Growth moves targets, which is no change; another target is one.
  const ObjectDiff grown = diffOf({branchy}, {replaced(branchy, "  s_nop 1\n", "  s_nop 1\n  s_nop 2\n")});
  EXPECT_EQ(count(grown, DiffKind::added), 1u) << diffText(grown, {});
  EXPECT_EQ(count(grown, DiffKind::changed), 0u);
  const ObjectDiff other = diffOf({branchy}, {replaced(branchy, "s_cbranch_scc1 one", "s_cbranch_scc1 two")});
  EXPECT_EQ(count(other, DiffKind::changed), 1u) << diffText(other, {});
}

TEST(Diff, DescriptorsMetadataAndData) {
  const KernelText before{.body = base, .data = "d:\n  .long 1, 2"};
  KernelText after = before;
  after.data = "d:\n  .long 1, 3";
  after.descriptor = "    .amdhsa_group_segment_fixed_size 64\n";
  const ObjectDiff diff = diffOf(before, after);
  EXPECT_TRUE(diff.blocks.empty());
  ASSERT_EQ(diff.descriptors.size(), 1u);
  EXPECT_EQ(diff.descriptors[0].what, "kernel k: .amdhsa_group_segment_fixed_size");
  EXPECT_EQ(diff.descriptors[0].before, "0");
  EXPECT_EQ(diff.descriptors[0].after, "64");
  ASSERT_EQ(diff.data.size(), 1u);
  EXPECT_EQ(diff.data[0].before, "02");
  EXPECT_EQ(diff.data[0].after, "03");
  EXPECT_FALSE(diff.onlyLayout());
  const nlohmann::json json = diffJson(diff);
  EXPECT_EQ(json["identical"], false);
  EXPECT_EQ(json["data"][0]["k1"], "03");
}

TEST(Diff, OtherTargetsAreRefused) {
  const auto other = object::CodeObject::parse(
      assembleFile("  .amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n  .text\n  s_endpgm\n", "gfx90a"), "other.co");
  ASSERT_TRUE(other);
  EXPECT_FALSE(diffObjects(objectOf({base}), *other));
}

TEST(Diff, ColourOnlyWhenAsked) {
  const ObjectDiff diff = diffOf({base}, {replaced(base, "vmcnt(0) ", "vmcnt(1) ")});
  EXPECT_EQ(diffText(diff, {}).find('\x1b'), std::string::npos);
  EXPECT_NE(diffText(diff, {.colour = true, .context = 0}).find("\x1b[33m"), std::string::npos);
}

std::vector<SequenceKey> keys(std::string_view text) {
  return {text.begin(), text.end()};
}

TEST(AlignSequences, AgreesWithLongestCommonSubsequenceOnSmallOnes) {
  // Lengths by hand.
  EXPECT_EQ(alignSequences(keys("abcbdab"), keys("bdcaba")).size(), 4u);
  EXPECT_EQ(alignSequences(keys("xaxbxc"), keys("aybycy")).size(), 3u);
  EXPECT_EQ(alignSequences(keys(""), keys("abc")).size(), 0u);
  EXPECT_EQ(alignSequences(keys("abc"), keys("abc")).size(), 3u);
}

TEST(AlignSequences, PairsAreEqualAndAscending) {
  std::uint32_t state = 7;
  const auto random = [&] { return state = state * 1664525 + 1013904223; };
  for (const std::size_t alphabet : {2u, 20u, 5000u}) {
    std::vector<SequenceKey> a(5000), b;
    for (SequenceKey& key : a)
      key = random() / 65536 % alphabet;
    for (const SequenceKey key : a) {
      if (random() / 65536 % 10 != 0)
        b.push_back(key);
      if (random() / 65536 % 10 == 0)
        b.push_back(random() / 65536 % alphabet);
    }
    const auto pairs = alignSequences(a, b);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(a[pairs[i].first], b[pairs[i].second]);
      if (i > 0) {
        EXPECT_LT(pairs[i - 1].first, pairs[i].first);
        EXPECT_LT(pairs[i - 1].second, pairs[i].second);
      }
    }
    EXPECT_GT(pairs.size(), alphabet > 1000 ? 4300u : 2000u); // 90 % of 5,000 were kept
  }
}

TEST(AlignSequences, LongSequencesWithoutAnchorsEnd) {
  std::vector<SequenceKey> a(200000), b(200000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = i % 3;
    b[i] = i % 5;
  }
  EXPECT_GT(alignSequences(a, b).size(), 50000u);
}

} // namespace
} // namespace asmevo::verify
