#include "program_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace asmevo::program::test {

namespace fs = std::filesystem;

namespace {

/// A folder of its own for one run of the tools, removed afterwards.
class WorkFolder {
 public:
  WorkFolder() {
    static std::atomic<unsigned> next{0};
    path = fs::temp_directory_path() / fmt::format("asmevo_program_{}_{}", ::getpid(), next++);
    fs::create_directories(path);
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

} // namespace

Bytes assembleFile(const std::string& text, const std::string& cpu) {
  const WorkFolder folder;
  const fs::path source = folder.path / "k.s", output = folder.path / "k.co", log = folder.path / "log";
  std::ofstream(source, std::ios::binary) << text;
  const std::string command = fmt::format("clang-22 -x assembler -target amdgcn-amd-amdhsa -mcpu={} {} -o {} 2> {}",
                                          cpu, source.string(), output.string(), log.string());
  if (std::system(command.c_str()) != 0) {
    const auto messages = readFile(log.string());
    ADD_FAILURE() << command << "\n" << (messages ? std::string(messages->begin(), messages->end()) : "");
    return {};
  }
  auto bytes = readFile(output.string());
  EXPECT_TRUE(bytes);
  return bytes ? *std::move(bytes) : Bytes{};
}

std::string kernelFile(const KernelText& kernel, const std::string& cpu) {
  const bool isRdna = cpu.starts_with("gfx1");
  return "  .amdgcn_target \"amdgcn-amd-amdhsa--" + cpu + R"("
  .amdhsa_code_object_version 5
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
)" + kernel.body +
         "\n.Lend_k:\n  .size k, .Lend_k-k\n" + kernel.more + R"(
  .rodata
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_kernarg_size 8
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 32
    .amdhsa_next_free_sgpr 40
)" + (isRdna ? "" : "    .amdhsa_accum_offset 32\n") +
         kernel.descriptor +
         R"(
  .end_amdhsa_kernel
)" + kernel.data +
         R"(
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--)" +
         cpu + R"(
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 46
    .vgpr_count: 32
    .agpr_count: 0
    .max_flat_workgroup_size: 64
    .args:
      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
...
  .end_amdgpu_metadata
)";
}

Loaded load(Bytes bytes, const std::string& name) {
  auto object = object::CodeObject::parse(std::move(bytes), name);
  if (!object) {
    ADD_FAILURE() << object.error().message;
    std::abort();
  }
  auto codec = isa::Codec::create(object->target());
  auto program = codec ? Program::recover(*object, **codec) : Result<Program>(codec.error());
  if (!program) {
    ADD_FAILURE() << program.error().message;
    std::abort();
  }
  return {*std::move(object), *std::move(codec), *std::move(program)};
}

std::vector<std::string> texts(const Loaded& loaded, BlockId block) {
  std::vector<std::string> result;
  for (const Instr& instr : loaded.program.blocks.at(block).instrs)
    result.push_back(loaded.codec->complete(instr.inst)->text);
  return result;
}

Bytes textOf(const object::CodeObject& object) {
  for (const object::Section& section : object.sections())
    if (section.name == ".text") {
      const auto contents = object.contents(section);
      return {contents.begin(), contents.end()};
    }
  ADD_FAILURE() << "no .text";
  return {};
}

std::uint64_t symbolAddress(const object::CodeObject& object, const std::string& name) {
  for (const object::Symbol& symbol : object.symbols())
    if (symbol.name == name)
      return symbol.value;
  ADD_FAILURE() << "no symbol " << name;
  return 0;
}

void insert(Loaded& loaded, BlockId block, std::size_t index, const std::string& text, std::size_t count) {
  const auto inst = loaded.codec->assemble(text);
  ASSERT_TRUE(inst) << inst.error().message;
  auto& instrs = loaded.program.blocks.at(block).instrs;
  instrs.insert(instrs.begin() + static_cast<std::ptrdiff_t>(index), count, Instr{*inst, noAddress, {}, {}, 0});
}

namespace {
std::uint32_t wordAt(const Loaded& loaded, std::uint64_t address) {
  std::uint32_t word = 0;
  const auto offset = loaded.object.fileOffset(address);
  EXPECT_TRUE(offset) << "no code at 0x" << std::hex << address;
  if (offset)
    std::memcpy(&word, loaded.object.bytes().data() + *offset, sizeof word);
  return word;
}
} // namespace

std::uint64_t encodedTarget(const Loaded& loaded, std::uint64_t address) {
  const auto offset = static_cast<std::int16_t>(wordAt(loaded, address) & 0xffff);
  return address + 4 + static_cast<std::uint64_t>(std::int64_t{offset} * 4);
}

std::uint64_t follow(const Loaded& loaded, std::uint64_t address) {
  for (int steps = 0; steps < 1 << 20; ++steps) {
    const std::uint32_t word = wordAt(loaded, address);
    const std::uint32_t sopp = word >> 16;
    if (sopp == 0xbf82) // s_branch
      address = encodedTarget(loaded, address);
    else if (sopp == 0xbf80) // s_nop
      address += 4;
    else
      return address;
  }
  ADD_FAILURE() << "endless s_branch";
  return 0;
}

std::string corpusPath(const std::string& relative) {
  return ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/" + relative;
}

std::vector<std::string> ownKernels() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(ASMEVO_BINARY_DIR "/kernels"))
    if (entry.path().extension() == ".co")
      paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  return paths;
}

} // namespace asmevo::program::test
