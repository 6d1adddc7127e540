// Code that has moved computes what it did: every kernel of kernels/ with an s_nop before every block, with long runs
// of them in random places, and a jump table whose cases have moved, against the unmoved object and the host build.
#include "device/run_support.h"

#include "program/program_support.h"
#include "program/shift.h"

#include "host/twins.h"

#include <gtest/gtest.h>

#include <cstring>

namespace asmevo {
namespace {

using namespace test;

object::CodeObject moved(const object::CodeObject& object, bool random, std::uint64_t seed) {
  const auto codec = must(isa::Codec::create(object.target()));
  const program::Program before = must(program::Program::recover(object, *codec));
  const program::Program edited =
      random ? must(program::scattered(before, *codec, {.nops = 512, .places = 80, .seed = seed}))
             : must(program::shifted(before, *codec));
  const object::CodeObject after =
      must(object::CodeObject::parse(must(program::rebuild(object, edited, *codec)), object.name() + " moved"));
  const Status same =
      program::checkShifted(object, edited, after, must(program::Program::recover(after, *codec)), *codec);
  EXPECT_TRUE(same) << same.error().message;
  EXPECT_GT(after.bytes().size(), object.bytes().size());
  return after;
}

std::vector<Bytes> run(const object::CodeObject& object, const std::string& kernel, const dispatch::Case& launch) {
  const auto device = must(device::makeSimulator("mi300x"));
  return must(must(device->load(object, kernel))->launch(launch, {})).buffers;
}

class MovedCode : public testing::TestWithParam<std::string> {};

TEST_P(MovedCode, ComputesTheSameBits) {
  const dispatch::Case launch = loadDispatch(kernelDispatch(GetParam())).cases.at(0);
  const object::CodeObject object = loadObject(kernelObject(GetParam()));
  const std::vector<Bytes> expected = run(object, GetParam(), launch);
  EXPECT_EQ(run(moved(object, false, 0), GetParam(), launch), expected);
  EXPECT_EQ(run(moved(object, true, 5), GetParam(), launch), expected);
}

INSTANTIATE_TEST_SUITE_P(All, MovedCode, testing::ValuesIn(host::kernelNames()), [](const auto& i) { return i.param; });

// Workgroup n jumps over entry n % 4 of a table in .rodata and stores 100 + its case in out[n].
const program::test::KernelText tableKernel = {.body = R"(
  s_load_dwordx2 s[6:7], s[0:1], 0x0
  s_and_b32 s3, s2, 3
  s_lshl_b32 s3, s3, 2
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, table@rel32@lo+4
  s_addc_u32 s5, s5, table@rel32@hi+12
  s_load_dword s8, s[4:5], s3
  s_waitcnt lgkmcnt(0)
  s_ashr_i32 s9, s8, 31
  s_add_u32 s8, s4, s8
  s_addc_u32 s9, s5, s9
  s_setpc_b64 s[8:9]
c0:
  v_mov_b32_e32 v1, 0x64
  s_branch join
c1:
  v_mov_b32_e32 v1, 0x65
  s_branch join
c2:
  v_mov_b32_e32 v1, 0x66
  s_branch join
c3:
  v_mov_b32_e32 v1, 0x67
join:
  s_lshl_b32 s2, s2, 2
  v_mov_b32_e32 v0, s2
  global_store_dword v0, v1, s[6:7]
  s_endpgm)",
                                               .descriptor = "    .amdhsa_system_sgpr_workgroup_id_x 1\n",
                                               .data = "table:\n"
                                                       "  .long c2-table, c0-table, c3-table, c1-table\n"};

TEST(MovedTable, IsFollowed) {
  const object::CodeObject object =
      must(object::CodeObject::parse(program::test::assembleFile(program::test::kernelFile(tableKernel)), "table.co"));
  const dispatch::Dispatch dispatch = must(dispatch::parseDispatch(R"({
    "asmevo_dispatch": 1, "kernel": "k", "workgroup_size": [64, 1, 1], "grid_size": [512, 1, 1],
    "buffers": {"out": {"dtype": "u32", "shape": [8], "init": "zero"}}, "args": [{"buffer": "out"}]})",
                                                                   ".", "table"));
  std::vector<std::uint32_t> expected;
  for (const std::uint32_t chosen : {2u, 0u, 3u, 1u, 2u, 0u, 3u, 1u})
    expected.push_back(100 + chosen);
  Bytes bytes(expected.size() * 4);
  std::memcpy(bytes.data(), expected.data(), bytes.size());
  const dispatch::Case& launch = dispatch.cases.at(0);
  EXPECT_EQ(run(object, "k", launch).at(0), bytes);
  EXPECT_EQ(run(moved(object, false, 0), "k", launch).at(0), bytes);
  EXPECT_EQ(run(moved(object, true, 9), "k", launch).at(0), bytes);
}

} // namespace
} // namespace asmevo
