#include "emulator/guest_memory.h"

#include "support/round_up.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace asmevo::emulator {

namespace {

constexpr std::uint64_t regionAlignment = 256;
constexpr std::uint64_t addressLimit = std::uint64_t{1} << 47;

std::uint8_t patternByte(std::uint64_t offset) {
  return static_cast<std::uint8_t>(GuestMemory::guardPattern >> (offset % 8 * 8));
}

void fillPattern(std::uint8_t* arena, std::uint64_t begin, std::uint64_t end) {
  for (; begin < end && begin % 8 != 0; ++begin)
    arena[begin] = patternByte(begin);
  for (; begin + 8 <= end; begin += 8)
    std::memcpy(arena + begin, &GuestMemory::guardPattern, 8);
  for (; begin < end; ++begin)
    arena[begin] = patternByte(begin);
}

/// First offset in [begin, end) that no longer holds the pattern, or `end`.
std::uint64_t firstDamage(const std::uint8_t* arena, std::uint64_t begin, std::uint64_t end) {
  while (begin < end && arena[begin] == patternByte(begin))
    ++begin;
  return begin;
}

/// Last damaged offset + 1 in [begin, end), or `begin`.
std::uint64_t lastDamage(const std::uint8_t* arena, std::uint64_t begin, std::uint64_t end) {
  while (begin < end && arena[end - 1] == patternByte(end - 1))
    --end;
  return end;
}

} // namespace

Result<GuestMemory> GuestMemory::create(std::vector<Region> regions) {
  std::uint64_t cursor = 0;
  for (Region& region : regions) {
    const std::uint64_t span = std::max(region.size, region.span);
    if (span > addressLimit / 2)
      return refused("buffer '{}' of {} bytes does not fit the guest's address space", region.name, region.size);
    const bool large = region.size >= dispatch::largeBufferBytes && &region != &regions.front();
    cursor = roundUp(cursor + guardBytes, large ? dispatch::hostPageBytes : regionAlignment);
    region.address = baseAddress + cursor;
    cursor += span + guardBytes;
    if (baseAddress + cursor >= addressLimit)
      return refused("the buffers do not fit the guest's address space (at '{}')", region.name);
  }
  GuestMemory memory;
  memory.reserved = roundUp(cursor + guardBytes, 4096);
  void* mapped =
      mmap(nullptr, memory.reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return internalError("cannot map {} bytes for the guest's buffers", memory.reserved);
  memory.arena = static_cast<std::uint8_t*>(mapped);
  memory.regionList = std::move(regions);

  std::uint64_t guardBegin = 0;
  if (!memory.regionList.empty() && memory.regionList.front().readOnlyBytes != 0)
    memory.firstWritable = memory.regionList.front().address + memory.regionList.front().readOnlyBytes;
  for (const Region& region : memory.regionList) {
    const std::uint64_t offset = region.address - baseAddress;
    fillPattern(memory.arena, guardBegin, offset);
    guardBegin = offset + region.size;
  }
  fillPattern(memory.arena, guardBegin, memory.reserved);
  return memory;
}

GuestMemory::GuestMemory(GuestMemory&& other) noexcept
    : arena(std::exchange(other.arena, nullptr)), reserved(std::exchange(other.reserved, 0)),
      firstWritable(other.firstWritable), regionList(std::move(other.regionList)) {}

GuestMemory& GuestMemory::operator=(GuestMemory&& other) noexcept {
  std::swap(arena, other.arena);
  std::swap(reserved, other.reserved);
  std::swap(firstWritable, other.firstWritable);
  std::swap(regionList, other.regionList);
  return *this;
}

GuestMemory::~GuestMemory() {
  if (arena)
    munmap(arena, reserved);
}

std::span<std::uint8_t> GuestMemory::contents(const Region& region) const {
  return {arena + (region.address - baseAddress), region.size};
}

bool GuestMemory::mapShared(const Region& region, const dispatch::SharedContents& contents) {
  const std::uint64_t offset = region.address - baseAddress, mapped = contents.mappedBytes();
  if (offset % dispatch::hostPageBytes != 0 || mapped < region.size || mapped > region.size + guardBytes ||
      offset + mapped > reserved)
    return false;
  if (!contents.mapOver(arena + offset))
    return false;
  fillPattern(arena, offset + region.size, offset + mapped);
  return true;
}

const Region* GuestMemory::regionAt(std::uint64_t address) const {
  // Regions lie in ascending order.
  const auto behind = std::ranges::upper_bound(regionList, address, {}, &Region::address);
  if (behind == regionList.begin())
    return nullptr;
  const Region& region = *std::prev(behind);
  return address - region.address < region.size ? &region : nullptr;
}

std::string GuestMemory::describe(std::uint64_t address) const {
  const Region* nearest = nullptr;
  std::uint64_t distance = ~std::uint64_t{0};
  bool after = false;
  for (const Region& region : regionList) {
    if (address >= region.address && address - region.address < region.size)
      return fmt::format("buffer '{}' + {:#x}", region.name, address - region.address);
    const bool behind = address >= region.address;
    const std::uint64_t gap = behind ? address - (region.address + region.size) : region.address - address;
    if (gap < distance) {
      nearest = &region;
      distance = gap;
      after = behind;
    }
  }
  if (!nearest)
    return fmt::format("{:#x}: no buffer", address);
  return fmt::format("{:#x}: no buffer, nearest is '{}', {:#x} bytes {}", address, nearest->name, distance,
                     after ? "behind its end" : "before its start");
}

std::vector<GuardViolation> GuestMemory::checkGuards() const {
  std::vector<GuardViolation> violations;
  for (std::size_t i = 0; i < regionList.size(); ++i) {
    const Region& region = regionList[i];
    const std::uint64_t begin = region.address - baseAddress;
    const std::uint64_t end = begin + region.size;
    // The zone between two regions belongs in halves to both; the nearest damage is reported for each.
    const std::uint64_t before =
        i == 0 ? 0 : (regionList[i - 1].address + regionList[i - 1].size - baseAddress) + guardBytes;
    const std::uint64_t after = i + 1 == regionList.size() ? reserved : end + guardBytes;
    if (const std::uint64_t hit = lastDamage(arena, before, begin); hit != before)
      violations.push_back({region.name, static_cast<std::int64_t>(hit - 1) - static_cast<std::int64_t>(begin)});
    if (const std::uint64_t hit = firstDamage(arena, end, after); hit != after)
      violations.push_back({region.name, static_cast<std::int64_t>(hit - begin)});
  }
  return violations;
}

} // namespace asmevo::emulator
