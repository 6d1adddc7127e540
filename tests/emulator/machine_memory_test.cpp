#include "emulator/guest_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace asmevo::emulator {
namespace {

GuestMemory threeRegions() {
  std::vector<Region> regions(3);
  regions[0] = {"code", 0, 100, 64};
  regions[1] = {"a", 0, 1000, 0};
  regions[2] = {"b", 0, 4096, 0};
  return std::move(*GuestMemory::create(std::move(regions)));
}

TEST(MachineGuestMemory, LaysRegionsOutWithGuardsAndAlignment) {
  const GuestMemory memory = threeRegions();
  const auto& regions = memory.regions();
  EXPECT_EQ(regions[0].address, GuestMemory::firstRegionAddress);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(regions[i].address % 256, 0u);
    if (i != 0) {
      EXPECT_GE(regions[i].address, regions[i - 1].address + regions[i - 1].size + 2 * GuestMemory::guardBytes);
    }
  }
  EXPECT_GE(memory.end(), regions[2].address + regions[2].size + GuestMemory::guardBytes);
  EXPECT_LT(memory.end(), std::uint64_t{1} << 47);
}

TEST(MachineGuestMemory, MapsTheArenaOnly) {
  const GuestMemory memory = threeRegions();
  EXPECT_EQ(memory.host(GuestMemory::baseAddress - 1, 1), nullptr);
  EXPECT_NE(memory.host(GuestMemory::baseAddress, 1), nullptr);
  EXPECT_NE(memory.host(memory.end() - 4, 4), nullptr);
  EXPECT_EQ(memory.host(memory.end() - 4, 5), nullptr);
  EXPECT_EQ(memory.host(0, 4), nullptr);
  EXPECT_EQ(memory.host(~std::uint64_t{0}, 16), nullptr);
  EXPECT_EQ(memory.hostForStore(memory.regions()[0].address, 4), nullptr);
  EXPECT_NE(memory.hostForStore(memory.regions()[0].address + 64, 4), nullptr);
}

TEST(MachineGuestMemory, GuardsHoldNanPatternAndContentsAreZero) {
  const GuestMemory memory = threeRegions();
  const Region& a = memory.regions()[1];
  for (const std::uint8_t byte : memory.contents(a))
    ASSERT_EQ(byte, 0);
  std::uint64_t value = 0;
  std::memcpy(&value, memory.host(a.address - 8, 8), 8);
  EXPECT_EQ(value, GuestMemory::guardPattern);
  EXPECT_TRUE(memory.checkGuards().empty());
}

TEST(MachineGuestMemory, FindsEveryDamagedZone) {
  const GuestMemory memory = threeRegions();
  const Region &a = memory.regions()[1], &b = memory.regions()[2];
  *memory.host(a.address - 4096, 1) = 0;
  *memory.host(a.address + 1000, 1) = 7;
  *memory.host(a.address + 1002, 1) = 7;
  *memory.host(b.address - 1, 1) = 1;
  *memory.host(b.address + b.size + 4095, 1) = 1;
  const auto violations = memory.checkGuards();
  ASSERT_EQ(violations.size(), 4u);
  EXPECT_EQ(violations[0].buffer, "a");
  EXPECT_EQ(violations[0].offset, -4096);
  EXPECT_EQ(violations[1].buffer, "a");
  EXPECT_EQ(violations[1].offset, 1000);
  EXPECT_EQ(violations[2].buffer, "b");
  EXPECT_EQ(violations[2].offset, -1);
  EXPECT_EQ(violations[3].buffer, "b");
  EXPECT_EQ(violations[3].offset, 4096 + 4095);
}

TEST(MachineGuestMemory, DescribesAddresses) {
  const GuestMemory memory = threeRegions();
  const Region& a = memory.regions()[1];
  EXPECT_EQ(memory.describe(a.address + 0x40), "buffer 'a' + 0x40");
  EXPECT_EQ(memory.describe(a.address - 16),
            fmt::format("{:#x}: no buffer, nearest is 'a', 0x10 bytes before its start", a.address - 16));
  EXPECT_EQ(memory.describe(a.address + a.size),
            fmt::format("{:#x}: no buffer, nearest is 'a', 0x0 bytes behind its end", a.address + a.size));
}

TEST(MachineGuestMemory, RefusesImpossibleSizes) {
  std::vector<Region> regions(1);
  regions[0] = {"huge", 0, std::uint64_t{1} << 46, 0};
  const auto result = GuestMemory::create(regions);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::refused);
  EXPECT_NE(result.error().message.find("huge"), std::string::npos);
}

} // namespace
} // namespace asmevo::emulator
