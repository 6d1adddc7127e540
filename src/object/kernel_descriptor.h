/// The 64-byte kernel descriptor (LLVM AMDGPUUsage, "Kernel Descriptor"; llvm/Support/AMDHSAKernelDescriptor.h).
#pragma once

#include "object/target.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asmevo::object {

/// Raw descriptor bytes with typed access to what the product reads and edits. All other bits stay as they are.
struct KernelDescriptor {
  std::array<std::uint8_t, 64> raw{};

  std::uint32_t groupSegmentSize() const;   ///< static LDS, bytes
  std::uint32_t privateSegmentSize() const; ///< scratch per work-item, bytes
  std::uint32_t kernargSize() const;        ///< bytes; 0 in most shipped objects (facts: metadata is right there)
  std::int64_t entryOffset() const;         ///< entry address - descriptor address
  std::uint32_t rsrc1() const;
  std::uint32_t rsrc2() const;
  std::uint32_t rsrc3() const;
  std::uint16_t codeProperties() const;
  std::uint16_t kernargPreload() const; ///< length 7 bits, offset 9 bits, dwords

  /// Allocated registers per lane, both files together on unified targets.
  unsigned allocatedVgprs(const Target& target) const;
  /// First AGPR's physical index on unified targets (multiple of 4), else 0.
  unsigned accumOffset(const Target& target) const;
  unsigned allocatedSgprs(const Target& target) const;
  unsigned userSgprCount() const;
  unsigned floatMode() const; ///< FLOAT_MODE, 8 bits: round32, round16_64, denorm32, denorm16_64 (2 bits each)
  bool ieeeMode() const;
  bool dx10Clamp() const;
  bool isWave32() const;
  bool usesDynamicStack() const;
  bool workgroupId(unsigned dimension) const; ///< ENABLE_SGPR_WORKGROUP_ID_X/Y/Z
  bool workgroupInfo() const;
  unsigned workitemIdMode() const; ///< 0: x, 1: x y, 2: x y z
  bool privateSegmentEnabled() const;
  bool enablePrivateSegmentBuffer() const;
  bool enableDispatchPtr() const;
  bool enableQueuePtr() const;
  bool enableKernargPtr() const;
  bool enableDispatchId() const;
  /// First of the two SGPRs that hold the kernarg segment's address at entry (LLVM AMDGPUUsage, "SGPR Register Set Up
  /// Order"), if the kernel asks for it.
  std::optional<unsigned> kernargSgpr() const;
  bool enableFlatScratchInit() const;
  bool enablePrivateSegmentSize() const;

  void setGroupSegmentSize(std::uint32_t bytes);
  void setEntryOffset(std::int64_t offset);
  /// Sets the granulated VGPR count (rounded up to the granule) and, on unified targets, accum_offset (multiple of 4).
  void setVgprs(const Target& target, unsigned total, unsigned accumOffset);
  /// Sets the granulated SGPR count, VCC, FLAT_SCRATCH and XNACK_MASK included: GFX9 allocates 16 at a time and counts
  /// by 8, GFX8 8 at a time; later targets ignore the field.
  void setSgprs(const Target& target, unsigned total);

  /// Every field as (".amdhsa_next_free_vgpr"-style name or description, value), for inspect.
  std::vector<std::pair<std::string, std::uint64_t>> fields(const Target& target) const;
};

/// Waves per SIMD that registers and LDS of one workgroup shape allow.
struct Occupancy {
  unsigned wavesPerSimd = 0;    ///< by registers and LDS; whole workgroups may fill fewer, see workgroupsPerCu
  unsigned byVgpr = 0;          ///< limit from VGPRs alone, waves per SIMD
  unsigned bySgpr = 0;          ///< limit from SGPRs alone, waves per SIMD
  unsigned workgroupsByLds = 0; ///< limit from LDS alone, workgroups per CU
  unsigned workgroupsPerCu = 0; ///< 0: a workgroup of this size does not fit at all
  std::string limiter;          ///< "VGPR", "SGPR", "LDS", "waves"
};

/// VGPRs per lane that a wave occupies: on unified targets AGPRs start at the next multiple of 4 above the VGPRs and
/// the sum counts; elsewhere the larger of the two files does.
unsigned totalVgprs(const Target& target, unsigned vgprs, unsigned agprs);

/// Occupancy of gfx90a/gfx942-like CUs: 4 SIMDs, 8 waves each, 512 VGPRs per lane and SIMD in granules of 8, 64 KB LDS
/// (facts/cdna3.md section 1.1; AMD MI300X guide table). gfx908: 10 waves, 256 VGPRs, granule 4, files apart.
Occupancy occupancyOf(const Target& target, unsigned totalVgprs, unsigned sgprs, std::uint32_t ldsBytes,
                      unsigned workgroupSize, unsigned waveSize = 64);

} // namespace asmevo::object
