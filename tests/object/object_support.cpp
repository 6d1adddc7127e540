#include "object/object_support.h"

#include <gtest/gtest.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/Program.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>

#include <unistd.h>

namespace asmevo::object::testing {

namespace fs = std::filesystem;

std::string scratchFile(const std::string& suffix) {
  static std::atomic<unsigned> counter{0};
  const fs::path folder = fs::path(ASMEVO_BINARY_DIR) / "test_object";
  fs::create_directories(folder);
  return (folder / fmt::format("{}_{}{}", ::getpid(), counter++, suffix)).string();
}

ToolOutput runTool(const std::vector<std::string>& command) {
  const auto program = llvm::sys::findProgramByName(command.front());
  if (!program) {
    ADD_FAILURE() << command.front() << " is not installed";
    return {};
  }
  const std::string out = scratchFile(".out");
  const std::string err = scratchFile(".err");
  llvm::SmallVector<llvm::StringRef> arguments(command.begin(), command.end());
  const std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(out), llvm::StringRef(err)};
  const int code = llvm::sys::ExecuteAndWait(*program, arguments, std::nullopt, redirects);
  const auto text = [](const std::string& path) {
    const auto bytes = readFile(path);
    return bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
  };
  ToolOutput output{text(out), text(err)};
  fs::remove(out);
  fs::remove(err);
  EXPECT_EQ(code, 0) << command.front() << ": " << output.err;
  return output;
}

Bytes assemble(const std::string& source, const std::string& cpu, bool link) {
  const std::string input = scratchFile(".s");
  const std::string output = scratchFile(link ? ".co" : ".o");
  EXPECT_TRUE(writeFileAtomic(input, source));
  std::vector<std::string> command = {"clang-22",     "-x",  "assembler", "-target", "amdgcn-amd-amdhsa",
                                      "-mcpu=" + cpu, input, "-o",        output};
  if (!link)
    command.push_back("-c");
  runTool(command);
  auto bytes = readFile(output);
  fs::remove(input);
  fs::remove(output);
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
  return bytes ? *std::move(bytes) : Bytes();
}

CodeObject parsed(Bytes bytes, const std::string& name) {
  auto object = CodeObject::parse(std::move(bytes), name);
  EXPECT_TRUE(object) << (object ? "" : object.error().message);
  return object ? *std::move(object) : CodeObject();
}

std::vector<std::string> corpusFiles() {
  const fs::path root = ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/";
  std::vector<std::string> files;
  std::error_code ec;
  for (const auto& entry : fs::recursive_directory_iterator(root, ec))
    if (entry.is_regular_file() && entry.path().extension() == ".co")
      files.push_back(entry.path().string());
  EXPECT_EQ(files.size(), 2501U) << "run scripts/corpus";
  std::sort(files.begin(), files.end());
  return files;
}

std::string twoKernelSource() {
  return R"(
  .amdgcn_target "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
  .amdhsa_code_object_version 5
  .text
  .globl first
  .p2align 8
  .type first,@function
first:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
inner:
  v_mov_b32_e32 v0, 1.0
  s_endpgm
.Lfirst_end:
  .size first, .Lfirst_end-first
  .globl second
  .p2align 8
  .type second,@function
second:
  s_nop 3
  s_endpgm
.Lsecond_end:
  .size second, .Lsecond_end-second
  .section .cold,"ax",@progbits
  .globl helper
  .type helper,@function
  .p2align 2
helper:
  s_setpc_b64 s[30:31]
.Lhelper_end:
  .size helper, .Lhelper_end-helper
  .rodata
  .p2align 6
  .amdhsa_kernel first
    .amdhsa_group_segment_fixed_size 1536
    .amdhsa_private_segment_fixed_size 16
    .amdhsa_kernarg_size 24
    .amdhsa_user_sgpr_dispatch_ptr 1
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_user_sgpr_dispatch_id 1
    .amdhsa_user_sgpr_kernarg_preload_length 3
    .amdhsa_user_sgpr_kernarg_preload_offset 2
    .amdhsa_enable_private_segment 1
    .amdhsa_system_sgpr_workgroup_id_y 1
    .amdhsa_system_sgpr_workgroup_info 1
    .amdhsa_system_vgpr_workitem_id 2
    .amdhsa_next_free_vgpr 140
    .amdhsa_accum_offset 100
    .amdhsa_next_free_sgpr 40
    .amdhsa_float_round_mode_32 1
    .amdhsa_float_round_mode_16_64 2
    .amdhsa_float_denorm_mode_32 0
    .amdhsa_float_denorm_mode_16_64 3
    .amdhsa_dx10_clamp 0
    .amdhsa_ieee_mode 0
    .amdhsa_fp16_overflow 1
    .amdhsa_tg_split 1
    .amdhsa_exception_fp_ieee_div_zero 1
    .amdhsa_uses_dynamic_stack 1
  .end_amdhsa_kernel
  .p2align 6
  .amdhsa_kernel second
    .amdhsa_next_free_vgpr 8
    .amdhsa_accum_offset 8
    .amdhsa_next_free_sgpr 8
  .end_amdhsa_kernel
  .data
  .globl table
  .type table,@object
  .p2align 3
table:
  .quad inner
  .quad table_local+8
  .quad helper
  .quad second+4
  .size table, 32
table_local:
  .quad 7
  .quad 9
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: 'amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-'
amdhsa.kernels:
  - .name: first
    .symbol: first.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1536
    .private_segment_fixed_size: 16
    .wavefront_size: 64
    .sgpr_count: 46
    .vgpr_count: 140
    .agpr_count: 40
    .max_flat_workgroup_size: 512
    .reqd_workgroup_size: [64, 2, 4]
    .uses_dynamic_stack: true
    .vgpr_spill_count: 3
    .sgpr_spill_count: 5
    .args:
      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: n, .offset: 8, .size: 4, .value_kind: by_value}
      - {.offset: 16, .size: 4, .value_kind: hidden_block_count_x}
  - .name: second
    .symbol: second.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 4
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 14
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
...
  .end_amdgpu_metadata
)";
}

std::uint64_t Random::next() {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

} // namespace asmevo::object::testing
