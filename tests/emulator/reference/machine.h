/// A wavefront interpreted one lane at a time, straight from the CDNA3 ISA manual's descriptions: the oracle that
/// random programs on the emulator are compared with. It shares nothing with the product but the decoded instruction.
#pragma once

#include "emulator/reference/numbers.h"
#include "isa/instruction.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::emulator::reference {

/// Everything a straight-line program can change.
struct Machine {
  static constexpr unsigned vccLo = 106, m0 = 124, execLo = 126;
  static constexpr std::uint64_t sharedAperture = std::uint64_t{1} << 48, privateAperture = std::uint64_t{2} << 48;

  std::array<std::uint32_t, 128> s{};
  std::uint32_t scc = 0, mode = 0x3f0;
  unsigned accumOffset = 64;
  std::vector<std::array<std::uint32_t, 64>> v; ///< VGPRs, AGPRs from accumOffset on
  std::vector<std::uint8_t> lds;
  std::uint64_t memoryBase = 0; ///< guest address of memory[0]
  std::vector<std::uint8_t> memory;
  std::uint32_t scratchPerLane = 0;
  std::vector<std::uint8_t> scratch; ///< lane * scratchPerLane + offset

  std::uint64_t pair(unsigned reg) const { return s[reg] | std::uint64_t{s[reg + 1]} << 32; }
  void setPair(unsigned reg, std::uint64_t x) {
    s[reg] = static_cast<std::uint32_t>(x);
    s[reg + 1] = static_cast<std::uint32_t>(x >> 32);
  }
  std::uint64_t exec() const { return pair(execLo); }
  bool active(unsigned lane) const { return exec() >> lane & 1; }
  unsigned physical(const isa::Operand& operand) const {
    return operand.index + (operand.kind == isa::OperandKind::agpr ? accumOffset : 0u);
  }
  std::uint32_t special(unsigned reg) const { ///< sources beyond the register file
    return reg == 253 ? scc : reg == 252 ? exec() == 0 : reg == 251 ? pair(vccLo) == 0 : s[reg];
  }
  std::uint32_t scalar32(const isa::Operand& operand) const;
  std::uint64_t scalar64(const isa::Operand& operand) const;
  std::uint64_t read(unsigned reg, unsigned lane, unsigned dwords) const { ///< one or two VGPRs
    return v[reg][lane] | (dwords > 1 ? std::uint64_t{v[reg + 1][lane]} << 32 : 0);
  }
  void write(unsigned reg, unsigned lane, std::uint64_t x, unsigned dwords) {
    v[reg][lane] = static_cast<std::uint32_t>(x);
    if (dwords > 1)
      v[reg + 1][lane] = static_cast<std::uint32_t>(x >> 32);
  }
};

/// Executes one instruction. False: the reference does not know it.
bool step(Machine& machine, const isa::Instruction& inst);

// The parts of `step`, by unit.
bool stepScalar(Machine& machine, const isa::Instruction& inst);
bool stepVector(Machine& machine, const isa::Instruction& inst);
bool stepLane(Machine& machine, const isa::Instruction& inst); ///< readlane, writelane, swaps, AGPR moves
bool stepMatrix(Machine& machine, const isa::Instruction& inst);
bool stepLds(Machine& machine, const isa::Instruction& inst);
bool stepMemory(Machine& machine, const isa::Instruction& inst); ///< buffer, flat, global, scratch, SMEM

/// Read-modify-write of `bytes` at `at` as an atomic named like "add_u32", "umax", "cmpswap", "inc": the new value.
/// Float atomics round to nearest even. False: unknown.
bool atomic(std::string_view name, unsigned bytes, std::uint64_t old, std::uint64_t data, std::uint64_t second,
            std::uint64_t& result);

inline std::int32_t signed32(std::uint64_t x) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x));
}
inline std::int64_t signed64(std::uint64_t x) {
  return static_cast<std::int64_t>(x);
}
/// The low `bits` of x as a signed number.
inline std::int64_t extended(std::uint64_t x, unsigned bits) {
  return static_cast<std::int64_t>(x << (64 - bits)) >> (64 - bits);
}

} // namespace asmevo::emulator::reference
