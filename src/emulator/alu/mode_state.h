/// What the MODE register means for an instruction.
#pragma once

#include <cstdint>

namespace asmevo::emulator {

/// MODE bits (CDNA3 ISA, "MODE register").
namespace modebit {
inline constexpr std::uint32_t roundMask = 0xf, round32 = 0x3, round64 = 0xc;
inline constexpr std::uint32_t denormMask = 0xf0, denorm32In = 0x10, denorm32Out = 0x20, denorm64In = 0x40,
                               denorm64Out = 0x80;
inline constexpr std::uint32_t dx10Clamp = 0x100, ieee = 0x200, fp16Ovfl = 1u << 23;
/// FLOAT_MODE values that the fast handlers are built for: everything kept, and f32 denormals flushed.
inline constexpr std::uint32_t keepAll = 0xf0, flush32 = 0xc0;
} // namespace modebit

/// Every flag known only at run time. The f16 and f64 formats share theirs ("64").
struct ModeState {
  bool in32 = false, out32 = false, in64 = false, out64 = false; ///< flush denormal inputs, results
  bool ieee = false, dx10Clamp = false, fp16Ovfl = false;
  bool nearest = true; ///< round mode of the instruction's result is nearest-even

  static ModeState of(std::uint32_t mode) {
    ModeState s;
    s.in32 = !(mode & modebit::denorm32In);
    s.out32 = !(mode & modebit::denorm32Out);
    s.in64 = !(mode & modebit::denorm64In);
    s.out64 = !(mode & modebit::denorm64Out);
    s.ieee = mode & modebit::ieee;
    s.dx10Clamp = mode & modebit::dx10Clamp;
    s.fp16Ovfl = mode & modebit::fp16Ovfl;
    return s;
  }
};

/// Denormal and round flags known when compiling.
template <bool Flush32> struct FixedMode {
  static constexpr bool in32 = Flush32, out32 = Flush32, in64 = false, out64 = false, nearest = true;
  bool ieee = false, dx10Clamp = false, fp16Ovfl = false;

  static FixedMode of(std::uint32_t mode) {
    return {bool(mode & modebit::ieee), bool(mode & modebit::dx10Clamp), bool(mode & modebit::fp16Ovfl)};
  }
};

} // namespace asmevo::emulator
