// Profiles of real kernels: counts against the emulator's own coverage, and the two views.
#include "report/profile_json.h"
#include "report/profile_text.h"

#include "device/device.h"
#include "isa/codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace asmevo::report {
namespace {

struct Profiled {
  Profile profile;
  emulator::RunResult run; ///< the whole dispatch, with coverage
};

Profiled profileOf(const std::string& objectPath, const std::string& dispatchPath) {
  Profiled result;
  const auto fill = [&]() -> Status {
    ASMEVO_TRY(const auto object, object::CodeObject::load(objectPath));
    ASMEVO_TRY(const auto dispatch, dispatch::loadDispatch(dispatchPath));
    const dispatch::Case& launch = dispatch.cases.front();
    ASMEVO_TRY(const object::Kernel* kernel, object.findKernel(launch.kernel));
    ASMEVO_TRY(const auto device, device::makeSimulator("mi300x"));
    ASMEVO_TRY(const auto loaded, device->load(object, kernel->name));
    ASMEVO_TRY(const auto codec, isa::Codec::create(object.target()));
    ASMEVO_TRY(const auto program, program::Program::recover(object, *codec));
    ASMEVO_TRY(auto estimate, loaded->time(launch));
    ASMEVO_TRY(result.profile, buildProfile(object, *kernel, program, std::move(estimate), launch.name, *device));
    emulator::RunOptions options;
    options.coverage = true;
    ASMEVO_TRY(result.run, loaded->launch(launch, options));
    return {};
  };
  const Status status = fill();
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
  return result;
}

const Profiled& topk() {
  static const Profiled profiled =
      profileOf(ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942/topksoftmax/topksoftmax_12x256x8.co",
                ASMEVO_SOURCE_DIR "/tests/data/dispatch/topksoftmax_12x256x8.dispatch.json");
  return profiled;
}

const Profiled& matmul() {
  static const Profiled profiled =
      profileOf(ASMEVO_BINARY_DIR "/kernels/matmul_tiled.co", ASMEVO_SOURCE_DIR "/kernels/matmul_tiled.dispatch.json");
  return profiled;
}

TEST(Profile, IssueCountsAreTheEmulators) {
  // Three workgroups: all of them are sampled, so nothing is extrapolated.
  const Profiled& p = topk();
  EXPECT_EQ(p.profile.estimate.workgroups, 3U);
  EXPECT_EQ(p.profile.estimate.simulatedWorkgroups, 3U);
  EXPECT_EQ(p.profile.estimate.waveInstructions, static_cast<double>(p.run.waveInstructions));
  std::map<std::uint64_t, std::uint64_t> executed;
  for (const auto& [address, count] : p.run.coverage)
    if (count)
      executed[address] = count;
  ASSERT_FALSE(executed.empty());
  EXPECT_EQ(p.profile.estimate.instructions.size(), executed.size());
  for (const timing::InstructionProfile& i : p.profile.estimate.instructions)
    EXPECT_EQ(i.issued, executed[p.profile.estimate.codeAddress + i.offset]) << std::hex << i.offset;
}

TEST(Profile, ExtrapolatedCountsComeClose) {
  const Profiled& p = matmul();
  EXPECT_GT(p.profile.estimate.workgroups, p.profile.estimate.simulatedWorkgroups);
  EXPECT_NEAR(p.profile.estimate.waveInstructions / static_cast<double>(p.run.waveInstructions), 1, 0.15);
}

TEST(Profile, BlocksCoverTheWholeTime) {
  for (const Profiled* p : {&topk(), &matmul()}) {
    double share = 0, last = 2;
    for (const HotRegion& block : p->profile.blocks) {
      EXPECT_LE(block.cost.share, last);
      last = block.cost.share;
      share += block.cost.share;
      EXPECT_EQ(block.listing.size(), block.instructions);
      EXPECT_LT(block.begin, block.end);
      double cycles = 0;
      for (const ProfiledInstruction& line : block.listing)
        cycles += timing::instructionCycles(line.cost);
      EXPECT_NEAR(cycles, block.cost.cycles, 1e-6 * block.cost.cycles);
    }
    EXPECT_NEAR(share, 1, 1e-9);
  }
}

TEST(Profile, TheTiledProductSpendsItsTimeInItsLoop) {
  const Profile& p = matmul().profile;
  ASSERT_FALSE(p.loops.empty());
  EXPECT_GT(p.loops.front().cost.share, 0.5);
  EXPECT_TRUE(p.loops.front().isLoop);
  EXPECT_GE(p.blocks.front().depth, 1U);
}

TEST(ProfileText, SaysModelledAndListsTheHottestBlock) {
  const std::string text = profileText(matmul().profile, 1);
  EXPECT_NE(text.find("(modelled)"), std::string::npos);
  EXPECT_NE(text.find("matmul_tiled"), std::string::npos);
  EXPECT_NE(text.find("sim:mi300x"), std::string::npos);
  EXPECT_NE(text.find("hot loops"), std::string::npos);
  const HotRegion& hottest = matmul().profile.blocks.front();
  EXPECT_NE(text.find(fmt::format("block {:#x}..{:#x}", hottest.begin, hottest.end)), std::string::npos);
  for (const ProfiledInstruction& line : hottest.listing)
    EXPECT_NE(text.find(line.text), std::string::npos) << line.text;
  EXPECT_EQ(profileText(matmul().profile, 0).find("\nblock "), std::string::npos);
}

TEST(ProfileJson, HoldsWhatTheTextSays) {
  const nlohmann::json json = profileJson(matmul().profile, 2);
  EXPECT_TRUE(json["estimate"]["modelled"].get<bool>());
  EXPECT_EQ(json["estimate"]["cycles"], matmul().profile.estimate.cycles);
  ASSERT_GE(json["blocks"].size(), 3U);
  EXPECT_TRUE(json["blocks"][1].contains("instructions"));
  EXPECT_FALSE(json["blocks"][2].contains("instructions"));
  EXPECT_EQ(json["blocks"][0]["instructions"].size(), matmul().profile.blocks.front().instructions);
  double stalls = 0;
  for (const auto& item : json["stall_cycles"].items())
    stalls += item.value().get<double>();
  double issue = 0;
  for (const timing::InstructionProfile& i : matmul().profile.estimate.instructions)
    issue += 4.0 * static_cast<double>(i.issued);
  EXPECT_NEAR(stalls + issue, json["wave_cycles"].get<double>(), 1e-6 * issue);
}

} // namespace
} // namespace asmevo::report
