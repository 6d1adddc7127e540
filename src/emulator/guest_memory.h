/// The guest's address space: buffers of a dispatch in one reserved host arena, guard zones around each.
#pragma once

#include "dispatch/shared_contents.h"
#include "support/file_io.h"
#include "support/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace asmevo::emulator {

/// A mapped range. Guard zones of `guardBytes` with a fixed pattern lie before and after it.
struct Region {
  std::string name;
  std::uint64_t address = 0; ///< guest virtual address, 256-byte aligned; of large regions page-aligned
  std::uint64_t size = 0;
  std::uint64_t readOnlyBytes = 0; ///< from its start: stores below `writableBegin()` are refused; first region only
  std::uint64_t span = 0; ///< address space kept for it where that is more than `size`; what is left is guard zone
};

/// Name of the region with the kernel arguments.
inline constexpr std::string_view kernargRegionName = "<kernarg>";

/// A guest store that landed in a guard zone, found after the run.
struct GuardViolation {
  std::string buffer;
  std::int64_t offset = 0; ///< relative to the buffer's start (negative: before it)
};

/// Guest addresses [base, base + reserved) map linearly to host memory. Reads inside the arena but outside every region
/// see the guard pattern; anything outside the arena is a fault. Addresses are below 2^47.
class GuestMemory {
 public:
  static constexpr std::uint64_t baseAddress = 0x7e0000000000;
  static constexpr std::uint64_t guardBytes = 4096;

  static constexpr std::uint64_t guardPattern = 0x7fa57fa57fa57fa5; ///< NaN as f16, bf16, f32 and f64
  /// Address that the first region gets in every layout, so that code can be relocated before the arena exists.
  static constexpr std::uint64_t firstRegionAddress = baseAddress + guardBytes;

  /// Lays out `regions` (sizes in, addresses out; only the first may have read-only bytes) and fills guard zones;
  /// contents are zero. Errors when the host cannot map that much.
  static Result<GuestMemory> create(std::vector<Region> regions);
  GuestMemory(GuestMemory&&) noexcept;
  GuestMemory& operator=(GuestMemory&&) noexcept;
  ~GuestMemory();

  const std::vector<Region>& regions() const { return regionList; }
  /// Host pointer of [address, address + bytes), or null when it leaves the arena.
  std::uint8_t* host(std::uint64_t address, std::uint64_t bytes) const {
    const std::uint64_t offset = address - baseAddress;
    return offset <= reserved && bytes <= reserved - offset ? arena + offset : nullptr;
  }
  /// As `host`, for a store: null also when it would touch a read-only region.
  std::uint8_t* hostForStore(std::uint64_t address, std::uint64_t bytes) const {
    return address >= firstWritable ? host(address, bytes) : nullptr;
  }
  std::span<std::uint8_t> contents(const Region& region) const;
  /// Puts a private view of `contents` over a region of its size instead of copying. False where the host does not.
  bool mapShared(const Region& region, const dispatch::SharedContents& contents);
  /// The region with the byte at `address`, or null in guard zones and outside the arena.
  const Region* regionAt(std::uint64_t address) const;
  std::uint64_t writableBegin() const { return firstWritable; }
  std::uint64_t end() const { return baseAddress + reserved; }
  /// "buffer 'c' + 0x40" or "0x7e...: no buffer, nearest is ...".
  std::string describe(std::uint64_t address) const;
  std::vector<GuardViolation> checkGuards() const;

 private:
  GuestMemory() = default;
  std::uint8_t* arena = nullptr;
  std::uint64_t reserved = 0;
  std::uint64_t firstWritable = baseAddress;
  std::vector<Region> regionList;
};

} // namespace asmevo::emulator
