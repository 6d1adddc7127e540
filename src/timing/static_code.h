/// What the issue model needs of each instruction, worked out once per kernel.
#pragma once

#include "isa/instruction.h"
#include "timing/parameters.h"

#include <array>
#include <cstdint>
#include <vector>

namespace asmevo::timing {

/// Issue category: at most one instruction of each per slot, `internal` without limit
/// (AMD rocprofiler-compute, pipeline descriptions).
enum class Category : std::uint8_t { internal, valu, mfma, scalar, vmem, lds, branch };
inline constexpr std::size_t categoryCount = 7;

/// What an internal instruction does.
enum class Internal : std::uint8_t { none, nop, waitcnt, barrier, end, sleep, setprio };

/// Which VALU of two waves may share a slot. In the traces (facts: hardware_traces.md) a VALU whose wave is ready goes
/// into another wave's slot either practically always or never, by the two mnemonics: thousands of each, few
/// exceptions.
enum class Pairing : std::uint8_t {
  never,
  narrow, ///< with `select` and `any`
  select, ///< v_cndmask_b32: with `narrow` and `any`
  any
};

/// A run of physical VGPRs.
struct VgprRange {
  std::uint16_t first = 0, count = 0;
  bool operator==(const VgprRange&) const = default;
};

struct StaticInst {
  Category category = Category::internal;
  Internal internal = Internal::none;
  bool valid = false;               ///< an instruction starts here
  Pairing pairing = Pairing::never; ///< VALU
  bool packedOrDot = false;         ///< VALU with the longer delay after an MFMA
  bool writesScalar = false;        ///< VALU that writes SGPRs, VCC or EXEC (compares, readlanes, carries)
  bool isSalu = false;              ///< scalar, not SMEM
  bool scalarMemory = false;
  bool readsScalarResult = false; ///< branch on SCC, EXEC or VCC
  bool readsVcc = false;          ///< branch on VCC
  bool isFlat = false;            ///< counts in vmcnt and lgkmcnt
  bool isLdsWrite = false;        ///< LDS: address and data share the input port
  bool conditional = false;
  bool xdl = true;             ///< MFMA
  std::uint8_t lgkmWeight = 0; ///< increments of lgkmcnt
  std::uint8_t vmWeight = 0;
  std::uint8_t passes = 0;      ///< MFMA
  std::uint8_t sourceBytes = 0; ///< MFMA: widest of A and B per lane
  std::uint8_t dataBytes = 0;   ///< LDS and VMEM: bytes per lane
  std::uint8_t size = 4;        ///< bytes
  std::uint16_t pipeClk = 4;    ///< VALU pipe occupation
  std::uint32_t argument = 0;   ///< s_nop, s_sleep, s_setprio immediate
  isa::WaitCount wait;
  unsigned opcode = 0;
  VgprRange destination, sourceC; ///< MFMA
  std::uint8_t readCount = 0;
  std::array<VgprRange, 6> touched{}; ///< VGPRs read or written (MFMA: A and B only)
};

/// True when VALU of two waves may share a slot.
inline bool pairs(const StaticInst& a, const StaticInst& b) {
  if (a.pairing == Pairing::never || b.pairing == Pairing::never)
    return false;
  return a.pairing != b.pairing || a.pairing == Pairing::any;
}

/// One entry per dword of code; entries inside an instruction and nulls are invalid.
std::vector<StaticInst> analyseCode(const std::vector<isa::InstRef>& code, unsigned accumOffset,
                                    const Parameters& parameters);

} // namespace asmevo::timing
