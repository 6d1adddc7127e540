#include "timing_support.h"

#include "isa/matrix_cost.h"
#include "timing/parameters.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace asmevo::timing::fixture {
namespace {

nlohmann::json chipJson() {
  std::ifstream in(ASMEVO_SOURCE_DIR "/chips/mi300x.json");
  return nlohmann::json::parse(in);
}

/// The error of loading `json` from a file; "" when it loads.
std::string loadError(const nlohmann::json& json) {
  const std::string path =
      ::testing::TempDir() + "asmevo_chip_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
  std::ofstream(path) << json.dump();
  const auto loaded = loadChip(path);
  std::filesystem::remove(path);
  return loaded ? "" : loaded.error().message;
}

TEST(ChipFiles, BuiltInChips) {
  EXPECT_EQ(chipNames(), (std::vector<std::string>{"mi300a", "mi300x", "mi308x", "mi350x"}));
  EXPECT_EQ(chip("mi300x").xcds * chip("mi300x").cusPerXcd, 304U);
  EXPECT_EQ(chip("mi300a").xcds * chip("mi300a").cusPerXcd, 228U);
  EXPECT_EQ(chip("mi308x").xcds * chip("mi308x").cusPerXcd, 80U);
  EXPECT_EQ(chip("mi350x").xcds * chip("mi350x").cusPerXcd, 256U);
  for (const std::string& name : chipNames()) {
    EXPECT_EQ(chip(name).name, name);
    const bool isGfx950 = name == "mi350x";
    EXPECT_EQ(chip(name).processor, isGfx950 ? "gfx950" : "gfx942");
    EXPECT_EQ(chip(name).clockMhz, isGfx950 ? 2400 : 2100);
    EXPECT_EQ(chip(name).ldsBytes, isGfx950 ? 163840U : 65536U);
  }
}

TEST(ChipFiles, FromAPath) {
  EXPECT_EQ(loadError(chipJson()), "");
  const auto missing = loadChip("mi999");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::usage);
  EXPECT_NE(missing.error().message.find("mi300x"), std::string::npos);
  EXPECT_FALSE(loadChip("/nowhere/chip.json"));
}

TEST(ChipFiles, EveryNumberHasASource) {
  for (const std::string& name : chipNames()) {
    std::ifstream in(ASMEVO_SOURCE_DIR "/chips/" + name + ".json");
    const nlohmann::json json = nlohmann::json::parse(in);
    EXPECT_EQ(json["parameters"].size(), parameterKeys().size());
    for (const auto& item : json["parameters"].items())
      EXPECT_GT(item.value()["source"].get<std::string>().size(), 5U) << item.key();
  }
}

TEST(ChipFiles, MissingAndUnknownKeysAreNamed) {
  for (const ParameterKey& key : parameterKeys()) {
    nlohmann::json json = chipJson();
    json["parameters"].erase(std::string(key.key));
    EXPECT_NE(loadError(json).find(fmt::format("'{}' is missing", key.key)), std::string::npos) << key.key;
  }
  nlohmann::json extra = chipJson();
  extra["parameters"]["valu.isue"] = {{"value", 4}, {"source", "typo"}};
  EXPECT_NE(loadError(extra).find("'valu.isue'"), std::string::npos);
  nlohmann::json top = chipJson();
  top["vendor"] = "x";
  EXPECT_NE(loadError(top).find("'vendor'"), std::string::npos);
}

TEST(ChipFiles, MalformedValuesAreRefused) {
  const auto with = [](const nlohmann::json& value) {
    nlohmann::json json = chipJson();
    json["parameters"]["l2.ways"] = value;
    return loadError(json);
  };
  EXPECT_NE(with(16).find("l2.ways"), std::string::npos);
  EXPECT_NE(with({{"value", "16"}, {"source", "x"}}).find("l2.ways"), std::string::npos);
  EXPECT_NE(with({{"value", 16}}).find("l2.ways"), std::string::npos);
  EXPECT_NE(with({{"value", 16}, {"source", ""}}).find("l2.ways"), std::string::npos);
  EXPECT_NE(with({{"value", 0}, {"source", "x"}}).find("l2.ways"), std::string::npos) << "a divisor";
  EXPECT_NE(with({{"value", 1e300}, {"source", "x"}}).find("l2.ways"), std::string::npos);
  EXPECT_NE(loadError(nlohmann::json::array()), "");
}

TEST(MfmaTable, MatrixInstructionCalculatorPasses) {
  const auto clk = [](const char* base) { return isa::matrixCost(base) ? 4 * isa::matrixCost(base)->passes : 0; };
  EXPECT_EQ(clk("v_mfma_f32_32x32x8_f16"), 32);
  EXPECT_EQ(clk("v_mfma_f32_16x16x16_bf16"), 16);
  EXPECT_EQ(clk("v_mfma_f32_32x32x4_2b_f16"), 64);
  EXPECT_EQ(clk("v_mfma_f32_16x16x4_4b_bf16"), 32);
  EXPECT_EQ(clk("v_mfma_f32_4x4x4_16b_f16"), 8);
  EXPECT_EQ(clk("v_mfma_i32_32x32x16_i8"), 32);
  EXPECT_EQ(clk("v_mfma_f32_16x16x32_bf8_fp8"), 16);
  EXPECT_EQ(clk("v_mfma_f32_32x32x4_xf32"), 32);
  EXPECT_EQ(clk("v_mfma_f32_32x32x2_f32"), 64);
  EXPECT_EQ(clk("v_mfma_f32_32x32x1_2b_f32"), 64);
  EXPECT_EQ(clk("v_mfma_f32_4x4x1_16b_f32"), 8);
  EXPECT_EQ(clk("v_mfma_f64_16x16x4_f64"), 32);
  EXPECT_EQ(clk("v_mfma_f64_4x4x4_4b_f64"), 16);
  EXPECT_EQ(clk("v_smfmac_f32_32x32x16_f16"), 32);
  EXPECT_EQ(clk("v_smfmac_i32_16x16x64_i8"), 16);
  EXPECT_FALSE(isa::matrixCost("v_mfma_f32_16x16x4_f32")->xdl);
  EXPECT_TRUE(isa::matrixCost("v_mfma_f32_16x16x8_xf32")->xdl);
  EXPECT_FALSE(isa::matrixCost("v_add_f32"));
  EXPECT_FALSE(isa::matrixCost("v_mfma"));
  EXPECT_FALSE(isa::matrixCost(""));
}

} // namespace
} // namespace asmevo::timing::fixture
