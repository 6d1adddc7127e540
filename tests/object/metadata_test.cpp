#include "object/metadata.h"
#include "object/msgpack.h"
#include "object/object_support.h"

#include <gtest/gtest.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>

namespace asmevo::object {
namespace {

using testing::assemble;
using testing::parsed;
using testing::twoKernelSource;

/// A note as LLVM writes it.
Bytes blobOf(llvm::msgpack::Document& document) {
  std::string blob;
  document.writeToBlob(blob);
  return Bytes(blob.begin(), blob.end());
}

Bytes noteOf(std::uint64_t vgprs, std::uint64_t lds) {
  llvm::msgpack::Document document;
  auto kernels = document.getRoot().getMap(true)["amdhsa.kernels"].getArray(true);
  for (unsigned i = 0; i < 2; ++i) {
    auto kernel = kernels[i].getMap(true);
    kernel[".symbol"] = document.getNode(i == 0 ? "a.kd" : "b.kd");
    kernel[".vgpr_count"] = vgprs;
    kernel[".group_segment_fixed_size"] = lds;
    kernel[".name"] = document.getNode("x");
  }
  return blobOf(document);
}

TEST(Metadata, ReadsWhatTheAssemblerWrote) {
  const CodeObject object = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  EXPECT_EQ(object.metadataTargetId(), "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-");
  const auto found = object.findKernel("first");
  ASSERT_TRUE(found);
  ASSERT_TRUE((*found)->metadata.has_value());
  const KernelMetadata& m = *(*found)->metadata;
  EXPECT_EQ(m.name, "first");
  EXPECT_EQ(m.symbol, "first.kd");
  EXPECT_EQ(m.kernargSegmentSize, 24U);
  EXPECT_EQ(m.kernargSegmentAlign, 8U);
  EXPECT_EQ(m.groupSegmentFixedSize, 1536U);
  EXPECT_EQ(m.privateSegmentFixedSize, 16U);
  EXPECT_EQ(m.wavefrontSize, 64U);
  EXPECT_EQ(m.sgprCount, 46U);
  EXPECT_EQ(m.vgprCount, 140U);
  EXPECT_EQ(m.agprCount, 40U);
  EXPECT_EQ(m.maxFlatWorkgroupSize, 512U);
  EXPECT_EQ(m.vgprSpillCount, 3U);
  EXPECT_EQ(m.sgprSpillCount, 5U);
  EXPECT_TRUE(m.usesDynamicStack);
  ASSERT_TRUE(m.requiredWorkgroupSize.has_value());
  EXPECT_EQ(*m.requiredWorkgroupSize, (std::array<std::uint32_t, 3>{64, 2, 4}));
  ASSERT_EQ(m.arguments.size(), 3U);
  EXPECT_EQ(m.arguments[1].name, "n");
  EXPECT_EQ(m.arguments[1].valueKind, "by_value");
  EXPECT_EQ(m.arguments[1].offset, 8U);
  EXPECT_EQ(m.arguments[1].size, 4U);
  EXPECT_FALSE(m.arguments[1].isHidden());
  EXPECT_TRUE(m.arguments[2].isHidden());

  const auto second = object.findKernel("second");
  ASSERT_TRUE(second);
  EXPECT_FALSE((*second)->metadata->agprCount.has_value());
  EXPECT_FALSE((*second)->metadata->requiredWorkgroupSize.has_value());
}

// The YAML text must give the same note back when LLVM reads it.
TEST(Metadata, YamlIsTheWholeNote) {
  const CodeObject object = parsed(assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"));
  llvm::msgpack::Document document;
  ASSERT_TRUE(document.fromYAML(object.metadataText()));
  const Bytes blob = blobOf(document);
  const auto note = object.metadataNote();
  ASSERT_TRUE(note.has_value());
  const auto bytes = object.bytes().subspan(note->offset, note->size);
  EXPECT_EQ(blob, Bytes(bytes.begin(), bytes.end()));
}

TEST(Metadata, PatchingChangesOneFieldOnly) {
  for (const auto& [old, fresh, width] :
       {std::tuple{100U, 5U, 1U}, {200U, 5U, 1U}, {200U, 255U, 1U}, {300U, 17U, 2U}, {70000U, 0U, 4U}}) {
    const Bytes before = noteOf(old, 4096);
    Bytes after = before;
    ASSERT_TRUE(patchMetadataField(after, "b.kd", ".vgpr_count", fresh)) << old;
    std::size_t differing = 0;
    for (std::size_t i = 0; i < before.size(); ++i)
      differing += before[i] != after[i] ? 1 : 0;
    EXPECT_GE(differing, 1U);
    EXPECT_LE(differing, width);
    const auto metadata = parseMetadata(after);
    ASSERT_TRUE(metadata);
    EXPECT_EQ(metadata->kernels[0].vgprCount, old);
    EXPECT_EQ(metadata->kernels[1].vgprCount, fresh);
    EXPECT_EQ(metadata->kernels[1].groupSegmentFixedSize, 4096U);
    ASSERT_TRUE(patchMetadataField(after, "b.kd", ".vgpr_count", old));
    EXPECT_EQ(after, before);
  }
}

TEST(Metadata, PatchingRefusesWhatDoesNotFitOrIsNotThere) {
  Bytes note = noteOf(100, 200);
  const Bytes before = note;
  EXPECT_FALSE(patchMetadataField(note, "a.kd", ".vgpr_count", 128)) << "one byte holds 0 to 127";
  EXPECT_FALSE(patchMetadataField(note, "a.kd", ".group_segment_fixed_size", 256));
  EXPECT_FALSE(patchMetadataField(note, "a.kd", ".agpr_count", 1));
  EXPECT_FALSE(patchMetadataField(note, "c.kd", ".vgpr_count", 1));
  EXPECT_FALSE(patchMetadataField(note, "a.kd", ".name", 1));
  EXPECT_EQ(note, before);
  EXPECT_TRUE(hasMetadataField(note, "a.kd", ".vgpr_count"));
  EXPECT_FALSE(hasMetadataField(note, "a.kd", ".agpr_count"));
}

TEST(Msgpack, EveryFormAgreesWithLlvmsWriter) {
  llvm::msgpack::Document document;
  auto list = document.getRoot().getArray(true);
  const std::vector<std::int64_t> numbers = {0,  1,   127, 128,  255,  256,    65535,  65536,      4294967296,
                                             -1, -32, -33, -128, -129, -32768, -32769, -2147483649};
  unsigned index = 0;
  for (const std::int64_t number : numbers) {
    if (number >= 0)
      list[index++] = document.getNode(static_cast<std::uint64_t>(number));
    else
      list[index++] = document.getNode(number);
  }
  const std::string longText(70000, 'x');
  const std::string texts[] = {"",      "short", std::string(31, 'a'), std::string(32, 'b'), std::string(300, 'c'),
                               longText};
  for (const std::string& text : texts)
    list[index++] = document.getNode(text, /*Copy=*/true);
  list[index++] = document.getNode(true);
  list[index++] = document.getNode(2.5);
  list[index++] = document.getNode(); // nil
  const Bytes blob = blobOf(document);
  const auto root = readMsgpack(blob);
  ASSERT_TRUE(root) << root.error().message;
  ASSERT_EQ(root->children.size(), index);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(static_cast<std::int64_t>(root->children[i].number), numbers[i]);
  for (std::size_t i = 0; i < std::size(texts); ++i)
    EXPECT_EQ(root->children[numbers.size() + i].text, texts[i]);
  EXPECT_EQ(root->children.back().kind, MsgpackNode::Kind::nil);
  EXPECT_EQ(root->end, blob.size());
}

TEST(Msgpack, HostileDocumentsAreErrors) {
  const Bytes deep(100000, 0x91); // arrays of one element, nested without end
  EXPECT_FALSE(readMsgpack(deep));
  EXPECT_FALSE(readMsgpack(Bytes{0xdd, 0xff, 0xff, 0xff, 0xff, 0x00})) << "four billion elements announced";
  EXPECT_FALSE(readMsgpack(Bytes{0xdf, 0xff, 0xff, 0xff, 0xff, 0x00})) << "a map of four billion";
  EXPECT_FALSE(readMsgpack(Bytes{0xdb, 0xff, 0xff, 0xff, 0xff, 'x'})) << "a string of four gigabytes";
  EXPECT_FALSE(readMsgpack(Bytes{0xcd, 0x01})) << "cut off inside a number";
  EXPECT_FALSE(readMsgpack(Bytes{0xc1})) << "0xc1 is never used";
  EXPECT_FALSE(readMsgpack(Bytes{}));
  EXPECT_FALSE(readMsgpack(Bytes{0x01, 0x02})) << "two documents";
  EXPECT_TRUE(readMsgpack(Bytes{0x01, 0x00, 0x00})) << "zero padding is fine";
}

TEST(Metadata, OddDocumentsHaveNoYamlButAreRead) {
  // {"amdhsa.kernels": [], 1: bin} - an integer key and a binary value are legal msgpack.
  const Bytes note = {0x82, 0xae, 'a', 'm', 'd', 'h',  's',  'a',  '.',  'k', 'e',
                      'r',  'n',  'e', 'l', 's', 0x90, 0x01, 0xc4, 0x01, 0xff};
  const auto metadata = parseMetadata(note);
  ASSERT_TRUE(metadata) << metadata.error().message;
  EXPECT_TRUE(metadata->kernels.empty());
  EXPECT_TRUE(metadata->yaml.starts_with("#"));
  EXPECT_FALSE(parseMetadata(Bytes{0x90})) << "the root is no map";
}

} // namespace
} // namespace asmevo::object
