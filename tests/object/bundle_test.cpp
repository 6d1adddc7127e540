#include "object/container_support.h"

#include <gtest/gtest.h>
#include <llvm/Object/OffloadBundle.h>

namespace asmevo::object {
namespace {

using testing::caseFolder;
using testing::chosen;
using testing::deviceObject;
using testing::opened;
using testing::unbundled;

constexpr const char* spellings[] = {"ccob_plain.hipfb",   "ccob_v1_zlib.hsaco", "ccob_v1_zstd.hsaco",
                                     "ccob_v2_zlib.hsaco", "ccob_v2_zstd.hsaco", "ccob_v3_zlib.hsaco",
                                     "ccob_v3_zstd.hsaco"};

ByteSource sourceOf(const std::string& name) {
  auto source = ByteSource::open(caseFolder + name);
  EXPECT_TRUE(source) << (source ? "" : source.error().message);
  return source ? *std::move(source) : ByteSource::of({}, "missing");
}

// Hashes: sha256sum of what clang-offload-bundler-22 --unbundle gives for ccob_plain.hipfb.
TEST(Bundle, SevenSpellingsHoldTheSameTwoObjects) {
  for (const char* name : spellings) {
    const Container container = opened(caseFolder + name);
    ASSERT_EQ(container.bundles().size(), 1U) << name;
    const auto objects = selectObjects(container, {});
    ASSERT_TRUE(objects) << objects.error().message;
    ASSERT_EQ(objects->size(), 2U) << name;
    EXPECT_EQ(sha256Hex(chosen(container, {{}, "gfx942"})),
              "6cd7df2ce597d466a438d0abead6a1d6801b120fb1ae0dda37ab1166a7a19e14")
        << name;
    EXPECT_EQ(sha256Hex(chosen(container, {{}, "gfx90a"})),
              "49355b658881bec8d1408e7e1a54e980ea35eeba320a5b9ad76614c6fbf55899")
        << name;
    EXPECT_EQ(chosen(container, {{}, "gfx942"}), unbundled(caseFolder + name, "gfx942")) << name;
  }
}

TEST(Bundle, ATruncatedFileNamesBytesNeededAndPresent) {
  const ByteSource source = sourceOf("ccob_truncated.hsaco");
  const auto unpacked = unpackBundle(source, 0, source.size());
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().kind, ErrorKind::badInput);
  EXPECT_NE(unpacked.error().message.find("1037 bytes needed, 997 present"), std::string::npos)
      << unpacked.error().message;
}

TEST(Bundle, ABadHashIsNamed) {
  const ByteSource source = sourceOf("ccob_badhash.hsaco");
  const auto unpacked = unpackBundle(source, 0, source.size());
  ASSERT_FALSE(unpacked);
  EXPECT_NE(unpacked.error().message.find("bad hash: the header says 161cf85819125603, the contents have "
                                          "1649f85819125603"),
            std::string::npos)
      << unpacked.error().message;
}

TEST(Bundle, HeadersOfCompressedBundles) {
  for (const auto& [name, version, method, size] : {std::tuple{"ccob_v1_zlib.hsaco", 1U, "zlib", 0U},
                                                    {"ccob_v2_zstd.hsaco", 2U, "zstd", 1029U},
                                                    {"ccob_v3_zlib.hsaco", 3U, "zlib", 1058U}}) {
    const ByteSource source = sourceOf(name);
    const auto header = readCompressedHeader(source, 0, source.size());
    ASSERT_TRUE(header);
    EXPECT_EQ(header->version, version);
    EXPECT_STREQ(header->methodName(), method);
    EXPECT_EQ(header->fileSize.value_or(0), size);
    EXPECT_EQ(header->uncompressedSize, 12288U);
  }
}

// LLVM's own reader is the judge of what we write.
TEST(Bundle, WhatWePackLlvmUnpacks) {
  const Bytes plain = *readFile(caseFolder + "ccob_plain.hipfb");
  for (const unsigned version : {1U, 2U, 3U})
    for (const auto method : {CompressedHeader::Method::zlib, CompressedHeader::Method::zstd}) {
      CompressedHeader like;
      like.version = version;
      like.method = method;
      like.headerSize = version == 1 ? 20 : version == 2 ? 24 : 32;
      const auto packed = packBundle(plain, like);
      ASSERT_TRUE(packed);
      EXPECT_LT(packed->size(), 1200U);
      const auto buffer = llvm::MemoryBuffer::getMemBuffer(
          llvm::StringRef(reinterpret_cast<const char*>(packed->data()), packed->size()), "packed", false);
      auto read = llvm::object::CompressedOffloadBundle::decompress(*buffer);
      ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
      EXPECT_EQ((*read)->getBuffer(), llvm::StringRef(reinterpret_cast<const char*>(plain.data()), plain.size()));
      const auto again = unpackBundle(ByteSource::of(*packed, "packed"), 0, packed->size());
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(again->bytes, plain);
      EXPECT_EQ(again->packed, packed->size());
    }
}

TEST(Bundle, WhatWeWriteClangOffloadBundlerReads) {
  const Bytes a = deviceObject("gfx942", 3), b = deviceObject("gfx90a:xnack+", 400);
  const BundleContent contents[] = {{"host-x86_64-unknown-linux-gnu-", {}},
                                    {"hipv4-amdgcn-amd-amdhsa--gfx942", a},
                                    {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", b}};
  const Bytes written = writeBundle(contents, 4096);
  const testing::TestFolder folder;
  const std::string file = folder.write("written.hipfb", written);
  EXPECT_EQ(unbundled(file, "gfx942"), a);
  EXPECT_EQ(unbundled(file, "gfx90a:xnack+"), b);
  const auto table = readBundleTable(ByteSource::of(written, "written"), 0, written.size());
  ASSERT_TRUE(table);
  EXPECT_EQ(alignmentOf(*table), 4096U);
  EXPECT_EQ(table->entries[2].target(), "gfx90a:xnack+");
  EXPECT_FALSE(table->entries[0].isDevice());
}

TEST(Bundle, ALieAboutTheSizeIsNoReasonToAllocateIt) {
  Bytes bytes = *readFile(caseFolder + "ccob_v3_zstd.hsaco");
  // Uncompressed size: 4 GiB stated, 12,288 bytes come out.
  bytes[16] = bytes[17] = 0;
  bytes[20] = 1;
  const auto larger = unpackBundle(ByteSource::of(bytes, "lie"), 0, bytes.size());
  ASSERT_FALSE(larger);
  EXPECT_NE(larger.error().message.find("12288 bytes came out, its header states 4294967296"), std::string::npos)
      << larger.error().message;
  bytes[20] = 0;
  bytes[17] = 0x10;
  const auto smaller = unpackBundle(ByteSource::of(bytes, "lie"), 0, bytes.size());
  ASSERT_FALSE(smaller);
  EXPECT_NE(smaller.error().message.find("more comes out than the 4096 bytes"), std::string::npos)
      << smaller.error().message;
  bytes[23] = 0x7f;
  EXPECT_FALSE(unpackBundle(ByteSource::of(bytes, "lie"), 0, bytes.size()));
}

} // namespace
} // namespace asmevo::object
