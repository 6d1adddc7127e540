/// Damaged and foreign files: always a clear error or a consistent object, never a crash. Meant to run under ASan and
/// UBSan too.

#include "object/mutation_support.h"
#include "object/object_support.h"
#include "object/review.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace asmevo::object {
namespace {

using testing::assemble;
using testing::corpusFiles;
using testing::mutated;
using testing::Random;
using testing::twoKernelSource;

std::vector<Bytes> baseObjects() {
  std::vector<Bytes> objects = {assemble(twoKernelSource(), "gfx942:sramecc+:xnack-"),
                                assemble(twoKernelSource(), "gfx942:sramecc+:xnack-", false)};
  // Smaller files: a random byte is more often a structural one.
  std::vector<std::pair<std::size_t, std::string>> bySize;
  const auto files = corpusFiles();
  for (std::size_t i = 0; i < files.size(); i += 50) {
    const auto bytes = readFile(files[i]);
    EXPECT_TRUE(bytes);
    bySize.emplace_back(bytes->size(), files[i]);
  }
  std::sort(bySize.begin(), bySize.end());
  for (std::size_t i = 0; i < 6; ++i)
    objects.push_back(*readFile(bySize[i].second));
  return objects;
}

/// What every reader of a damaged object may do with it.
void exercise(const CodeObject& object) {
  review(object);
  for (const Kernel& kernel : object.kernels())
    kernel.descriptor.fields(object.target());
  for (const Relocation& relocation : object.relocations())
    object.relocationSymbol(relocation);
  Rewrite same;
  const auto identical = rewriteObject(object, same);
  if (identical)
    EXPECT_TRUE(std::ranges::equal(*identical, object.bytes())) << object.name();
  Rewrite longer;
  for (std::size_t i = 0; i < object.sections().size(); ++i)
    if (object.sections()[i].isCode() && longer.code.size() < 4) {
      const auto old = object.contents(object.sections()[i]);
      Bytes contents(old.begin(), old.end());
      contents.resize(contents.size() + 5000);
      longer.code.push_back({i, std::move(contents)});
    }
  longer.metadata.push_back({0, ".vgpr_count", 7});
  const auto grown = rewriteObject(object, longer);
  if (!grown)
    EXPECT_FALSE(grown.error().message.empty());
}

TEST(Mutation, ThousandDamagedObjects) {
  const auto bases = baseObjects();
  Random random(20240607);
  unsigned refusals = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    const std::string name = fmt::format("mutation {}", i);
    const auto object = CodeObject::parse(mutated(bases, random), name);
    if (object) {
      exercise(*object);
      continue;
    }
    ++refusals;
    EXPECT_EQ(object.error().kind, ErrorKind::badInput);
    EXPECT_TRUE(object.error().message.starts_with(name + ": ")) << object.error().message;
    EXPECT_GT(object.error().message.size(), name.size() + 5);
  }
  // A flipped bit inside code or padding is no damage to the container; truncation and garbage always are.
  EXPECT_GT(refusals, 400U);
  EXPECT_LT(refusals, 950U);
}

TEST(Mutation, EveryTruncationOfASmallObject) {
  const Bytes whole = assemble(twoKernelSource(), "gfx942:sramecc+:xnack-");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto object = CodeObject::parse(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), "t");
    EXPECT_FALSE(object) << "the section headers at the end are cut off at " << size;
  }
}

TEST(Mutation, EveryHeaderByteDamaged) {
  const Bytes whole = assemble(twoKernelSource(), "gfx942:sramecc+:xnack-");
  // The ELF header and program headers at the start, the section headers at the end.
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 512}, {whole.size() - 1024, whole.size()}})
    for (std::size_t at = begin; at < end; ++at)
      for (const std::uint8_t value : {std::uint8_t{0}, std::uint8_t{0x7f}, std::uint8_t{0xff}}) {
        Bytes bytes = whole;
        bytes[at] = value;
        const auto object = CodeObject::parse(std::move(bytes), "t");
        if (object)
          exercise(*object);
        else
          EXPECT_TRUE(object.error().message.starts_with("t: "));
      }
}

} // namespace
} // namespace asmevo::object
