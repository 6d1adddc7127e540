/// Damaged containers: always a clear error or a consistent listing, never a crash, a hang or memory without bound.

#include "object/container_support.h"
#include "object/mutation_support.h"
#include "object/replace.h"

#include <gtest/gtest.h>

namespace asmevo::object {
namespace {

using testing::bundleOf;
using testing::caseFolder;
using testing::deviceObject;
using testing::Random;

std::vector<Bytes> baseContainers() {
  std::vector<Bytes> bases;
  for (const char* name : {"ccob_plain.hipfb", "ccob_v1_zlib.hsaco", "ccob_v2_zstd.hsaco", "ccob_v3_zlib.hsaco"})
    bases.push_back(*readFile(caseFolder + name));
  const testing::TestFolder folder;
  const std::string bundle = folder.write("0.hipfb", bundleOf({{"gfx942", deviceObject("gfx942", 2)}}));
  const std::string host = testing::buildHost(folder, "host", {bundle, bundle}, {"-fPIE", "-pie"});
  bases.push_back(*readFile(host));
  const std::string object = testing::buildHost(folder, "host.o", {bundle}, {"-fPIE", "-r", "-nostdlib"});
  testing::runTool({"llvm-ar-22", "rcs", folder.at("lib.a"), object});
  bases.push_back(*readFile(folder.at("lib.a")));
  return bases;
}

/// What every reader of a damaged container may do with it.
void exercise(const Container& container, const CodeObject& fresh) {
  for (std::size_t i = 0; i < std::min<std::size_t>(container.bundles().size(), 2); ++i) {
    const auto bundle = container.openBundle(i);
    if (!bundle) {
      EXPECT_FALSE(bundle.error().message.empty());
      continue;
    }
    for (std::size_t e = 0; e < std::min<std::size_t>(bundle->entries().size(), 4); ++e) {
      const auto bytes = bundle->read(bundle->entries()[e]);
      ASSERT_TRUE(bytes) << bytes.error().message;
      EXPECT_EQ(bytes->size(), bundle->entries()[e].size);
      const auto replacement = replaceObject(container, {i, e, bundle->entries()[e]}, fresh);
      if (!replacement)
        EXPECT_FALSE(replacement.error().message.empty());
      else
        EXPECT_TRUE(replacement->file.materialize(container.source()));
    }
  }
  const auto chosen = chooseObject(container, {{}, "gfx942"});
  if (!chosen)
    EXPECT_FALSE(chosen.error().message.empty());
}

TEST(ContainerMutation, ThousandDamagedContainers) {
  const auto bases = baseContainers();
  const CodeObject fresh = testing::parsed(deviceObject("gfx942", 900));
  Random random(20261130);
  unsigned refusals = 0, problems = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    const std::string name = fmt::format("mutation {}", i);
    const auto container = Container::read(ByteSource::of(testing::mutated(bases, random), name));
    if (container) {
      for (const BundlePlace& place : container->bundles())
        problems += place.problem ? 1U : 0U;
      exercise(*container, fresh);
      continue;
    }
    ++refusals;
    EXPECT_EQ(container.error().kind, ErrorKind::badInput);
    EXPECT_TRUE(container.error().message.starts_with(name + ": ")) << container.error().message;
  }
  // Damage inside a bundle is that bundle's; headers cut off or overwritten are the file's.
  EXPECT_GT(refusals, 100U);
  EXPECT_LT(refusals, 800U);
  EXPECT_GT(problems, 50U);
}

TEST(ContainerMutation, EveryTruncationOfACompressedBundle) {
  for (const char* name : {"ccob_v1_zlib.hsaco", "ccob_v1_zstd.hsaco", "ccob_v3_zstd.hsaco"}) {
    const Bytes whole = *readFile(caseFolder + name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto source = ByteSource::of(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), "t");
      EXPECT_FALSE(unpackBundle(source, 0, size)) << name << " cut at " << size;
    }
  }
}

TEST(ContainerMutation, HeaderBytesOfAProgramDamaged) {
  const Bytes whole = baseContainers()[4];
  const CodeObject fresh = testing::parsed(deviceObject("gfx942", 900));
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 800}, {whole.size() - 600, whole.size()}})
    for (std::size_t at = begin; at < end; at += 2)
      for (const std::uint8_t value : {std::uint8_t{0x7f}, std::uint8_t{0xff}}) {
        Bytes bytes = whole;
        bytes[at] = value;
        const auto container = Container::read(ByteSource::of(std::move(bytes), "t"));
        if (container)
          exercise(*container, fresh);
        else
          EXPECT_TRUE(container.error().message.starts_with("t: ")) << container.error().message;
      }
}

} // namespace
} // namespace asmevo::object
