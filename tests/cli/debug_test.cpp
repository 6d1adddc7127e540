// run --races, --bounds, --coherence, --trace and --break, and diverge.
#include "cli/cli_support.h"

#include <cstdlib>

namespace asmevo::cli {
namespace {

using nlohmann::json;

class Debugging : public CommandTest {
 protected:
  /// Two waves store their lanes and load each other's, with `between` in the middle; an object of 128 work-items.
  std::string handover(const std::string& between) const {
    const std::string source = write("k.s", R"(
  .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
  .amdhsa_code_object_version 5
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, 0x100, v1
  v_add_u32_e32 v3, 100, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[4:5]
  s_waitcnt vmcnt(0)
)" + between + R"(
  global_load_dword v4, v2, s[4:5] sc0
  s_waitcnt vmcnt(0)
  global_store_dword v1, v4, s[4:5] offset:512
  s_endpgm
.Lend_k:
  .size k, .Lend_k-k
  .rodata
  .p2align 6
  .amdhsa_kernel k
    .amdhsa_kernarg_size 8
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 32
    .amdhsa_next_free_sgpr 32
    .amdhsa_accum_offset 32
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 38
    .vgpr_count: 32
    .max_flat_workgroup_size: 128
    .args:
      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
...
  .end_amdgpu_metadata
)");
    const std::string command =
        fmt::format("clang-22 -x assembler -target amdgcn-amd-amdhsa -mcpu=gfx942 '{}' -o '{}'", source, at("k.co"));
    EXPECT_EQ(std::system(command.c_str()), 0);
    return at("k.co");
  }
  std::string dispatch(unsigned elements = 256) const {
    return write("d.json",
                 fmt::format(R"({{"asmevo_dispatch": 1, "workgroup_size": [128, 1, 1], "grid_size": [128, 1, 1],
      "buffers": {{"out": {{"dtype": "i32", "shape": [{}], "init": "poison"}}}}, "args": [{{"buffer": "out"}}]}})",
                             elements));
  }
};

/// Address of the handover's load when nothing stands before it; what llvm-objdump-22 shows is 0x1500 for the entry.
constexpr std::uint64_t store = 0x1520, load = 0x152c;

TEST_F(Debugging, RacesAreFindingsWithBothInstructions) {
  const CommandResult bad = runCommand({"run", handover(""), "-d", dispatch(), "--races", "--json"});
  EXPECT_EQ(bad.exit, negative) << bad.err;
  const json findings = bad.json()["cases"][0]["findings"];
  ASSERT_EQ(findings.size(), 1u) << findings;
  EXPECT_EQ(findings[0]["rule"], "global_race");
  EXPECT_EQ(findings[0]["producer"], store);
  EXPECT_EQ(findings[0]["consumer"], load);
  const CommandResult text = runCommand({"run", handover(""), "-d", dispatch(), "--races"});
  EXPECT_EQ(text.exit, negative);
  EXPECT_NE(text.out.find("global_race: "), std::string::npos) << text.out;
  EXPECT_EQ(runCommand({"run", handover("  s_barrier\n"), "-d", dispatch(), "--races"}).exit, ok);
  EXPECT_EQ(runCommand({"run", handover(""), "-d", dispatch()}).exit, ok);
}

TEST_F(Debugging, AccessesOutsideBuffers) {
  const CommandResult outcome =
      runCommand({"run", handover("  s_barrier\n"), "-d", dispatch(255), "--bounds", "--json"});
  EXPECT_EQ(outcome.exit, negative) << outcome.err;
  const json findings = outcome.json()["cases"][0]["findings"];
  ASSERT_EQ(findings.size(), 1u) << findings;
  EXPECT_EQ(findings[0]["rule"], "out_of_bounds_write");
  EXPECT_EQ(findings[0]["lane"], 63);
  EXPECT_EQ(findings[0]["wave"], 1);
}

TEST_F(Debugging, CoherenceIsCleanInsideOneWorkgroup) {
  EXPECT_EQ(runCommand({"run", handover("  s_barrier\n"), "-d", dispatch(), "--coherence", "strict"}).exit, ok);
  EXPECT_EQ(runCommand({"run", handover(""), "-d", dispatch(), "--coherence", "loose"}).exit, usage);
}

TEST_F(Debugging, TraceLinesAreJsonOrText) {
  const std::string object = handover("");
  const CommandResult lines = runCommand({"run", object, "-d", dispatch(), "--trace", "--trace-wave", "1",
                                          "--trace-range", "0x1520..0x152c", "--trace-lanes", "0,2-3", "--json"});
  EXPECT_EQ(lines.exit, ok) << lines.err;
  std::vector<json> trace;
  std::istringstream in(lines.out);
  for (std::string line; std::getline(in, line) && line.starts_with("{\"trace\"");)
    trace.push_back(json::parse(line));
  ASSERT_EQ(trace.size(), 3u) << lines.out;
  EXPECT_EQ(trace[0]["address"], store);
  EXPECT_EQ(trace[0]["accesses"][0]["where"], "buffer 'out' + 0x100");
  EXPECT_EQ(trace[0]["accesses"][0]["addresses"].size(), 3u);
  EXPECT_EQ(trace[2]["text"], "global_load_dword v4, v2, s[4:5] sc0");
  EXPECT_EQ(trace[2]["registers"]["v4"]["after"]["3"], 103);

  const CommandResult text = runCommand({"run", object, "-d", dispatch(), "--trace", "--trace-limit", "2"});
  EXPECT_EQ(text.exit, ok);
  EXPECT_NE(text.out.find("0 wg 0 wave 0 0x1500 exec=0xffffffffffffffff s_load_dwordx2 s[4:5]"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("broken off"), std::string::npos) << text.out;
  EXPECT_EQ(runCommand({"run", object, "-d", dispatch(), "--trace", "--trace-lanes", "64"}).exit, usage);
  EXPECT_EQ(runCommand({"run", object, "-d", dispatch(), "--trace", "--trace-range", "x"}).exit, usage);
}

TEST_F(Debugging, BreakpointShowsRegisters) {
  const CommandResult outcome = runCommand({"run", handover(""), "-d", dispatch(), "--break", "0x1520", "--break-count",
                                            "2", "--break-vgprs", "1,3", "--json"});
  EXPECT_EQ(outcome.exit, ok) << outcome.err;
  const json report = outcome.json()["cases"][0];
  EXPECT_EQ(report["broken_off"], true);
  const json& stop = report["breakpoint"];
  EXPECT_EQ(stop["wave"], 1);
  EXPECT_EQ(stop["hits"], 2);
  EXPECT_EQ(stop["text"], "global_store_dword v1, v3, s[4:5]");
  EXPECT_EQ(stop["vgprs"]["v1"][5], (64 + 5) * 4);
  EXPECT_EQ(stop["vgprs"]["v3"][5], 64 + 5 + 100);
  EXPECT_EQ(stop["sgprs"].size(), 102u);
  const CommandResult text = runCommand({"run", handover(""), "-d", dispatch(), "--break", "0x1520"});
  EXPECT_NE(text.out.find("breakpoint: 'global_store_dword v1, v3, s[4:5]' at 0x1520, wave 0 of workgroup 0"),
            std::string::npos)
      << text.out;
  EXPECT_NE(runCommand({"run", handover(""), "-d", dispatch(), "--break", "0x9999"}).out.find("reached 0 times"),
            std::string::npos);
}

TEST_F(Debugging, DivergeFindsTheFirstDifference) {
  const std::string k0 = kernelObject("vector_add"), d = kernelDispatch("vector_add");
  const std::string k1 = edited("vector_add", vector_add::add, vector_add::subtract);
  EXPECT_EQ(runCommand({"diverge", k0, k0, "-d", d}).exit, ok);
  const CommandResult outcome = runCommand({"diverge", k0, k1, "-d", d, "--json"});
  EXPECT_EQ(outcome.exit, negative) << outcome.err;
  const json found = outcome.json()["divergence"];
  EXPECT_EQ(found["kind"], "memory");
  EXPECT_EQ(found["workgroup"], 0);
  EXPECT_TRUE(std::string(found["where"]).starts_with("buffer 'c' + "));
  const CommandResult text = runCommand({"diverge", k0, k1, "-d", d});
  EXPECT_NE(text.out.find("first divergence: memory of wave 0 of workgroup 0"), std::string::npos) << text.out;
  EXPECT_EQ(runCommand({"diverge", k0, k1, "-d", d, "--case", "99"}).exit, usage);
}

} // namespace
} // namespace asmevo::cli
