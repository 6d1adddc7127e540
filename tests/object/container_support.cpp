#include "object/container_support.h"

#include <gtest/gtest.h>

#include <unistd.h>

namespace asmevo::object::testing {

namespace fs = std::filesystem;

namespace {

std::string idOf(const std::string& target) {
  return "hipv4-amdgcn-amd-amdhsa--" + target;
}

/// Reads its own wrappers as the HIP runtime does. FNV-1a hashes; `big` checks that .bss is still where it belongs, the
/// exception that unwinding, which goes through the program headers, still works.
const char* hostSource = R"(
#include <cstdint>
#include <cstdio>
#include <cstring>
struct Wrapper { std::uint32_t magic, version; const unsigned char* binary; void* unused; };
extern "C" Wrapper wrappers[], wrappers_end[];
static volatile unsigned char big[3 << 20];
static std::uint64_t number(const unsigned char* at) { std::uint64_t n; std::memcpy(&n, at, 8); return n; }
static void show(const char* id, unsigned length, const unsigned char* bytes, std::uint64_t size) {
  std::uint64_t h = 1469598103934665603u;
  for (std::uint64_t i = 0; i < size; ++i)
    h = (h ^ bytes[i]) * 1099511628211u;
  if (size != 0)
    std::printf("%.*s %llu %016llx\n", int(length), id, (unsigned long long)size, (unsigned long long)h);
}
extern "C" int report() {
  for (Wrapper* w = wrappers; w != wrappers_end; ++w) {
    const unsigned char* bundle = w->binary;
    if (bundle[0] == 'C' && bundle[3] == 'B') {
      show("compressed", 10, bundle, number(bundle + 8));
      continue;
    }
    const unsigned char* row = bundle + 32;
    for (std::uint64_t i = 0; i < number(bundle + 24); ++i, row += 24 + number(row + 16))
      show((const char*)row + 24, unsigned(number(row + 16)), bundle + number(row), number(row + 8));
  }
  for (unsigned i = 0; i < sizeof big; i += 512) {
    if (big[i] != 0)
      return 1;
    big[i] = 1;
  }
  try { throw 42; } catch (int value) { std::printf("caught %d\n", value); }
  return 0;
}
#ifndef LIBRARY
int main() { return report(); }
#endif
)";

const char* libraryUser = R"(
#include <dlfcn.h>
#include <cstdio>
int main(int, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) { std::puts(dlerror()); return 2; }
  return ((int (*)())dlsym(library, "report"))();
}
)";

} // namespace

TestFolder::TestFolder() {
  std::string pattern = (fs::temp_directory_path() / "asmevo_object_XXXXXX").string();
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  path = pattern;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::string TestFolder::write(const std::string& name, const Bytes& bytes) const {
  EXPECT_TRUE(writeFileAtomic(at(name), bytes));
  return at(name);
}

Bytes deviceObject(const std::string& target, unsigned nops, const std::string& kernel, bool link) {
  std::string source = "  .amdgcn_target \"amdgcn-amd-amdhsa--" + target +
                       "\"\n  .amdhsa_code_object_version 5\n  .text\n  .globl " + kernel + "\n  .p2align 8\n  .type " +
                       kernel + ",@function\n" + kernel + ":\n  .rept " + std::to_string(nops) +
                       "\n  s_nop 3\n  s_mov_b32 s5, 0x1234567\n  .endr\n  s_endpgm\n  .rodata\n  .p2align 6\n"
                       "  .amdhsa_kernel " +
                       kernel + "\n    .amdhsa_next_free_vgpr 8\n    .amdhsa_next_free_sgpr 8\n";
  if (target.starts_with("gfx90a") || target.starts_with("gfx942"))
    source += "    .amdhsa_accum_offset 8\n";
  return assemble(source + "  .end_amdhsa_kernel\n", target, link);
}

Bytes bundleOf(const std::vector<Slot>& slots, const std::vector<std::string>& options) {
  const TestFolder folder;
  std::vector<std::string> command = {"clang-offload-bundler-22", "-type=o", "-bundle-align=4096", "-input=/dev/null",
                                      "-output=" + folder.at("bundle")};
  std::string targets = "-targets=host-x86_64-unknown-linux-gnu-";
  for (std::size_t i = 0; i < slots.size(); ++i) {
    targets += "," + idOf(slots[i].target);
    command.push_back("-input=" + folder.write(std::to_string(i), slots[i].object));
  }
  command.push_back(targets);
  command.insert(command.end(), options.begin(), options.end());
  runTool(command);
  const auto bytes = readFile(folder.at("bundle"));
  EXPECT_TRUE(bytes);
  return bytes ? *bytes : Bytes();
}

Bytes unbundled(const std::string& file, const std::string& target) {
  const TestFolder folder;
  runTool({"clang-offload-bundler-22", "-type=o", "-unbundle", "-targets=" + idOf(target), "-input=" + file,
           "-output=" + folder.at("out")});
  const auto bytes = readFile(folder.at("out"));
  EXPECT_TRUE(bytes);
  return bytes ? *bytes : Bytes();
}

std::string buildHost(const TestFolder& folder, const std::string& name, const std::vector<std::string>& bundles,
                      const std::vector<std::string>& options) {
  std::string tables = "  .section .hip_fatbin,\"a\",@progbits\n";
  std::string wrappers = "  .section .hipFatBinSegment,\"aw\",@progbits\n  .p2align 3\n  .globl wrappers\nwrappers:\n";
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    tables += fmt::format("  .p2align 12\n.Lbundle{}:\n  .incbin \"{}\"\n", i, bundles[i]);
    wrappers += fmt::format("  .long 0x48495046, 1\n  .quad .Lbundle{}\n  .quad 0\n", i);
  }
  wrappers += "  .globl wrappers_end\nwrappers_end:\n  .section .note.GNU-stack,\"\",@progbits\n";
  const std::string source = folder.at(name + ".cpp"), table = folder.at(name + ".s"), output = folder.at(name);
  EXPECT_TRUE(writeFileAtomic(source, hostSource));
  EXPECT_TRUE(writeFileAtomic(table, tables + wrappers));
  std::vector<std::string> command = {"clang++-22", "-O1", source, table, "-o", output};
  command.insert(command.end(), options.begin(), options.end());
  runTool(command);
  return output;
}

std::string runHost(const std::string& program) {
  return runTool({program}).out;
}

std::string runLibrary(const std::string& library) {
  const TestFolder folder;
  EXPECT_TRUE(writeFileAtomic(folder.at("user.cpp"), libraryUser));
  runTool({"clang++-22", "-O1", folder.at("user.cpp"), "-o", folder.at("user")});
  return runTool({folder.at("user"), library}).out;
}

std::string reportLine(const std::string& target, const Bytes& object) {
  std::uint64_t hash = 1469598103934665603U;
  for (const std::uint8_t byte : object)
    hash = (hash ^ byte) * 1099511628211U;
  return fmt::format("{} {} {:016x}\n", target == "compressed" ? target : idOf(target), object.size(), hash);
}

Container opened(const std::string& path) {
  auto container = Container::open(path);
  if (!container) {
    ADD_FAILURE() << container.error().message;
    return *Container::read(ByteSource::of(bundleOf({}), "empty"));
  }
  return *std::move(container);
}

Bytes chosen(const Container& container, const ObjectSelection& selection) {
  auto object = chooseObject(container, selection);
  EXPECT_TRUE(object) << (object ? "" : object.error().message);
  return object ? std::move(object->bytes) : Bytes();
}

} // namespace asmevo::object::testing
