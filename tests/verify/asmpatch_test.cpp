#include "verify/alignment.h"
#include "verify/asmpatch.h"
#include "verify/verify_support.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::verify {
namespace {

using nlohmann::json;
using object::CodeObject;
using tests::Editable;
using tests::edited;
using tests::kernelObject;

const char* const allKernels[] = {"vector_add",  "saxpy",      "relu",      "softmax",   "layernorm",   "matmul_tiled",
                                  "matmul_mfma", "reduce_dpp", "histogram", "transpose", "device_call", "table_lookup"};

json patchOf(const CodeObject& k0, const CodeObject& k1) {
  auto patch = createPatch(k0, k1, json{{"verdict", "exact"}});
  EXPECT_TRUE(patch) << (patch ? "" : patch.error().message);
  return patch ? *std::move(patch) : json{};
}

void expectRebuilds(const CodeObject& k0, const CodeObject& k1) {
  const json patch = json::parse(patchOf(k0, k1).dump());
  const auto again = applyPatch(k0, patch);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, Bytes(k1.bytes().begin(), k1.bytes().end()));
}

CodeObject simpleEdit(const CodeObject& k0) {
  return edited(k0, [](Editable& e) { e.insert(e.find("v_add_f32"), "s_nop 2"); });
}

TEST(AsmPatch, OneEditIsOneHunkOfOneInstruction) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = simpleEdit(k0);
  const json patch = patchOf(k0, k1);
  ASSERT_EQ(patch["hunks"].size(), 1u);
  const json& entries = patch["hunks"][0]["replacement"];
  ASSERT_EQ(entries.size(), 3u); // kept run, the new instruction, kept run
  EXPECT_EQ(entries[1], (json{{"asm", "s_nop 2"}}));
  EXPECT_EQ(patch["kernels"], (json{"vector_add"}));
  EXPECT_EQ(patch["k0_sha256"].get<std::string>(), sha256Hex(k0.bytes()));
  EXPECT_EQ(patch["receipt"]["verdict"], "exact");
  expectRebuilds(k0, k1);
}

TEST(AsmPatch, NopsEverywhereInEveryKernel) {
  for (const char* name : allKernels) {
    SCOPED_TRACE(name);
    const CodeObject k0 = kernelObject(name);
    expectRebuilds(k0, edited(k0, [](Editable& e) {
                     for (program::BlockId id = 0; id < e.program.blocks.size(); ++id)
                       if (e.program.blocks[id].reachable && !e.program.blocks[id].opaque)
                         e.insert({id, 0}, "s_nop 0");
                   }));
  }
}

TEST(AsmPatch, ReversedRunsDeletionsAndGrowthByAPage) {
  for (const char* name : allKernels) {
    SCOPED_TRACE(name);
    const CodeObject k0 = kernelObject(name);
    // Not the same program any more, but the same kind of edit as a scheduler's: instructions that only move.
    expectRebuilds(k0, edited(k0, [](Editable& e) {
                     for (program::Block& block : e.program.blocks)
                       if (block.reachable && block.instrs.size() > 3 && !block.instrs[1].target &&
                           !block.instrs[0].target && !block.instrs[0].pcRef && !block.instrs[1].pcRef)
                         std::swap(block.instrs[0], block.instrs[1]);
                   }));
    expectRebuilds(k0, edited(k0, [](Editable& e) {
                     for (int i = 0; i < 2000; ++i)
                       e.insert(e.find("s_endpgm"), "s_nop 1");
                   }));
    expectRebuilds(k0, edited(k0, [](Editable& e) { e.erase(e.find("s_waitcnt")); }));
  }
}

TEST(AsmPatch, ProductionObjects) {
  for (const char* path : {"topksoftmax/topksoftmax_4x256x8.co", "bf16gemm/bf16gemm_outf32_tn_32x64_pf3.co",
                           "fmoe_b16.co", "allreduce_rmsnorm_N8192.co"}) {
    SCOPED_TRACE(path);
    auto k0 = CodeObject::load(std::string(ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942/") + path);
    ASSERT_TRUE(k0) << k0.error().message;
    expectRebuilds(*k0, edited(*k0, [](Editable& e) {
      for (program::BlockId id = 0; id < e.program.blocks.size(); ++id) {
        program::Block& block = e.program.blocks[id];
        if (!block.reachable || block.opaque)
          continue;
        if (block.instrs.size() > 6 && !block.instrs[2].target && !block.instrs[2].pcRef)
          std::rotate(block.instrs.begin(), block.instrs.begin() + 2, block.instrs.begin() + 3);
        e.insert({id, 0}, "s_nop 0");
      }
    }));
  }
}

TEST(AsmPatch, NewBlocksWithBranches) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) {
    // if (scc) skip the add: two new edges, one block more.
    const auto add = e.find("v_add_f32");
    e.program.splitBlock(add.block, add.index);
    e.program.splitBlock(add.block + 1, 1);
    e.insert({add.block, e.program.blocks[add.block].instrs.size()}, "s_cbranch_scc1 0");
    e.program.blocks[add.block].instrs.back().target = add.block + 2;
    e.program.relink();
  });
  const json patch = patchOf(k0, k1);
  bool hasNew = false;
  for (const json& hunk : patch["hunks"])
    hasNew |= hunk.contains("new");
  EXPECT_TRUE(hasNew);
  expectRebuilds(k0, k1);
}

TEST(AsmPatch, Resources) {
  const CodeObject k0 = kernelObject("matmul_tiled");
  const CodeObject k1 = edited(k0, [](Editable& e) {
    e.program.resources[0].vgprs = 96;
    e.program.resources[0].accumOffset = 96;
    e.program.resources[0].ldsBytes = 1024;
  });
  const json patch = patchOf(k0, k1);
  EXPECT_EQ(patch["hunks"].size(), 0u);
  EXPECT_EQ(patch["resources"],
            (json{{{"kernel", "matmul_tiled"}, {"vgprs", 96}, {"accum_offset", 96}, {"lds_bytes", 1024}}}));
  expectRebuilds(k0, k1);
}

TEST(AsmPatch, TwoRoundsOfRebuildingAreOnePatch) {
  for (const char* name : allKernels) {
    SCOPED_TRACE(name);
    const CodeObject k0 = kernelObject(name);
    const auto grow = [](Editable& e) {
      for (int i = 0; i < 30; ++i)
        e.insert(e.find("s_endpgm"), "s_nop 1");
    };
    expectRebuilds(k0, edited(edited(k0, grow), grow));
  }
}

TEST(AsmPatch, RefusesAnotherK0) {
  const CodeObject k0 = kernelObject("vector_add");
  const json patch = patchOf(k0, simpleEdit(k0));
  const auto result = applyPatch(kernelObject("saxpy"), patch);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::refused);
}

TEST(AsmPatch, RefusesAResultWithAnotherHash) {
  const CodeObject k0 = kernelObject("vector_add");
  json patch = patchOf(k0, simpleEdit(k0));
  patch["hunks"][0]["replacement"][1]["asm"] = "s_nop 3";
  const auto result = applyPatch(k0, patch);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::refused);
  EXPECT_NE(result.error().message.find("nothing written"), std::string::npos);
}

TEST(AsmPatch, OnlyInstructionsAreText) {
  const CodeObject k0 = kernelObject("vector_add");
  const json good = patchOf(k0, simpleEdit(k0));
  for (const char* text : {".long 0", "s_nop 0\ns_endpgm", "s_nop 0; s_endpgm", "label: s_nop 0", ".include \"x\"", "",
                           "s_branch 4", "s_nop 0 // comment\n.text"}) {
    json patch = good;
    patch["hunks"][0]["replacement"][1]["asm"] = text;
    EXPECT_FALSE(applyPatch(k0, patch)) << text;
  }
}

TEST(AsmPatch, MalformedPatchesAreErrors) {
  const CodeObject k0 = kernelObject("vector_add");
  const json good = patchOf(k0, simpleEdit(k0));
  EXPECT_FALSE(applyPatch(k0, json::array()));
  EXPECT_FALSE(applyPatch(k0, json{{"asmevo_patch", 2}}));
  // Every value of the document replaced by values of other types, one at a time.
  const json flat = good.flatten();
  const json others[] = {nullptr, true, -1, 1e300, "0xffffffffffffffff", "x", json::array(), json::object()};
  for (const auto& [pointer, value] : flat.items()) {
    const std::size_t original = pointer.find("/original/");
    if (pointer.starts_with("/receipt") || (original != std::string::npos && pointer[original + 10] > '1'))
      continue; // two of the original instructions stand for all
    for (const json& other : others) {
      if (other == good[json::json_pointer(pointer)])
        continue;
      json patch = good;
      patch[json::json_pointer(pointer)] = other;
      const auto result = applyPatch(k0, patch);
      if (result) { // not everything in a patch is instructions: texts and names are for the reader
        EXPECT_TRUE(pointer.ends_with("/text") || pointer.starts_with("/kernels") || pointer == "/target") << pointer;
        EXPECT_EQ(sha256Hex(*result), good["k1_sha256"].get<std::string>());
      }
    }
  }
}

TEST(AsmPatch, ReverseGivesK0BackBitForBit) {
  for (const char* name : {"vector_add", "softmax", "table_lookup", "device_call"}) {
    SCOPED_TRACE(name);
    const CodeObject k0 = kernelObject(name);
    for (const bool byPages : {false, true}) {
      const CodeObject k1 = edited(k0, [&](Editable& e) {
        for (int i = 0; i < (byPages ? 3000 : 1); ++i)
          e.insert(e.find("s_endpgm"), "s_nop 1");
        e.program.resources[0].ldsBytes = 100; // fits the one byte that its metadata field has
      });
      const json back = json::parse([&] {
        const auto reversed = reversePatch(k0, patchOf(k0, k1));
        EXPECT_TRUE(reversed) << (reversed ? "" : reversed.error().message);
        return reversed ? reversed->dump() : std::string("{}");
      }());
      const auto again = applyPatch(k1, back);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, Bytes(k0.bytes().begin(), k0.bytes().end()));
      EXPECT_FALSE(applyPatch(k0, back));
    }
  }
}

TEST(AsmPatch, DescriptorsAndDataAreStated) {
  const CodeObject k0 = kernelObject("table_lookup");
  std::size_t section = 0;
  while (section < k0.sections().size() && k0.sections()[section].name != ".rodata")
    ++section;
  ASSERT_LT(section, k0.sections().size());
  const CodeObject k1 = edited(k0, [&](Editable& e) {
    object::KernelDescriptor descriptor = k0.kernels()[0].descriptor;
    descriptor.raw[49] ^= 0xc; // float mode
    e.program.resources[0].descriptor = descriptor;
    const auto contents = k0.contents(k0.sections()[section]);
    Bytes data(contents.begin(), contents.end());
    data.back() ^= 1;
    e.program.data[section] = std::move(data);
    e.insert(e.find("s_endpgm"), "s_nop 1");
  });
  const json patch = patchOf(k0, k1);
  EXPECT_EQ(patch["resources"][0]["descriptor"].get<std::string>().size(), 128u);
  ASSERT_EQ(patch["data"].size(), 1u);
  EXPECT_EQ(patch["data"][0]["original"].get<std::string>().size(), 2u);
  expectRebuilds(k0, k1);
  json other = patch;
  other["data"][0]["original"] = "77";
  EXPECT_FALSE(applyPatch(k0, other));
}

TEST(AsmPatch, OtherLayoutsTakeADelta) {
  const CodeObject k0 = kernelObject("vector_add");
  Bytes bytes(k0.bytes().begin(), k0.bytes().end());
  bytes.push_back(7); // nothing refers to it
  const auto k1 = CodeObject::parse(bytes, "k1.co");
  ASSERT_TRUE(k1);
  EXPECT_FALSE(createPatch(k0, *k1, json::object()));
  auto patch = createPatch(k0, *k1, json::object(), PatchForm::anyBytes);
  ASSERT_TRUE(patch) << patch.error().message;
  const auto again = applyPatch(k0, *patch);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, bytes);
  for (const json& wrong : {json{{"copy", {0, 1u << 30}}}, json{{"bytes", "0g"}}, json{{"bytes", "0"}}, json(3)}) {
    json broken = *patch;
    broken["delta"]["ops"].push_back(wrong);
    EXPECT_FALSE(applyPatch(k0, broken)) << wrong;
  }
}

TEST(AsmPatch, ShowsWhatGoesAndWhatComes) {
  const CodeObject k0 = kernelObject("vector_add");
  const CodeObject k1 = edited(k0, [](Editable& e) { e.replace(e.find("v_add_f32"), "v_sub_f32_e32 v2, v6, v7"); });
  const auto text = showPatch(patchOf(k0, k1));
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_NE(text->find("+ v_sub_f32_e32 v2, v6, v7\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("  v_add_f32_e32 v2, v6, v7\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("K0       " + sha256Hex(k0.bytes())), std::string::npos);
  EXPECT_FALSE(showPatch(json{{"asmevo_patch", 3}}));
  EXPECT_TRUE(showPatch(json{{"asmevo_patch", 1}, {"hunks", {1, "x", json::object()}}, {"delta", 4}}));
}

TEST(Alignment, FollowsBlocksThroughInsertionsAndDeletions) {
  const CodeObject k0 = kernelObject("layernorm");
  const CodeObject k1 = edited(k0, [](Editable& e) {
    e.insert({0, 0}, "s_nop 5");
    e.program.insertBlock(1, e.program.blocks[0].section);
    e.insert({1, 0}, "s_nop 6");
    e.program.relink();
  });
  const auto pair = recoverPair(k0, k1);
  ASSERT_TRUE(pair);
  const Alignment alignment = alignBlocks(k0, pair->k0, k1, pair->k1);
  // The nop of the new block runs into its neighbour's leader or stays alone: either way the rest is not edited.
  std::size_t editedBlocks = 0;
  for (program::BlockId id = 0; id < pair->k0.blocks.size(); ++id) {
    ASSERT_TRUE(alignment.toK1[id].has_value()) << id;
    editedBlocks += alignment.edited[id];
  }
  EXPECT_GE(editedBlocks, 1u);
  EXPECT_LE(editedBlocks, 2u);
}

} // namespace
} // namespace asmevo::verify
