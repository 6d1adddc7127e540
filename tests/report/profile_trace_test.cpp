// Active lanes, memory facts, roofs and the Chrome trace of profiles, against host arithmetic and the estimate.
#include "report/profile_json.h"
#include "report/profile_text.h"
#include "report/profile_trace.h"

#include "device/device.h"
#include "isa/codec.h"
#include "timing/roofline.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace asmevo::report {
namespace {

using nlohmann::json;

struct Profiled {
  Profile profile;
  timing::Timeline timeline;
};

Profiled profileOf(const std::string& kernelName, const std::string& dispatchText) {
  Profiled result;
  const auto fill = [&]() -> Status {
    ASMEVO_TRY(const auto object, object::CodeObject::load(ASMEVO_BINARY_DIR "/kernels/" + kernelName + ".co"));
    ASMEVO_TRY(const auto dispatch, dispatch::parseDispatch(dispatchText, ".", "case"));
    ASMEVO_TRY(const object::Kernel* kernel, object.findKernel(kernelName));
    ASMEVO_TRY(const timing::Chip chip, timing::loadChip("mi300x"));
    ASMEVO_TRY(const auto device, device::makeSimulator("mi300x"));
    ASMEVO_TRY(const auto loaded, device->load(object, kernelName));
    ASMEVO_TRY(const auto codec, isa::Codec::create(object.target()));
    ASMEVO_TRY(const auto program, program::Program::recover(object, *codec));
    ASMEVO_TRY(const auto traced, loaded->sample(dispatch.cases.front(), chip));
    ASMEVO_TRY(auto estimate, traced.estimate(chip, &result.timeline));
    ASMEVO_TRY(result.profile, buildProfile(object, *kernel, program, std::move(estimate), "case", *device));
    return {};
  };
  const Status status = fill();
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
  return result;
}

/// relu over `elements` by `items` work-items in workgroups of 256.
Profiled relu(unsigned elements, unsigned items) {
  const json dispatch = {{"asmevo_dispatch", 1},
                         {"kernel", "relu"},
                         {"workgroup_size", {256, 1, 1}},
                         {"grid_size", {items, 1, 1}},
                         {"buffers",
                          {{"in", {{"dtype", "f32"}, {"shape", {elements}}, {"init", "zero"}}},
                           {"out", {{"dtype", "f32"}, {"shape", {elements}}, {"init", "zero"}}}}},
                         {"args", {{{"buffer", "in"}}, {{"buffer", "out"}}, {{"i32", elements}}}}};
  return profileOf("relu", dispatch.dump());
}

const ProfiledInstruction* find(const Profile& profile, std::string_view mnemonic) {
  for (const HotRegion& block : profile.blocks)
    for (const ProfiledInstruction& line : block.listing)
      if (line.text.starts_with(mnemonic) && line.cost.issued)
        return &line;
  return nullptr;
}

TEST(ProfileFacts, ActiveLanesOfADivergentKernel) {
  // 100 elements, 256 work-items: of the four waves the first loads with 64 lanes, the second with 36, two not at all.
  const Profiled p = relu(100, 256);
  const ProfiledInstruction* const load = find(p.profile, "global_load_dword");
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->cost.issued, 2U);
  EXPECT_EQ(load->cost.activeLanes, 50);
  EXPECT_EQ(load->cost.bytesUsed, 400);
  EXPECT_EQ(load->cost.requests, 2);
  EXPECT_EQ(load->cost.sectors, 4 + 3) << "256 and 144 bytes in sectors of 64";
  const ProfiledInstruction* const first = find(p.profile, "s_load");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->cost.activeLanes, 64);
}

TEST(ProfileFacts, StreamUsesWhatItMoves) {
  const Profiled p = relu(1 << 20, 1 << 16);
  const timing::Estimate& e = p.profile.estimate;
  EXPECT_NEAR(e.usedBytes / (2 * 4.0 * (1 << 20)), 1, 0.02);
  EXPECT_NEAR(e.usedBytes / (64 * e.vectorSectors), 1, 0.02);
  EXPECT_NEAR(e.vectorSectors / e.vectorRequests, 4, 0.05);
  EXPECT_GT(e.fetchHitRate, 0.99);
  ASSERT_FALSE(e.resources.empty());
  for (const timing::ResourceUse& use : e.resources) {
    EXPECT_GE(use.share, 0) << use.name;
    EXPECT_LE(use.achieved, 1.05 * use.peak) << use.name;
    EXPECT_LE(use.share, e.resources.front().share) << "busiest first";
  }
}

TEST(ProfileFacts, MatrixWorkIsTwiceTheProductOfTheShape) {
  isa::Codec* codec = nullptr;
  object::Target target;
  target.processor = "gfx942";
  target.xnack = target.sramecc = object::Feature::any;
  auto created = isa::Codec::create(target);
  ASSERT_TRUE(static_cast<bool>(created));
  codec = created->get();
  const auto flops = [&](const std::string& text) {
    auto inst = codec->assemble(text);
    EXPECT_TRUE(static_cast<bool>(inst)) << text;
    return inst ? timing::flopsOf(**inst) : -1;
  };
  EXPECT_EQ(flops("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]"), 2 * 16 * 16 * 16);
  EXPECT_EQ(flops("v_mfma_f32_32x32x16_fp8_fp8 v[0:15], v[16:17], v[18:19], v[0:15]"), 2 * 32 * 32 * 16);
  EXPECT_EQ(flops("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]"), 2 * 4 * 4 * 4 * 16);
  EXPECT_EQ(flops("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]"), 2 * 16 * 16 * 4);
  EXPECT_EQ(flops("v_fma_f32 v0, v1, v2, v3"), 128);
  EXPECT_EQ(flops("v_pk_mul_f32 v[0:1], v[2:3], v[4:5]"), 128);
  EXPECT_EQ(flops("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]"), 256);
  EXPECT_EQ(flops("v_add_f32 v0, v1, v2"), 64);
  EXPECT_EQ(flops("v_add_u32 v0, v1, v2"), 0);
  EXPECT_EQ(flops("v_cvt_f32_i32 v0, v1"), 0);
  EXPECT_EQ(flops("s_nop 0"), 0);
}

TEST(ProfileTrace, StallsAndIssuesFillEveryWavesLife) {
  // Four workgroups for every CU: one CU's run stands for all.
  constexpr unsigned items = 304 * 4 * 256;
  const Profiled p = relu(2 * items, items);
  timing::Clk life = 0;
  std::map<std::uint32_t, timing::InstructionProfile> perInstruction;
  for (const timing::TimelineWave& wave : p.timeline.waves) {
    life += wave.end - wave.start;
    for (const timing::TimelineIssue& issue : wave.issues)
      ++perInstruction[issue.offset].issued;
  }
  ASSERT_GT(life, 0);
  // The estimate is this run, carried over to all workgroups.
  const timing::Estimate& e = p.profile.estimate;
  const double groups = p.timeline.waves.back().group + 1;
  const double scale = static_cast<double>(e.workgroups) / groups;
  ASSERT_EQ(static_cast<double>(e.simulatedWorkgroups), groups);
  EXPECT_NEAR(p.profile.totalCycles, static_cast<double>(life) * scale, 1e-6 * p.profile.totalCycles);
  for (const timing::InstructionProfile& i : e.instructions)
    EXPECT_NEAR(static_cast<double>(i.issued), static_cast<double>(perInstruction[i.offset].issued) * scale, 0.5)
        << i.offset;
}

struct Slice {
  double begin, end;
  std::string category;
};

TEST(ProfileTrace, IsJsonWhoseSlicesNestAndDoNotOverlap) {
  const Profiled p = relu(50003, 8192);
  const std::string text = chromeTrace(p.profile, p.timeline, {});
  const json trace = json::parse(text);
  EXPECT_TRUE(trace["otherData"]["instructions_shown"]["all"].get<bool>());
  EXPECT_TRUE(trace["otherData"]["modelled"].get<bool>());
  std::map<std::pair<int, int>, std::vector<Slice>> tracks;
  double instructionTime = 0, waveTime = 0, stallTime = 0;
  std::size_t waves = 0, instructions = 0, counters = 0;
  for (const json& event : trace["traceEvents"]) {
    counters += event["ph"] == "C";
    if (event["ph"] != "X")
      continue;
    const double begin = event["ts"].get<double>() * 1000, duration = event["dur"].get<double>() * 1000;
    const std::string category = event["cat"];
    tracks[{event["pid"].get<int>(), event["tid"].get<int>()}].push_back({begin, begin + duration, category});
    (category == "wave" ? waveTime : category == "stall" ? stallTime : instructionTime) += duration;
    waves += category == "wave";
    instructions += category != "wave" && category != "stall";
  }
  EXPECT_EQ(waves, p.timeline.waves.size());
  EXPECT_EQ(instructions, p.timeline.instructions);
  EXPECT_GT(counters, 100U);
  // A wave's slices fill it: instructions with what holds them, and the stalls between.
  EXPECT_NEAR(instructionTime + stallTime, waveTime, 1e-6 * waveTime);
  const json& totals = trace["otherData"]["totals"];
  EXPECT_NEAR(totals["wave_cycles"].get<double>(), waveTime, 1e-6 * waveTime);
  double stalls = 0;
  for (const auto& item : totals["stall_cycles"].items())
    stalls += item.value().get<double>();
  EXPECT_EQ(totals["issue_cycles"].get<double>() + stalls, totals["wave_cycles"].get<double>());
  for (auto& [track, slices] : tracks) {
    // Waves of a slot follow each other, the others lie inside one and follow each other.
    for (const bool outer : {true, false}) {
      std::vector<Slice> level;
      std::ranges::copy_if(slices, std::back_inserter(level),
                           [&](const Slice& s) { return (s.category == "wave") == outer; });
      std::ranges::sort(level, {}, &Slice::begin);
      for (std::size_t i = 1; i < level.size(); ++i)
        ASSERT_LE(level[i - 1].end, level[i].begin + 1e-3) << track.first << ":" << track.second;
    }
    for (const Slice& inner : slices)
      if (inner.category != "wave") {
        const bool inside = std::ranges::any_of(slices, [&](const Slice& outer) {
          return outer.category == "wave" && outer.begin <= inner.begin + 1e-3 && inner.end <= outer.end + 1e-3;
        });
        ASSERT_TRUE(inside) << inner.begin;
      }
  }
}

TEST(ProfileTrace, WindowBoundsTheSize) {
  const Profiled p = relu(50003, 8192);
  const TraceWindow window{400, 300};
  const json trace = json::parse(chromeTrace(p.profile, p.timeline, window));
  std::size_t slices = 0;
  for (const json& event : trace["traceEvents"])
    slices += event["ph"] == "X" && event["cat"] != "wave";
  EXPECT_GT(slices, 50U);
  EXPECT_LE(slices, 300U);
  const json& shown = trace["otherData"]["instructions_shown"];
  EXPECT_FALSE(shown["all"].get<bool>());
  EXPECT_EQ(shown["from_clk"], 400);
  EXPECT_LT(shown["to_clk"].get<timing::Clk>(), p.timeline.end);
}

TEST(ProfileTrace, SlotsAreReused) {
  timing::Timeline timeline;
  const auto wave = [&](std::uint8_t simd, timing::Clk start, timing::Clk end) {
    timing::TimelineWave added;
    added.simd = simd;
    added.start = start;
    added.end = end;
    timeline.waves.push_back(added);
  };
  wave(0, 0, 100);
  wave(0, 4, 50);
  wave(1, 5, 60);
  wave(0, 60, 90); // after the second
  wave(0, 70, 80); // beside the first and the fourth
  const auto slots = slotsOf(timeline);
  const unsigned expected[] = {0, 1, 0, 1, 2};
  for (std::size_t i = 0; i < slots.size(); ++i)
    EXPECT_EQ(slots[i].slot, expected[i]) << i;
}

TEST(ProfileText, SaysWhereItStands) {
  const Profiled p = relu(50003, 8192);
  const std::string text = profileText(p.profile, 2);
  for (const char* part : {"bound by", "busy", "roofs", "sectors of 64 bytes per vector request", "Infinity Cache",
                           "of 64 lanes active", "instruction cache", "% used]"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_LT(text.find("hot blocks"), text.find("roofs")) << "hot windows first";
  const json report = profileJson(p.profile, 1);
  EXPECT_EQ(report["blocks"][0]["instructions"][0]["active_lanes"], p.profile.blocks[0].listing[0].cost.activeLanes);
  EXPECT_EQ(report["estimate"]["resources"].size(), p.profile.estimate.resources.size());
}

} // namespace
} // namespace asmevo::report
