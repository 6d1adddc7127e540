#include "object/kernel_descriptor.h"

#include "support/round_up.h"

#include <llvm/Support/AMDHSAKernelDescriptor.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace asmevo::object {

namespace hsa = llvm::amdhsa;

static_assert(std::endian::native == std::endian::little, "descriptor fields are read in host order");

namespace {

template <class T> T load(const std::array<std::uint8_t, 64>& raw, std::size_t offset) {
  T value;
  std::memcpy(&value, raw.data() + offset, sizeof value);
  return value;
}

template <class T> void store(std::array<std::uint8_t, 64>& raw, std::size_t offset, T value) {
  std::memcpy(raw.data() + offset, &value, sizeof value);
}

constexpr unsigned bits(std::uint32_t word, unsigned shift, unsigned width) {
  return (word >> shift) & ((1U << width) - 1U);
}

constexpr std::uint32_t withBits(std::uint32_t word, unsigned shift, unsigned width, unsigned value) {
  const std::uint32_t mask = ((1U << width) - 1U) << shift;
  return (word & ~mask) | ((value << shift) & mask);
}

/// Major number of the processor: 9 for "gfx942" and "gfx9-4-generic", 12 for "gfx1201" and "gfx12-generic".
unsigned major(const Target& target) {
  const std::string& p = target.processor;
  if (p.size() < 4)
    return 0;
  const std::size_t dash = p.find('-');
  // The last two characters of a plain name are minor version and stepping.
  const std::size_t end = dash == std::string::npos ? p.size() - 2 : dash;
  unsigned value = 0;
  for (std::size_t i = 3; i < end; ++i)
    if (p[i] >= '0' && p[i] <= '9')
      value = value * 10 + static_cast<unsigned>(p[i] - '0');
  return value;
}

bool isGfx125(const Target& target) {
  return target.processor.rfind("gfx125", 0) == 0;
}

/// VGPRs per step of GRANULATED_WORKITEM_VGPR_COUNT (LLVM AMDGPUUsage, compute_pgm_rsrc1).
unsigned vgprGranule(const Target& target, bool wave32) {
  if (target.hasUnifiedRegisterFile())
    return 8;
  if (isGfx125(target))
    return 16;
  return wave32 ? 8 : 4;
}

/// What one SIMD and one compute unit hold.
struct Pool {
  unsigned simds;
  unsigned waves;       ///< per SIMD
  unsigned vgprs;       ///< per lane and SIMD
  unsigned vgprGranule; ///< of allocation
  unsigned sgprs;       ///< per SIMD; 0: no limit
  unsigned sgprGranule;
  std::uint32_t lds; ///< bytes per CU
  std::uint32_t ldsGranule;
};

/// gfx90a/gfx94x/gfx950: facts/cdna3.md 1.1 and AMD's MI300X tuning guide. Others: LLVM's AMDGPUBaseInfo.cpp
/// (getTotalNumVGPRs, getVGPRAllocGranule, getMaxWavesPerEU), where a "CU" of gfx10 and later is one of two SIMDs.
Pool poolOf(const Target& target, unsigned waveSize) {
  const unsigned gfx = major(target);
  const bool wave32 = waveSize == 32;
  if (target.hasUnifiedRegisterFile()) {
    const bool big = target.processor == "gfx950";
    return {4, 8, 512, 8, 800, 16, big ? 163840U : 65536U, big ? 1280U : 512U};
  }
  if (gfx <= 9)
    return {4, 10, 256, 4, gfx >= 8 ? 800U : 512U, gfx >= 8 ? 16U : 8U, 65536, gfx >= 7 ? 512U : 256U};
  if (isGfx125(target))
    return {4, 16, 1024, 16, 0, 1, 327680, 1024};
  const bool first = target.processor.rfind("gfx101", 0) == 0 || target.processor == "gfx10-1-generic";
  const bool large =
      gfx >= 12 || target.processor == "gfx1100" || target.processor == "gfx1101" || target.processor == "gfx1151";
  const unsigned total = large ? 1536 : 1024;
  const unsigned granule = large ? 24 : first ? 8 : 16;
  return {2, first ? 20U : 16U, wave32 ? total : total / 2, wave32 ? granule : granule / 2, 0, 1, 65536, 512};
}

} // namespace

std::uint32_t KernelDescriptor::groupSegmentSize() const {
  return load<std::uint32_t>(raw, hsa::GROUP_SEGMENT_FIXED_SIZE_OFFSET);
}
std::uint32_t KernelDescriptor::privateSegmentSize() const {
  return load<std::uint32_t>(raw, hsa::PRIVATE_SEGMENT_FIXED_SIZE_OFFSET);
}
std::uint32_t KernelDescriptor::kernargSize() const {
  return load<std::uint32_t>(raw, hsa::KERNARG_SIZE_OFFSET);
}
std::int64_t KernelDescriptor::entryOffset() const {
  return load<std::int64_t>(raw, hsa::KERNEL_CODE_ENTRY_BYTE_OFFSET_OFFSET);
}
std::uint32_t KernelDescriptor::rsrc1() const {
  return load<std::uint32_t>(raw, hsa::COMPUTE_PGM_RSRC1_OFFSET);
}
std::uint32_t KernelDescriptor::rsrc2() const {
  return load<std::uint32_t>(raw, hsa::COMPUTE_PGM_RSRC2_OFFSET);
}
std::uint32_t KernelDescriptor::rsrc3() const {
  return load<std::uint32_t>(raw, hsa::COMPUTE_PGM_RSRC3_OFFSET);
}
std::uint16_t KernelDescriptor::codeProperties() const {
  return load<std::uint16_t>(raw, hsa::KERNEL_CODE_PROPERTIES_OFFSET);
}
std::uint16_t KernelDescriptor::kernargPreload() const {
  return load<std::uint16_t>(raw, hsa::KERNARG_PRELOAD_OFFSET);
}

unsigned KernelDescriptor::allocatedVgprs(const Target& target) const {
  const unsigned steps = bits(rsrc1(), hsa::COMPUTE_PGM_RSRC1_GRANULATED_WORKITEM_VGPR_COUNT_SHIFT, 6) + 1;
  return steps * vgprGranule(target, isWave32());
}

unsigned KernelDescriptor::accumOffset(const Target& target) const {
  if (!target.hasUnifiedRegisterFile())
    return 0;
  return (bits(rsrc3(), hsa::COMPUTE_PGM_RSRC3_GFX90A_ACCUM_OFFSET_SHIFT, 6) + 1) * 4;
}

unsigned KernelDescriptor::allocatedSgprs(const Target& target) const {
  const unsigned field = bits(rsrc1(), hsa::COMPUTE_PGM_RSRC1_GRANULATED_WAVEFRONT_SGPR_COUNT_SHIFT, 4);
  const unsigned gfx = major(target);
  if (gfx >= 10)
    return 128; // the field is reserved: every wave has the whole file
  if (gfx == 9)
    return (field / 2 + 1) * 16;
  return (field + 1) * 8;
}

unsigned KernelDescriptor::userSgprCount() const {
  return bits(rsrc2(), hsa::COMPUTE_PGM_RSRC2_GFX6_GFX120_USER_SGPR_COUNT_SHIFT, 5);
}
unsigned KernelDescriptor::floatMode() const {
  return bits(rsrc1(), hsa::COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_32_SHIFT, 8);
}
bool KernelDescriptor::ieeeMode() const {
  return bits(rsrc1(), hsa::COMPUTE_PGM_RSRC1_GFX6_GFX11_ENABLE_IEEE_MODE_SHIFT, 1) != 0;
}
bool KernelDescriptor::dx10Clamp() const {
  return bits(rsrc1(), hsa::COMPUTE_PGM_RSRC1_GFX6_GFX11_ENABLE_DX10_CLAMP_SHIFT, 1) != 0;
}
bool KernelDescriptor::isWave32() const {
  return (codeProperties() & hsa::KERNEL_CODE_PROPERTY_ENABLE_WAVEFRONT_SIZE32) != 0;
}
bool KernelDescriptor::usesDynamicStack() const {
  return (codeProperties() & hsa::KERNEL_CODE_PROPERTY_USES_DYNAMIC_STACK) != 0;
}
bool KernelDescriptor::workgroupId(unsigned dimension) const {
  return dimension < 3 && bits(rsrc2(), hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_X_SHIFT + dimension, 1) != 0;
}
bool KernelDescriptor::workgroupInfo() const {
  return bits(rsrc2(), hsa::COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_INFO_SHIFT, 1) != 0;
}
unsigned KernelDescriptor::workitemIdMode() const {
  return bits(rsrc2(), hsa::COMPUTE_PGM_RSRC2_ENABLE_VGPR_WORKITEM_ID_SHIFT, 2);
}
bool KernelDescriptor::privateSegmentEnabled() const {
  return bits(rsrc2(), hsa::COMPUTE_PGM_RSRC2_ENABLE_PRIVATE_SEGMENT_SHIFT, 1) != 0;
}
bool KernelDescriptor::enablePrivateSegmentBuffer() const {
  return (codeProperties() & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER) != 0;
}
bool KernelDescriptor::enableDispatchPtr() const {
  return (codeProperties() & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_PTR) != 0;
}
bool KernelDescriptor::enableQueuePtr() const {
  return (codeProperties() & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_QUEUE_PTR) != 0;
}
bool KernelDescriptor::enableKernargPtr() const {
  return (codeProperties() & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_KERNARG_SEGMENT_PTR) != 0;
}
bool KernelDescriptor::enableDispatchId() const {
  return (codeProperties() & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_ID) != 0;
}
std::optional<unsigned> KernelDescriptor::kernargSgpr() const {
  if (!enableKernargPtr())
    return std::nullopt;
  return (enablePrivateSegmentBuffer() ? 4U : 0U) + (enableDispatchPtr() ? 2U : 0U) + (enableQueuePtr() ? 2U : 0U);
}
bool KernelDescriptor::enableFlatScratchInit() const {
  return (codeProperties() & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_FLAT_SCRATCH_INIT) != 0;
}
bool KernelDescriptor::enablePrivateSegmentSize() const {
  return (codeProperties() & hsa::KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_SIZE) != 0;
}

void KernelDescriptor::setGroupSegmentSize(std::uint32_t bytes) {
  store(raw, hsa::GROUP_SEGMENT_FIXED_SIZE_OFFSET, bytes);
}

void KernelDescriptor::setEntryOffset(std::int64_t offset) {
  store(raw, hsa::KERNEL_CODE_ENTRY_BYTE_OFFSET_OFFSET, offset);
}

void KernelDescriptor::setVgprs(const Target& target, unsigned total, unsigned accumOffset) {
  const unsigned granule = vgprGranule(target, isWave32());
  const unsigned steps = std::clamp((total + granule - 1) / granule, 1U, 64U);
  store(raw, hsa::COMPUTE_PGM_RSRC1_OFFSET,
        withBits(rsrc1(), hsa::COMPUTE_PGM_RSRC1_GRANULATED_WORKITEM_VGPR_COUNT_SHIFT, 6, steps - 1));
  if (target.hasUnifiedRegisterFile()) {
    const unsigned quads = std::clamp(accumOffset / 4, 1U, 64U);
    store(raw, hsa::COMPUTE_PGM_RSRC3_OFFSET,
          withBits(rsrc3(), hsa::COMPUTE_PGM_RSRC3_GFX90A_ACCUM_OFFSET_SHIFT, 6, quads - 1));
  }
}

void KernelDescriptor::setSgprs(const Target& target, unsigned total) {
  const unsigned granule = target.isGfx9() ? 16 : 8;
  const unsigned field = std::clamp(roundUp(total, granule) / 8, 1U, 16U) - 1;
  store(raw, hsa::COMPUTE_PGM_RSRC1_OFFSET,
        withBits(rsrc1(), hsa::COMPUTE_PGM_RSRC1_GRANULATED_WAVEFRONT_SGPR_COUNT_SHIFT, 4, field));
}

std::vector<std::pair<std::string, std::uint64_t>> KernelDescriptor::fields(const Target& target) const {
  const unsigned gfx = major(target);
  const std::uint32_t r1 = rsrc1();
  const std::uint32_t r2 = rsrc2();
  const std::uint32_t r3 = rsrc3();
  std::vector<std::pair<std::string, std::uint64_t>> list;
  const auto add = [&](std::string name, std::uint64_t value) { list.emplace_back(std::move(name), value); };

  add(".amdhsa_group_segment_fixed_size", groupSegmentSize());
  add(".amdhsa_private_segment_fixed_size", privateSegmentSize());
  add(".amdhsa_kernarg_size", kernargSize());
  add("allocated VGPRs", allocatedVgprs(target));
  if (target.hasUnifiedRegisterFile()) {
    add(".amdhsa_accum_offset", accumOffset(target));
    add(".amdhsa_tg_split", bits(r3, hsa::COMPUTE_PGM_RSRC3_GFX90A_TG_SPLIT_SHIFT, 1));
  }
  add("allocated SGPRs", allocatedSgprs(target));
  add(".amdhsa_user_sgpr_count", userSgprCount());
  add(".amdhsa_user_sgpr_private_segment_buffer", enablePrivateSegmentBuffer());
  add(".amdhsa_user_sgpr_dispatch_ptr", enableDispatchPtr());
  add(".amdhsa_user_sgpr_queue_ptr", enableQueuePtr());
  add(".amdhsa_user_sgpr_kernarg_segment_ptr", enableKernargPtr());
  add(".amdhsa_user_sgpr_dispatch_id", enableDispatchId());
  add(".amdhsa_user_sgpr_flat_scratch_init", enableFlatScratchInit());
  add(".amdhsa_user_sgpr_private_segment_size", enablePrivateSegmentSize());
  add(".amdhsa_user_sgpr_kernarg_preload_length", kernargPreload() & 0x7fU);
  add(".amdhsa_user_sgpr_kernarg_preload_offset", static_cast<unsigned>(kernargPreload()) >> 7);
  add(gfx >= 9 ? ".amdhsa_enable_private_segment" : ".amdhsa_system_sgpr_private_segment_wavefront_offset",
      privateSegmentEnabled());
  add(".amdhsa_system_sgpr_workgroup_id_x", workgroupId(0));
  add(".amdhsa_system_sgpr_workgroup_id_y", workgroupId(1));
  add(".amdhsa_system_sgpr_workgroup_id_z", workgroupId(2));
  add(".amdhsa_system_sgpr_workgroup_info", workgroupInfo());
  add(".amdhsa_system_vgpr_workitem_id", workitemIdMode());
  add(".amdhsa_float_round_mode_32", bits(r1, hsa::COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_32_SHIFT, 2));
  add(".amdhsa_float_round_mode_16_64", bits(r1, hsa::COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_16_64_SHIFT, 2));
  add(".amdhsa_float_denorm_mode_32", bits(r1, hsa::COMPUTE_PGM_RSRC1_FLOAT_DENORM_MODE_32_SHIFT, 2));
  add(".amdhsa_float_denorm_mode_16_64", bits(r1, hsa::COMPUTE_PGM_RSRC1_FLOAT_DENORM_MODE_16_64_SHIFT, 2));
  if (gfx < 12) {
    add(".amdhsa_dx10_clamp", dx10Clamp());
    add(".amdhsa_ieee_mode", ieeeMode());
  }
  if (gfx >= 9)
    add(".amdhsa_fp16_overflow", bits(r1, hsa::COMPUTE_PGM_RSRC1_GFX9_PLUS_FP16_OVFL_SHIFT, 1));
  if (gfx >= 10) {
    add(".amdhsa_wavefront_size32", isWave32());
    add(".amdhsa_workgroup_processor_mode", bits(r1, hsa::COMPUTE_PGM_RSRC1_GFX10_PLUS_WGP_MODE_SHIFT, 1));
    add(".amdhsa_memory_ordered", bits(r1, hsa::COMPUTE_PGM_RSRC1_GFX10_PLUS_MEM_ORDERED_SHIFT, 1));
    add(".amdhsa_forward_progress", bits(r1, hsa::COMPUTE_PGM_RSRC1_GFX10_PLUS_FWD_PROGRESS_SHIFT, 1));
  }
  add(".amdhsa_uses_dynamic_stack", usesDynamicStack());
  constexpr std::pair<const char*, unsigned> exceptions[] = {
      {".amdhsa_exception_fp_ieee_invalid_op",
       hsa::COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION_SHIFT},
      {".amdhsa_exception_fp_denorm_src", hsa::COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_FP_DENORMAL_SOURCE_SHIFT},
      {".amdhsa_exception_fp_ieee_div_zero",
       hsa::COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO_SHIFT},
      {".amdhsa_exception_fp_ieee_overflow", hsa::COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW_SHIFT},
      {".amdhsa_exception_fp_ieee_underflow", hsa::COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW_SHIFT},
      {".amdhsa_exception_fp_ieee_inexact", hsa::COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_INEXACT_SHIFT},
      {".amdhsa_exception_int_div_zero", hsa::COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO_SHIFT},
  };
  for (const auto& [name, shift] : exceptions)
    add(name, bits(r2, shift, 1));
  return list;
}

unsigned totalVgprs(const Target& target, unsigned vgprs, unsigned agprs) {
  if (!target.hasUnifiedRegisterFile())
    return std::max(vgprs, agprs);
  return agprs == 0 ? vgprs : roundUp(vgprs, 4) + agprs;
}

Occupancy occupancyOf(const Target& target, unsigned totalVgprs, unsigned sgprs, std::uint32_t ldsBytes,
                      unsigned workgroupSize, unsigned waveSize) {
  const Pool pool = poolOf(target, waveSize);
  Occupancy result;
  result.byVgpr = std::min(pool.waves, pool.vgprs / roundUp(std::max(totalVgprs, 1U), pool.vgprGranule));
  result.bySgpr =
      pool.sgprs == 0 ? pool.waves : std::min(pool.waves, pool.sgprs / roundUp(std::max(sgprs, 1U), pool.sgprGranule));

  const unsigned perSimd = std::min(result.byVgpr, result.bySgpr);
  const unsigned wavesPerGroup = std::max(1U, (workgroupSize + waveSize - 1) / waveSize);
  // A workgroup of several waves needs one of the CU's 16 barriers (LLVM getMaxWorkGroupsPerCU).
  const unsigned slots = pool.simds * pool.waves;
  const unsigned byBarrier = wavesPerGroup == 1 ? slots : std::min(slots / wavesPerGroup, 16U);
  // 64-bit: a hostile size must not wrap around to a small one.
  const std::uint64_t ldsRounded = (std::uint64_t{ldsBytes} + pool.ldsGranule - 1) / pool.ldsGranule * pool.ldsGranule;
  result.workgroupsByLds = ldsBytes == 0 ? byBarrier : static_cast<unsigned>(pool.lds / ldsRounded);
  result.workgroupsPerCu = std::min({pool.simds * perSimd / wavesPerGroup, byBarrier, result.workgroupsByLds});

  const unsigned byLds =
      ldsBytes == 0
          ? pool.waves
          : static_cast<unsigned>(std::min<std::uint64_t>(
                pool.waves, (std::uint64_t{result.workgroupsByLds} * wavesPerGroup + pool.simds - 1) / pool.simds));
  result.wavesPerSimd = std::min(perSimd, byLds);
  if (result.wavesPerSimd == pool.waves)
    result.limiter = "waves";
  else if (result.wavesPerSimd == result.byVgpr)
    result.limiter = "VGPR";
  else if (result.wavesPerSimd == result.bySgpr)
    result.limiter = "SGPR";
  else
    result.limiter = "LDS";
  return result;
}

} // namespace asmevo::object
