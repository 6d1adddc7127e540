/// What s_getreg and s_setreg see. Everything here is a function of the launch and of the wave's own history, so that
/// runs repeat. Private to the emulator.
#pragma once

#include "emulator/bind.h"

#include <cstdint>
#include <string_view>

namespace asmevo::emulator {

/// simm16 of s_getreg and s_setreg (CDNA3 ISA 5.8): id 5:0, offset 10:6, width - 1 in 15:11.
struct HardwareField {
  unsigned id, offset;
  std::uint32_t mask; ///< at bit 0
  explicit HardwareField(std::uint64_t simm16)
      : id(simm16 & 63), offset(simm16 >> 6 & 31),
        mask(static_cast<std::uint32_t>((std::uint64_t{1} << ((simm16 >> 11 & 31) + 1)) - 1)) {}
};

/// How a register of gfx942 is modelled.
struct HardwareRegister {
  unsigned id;
  std::string_view name;
  std::uint32_t (*read)(const Wave&, unsigned accumOffset);
  bool writable = false;    ///< by a user-mode kernel; writes to the others have no effect
  std::string_view meaning; ///< what a read gives
};

/// Null: gfx942 has no such register, or no user-mode kernel can use it.
const HardwareRegister* findHardwareRegister(unsigned id);

/// s_getreg_b32, s_setreg_b32 and s_setreg_imm32_b32.
Status bindHardwareRegister(const isa::Instruction& inst, const BindContext& context, Op& op);

} // namespace asmevo::emulator
