#include "dispatch/element.h"
#include "dispatch/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

namespace asmevo::dispatch {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "asmevo_dispatch_XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(root); }
  std::string path() const { return root.string(); }
  fs::path operator/(const char* name) const { return root / name; }
  void write(const char* name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << text;
  }

 private:
  fs::path root;
};

std::string oneBuffer(const std::string& dtype, const std::string& shape, const std::string& init) {
  return R"({"asmevo_dispatch": 1, "workgroup_size": [64], "grid_size": [64], "buffers": {"a": {"dtype": ")" + dtype +
         R"(", "shape": )" + shape + R"(, "init": )" + init + "}}}";
}

Result<Dispatch> parse(const std::string& text, const std::string& folder = ".") {
  return parseDispatch(text, folder, "t.json");
}

std::vector<double> values(const std::string& dtype, const std::string& shape, const std::string& init) {
  const auto dispatch = parse(oneBuffer(dtype, shape, init));
  EXPECT_TRUE(dispatch) << dispatch.error().message;
  std::vector<double> out;
  if (!dispatch)
    return out;
  const Buffer& buffer = dispatch->cases[0].buffers[0];
  for (std::size_t at = 0; at < buffer.initial.size(); at += dtypeSize(buffer.dtype))
    out.push_back(elementValue(buffer.dtype, buffer.initial.data() + at));
  return out;
}

std::string errorOf(const std::string& text) {
  const auto dispatch = parse(text);
  EXPECT_FALSE(dispatch);
  return dispatch ? "" : dispatch.error().message;
}

std::string initError(const std::string& dtype, const std::string& shape, const std::string& init) {
  return errorOf(oneBuffer(dtype, shape, init));
}

const char* const full = R"({
  "asmevo_dispatch": 1, "kernel": "vadd", "workgroup_size": [256, 1, 1], "grid_size": [1048576, 1, 1],
  "dynamic_lds_bytes": 16,
  "buffers": {
    "b": {"dtype": "f32", "shape": [4, 2], "init": "zero"},
    "a": {"dtype": "f32", "shape": [8], "init": "poison"}
  },
  "args": [{"buffer": "a"}, {"buffer": "b", "offset": 4}, {"i32": -3}, {"f16": 1.5}, {"bytes": "00fF"}],
  "compare": {"a": {"rtol": 0.5, "atol": 0.25}, "b": {"ignore": true}}
})";

TEST(Parse, FullCase) {
  const auto dispatch = parse(full);
  ASSERT_TRUE(dispatch) << dispatch.error().message;
  ASSERT_EQ(dispatch->cases.size(), 1u);
  const Case& launch = dispatch->cases[0];
  EXPECT_EQ(launch.kernel, "vadd");
  EXPECT_EQ(launch.gridSize, (std::array<std::uint32_t, 3>{1048576, 1, 1}));
  EXPECT_EQ(launch.dynamicLdsBytes, 16u);
  ASSERT_EQ(launch.buffers.size(), 2u);
  EXPECT_EQ(launch.buffers[0].name, "b"); // the json's order
  EXPECT_EQ(launch.buffers[0].initial, Bytes(32, 0));
  ASSERT_EQ(launch.arguments.size(), 5u);
  EXPECT_EQ(launch.arguments[1].buffer, "b");
  EXPECT_EQ(launch.arguments[1].offset, 4u);
  EXPECT_EQ(launch.arguments[2].bytes, (Bytes{0xfd, 0xff, 0xff, 0xff}));
  EXPECT_EQ(launch.arguments[3].bytes, (Bytes{0x00, 0x3e}));
  EXPECT_EQ(launch.arguments[4].bytes, (Bytes{0x00, 0xff}));
  EXPECT_EQ(launch.comparisonOf("a").mode, Comparison::Mode::tolerance);
  EXPECT_EQ(launch.comparisonOf("a").rtol, 0.5);
  EXPECT_EQ(launch.comparisonOf("b").mode, Comparison::Mode::ignore);
  EXPECT_EQ(launch.comparisonOf("other").mode, Comparison::Mode::bitwise);
}

/// Published first draws of the generator (seed 1234567: the example of several language libraries).
TEST(Parse, SplitMixDraws) {
  SplitMix64 draws(1234567);
  for (const std::uint64_t want :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u, 16408922859458223821u})
    EXPECT_EQ(draws.next(), want);
}

// Expected values of the generators below: computed with Python integers and math from the definition in
// docs/dispatch.md.
TEST(Parse, UniformOfIntegers) {
  EXPECT_EQ(values("i8", "[4]", R"({"uniform": {"lo": -3, "hi": 3, "seed": 1234567}})"),
            (std::vector<double>{6457827717110365317u % 7 - 3.0, 3203168211198807973u % 7 - 3.0,
                                 9817491932198370423u % 7 - 3.0, 4593380528125082431u % 7 - 3.0}));
  const auto dispatch =
      parse(oneBuffer("u64", "[2]", R"({"uniform": {"lo": 0, "hi": 18446744073709551615, "seed": 1234567}})"));
  ASSERT_TRUE(dispatch) << dispatch.error().message;
  std::uint64_t first = 0;
  std::memcpy(&first, dispatch->cases[0].buffers[0].initial.data(), 8);
  EXPECT_EQ(first, 6457827717110365317u); // the whole range: the draw itself
}

TEST(Parse, UniformOfFloats) {
  const auto drawn = values("f64", "[2]", R"({"uniform": {"lo": -1, "hi": 3, "seed": 1234567}})");
  EXPECT_EQ(drawn[0], -1 + 4 * (static_cast<double>(6457827717110365317u >> 11) / 9007199254740992.0));
  EXPECT_EQ(drawn[1], -1 + 4 * (static_cast<double>(3203168211198807973u >> 11) / 9007199254740992.0));
}

TEST(Parse, NormalTakesCosineThenSine) {
  const double u1 = static_cast<double>(6457827717110365317u >> 11) / 9007199254740992.0;
  const double u2 = static_cast<double>(3203168211198807973u >> 11) / 9007199254740992.0;
  const double r = std::sqrt(-2 * std::log(u1));
  const auto drawn = values("f64", "[3]", R"({"normal": {"mean": 10, "std": 2, "seed": 1234567}})");
  EXPECT_NEAR(drawn[0], 10 + 2 * r * std::cos(2 * M_PI * u2), 1e-14);
  EXPECT_NEAR(drawn[1], 10 + 2 * r * std::sin(2 * M_PI * u2), 1e-14);
  const auto many = values("f32", "[20000]", R"({"normal": {"mean": 1, "std": 3, "seed": 9}})");
  const double mean = std::accumulate(many.begin(), many.end(), 0.0) / 20000;
  EXPECT_NEAR(mean, 1, 0.1);
  EXPECT_NEAR(std::accumulate(many.begin(), many.end(), 0.0, [](double s, double v) { return s + (v - 1) * (v - 1); }) /
                  20000,
              9, 0.4);
}

TEST(Parse, SimpleInits) {
  EXPECT_EQ(values("f16", "[3]", R"({"constant": -2.5})"), (std::vector<double>{-2.5, -2.5, -2.5}));
  EXPECT_EQ(values("f32", "[3]", R"({"iota": {"start": 1, "step": 0.25}})"), (std::vector<double>{1, 1.25, 1.5}));
  EXPECT_EQ(values("u8", "[4]", R"({"iota": {"start": 254}})"), (std::vector<double>{254, 255, 0, 1}));
  EXPECT_EQ(values("i16", "[3]", R"({"iota": {"start": 5, "step": -3}})"), (std::vector<double>{5, 2, -1}));
  EXPECT_EQ(values("i64", "[2]", R"({"values": [-9007199254740992, 7]})"),
            (std::vector<double>{-9007199254740992.0, 7}));
  const auto special = values("f32", "[3]", R"({"values": ["nan", "-inf", 0.5]})");
  EXPECT_TRUE(std::isnan(special[0]));
  EXPECT_EQ(special[1], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(values("f32", "[0]", R"({"constant": 1})").size(), 0u);
  for (const double v : values("f32", "[16]", R"("poison")"))
    EXPECT_TRUE(std::isnan(v));
  // Normals clamp in integers and saturate in 8-bit floats.
  for (const double v : values("fp8_e4m3fnuz", "[200]", R"({"normal": {"std": 1e5, "seed": 1}})"))
    EXPECT_LE(std::fabs(v), 240);
  const auto clamped = values("u8", "[200]", R"({"normal": {"std": 1e5, "seed": 1}})");
  EXPECT_EQ(*std::max_element(clamped.begin(), clamped.end()), 255);
  EXPECT_EQ(*std::min_element(clamped.begin(), clamped.end()), 0);
}

TEST(Parse, PermutationIsOne) {
  auto order = values("i32", "[100]", R"({"permutation": {"seed": 5}})");
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  // The first swap of Fisher-Yates from the end: element 99 came from draw mod 100.
  SplitMix64 draws(5);
  EXPECT_EQ(order[99], static_cast<double>(draws.next() % 100));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_NE(initError("u8", "[257]", R"({"permutation": {"seed": 5}})").find("257 elements"), std::string::npos);
}

TEST(Parse, Pointers) {
  const auto dispatch = parse(R"({"asmevo_dispatch": 1, "workgroup_size": [1], "grid_size": [1], "buffers": {
    "p": {"dtype": "u64", "shape": [3], "init": {"pointers": [{"buffer": "d", "offset": 8}, null, {"buffer": "p"}]}},
    "d": {"dtype": "u8", "shape": [8], "init": "zero"}}})");
  ASSERT_TRUE(dispatch) << dispatch.error().message;
  const auto& pointers = dispatch->cases[0].buffers[0].pointers;
  ASSERT_EQ(pointers.size(), 2u);
  EXPECT_EQ(pointers[0].byteOffset, 0u);
  EXPECT_EQ(pointers[0].buffer, "d");
  EXPECT_EQ(pointers[0].offset, 8u);
  EXPECT_EQ(pointers[1].byteOffset, 16u);
  EXPECT_NE(initError("u64", "[1]", R"({"pointers": [{"buffer": "aa"}]})")
                .find("buffers.a.init.pointers[0]: no buffer 'aa' (did you mean 'a'?)"),
            std::string::npos);
  EXPECT_NE(initError("u64", "[1]", R"({"pointers": [{"buffer": "a", "offset": 9}]})").find("past the end"),
            std::string::npos);
  EXPECT_NE(initError("u32", "[1]", R"({"pointers": [{"buffer": "a"}]})").find("need dtype u64"), std::string::npos);
}

TEST(Parse, Files) {
  const Folder folder, other;
  folder.write("sub/a.bin", std::string("\x01\x00\x02\x00", 4));
  other.write("secret.bin", "1234");
  fs::create_symlink(other / "secret.bin", folder / "link.bin");
  fs::create_directory_symlink(other.path(), folder / "linked");
  fs::create_symlink(folder / "sub/a.bin", folder / "inside.bin");

  for (const char* name : {"sub/a.bin", "./sub/../sub/a.bin", "inside.bin"}) {
    const auto dispatch = parse(oneBuffer("u16", "[2]", std::string(R"({"file": ")") + name + "\"}"), folder.path());
    ASSERT_TRUE(dispatch) << dispatch.error().message;
    EXPECT_EQ(dispatch->cases[0].buffers[0].initial, (Bytes{1, 0, 2, 0}));
  }
  const std::string escape = "../" + fs::path(other.path()).filename().string() + "/secret.bin";
  const std::pair<std::string, const char*> bad[] = {{escape, "leads out"},
                                                     {"link.bin", "leads out"},
                                                     {"linked/secret.bin", "leads out"},
                                                     {"none.bin", "none.bin"},
                                                     {(other / "secret.bin").string(), "relative"},
                                                     {"sub", "not a regular file"},
                                                     {"", "relative"},
                                                     {"sub/a.bin\\u0000", "relative"}};
  for (const auto& [name, part] : bad) {
    const auto dispatch = parse(oneBuffer("u16", "[2]", R"({"file": ")" + name + "\"}"), folder.path());
    ASSERT_FALSE(dispatch) << name;
    EXPECT_NE(dispatch.error().message.find(part), std::string::npos) << dispatch.error().message;
    EXPECT_NE(dispatch.error().message.find("buffers.a.init.file"), std::string::npos) << dispatch.error().message;
  }
  const auto size = parse(oneBuffer("u16", "[3]", R"({"file": "sub/a.bin"})"), folder.path());
  ASSERT_FALSE(size);
  EXPECT_NE(size.error().message.find("has 4 bytes, the buffer has 6"), std::string::npos);
}

TEST(Parse, FolderIsACapsule) {
  const Folder folder;
  folder.write("dispatch.json", oneBuffer("u8", "[2]", R"({"file": "a.bin"})"));
  folder.write("a.bin", "xy");
  const auto dispatch = loadDispatch(folder.path());
  ASSERT_TRUE(dispatch) << dispatch.error().message;
  EXPECT_EQ(dispatch->cases[0].buffers[0].initial, (Bytes{'x', 'y'}));
  EXPECT_TRUE(loadDispatch((folder / "dispatch.json").string()));
  EXPECT_FALSE(loadDispatch((folder / "other.json").string()));
}

TEST(Parse, CasesDefaultToTheTop) {
  const auto dispatch = parse(R"({
    "asmevo_dispatch": 1, "kernel": "k", "workgroup_size": [64],
    "buffers": {"a": {"dtype": "u8", "shape": [1], "init": {"constant": 1}}, "b": {"dtype": "u8", "shape": [1], "init": "zero"}},
    "args": [{"buffer": "a"}], "compare": {"b": {"ignore": true}},
    "cases": [
      {"grid_size": [64]},
      {"name": "big", "kernel": "k2", "grid_size": [128, 2], "buffers": {"a": {"dtype": "u8", "shape": [1], "init": {"constant": 2}}},
       "kernarg": [{"at": 8, "buffer": "b"}, {"at": 0, "u64": 5}], "compare": {"a": {"atol": 1}}}
    ]})");
  ASSERT_TRUE(dispatch) << dispatch.error().message;
  ASSERT_EQ(dispatch->cases.size(), 2u);
  const Case &first = dispatch->cases[0], &second = dispatch->cases[1];
  EXPECT_EQ(first.name, "case 0");
  EXPECT_EQ(first.kernel, "k");
  EXPECT_EQ(first.buffers[0].initial, Bytes{1});
  EXPECT_FALSE(first.explicitKernarg);
  EXPECT_EQ(second.name, "big");
  EXPECT_EQ(second.kernel, "k2");
  EXPECT_EQ(second.gridSize, (std::array<std::uint32_t, 3>{128, 2, 1}));
  ASSERT_EQ(second.buffers.size(), 2u);
  EXPECT_EQ(second.buffers[0].initial, Bytes{2});
  EXPECT_TRUE(second.explicitKernarg);
  ASSERT_EQ(second.arguments.size(), 2u);
  EXPECT_EQ(second.arguments[0].at, 8u);
  EXPECT_EQ(second.comparisonOf("a").mode, Comparison::Mode::tolerance);
  EXPECT_EQ(second.comparisonOf("b").mode, Comparison::Mode::ignore);
}

TEST(Parse, ErrorsNameThePlaceAndTheRemedy) {
  const std::string head = R"({"asmevo_dispatch": 1, "workgroup_size": [64], "grid_size": [64], )";
  const std::pair<std::string, const char*> rows[] = {
      {"[1, 2", "t.json: not valid json"},
      {"[]", "expected an object, found an array"},
      {"{}", "'asmevo_dispatch' is missing"},
      {R"({"asmevo_dispatch": 2})", "asmevo_dispatch: version 1 is known, found the number 2"},
      {R"({"asmevo_dispatch": 1, "workgroup_size": [64]})", "'grid_size' is missing"},
      {head + R"("bufers": {}})", "unknown key 'bufers' (did you mean 'buffers'?)"},
      {head + R"("kernel": 3})", "kernel: expected a string, found the number 3"},
      {head + R"("kernel": "a", "kernel": "b"})", "the key 'kernel' stands twice"},
      {R"({"asmevo_dispatch": 1, "workgroup_size": [64, 32], "grid_size": [64]})", "workgroup_size: 2048 work-items"},
      {R"({"asmevo_dispatch": 1, "workgroup_size": [0], "grid_size": [64]})", "workgroup_size[0]: 0 is out of range"},
      {R"({"asmevo_dispatch": 1, "workgroup_size": [1], "grid_size": [4294967295, 4294967295]})", "workgroups"},
      {R"({"asmevo_dispatch": 1, "workgroup_size": [1, 1, 1, 1], "grid_size": [1]})", "4 elements; expected 1 to 3"},
      {head + R"("buffers": {"a/b": {}}})", "a buffer's name is"},
      {head + R"("buffers": {"..": {}}})", "a buffer's name is"},
      {head + R"("buffers": {"a": {"dtype": "f32", "shape": [1]}}})", "buffers.a: 'init' is missing"},
      {head + R"("buffers": {"a": {"dtype": "f33", "shape": [1], "init": "zero"}}})",
       "buffers.a.dtype: unknown dtype 'f33'"},
      {head + R"("buffers": {"a": {"dtype": "f32", "shape": [-1], "init": "zero"}}})",
       "buffers.a.shape[0]: expected a non-negative"},
      {head + R"("buffers": {"a": {"dtype": "f64", "shape": [65536, 65536], "init": "zero"}}})", "more than 16 GiB"},
      {head +
           R"("buffers": {"a": {"dtype": "f64", "shape": [17179869184, 17179869184, 17179869184], "init": "zero"}}})",
       "more than 16 GiB"},
      {head + R"("args": [{"buffer": "x"}]})", "args[0].buffer: no buffer 'x'"},
      {head + R"("args": [{"i32": 1, "u32": 2}]})", "args[0]: both 'i32' and 'u32'"},
      {head + R"("args": [{"i33": 1}]})", "args[0]: unknown key 'i33' (did you mean 'i32'?)"},
      {head + R"("args": [{"i32": 1, "offset": 2}]})", "'offset' goes with 'buffer' only"},
      {head + R"("args": [{"at": 0, "i32": 1}]})", "args[0]: unknown key 'at'"},
      {head + R"("args": [{"i8": 128}]})", "args[0].i8: 128 is out of range: -128 to 127"},
      {head + R"("args": [{"u8": -1}]})", "args[0].u8: -1 is out of range: 0 to 255"},
      {head + R"("args": [{"i32": 1.5}]})", "args[0].i32: expected an integer"},
      {head + R"("args": [{"f16": 70000}]})", "args[0].f16: 70000 is too large for f16"},
      {head + R"("args": [{"bytes": "abc"}]})", "args[0].bytes: expected an even number of hexadecimal digits"},
      {head + R"("args": [], "kernarg": []})", "exclude each other"},
      {head + R"("kernarg": [{"i32": 1}]})", "kernarg[0]: 'at' is missing"},
      {head + R"("kernarg": [{"at": 4, "u64": 1}, {"at": 0, "u64": 1}]})",
       "kernarg[0]: bytes 4 to 12 overlap those of [1]"},
      {head + R"("kernarg": [{"at": 1048575, "u64": 1}]})", "ends past 1048576 bytes"},
      {head + R"("compare": {"z": {"bitwise": true}}})", "compare.z: no buffer 'z'"},
      {head + R"("cases": []})", "cases: 0 elements"},
      {head + R"("cases": [{}, {"grid": [1]}]})", "cases[1]: unknown key 'grid' (did you mean"},
      {head + R"("cases": [{"buffers": {"a": {"dtype": "f32", "shape": [1], "init": "poisn"}}}]})",
       "cases[0].buffers.a.init: unknown init the string \"poisn\" (did you mean 'poison'?)"},
  };
  for (const auto& [text, part] : rows) {
    const std::string message = errorOf(text);
    EXPECT_NE(message.find(part), std::string::npos) << text << "\n  gave: " << message;
  }
}

TEST(Parse, InitErrors) {
  const std::tuple<const char*, const char*, const char*, const char*> rows[] = {
      {"f32", "[2]", R"({"values": [1]})", "buffers.a.init.values: 1 elements; expected 2"},
      {"f32", "[1]", R"({"values": ["big"]})", "buffers.a.init.values[0]: expected a number"},
      {"u8", "[1]", R"({"constant": 256})", "buffers.a.init.constant: 256 is out of range"},
      {"fp8_e4m3fn", "[1]", R"({"constant": "inf"})", "has no infinity"},
      {"f32", "[1]", R"({"uniform": {"lo": 0, "hi": 1}})", "'seed' is missing"},
      {"f32", "[1]", R"({"uniform": {"lo": 2, "hi": 1, "seed": 1}})", "above"},
      {"i32", "[1]", R"({"uniform": {"lo": 2, "hi": 1, "seed": 1}})", "above"},
      {"i8", "[1]", R"({"uniform": {"lo": 0, "hi": 200, "seed": 1}})", "hi: 200 is out of range"},
      {"f32", "[1]", R"({"normal": {"sdt": 1, "seed": 1}})", "unknown key 'sdt' (did you mean 'std'?)"},
      {"f32", "[1]", R"({"normal": {"std": "inf", "seed": 1}})", "must be finite"},
      {"f32", "[1]", R"({"uniforn": {}})", "unknown init 'uniforn' (did you mean 'uniform'?)"},
      {"f32", "[1]", R"({"constant": 1, "iota": {}})", "one member"},
      {"f32", "[1]", "7", "expected an object with one member, found the number 7"},
  };
  for (const auto& [dtype, shape, init, part] : rows) {
    const std::string message = initError(dtype, shape, init);
    EXPECT_NE(message.find(part), std::string::npos) << init << "\n  gave: " << message;
  }
}

TEST(Parse, DeepNestingIsRefused) {
  const std::string deep = R"({"asmevo_dispatch": )" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_NE(errorOf(deep).find("levels of nesting"), std::string::npos);
}

/// Single-byte changes of a valid text: an answer every time.
TEST(Parse, MutationsNeverCrash) {
  const std::string text = full;
  SplitMix64 draws(42);
  unsigned accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text;
    for (std::uint64_t n = draws.next() % 3 + 1; n-- > 0;)
      changed[draws.next() % changed.size()] = static_cast<char>(draws.next());
    const auto dispatch =
        parse(changed.substr(0, draws.next() % 4 == 0 ? draws.next() % changed.size() : changed.size()));
    accepted += dispatch ? 1 : 0;
    if (!dispatch) {
      EXPECT_FALSE(dispatch.error().message.empty());
    }
  }
  EXPECT_LT(accepted, 600u);
}

} // namespace
} // namespace asmevo::dispatch
