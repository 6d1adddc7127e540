// Instruction trace, breakpoints and accesses outside buffers.
#include "emulator/debug/block_stream.h"
#include "emulator/debug/bounds_checker.h"
#include "emulator/debug/breakpoint.h"
#include "emulator/debug/tracer.h"
#include "emulator/race_support.h"

#include <gtest/gtest.h>

namespace asmevo::emulator::test {
namespace {

constexpr unsigned accumOffset = 32;
const Launch twoGroups{.workgroup = {128, 1, 1}, .grid = {256, 1, 1}, .buffers = {filled(256)}};

std::vector<TracedInstruction> trace(const KernelText& text, const TraceFilter& filter,
                                     const Launch& launch = twoGroups) {
  std::vector<TracedInstruction> lines;
  const auto tracer = makeTracer(filter, accumOffset, [&](const TracedInstruction& line) { lines.push_back(line); });
  RunOptions options;
  options.observers = {tracer.get()};
  run(text, launch, options);
  return lines;
}

const KernelText adding{loadPointers(1) + R"(
  v_mov_b32_e32 v1, 40
  v_add_u32_e32 v1, 2, v1
  s_cmp_eq_u32 s2, s2
  v_lshlrev_b32_e32 v3, 2, v0
  global_store_dword v3, v1, s[4:5] offset:16
)"};

TEST(Debug, TraceHasRegistersBeforeAndAfter) {
  const auto lines = trace(adding, {.workgroups = {1}, .waves = {1}});
  ASSERT_EQ(lines.size(), 8u); // with the load of the pointer, its wait and s_endpgm
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].number, i);
    EXPECT_EQ(lines[i].workgroup, 1u);
    EXPECT_EQ(lines[i].wave, 1u);
    EXPECT_EQ(lines[i].exec, ~std::uint64_t{0});
  }
  const TracedInstruction& add = lines[3];
  EXPECT_EQ(add.text, "v_add_u32_e32 v1, 2, v1");
  EXPECT_EQ(add.address - lines[2].address, 4u);
  ASSERT_EQ(add.registers.size(), 1u);
  EXPECT_EQ(add.registers[0].name, "v1");
  EXPECT_EQ(add.registers[0].before, std::vector<std::uint32_t>(64, 40));
  EXPECT_EQ(add.registers[0].after, std::vector<std::uint32_t>(64, 42));
  ASSERT_EQ(lines[4].registers.size(), 1u);
  EXPECT_EQ(lines[4].registers[0].name, "scc");
  EXPECT_EQ(lines[4].registers[0].after, std::vector<std::uint32_t>{1});

  ASSERT_EQ(lines[6].accesses.size(), 1u);
  const TracedAccess& store = lines[6].accesses[0];
  EXPECT_EQ(store.kind, "store");
  EXPECT_EQ(store.bytes, 4u);
  EXPECT_EQ(store.where, "buffer 'out' + 0x110"); // wave 1: lane 0 is work-item 64
  EXPECT_EQ(store.addresses[5] - store.addresses[0], 20u);

  EXPECT_EQ(formatTraced(add, 0x8000000000000003),
            fmt::format("3 wg 1 wave 1 {:#x} exec=0xffffffffffffffff v_add_u32_e32 v1, 2, v1\n"
                        "    v1: 0-1=0x28 63=0x28 -> 0-1=0x2a 63=0x2a\n",
                        add.address));
}

TEST(Debug, TraceIsFilteredByAddressAndEndsAtItsLimit) {
  const auto all = trace(adding, {});
  ASSERT_EQ(all.size(), 4u * 8u);
  TraceFilter range;
  range.firstAddress = all[2].address;
  range.lastAddress = all[3].address;
  EXPECT_EQ(trace(adding, range).size(), 4u * 2u);
  range.limit = 3;
  EXPECT_EQ(trace(adding, range).size(), 3u);
}

TEST(Debug, TheLimitEndsAnEndlessRun) {
  TraceFilter filter;
  filter.limit = 50;
  EXPECT_EQ(trace({"  v_mov_b32_e32 v1, 1\n.Lloop:\n  s_nop 0\n  s_branch .Lloop\n"}, filter).size(), 50u);
}

TEST(Debug, BreakpointKeepsTheRegisters) {
  const KernelText counting{R"(
  s_mov_b32 s8, 5
  v_add_u32_e32 v2, 100, v0
.Lloop:
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lloop
)"};
  const auto lines = trace(counting, {.workgroups = {0}, .waves = {0}, .limit = 3});
  ASSERT_EQ(lines[2].text, "s_sub_u32 s8, s8, 1");
  const auto stop = [&](std::uint64_t count, std::set<unsigned> waves) {
    auto observer = makeBreakpoint({.address = lines[2].address, .count = count, .workgroups = {1}, .waves = waves});
    RunOptions options;
    options.observers = {observer.get()};
    EXPECT_EQ(run(counting, twoGroups, options).result.brokenOff, observer->dump().has_value());
    return observer;
  };
  const auto third = stop(3, {1});
  ASSERT_TRUE(third->dump());
  EXPECT_EQ(third->dump()->workgroup, 1u);
  EXPECT_EQ(third->dump()->wave, 1u);
  EXPECT_EQ(third->dump()->sgprs[8], 3u);
  EXPECT_EQ(third->dump()->vgprs[2][7], 64u + 7u + 100u);
  EXPECT_EQ(third->dump()->vgprs.size(), 32u);
  EXPECT_NE(third->dump()->others.find("wave 0"), std::string::npos);
  const auto never = stop(6, {1});
  EXPECT_FALSE(never->dump());
  EXPECT_EQ(never->hits(), 5u);
}

std::vector<StrictFinding> outside(const std::string& body) {
  const auto checker = makeBoundsChecker();
  return findings(*checker, {loadPointers(1) + "  v_lshlrev_b32_e32 v1, 2, v0\n" + body}, {.buffers = {filled(64)}});
}

TEST(Debug, AccessesOutsideBuffersHaveInstructionLaneAndOffset) {
  EXPECT_EQ(listing(outside("  global_load_dword v2, v1, s[4:5]\n  s_load_dword s8, s[4:5], 0xfc\n")), "");
  const auto read = outside("  global_load_dword v2, v1, s[4:5] offset:8\n");
  ASSERT_EQ(read.size(), 1u) << listing(read);
  EXPECT_EQ(read[0].rule, "out_of_bounds_read");
  EXPECT_EQ(read[0].lane, 62u);
  EXPECT_EQ(read[0].count, 2u);
  EXPECT_NE(read[0].message.find("'out', 0x0 bytes behind its end"), std::string::npos) << read[0].message;
  // Half of the last access is inside.
  EXPECT_EQ(outside("  global_load_dword v2, v1, s[4:5] offset:2\n").size(), 1u);
  const auto write = outside("  global_store_dword v1, v0, s[4:5] offset:-4\n");
  ASSERT_EQ(write.size(), 1u) << listing(write);
  EXPECT_EQ(write[0].rule, "out_of_bounds_write");
  EXPECT_EQ(write[0].lane, 0u);
  EXPECT_EQ(outside("  s_load_dword s8, s[4:5], 0x100\n").size(), 1u);
}

TEST(Debug, ScalarLoadsMayBeWidenedToAnAlignedBlock) {
  // Of 59 dwords, the last block of 16 bytes lacks one.
  const auto loads = [](const std::string& load, unsigned dwords) {
    const auto checker = makeBoundsChecker();
    return findings(*checker, {loadPointers(1) + load}, {.buffers = {filled(dwords)}});
  };
  EXPECT_EQ(listing(loads("  s_load_dwordx4 s[8:11], s[4:5], 0xe0\n", 59)), "");
  EXPECT_EQ(loads("  s_load_dwordx4 s[8:11], s[4:5], 0xe0\n", 56).size(), 1u);
  EXPECT_EQ(loads("  s_load_dwordx8 s[8:15], s[4:5], 0xe0\n", 59).size(), 1u);
}

TEST(Debug, DescriptorsThatDropAccessesAreNoFinding) {
  EXPECT_EQ(listing(outside("  s_movk_i32 s6, 0x40\n  s_mov_b32 s7, 0x20000\n"
                            "  buffer_load_dword v2, v1, s[4:7], 0 offen offset:128\n")),
            "");
  EXPECT_EQ(outside("  s_movk_i32 s6, 0x200\n  s_mov_b32 s7, 0x20000\n"
                    "  buffer_load_dword v2, v1, s[4:7], 0 offen offset:128\n")
                .size(),
            1u);
}

TEST(Debug, BlockStreamSumsStoresWhateverTheirOrder) {
  const auto sums = [](const std::string& body) {
    std::vector<Visit> visits;
    const auto stream = makeBlockStream({}, [&](const WaveKey&, const Visit& visit) { visits.push_back(visit); });
    RunOptions options;
    options.observers = {stream.get()};
    run({loadPointers(1) + "  v_lshlrev_b32_e32 v1, 2, v0\n" + body}, {.buffers = {filled(128)}}, options);
    EXPECT_EQ(visits.size(), 1u);
    EXPECT_EQ(visits.at(0).label, Visit::end);
    return visits.at(0).stores;
  };
  const std::string first = "  global_store_dword v1, v0, s[4:5]\n";
  const std::string second = "  global_store_dword v1, v1, s[4:5] offset:256\n";
  EXPECT_EQ(sums(first + second), sums(second + first));
  EXPECT_NE(sums(first + second), sums(first));
  EXPECT_NE(sums(first), sums("  global_store_dword v1, v1, s[4:5]\n"));
}

} // namespace
} // namespace asmevo::emulator::test
