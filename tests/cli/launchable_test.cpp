// Objects that cannot be launched as their metadata or target says: named, with what to do.
#include "cli/cli_support.h"

#include <gtest/gtest.h>

#include <cstring>

namespace asmevo::cli {
namespace {

class Launchable : public CommandTest {
 protected:
  /// out[i] = a[i] + b[i] for one wave; the pointers lie at 0, 8 and 24 of the kernarg segment.
  std::string addition(const std::string& name, const std::string& target, unsigned told) const {
    return assemble(name,
                    fmt::format(R"(
  .amdgcn_target "amdgcn-amd-amdhsa--{0}"
  .amdhsa_code_object_version 5
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x18
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[6:7]
  global_load_dword v3, v1, s[8:9]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v2, v2, v3
  global_store_dword v1, v2, s[4:5]
  s_endpgm
.Lend:
  .size k, .Lend-k
  .rodata
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_kernarg_size {1}
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 16
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{0}
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: {1}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 64
    .args: []
...
  .end_amdgpu_metadata
)",
                                target, told),
                    target);
  }

  std::string launch() const {
    return write("k.dispatch.json", R"({"asmevo_dispatch": 1, "kernel": "k", "workgroup_size": [64, 1, 1],
      "grid_size": [64, 1, 1],
      "buffers": {"out": {"dtype": "u32", "shape": [64], "init": "poison"},
                  "a": {"dtype": "u32", "shape": [64], "init": {"iota": {"start": 100, "step": 1}}},
                  "b": {"dtype": "u32", "shape": [64], "init": {"iota": {"start": 0, "step": 1000}}}},
      "kernarg": [{"at": 0, "buffer": "out"}, {"at": 8, "buffer": "a"}, {"at": 24, "buffer": "b"}]})");
  }

  void expectSums() const {
    const Bytes out = contents(at("out.bin"));
    ASSERT_EQ(out.size(), 256U);
    for (std::uint32_t lane = 0; lane < 64; ++lane) {
      std::uint32_t value = 0;
      std::memcpy(&value, out.data() + std::size_t{4} * lane, sizeof value);
      EXPECT_EQ(value, 100 + lane + 1000 * lane);
    }
  }
};

TEST_F(Launchable, ArgumentsThatMetadataDoesNotTellOf) {
  const std::string object = addition("k.co", "gfx942", 8);
  const CommandResult shown = runCommand({"inspect", "--brief", object});
  EXPECT_EQ(shown.exit, ok) << shown.err;
  EXPECT_NE(shown.out.find("metadata tells of 8 bytes of arguments, the code reads 32"), std::string::npos)
      << shown.out;
  const CommandResult run = runCommand({"run", object, "-d", launch(), "--out", at("")});
  EXPECT_EQ(run.exit, ok) << run.err;
  expectSums();
  const std::string complete = addition("c.co", "gfx942", 32);
  EXPECT_EQ(runCommand({"inspect", "--brief", complete}).out.find("the code reads"), std::string::npos);
}

TEST_F(Launchable, TheModelledDeviceReplaysNoFaults) {
  const std::string dispatch = launch();
  for (const std::string target : {"gfx942", "gfx942:xnack-", "gfx942:sramecc+:xnack-"}) {
    const CommandResult run = runCommand({"run", addition("k.co", target, 32), "-d", dispatch, "--out", at("")});
    EXPECT_EQ(run.exit, ok) << target << ": " << run.err;
    expectSums();
  }
  for (const std::string target : {"gfx942:xnack+", "gfx942:sramecc+:xnack+", "gfx942:sramecc-"}) {
    const CommandResult run = runCommand({"run", addition("k.co", target, 32), "-d", dispatch});
    EXPECT_EQ(run.exit, badInput) << target;
    EXPECT_NE(run.err.find(target.ends_with("xnack+") ? "xnack" : "sramecc"), std::string::npos) << run.err;
  }
}

} // namespace
} // namespace asmevo::cli
