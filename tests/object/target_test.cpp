#include "object/object_support.h"
#include "object/target.h"

#include <gtest/gtest.h>

namespace asmevo::object {
namespace {

using testing::assemble;
using testing::parsed;

std::string tiny(const std::string& target, int version) {
  return "  .amdgcn_target \"amdgcn-amd-amdhsa--" + target + "\"\n  .amdhsa_code_object_version " +
         std::to_string(version) + "\n  .text\n  s_endpgm\n";
}

// What clang was told is what the header must give back.
TEST(Target, EveryTargetIdThatClangWrites) {
  const std::vector<std::string> ids = {"gfx900:xnack-",
                                        "gfx906:sramecc+:xnack-",
                                        "gfx908:sramecc-:xnack+",
                                        "gfx90a:xnack+",
                                        "gfx942",
                                        "gfx942:sramecc+:xnack-",
                                        "gfx942:xnack-",
                                        "gfx950:sramecc-",
                                        "gfx1010:xnack+",
                                        "gfx1030",
                                        "gfx1100",
                                        "gfx1201"};
  for (const int version : {4, 5})
    for (const std::string& id : ids) {
      const CodeObject object = parsed(assemble(tiny(id, version), id, false));
      EXPECT_EQ(object.target().id(), id);
      EXPECT_EQ(object.target().isaName(), "amdgcn-amd-amdhsa--" + id);
      EXPECT_EQ(object.abiVersion(), version - 2);
      EXPECT_EQ(object.target().genericVersion, 0U);
    }
}

TEST(Target, GenericTargetsCarryTheirVersion) {
  for (const std::string id :
       {"gfx9-generic", "gfx9-4-generic", "gfx10-1-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic"}) {
    const CodeObject object = parsed(assemble(tiny(id, 6), id, false));
    EXPECT_EQ(object.target().id(), id);
    EXPECT_EQ(object.target().genericVersion, 1U);
  }
}

TEST(Target, FeatureFieldsOfTheHeader) {
  // 0x54c: gfx942, xnack any, sramecc any (what clang writes for plain gfx942).
  const auto any = targetFromElf(0x54c, 4);
  ASSERT_TRUE(any);
  EXPECT_EQ(any->processor, "gfx942");
  EXPECT_EQ(any->xnack, Feature::any);
  EXPECT_EQ(any->sramecc, Feature::any);
  // Code object v3 has single bits: unset means off where the processor has the feature.
  const auto v3 = targetFromElf(0x02f | 0x200, 1);
  ASSERT_TRUE(v3);
  EXPECT_EQ(v3->id(), "gfx906:sramecc+:xnack-");
  const auto v3WithoutFeatures = targetFromElf(0x036, 1);
  ASSERT_TRUE(v3WithoutFeatures);
  EXPECT_EQ(v3WithoutFeatures->id(), "gfx1030");
}

TEST(Target, UnknownNumbersAreErrors) {
  const auto machine = targetFromElf(0x027, 3);
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().kind, ErrorKind::badInput);
  EXPECT_NE(machine.error().message.find("0x27"), std::string::npos);
  EXPECT_FALSE(targetFromElf(0x005, 3)) << "R600 has no code objects";
  EXPECT_FALSE(targetFromElf(0x04c, 5)) << "there is no code object v7";
}

TEST(Target, UnifiedRegisterFile) {
  for (const auto& [flags, unified] :
       {std::pair{0x030U, false}, {0x03fU, true}, {0x04cU, true}, {0x04fU, true}, {0x05fU, true}, {0x041U, false}}) {
    const auto target = targetFromElf(flags, 2);
    ASSERT_TRUE(target);
    EXPECT_EQ(target->hasUnifiedRegisterFile(), unified) << target->processor;
  }
}

} // namespace
} // namespace asmevo::object
