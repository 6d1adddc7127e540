#include "object/container.h"

#include "object/container_support.h"
#include "object/link.h"

#include <gtest/gtest.h>
#include <llvm/BinaryFormat/ELF.h>

namespace asmevo::object {
namespace {

using testing::buildHost;
using testing::bundleOf;
using testing::chosen;
using testing::deviceObject;
using testing::opened;
using testing::parsed;
using testing::runTool;
using testing::TestFolder;

std::string errorOf(const Container& container, const ObjectSelection& selection) {
  const auto object = chooseObject(container, selection);
  EXPECT_FALSE(object);
  return object ? std::string() : object.error().message;
}

TEST(Container, ACodeObjectIsItsOwnContainer) {
  const TestFolder folder;
  const Bytes bytes = deviceObject("gfx942:xnack-", 2);
  const std::string file = folder.write("k.co", bytes);
  const Container container = opened(file);
  EXPECT_EQ(container.kind(), ContainerKind::codeObject);
  EXPECT_EQ(chosen(container), bytes);
  EXPECT_EQ(chosen(container, {{}, "gfx942"}), bytes);
  EXPECT_NE(errorOf(container, {{}, "gfx942:xnack+"}).find("it needs xnack-, the device has xnack+"),
            std::string::npos);
  const auto loaded = CodeObject::load(file);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->name(), file);
}

TEST(Container, LoadOpensAContainerWithOneObject) {
  const TestFolder folder;
  const Bytes bytes = deviceObject("gfx942", 2);
  const std::string bundle = folder.write("k.hipfb", bundleOf({{"gfx942", bytes}}));
  const std::string host = buildHost(folder, "host", {bundle}, {"-fPIE", "-pie"});
  for (const std::string& file : {bundle, host}) {
    const auto loaded = CodeObject::load(file);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_TRUE(std::ranges::equal(loaded->bytes(), bytes));
    EXPECT_EQ(loaded->name(), file + "#0:gfx942");
  }
}

TEST(Container, SeveralObjectsAreListedWithTheWayToChoose) {
  const TestFolder folder;
  const Bytes a = deviceObject("gfx942:xnack+", 1), b = deviceObject("gfx942:xnack-", 1), c = deviceObject("gfx90a", 1);
  const std::string file =
      folder.write("k.hipfb", bundleOf({{"gfx942:xnack+", a}, {"gfx942:xnack-", b}, {"gfx90a", c}}));
  const auto all = CodeObject::load(file);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().kind, ErrorKind::usage);
  for (const std::string& part :
       {file + "#0:gfx942:xnack+ (", file + "#0:gfx90a (", std::string("asmevo extract"), std::string("--target")})
    EXPECT_NE(all.error().message.find(part), std::string::npos) << all.error().message;
  for (const auto& [suffix, bytes] :
       {std::pair{"#gfx942:xnack+", a}, {"#0:gfx942:xnack-", b}, {"#gfx90a", c}, {"#0:gfx90a:xnack+:sramecc-", c}}) {
    const auto one = CodeObject::load(file + suffix);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_TRUE(std::ranges::equal(one->bytes(), bytes)) << suffix;
  }
  EXPECT_EQ(CodeObject::load(file + "#1:gfx90a").error().kind, ErrorKind::usage);
  EXPECT_EQ(CodeObject::load(file + "#gfx9999").error().kind, ErrorKind::usage);
  EXPECT_EQ(CodeObject::load(file + "#gfx942:fast+").error().kind, ErrorKind::usage);
  EXPECT_EQ(CodeObject::load(file + "#gfx1100").error().kind, ErrorKind::usage);
}

// LLVM AMDGPUUsage, "Target ID": a feature that the object leaves out suits any setting, a fixed one only its own; HIP
// takes the most specific object that fits.
TEST(Container, AnExactFeatureBeatsAnyAndAProcessorBeatsAGeneric) {
  const TestFolder folder;
  const Bytes any = deviceObject("gfx942", 1), on = deviceObject("gfx942:xnack+", 2),
              generic = testing::assemble("  .amdgcn_target \"amdgcn-amd-amdhsa--gfx9-4-generic\"\n"
                                          "  .amdhsa_code_object_version 6\n  .text\n  s_endpgm\n",
                                          "gfx9-4-generic");
  // clang-offload-bundler writes no bundle with "any" and a fixed setting of one feature; old ones exist.
  const BundleContent contents[] = {{"hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", generic},
                                    {"hipv4-amdgcn-amd-amdhsa--gfx942", any},
                                    {"hipv4-amdgcn-amd-amdhsa--gfx942:xnack+", on}};
  const Container container = opened(folder.write("k.hipfb", writeBundle(contents, 4096)));
  EXPECT_EQ(chosen(container, {{}, "gfx942:xnack+"}), on);
  EXPECT_EQ(chosen(container, {{}, "gfx942:sramecc+:xnack+"}), on);
  EXPECT_EQ(chosen(container, {{}, "gfx942:xnack-"}), any);
  EXPECT_EQ(chosen(container, {{}, "gfx942"}), any);
  EXPECT_EQ(chosen(container, {{}, "gfx950"}), generic);
  EXPECT_EQ(chosen(container, {{}, "gfx9-4-generic"}), generic);
  EXPECT_NE(errorOf(container, {{}, "gfx90a"}).find("gfx942: it is for gfx942, the device is gfx90a"),
            std::string::npos);
}

TEST(Container, BundlesOfAProgramAreNumberedAsItRegistersThem) {
  const TestFolder folder;
  std::vector<std::string> files;
  for (unsigned i = 0; i < 3; ++i)
    files.push_back(
        folder.write(fmt::format("{}.hipfb", i), bundleOf({{"gfx942", deviceObject("gfx942", 10 * i + 1)}})));
  const std::string host = buildHost(folder, "host", files, {"-fPIE", "-pie"});
  const Container container = opened(host);
  ASSERT_EQ(container.kind(), ContainerKind::hostElf);
  ASSERT_EQ(container.bundles().size(), 3U);
  const std::string listed = runTool({"llvm-objdump-22", "--offloading", host}).out;
  for (std::size_t i = 0; i < 3; ++i) {
    const BundlePlace& place = container.bundles()[i];
    EXPECT_EQ(place.section, ".hip_fatbin");
    EXPECT_TRUE(place.registered);
    EXPECT_EQ(chosen(container, {i, ""}), deviceObject("gfx942", static_cast<unsigned>(10 * i + 1)));
  }
  EXPECT_NE(errorOf(container, {}).find("3 device objects"), std::string::npos);
  EXPECT_NE(listed.find("gfx942"), std::string::npos);
}

TEST(Container, ArchivesAndFilesWithoutSectionHeaders) {
  const TestFolder folder;
  const Bytes one = deviceObject("gfx942", 1), two = deviceObject("gfx90a", 2);
  const std::string a = folder.write("a.hipfb", bundleOf({{"gfx942", one}}));
  const std::string b = folder.write("b.hipfb", bundleOf({{"gfx90a", two}}, {"-compress"}));
  const std::string first = buildHost(folder, "first.o", {a}, {"-fPIE", "-r", "-nostdlib"});
  const std::string second = buildHost(folder, "a_member_with_a_long_name.o", {b}, {"-fPIE", "-r", "-nostdlib"});
  const std::string archive = folder.at("both.a");
  runTool({"llvm-ar-22", "rcs", archive, first, second});
  const Container container = opened(archive);
  EXPECT_EQ(container.kind(), ContainerKind::archive);
  ASSERT_EQ(container.bundles().size(), 2U);
  EXPECT_EQ(container.bundles()[0].member, "first.o");
  EXPECT_EQ(container.bundles()[1].member, "a_member_with_a_long_name.o");
  EXPECT_EQ(chosen(container, {{}, "gfx942"}), one);
  EXPECT_EQ(chosen(container, {1, ""}), two);

  const std::string host = buildHost(folder, "host", {a}, {"-fPIE", "-pie"});
  runTool({"llvm-strip-22", "--strip-sections", host});
  EXPECT_EQ(chosen(opened(host)), one);
}

TEST(Container, FilesWithoutDeviceCodeSayWhy) {
  const TestFolder folder;
  const auto said = [&](const std::string& name, const Bytes& bytes) {
    const auto container = Container::open(folder.write(name, bytes));
    EXPECT_FALSE(container) << name;
    return container ? std::string() : container.error().message.substr(folder.at(name).size());
  };
  EXPECT_EQ(said("text", {'h', 'i'}), ": not an ELF file, offload bundle or archive");
  EXPECT_EQ(said("empty", {}), ": not an ELF file, offload bundle or archive");
  const std::string host = buildHost(folder, "host", {}, {"-fPIE", "-pie"});
  EXPECT_NE(said("nothing", *readFile(host)).find("without device code"), std::string::npos);
  EXPECT_FALSE(Container::open(folder.at("missing")));
  EXPECT_NE(Container::open("/").error().message.find("not a regular file"), std::string::npos);
  const Container none = opened(folder.write("none.hipfb", bundleOf({})));
  EXPECT_NE(errorOf(none, {}).find("no device object"), std::string::npos);
}

// Debian's libraries are far away from a test; this is their shape: several bundles, page-aligned, one damaged.
TEST(Container, ADamagedBundleDoesNotHideTheOthers) {
  const TestFolder folder;
  const Bytes object = deviceObject("gfx942", 1);
  Bytes file;
  for (unsigned i = 0; i < 3; ++i) {
    const Bytes bundle = bundleOf({{"gfx942", object}});
    file.insert(file.end(), bundle.begin(), bundle.end());
    file.resize((file.size() + 4095) / 4096 * 4096);
    if (i == 1) // the middle one claims an entry beyond the end of the file
      file[file.size() - (bundle.size() + 4095) / 4096 * 4096 + 32 + 24 + 30 + 15] = 0x7f;
  }
  const Container container = opened(folder.write("three.hipfb", file));
  ASSERT_EQ(container.bundles().size(), 3U);
  EXPECT_FALSE(container.bundles()[0].problem);
  ASSERT_TRUE(container.bundles()[1].problem);
  EXPECT_FALSE(container.bundles()[2].problem);
  EXPECT_EQ(chosen(container, {2, ""}), object);
  EXPECT_FALSE(container.openBundle(1));
}

TEST(Link, ARelocatableBecomesWhatClangLinks) {
  const Bytes loadable = deviceObject("gfx942:xnack-", 5), relocatable = deviceObject("gfx942:xnack-", 5, "k", false);
  const auto linked = linkRelocatable(parsed(relocatable));
  ASSERT_TRUE(linked) << linked.error().message;
  const CodeObject ours = parsed(*linked), clangs = parsed(loadable);
  EXPECT_EQ(ours.elfType(), llvm::ELF::ET_DYN);
  EXPECT_EQ(ours.flags(), clangs.flags());
  ASSERT_EQ(ours.kernels().size(), 1U);
  EXPECT_EQ(ours.kernels()[0].descriptor.raw, clangs.kernels()[0].descriptor.raw);
  EXPECT_TRUE(std::ranges::equal(ours.contents(*ours.codeSections()[0]), clangs.contents(*clangs.codeSections()[0])));
  EXPECT_EQ(linkRelocatable(clangs).error().kind, ErrorKind::usage);
}

TEST(Link, AnUndefinedSymbolIsNamed) {
  const Bytes relocatable = testing::assemble("  .text\n  s_getpc_b64 s[0:1]\n  s_add_u32 s0, s0, nowhere@rel32@lo+4\n"
                                              "  s_endpgm\n",
                                              "gfx942", false);
  const auto linked = linkRelocatable(parsed(relocatable, "undef.o"));
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().kind, ErrorKind::refused);
  EXPECT_NE(linked.error().message.find("undefined symbol: nowhere"), std::string::npos) << linked.error().message;
  EXPECT_EQ(linked.error().message.find("/tmp"), std::string::npos) << linked.error().message;
}

} // namespace
} // namespace asmevo::object
