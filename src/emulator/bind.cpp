#include "emulator/bind.h"

#include "emulator/launch.h"

#include <bit>
#include <optional>

namespace asmevo::emulator {

SimdLevel bestSimdLevel() {
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512cd");
  const bool narrow = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
  return !narrow ? SimdLevel::scalar : wide ? SimdLevel::avx512 : SimdLevel::avx2;
}

std::vector<SimdLevel> hostSimdLevels() {
  std::vector<SimdLevel> levels{SimdLevel::scalar};
  for (const SimdLevel level : {SimdLevel::avx2, SimdLevel::avx512})
    if (level <= bestSimdLevel())
      levels.push_back(level);
  return levels;
}

namespace {

/// Bits of an inline float constant. 0.15915494 (1 / 2 pi) is rounded to each format by the hardware's table.
std::uint64_t floatConstant(double value, ConstType type) {
  const bool inverseTwoPi = value > 0.159 && value < 0.16;
  const auto half = [&]() -> std::uint64_t {
    if (inverseTwoPi)
      return 0x3118;
    const std::uint64_t wide = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t sign = wide >> 63 << 15;
    // The others are powers of two: only the exponent moves.
    return value == 0 ? sign : sign | ((wide >> 52 & 0x7ff) - 1023 + 15) << 10;
  };
  switch (type) {
  case ConstType::f16:
  case ConstType::b16:
  case ConstType::pk16:
    return half();
  case ConstType::bf16:
    return inverseTwoPi ? 0x3e22 : std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
  case ConstType::f64:
  case ConstType::b64:
  case ConstType::u64:
    return inverseTwoPi ? 0x3fc45f306dc9c882 : std::bit_cast<std::uint64_t>(value);
  case ConstType::b32:
  case ConstType::f32:
  case ConstType::pkF32:
    break;
  }
  return inverseTwoPi ? 0x3e22f983 : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

/// Scalar sources that are constants of a dispatch: apertures (a 64-bit read gives the address; a 32-bit one its low
/// half, whatever the name suggests: LLVM SIISelLowering on src_shared_base) and what a user-mode kernel sees of trap
/// temporaries (0: CDNA3 ISA 3.10).
std::optional<std::uint64_t> constantRegister(unsigned index) {
  constexpr unsigned sharedBaseCode = 235, sharedLimitCode = 236, privateBaseCode = 237, privateLimitCode = 238,
                     popsExitingWaveIdCode = 239;
  constexpr std::uint64_t apertureBytes = std::uint64_t{1} << 32;
  switch (index) {
  case sharedBaseCode:
    return sharedBase;
  case sharedLimitCode:
    return sharedBase + apertureBytes - 1;
  case privateBaseCode:
    return privateBase;
  case privateLimitCode:
    return privateBase + apertureBytes - 1;
  case popsExitingWaveIdCode:
    return 0;
  default:
    return index >= isa::sreg::ttmp0 && index < isa::sreg::m0 ? std::optional<std::uint64_t>(0) : std::nullopt;
  }
}

std::uint64_t integerConstant(std::int64_t value, bool isLiteral, ConstType type) {
  const auto bits = static_cast<std::uint64_t>(value);
  switch (type) {
  case ConstType::f64:
    // A literal is the upper half of the number; an inline integer is its bits.
    return isLiteral ? bits << 32 : bits;
  case ConstType::b64:
    return isLiteral ? bits & 0xffffffff : bits;
  case ConstType::u64:
    return isLiteral ? static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits))) : bits;
  default:
    return bits & 0xffffffff;
  }
}

} // namespace

Src bindSource(const isa::Operand& operand, ConstType type, const BindContext& context) {
  Src src;
  src.dwords = operand.dwords;
  src.neg = operand.neg;
  src.abs = operand.abs;
  src.sext = operand.sext;
  src.reg = operand.index;
  switch (operand.kind) {
  case isa::OperandKind::vgpr:
    src.kind = SrcKind::vgpr;
    break;
  case isa::OperandKind::agpr:
    src.kind = SrcKind::vgpr;
    src.reg = static_cast<std::uint16_t>(operand.index + context.accumOffset);
    break;
  case isa::OperandKind::sgpr:
    src.kind = SrcKind::sgpr;
    if (const auto value = constantRegister(operand.index)) {
      src.kind = SrcKind::constant;
      src.constant =
          type == ConstType::b64 || type == ConstType::u64 || type == ConstType::f64 ? *value : *value & 0xffffffff;
    }
    break;
  case isa::OperandKind::imm:
    src.kind = SrcKind::constant;
    src.constant = integerConstant(operand.imm, operand.imm < -16 || operand.imm > 64, type);
    break;
  case isa::OperandKind::fpImm:
    src.kind = SrcKind::constant;
    src.constant = floatConstant(operand.fp, type);
    break;
  case isa::OperandKind::off:
  case isa::OperandKind::hwreg:
  case isa::OperandKind::other:
    break;
  }
  return src;
}

} // namespace asmevo::emulator
