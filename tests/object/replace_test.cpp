/// Objects put back into bundles and host programs: the programs are run, LLVM's tools read the files.

#include "object/replace.h"

#include "object/container_support.h"

#include <gtest/gtest.h>

namespace asmevo::object {
namespace {

using testing::buildHost;
using testing::bundleOf;
using testing::chosen;
using testing::deviceObject;
using testing::opened;
using testing::reportLine;
using testing::runHost;
using testing::runLibrary;
using testing::runTool;
using testing::TestFolder;

constexpr const char* on = "gfx942:xnack+";
constexpr const char* off = "gfx942:xnack-";

/// Replaces and writes; returns how.
Placement replaced(const std::string& file, std::size_t bundle, const std::string& target, const Bytes& fresh,
                   const std::string& output) {
  const Container container = opened(file);
  const auto objects = selectObjects(container, {bundle, target});
  if (!objects || objects->size() != 1) {
    ADD_FAILURE() << file << ": " << (objects ? "several" : objects.error().message);
    return {};
  }
  const auto replacement = replaceObject(container, objects->front(), testing::parsed(fresh));
  if (!replacement) {
    ADD_FAILURE() << replacement.error().message;
    return {};
  }
  EXPECT_TRUE(replacement->file.writeAtomic(container.source(), output, file));
  EXPECT_EQ(*replacement->file.materialize(container.source()), *readFile(output));
  return replacement->placement;
}

Error refusal(const Container& container, const DeviceObject& object, const Bytes& fresh) {
  const auto replacement = replaceObject(container, object, testing::parsed(fresh, "new.co"));
  EXPECT_FALSE(replacement);
  return replacement ? Error{} : replacement.error();
}

struct Host {
  const char* name;
  std::vector<std::string> options;
};

/// A program with two bundles: one of two targets, one of one.
class HostProgram : public ::testing::TestWithParam<Host> {
 protected:
  Bytes first = deviceObject(off, 2), second = deviceObject(on, 2), third = deviceObject(on, 9);
  TestFolder folder;

  std::string build() {
    const std::vector<std::string> bundles = {folder.write("0.hipfb", bundleOf({{off, first}, {on, second}})),
                                              folder.write("1.hipfb", bundleOf({{on, third}}))};
    return buildHost(folder, "host", bundles, GetParam().options);
  }
  bool isLibrary() const { return std::string(GetParam().name) == "library"; }
  std::string run(const std::string& program) const { return isLibrary() ? runLibrary(program) : runHost(program); }
  static std::string expected(const Bytes& a, const Bytes& b, const Bytes& c) {
    return reportLine(off, a) + reportLine(on, b) + reportLine(on, c) + "caught 42\n";
  }
};

TEST_P(HostProgram, RunsAndSeesTheNewObjectWhateverItsSize) {
  const std::string host = build();
  ASSERT_EQ(run(host), expected(first, second, third));

  // A smaller or equal object takes the old one's place and nothing else changes.
  const Bytes small = deviceObject(off, 1);
  ASSERT_EQ(replaced(host, 0, off, small, folder.at("slot")), Placement::slot);
  EXPECT_EQ(run(folder.at("slot")), expected(small, second, third));
  EXPECT_EQ(std::filesystem::file_size(folder.at("slot")), std::filesystem::file_size(host));

  // A larger one gets a segment of its own; the other bundle's wrapper keeps its place.
  const Bytes large = deviceObject(off, 1500);
  ASSERT_EQ(replaced(host, 0, off, large, folder.at("grown")), Placement::segment);
  EXPECT_EQ(run(folder.at("grown")), expected(large, second, third));
  const Container before = opened(host), grown = opened(folder.at("grown"));
  ASSERT_EQ(grown.bundles().size(), 2U);
  EXPECT_NE(grown.bundles()[0].address, before.bundles()[0].address);
  EXPECT_EQ(grown.bundles()[1].address, before.bundles()[1].address);
  EXPECT_TRUE(grown.bundles()[0].registered && grown.bundles()[1].registered);
  EXPECT_EQ(chosen(grown, {0, off}), large);
  EXPECT_EQ(chosen(grown, {0, on}), second);
  EXPECT_EQ(chosen(grown, {1, ""}), third);

  // Again, the other bundle of the program that has grown already.
  const Bytes larger = deviceObject(on, 9000);
  ASSERT_EQ(replaced(folder.at("grown"), 1, on, larger, folder.at("twice")), Placement::segment);
  EXPECT_EQ(run(folder.at("twice")), expected(large, second, larger));
  EXPECT_EQ(runTool({"llvm-readelf-22", "--all", folder.at("twice")}).err, "");
  // LLVM lists what is live: three objects, no remains of the old ones.
  const std::string listed = runTool({"llvm-objdump-22", "--offloading", folder.at("twice")}).out;
  std::size_t devices = 0;
  for (std::size_t at = listed.find("hipv4"); at != std::string::npos; at = listed.find("hipv4", at + 1))
    ++devices;
  EXPECT_EQ(devices, 3U) << listed;
}

INSTANTIATE_TEST_SUITE_P(Replace, HostProgram,
                         ::testing::Values(Host{"pie", {"-fPIE", "-pie"}}, Host{"fixed", {"-fno-pie", "-no-pie"}},
                                           Host{"lld_pie", {"-fPIE", "-pie", "-fuse-ld=lld"}},
                                           Host{"lld_fixed", {"-fno-pie", "-no-pie", "-fuse-ld=lld"}},
                                           Host{"packed_relocations", {"-fPIE", "-pie", "-Wl,-z,pack-relative-relocs"}},
                                           Host{"stripped", {"-fPIE", "-pie", "-s"}},
                                           Host{"static_pie", {"-fPIE", "-static-pie"}},
                                           Host{"library", {"-fPIC", "-shared", "-DLIBRARY"}}),
                         [](const auto& test) { return test.param.name; });

TEST(Replace, ACompressedBundleIsCompressedAnew) {
  const TestFolder folder;
  const Bytes a = deviceObject("gfx942", 40), b = deviceObject("gfx90a", 40);
  const Bytes compressed = bundleOf({{"gfx942", a}, {"gfx90a", b}}, {"-compress"});
  ASSERT_TRUE(std::equal(compressedMagic.begin(), compressedMagic.end(), compressed.begin()));
  const std::string file = folder.write("c.hipfb", compressed);
  const Bytes large = deviceObject("gfx90a", 4000);
  replaced(file, 0, "gfx90a", large, folder.at("out.hipfb"));
  EXPECT_EQ(testing::unbundled(folder.at("out.hipfb"), "gfx90a"), large);
  EXPECT_EQ(testing::unbundled(folder.at("out.hipfb"), "gfx942"), a);

  // In a program, whose section ends with the bundle.
  const std::string host = buildHost(folder, "host", {file}, {"-fPIE", "-pie"});
  ASSERT_EQ(replaced(host, 0, "gfx90a", large, folder.at("host2")), Placement::segment);
  const Container container = opened(folder.at("host2"));
  EXPECT_EQ(chosen(container, {0, "gfx90a"}), large);
  EXPECT_EQ(container.bundles()[0].compressed->version, opened(file).bundles()[0].compressed->version);
  const std::string said = runHost(folder.at("host2"));
  EXPECT_TRUE(said.starts_with(fmt::format("compressed {} ", container.bundles()[0].size))) << said;
  EXPECT_TRUE(said.ends_with("caught 42\n"));
}

TEST(Replace, BundleFilesGrowAndKeepWhatFollows) {
  const TestFolder folder;
  const Bytes a = deviceObject("gfx942", 2), b = deviceObject("gfx942", 5);
  Bytes both = bundleOf({{"gfx942", a}});
  both.resize((both.size() + 4095) / 4096 * 4096);
  const Bytes second = bundleOf({{"gfx942", b}});
  both.insert(both.end(), second.begin(), second.end());
  const std::string file = folder.write("two.hipfb", both);
  const Bytes large = deviceObject("gfx942", 2000);
  ASSERT_EQ(replaced(file, 0, "gfx942", large, folder.at("out.hipfb")), Placement::file);
  const Container out = opened(folder.at("out.hipfb"));
  ASSERT_EQ(out.bundles().size(), 2U);
  EXPECT_EQ(chosen(out, {0, ""}), large);
  EXPECT_EQ(chosen(out, {1, ""}), b);
  EXPECT_EQ(out.bundles()[1].offset % 4096, 0U);
}

TEST(Replace, ARelocatableHostObjectGrowsAndLinks) {
  const TestFolder folder;
  const Bytes a = deviceObject("gfx942", 2), large = deviceObject("gfx942", 3000);
  const std::string bundle = folder.write("0.hipfb", bundleOf({{"gfx942", a}}));
  const std::string host = buildHost(folder, "host.o", {bundle}, {"-fPIE", "-r", "-nostdlib"});
  EXPECT_EQ(chosen(opened(host)), a);
  ASSERT_EQ(replaced(host, 0, "gfx942", large, folder.at("grown.o")), Placement::section);
  runTool({"clang++-22", "-pie", folder.at("grown.o"), "-o", folder.at("program")});
  EXPECT_EQ(runHost(folder.at("program")), reportLine("gfx942", large) + "caught 42\n");
  EXPECT_EQ(chosen(opened(folder.at("program"))), large);
}

TEST(Replace, RefusesWhatTheProgramCouldNotUse) {
  const TestFolder folder;
  const std::string file =
      folder.write("a.hipfb", bundleOf({{"gfx942", deviceObject("gfx942", 2)}, {"gfx90a", deviceObject("gfx90a", 2)}}));
  const Container container = opened(file);
  const auto objects = selectObjects(container, {{}, "gfx942"});
  ASSERT_TRUE(objects);
  EXPECT_EQ(refusal(container, objects->front(), deviceObject("gfx90a", 2)).message,
            "new.co: for gfx90a, the object it would replace is for gfx942");
  EXPECT_EQ(refusal(container, objects->front(), deviceObject("gfx942", 2, "other")).message,
            "new.co: has no kernel k, which the host program may launch");
  const Error relocatable = refusal(container, objects->front(), deviceObject("gfx942", 2, "k", false));
  EXPECT_NE(relocatable.message.find("relocatable: link it first"), std::string::npos);
  const std::string plain = folder.write("k.co", deviceObject("gfx942", 2));
  const Container itself = opened(plain);
  EXPECT_EQ(refusal(itself, {}, deviceObject("gfx942", 2)).kind, ErrorKind::usage);
}

// Without a wrapper nothing in the program says who uses the bundle.
TEST(Replace, AProgramWithoutWrapperCannotGrow) {
  const TestFolder folder;
  const std::string bundle = folder.write("0.hipfb", bundleOf({{"gfx942", deviceObject("gfx942", 2)}}));
  const std::string host = buildHost(folder, "host", {bundle}, {"-fPIE", "-pie"});
  Bytes bytes = *readFile(host);
  const Bytes magic = {0x46, 0x50, 0x49, 0x48, 1, 0, 0, 0};
  const auto found = std::search(bytes.begin(), bytes.end(), magic.begin(), magic.end());
  ASSERT_NE(found, bytes.end());
  *found = 0;
  const Container container = opened(folder.write("broken", bytes));
  ASSERT_EQ(container.bundles().size(), 1U);
  EXPECT_FALSE(container.bundles()[0].registered);
  const auto objects = selectObjects(container, {});
  ASSERT_TRUE(objects);
  EXPECT_NE(refusal(container, objects->front(), deviceObject("gfx942", 3000)).message.find("it cannot grow"),
            std::string::npos);
}

} // namespace
} // namespace asmevo::object
