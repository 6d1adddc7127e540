/// Passes of the matrix instructions: the one table for timing, scheduling and hazards (AMD matrix instruction
/// calculator 1.3.2; LLVM SISchedule agrees). 1 pass = 4 clk.
#pragma once

#include "isa/instruction.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace asmevo::isa {

struct MatrixCost {
  std::uint8_t passes = 0;
  bool xdl = true; ///< false: f32 and f64 inputs, which occupy the VALU as well
};

/// Matrix cores that differ in their pass counts.
enum class MatrixCore : std::uint8_t { gfx908, gfx90a, gfx940, gfx950 };

/// By processor name ("gfx942", "gfx9-4-generic": as gfx940). nullopt: no MFMA there.
std::optional<MatrixCore> matrixCoreOf(std::string_view processor);

/// By base mnemonic, in either spelling ("v_mfma_f32_32x32x8_f16", gfx90a's "v_mfma_f32_32x32x8f16"). nullopt: not a
/// matrix instruction of that core. V_MFMA_*_F8F6F4, whose passes depend on its formats, counts as its slowest.
std::optional<MatrixCost> matrixCost(std::string_view base, MatrixCore core = MatrixCore::gfx940);

/// The same of one instruction, formats of F8F6F4 considered.
std::optional<MatrixCost> matrixCost(const Instruction& inst, MatrixCore core = MatrixCore::gfx940);

} // namespace asmevo::isa
