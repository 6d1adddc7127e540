/// Passes of the matrix instructions (AMD matrix instruction calculator 1.3.2; LLVM SISchedule agrees). 1 pass = 4 clk.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace asmevo::isa {

struct MatrixCost {
  std::uint8_t passes = 0;
  bool xdl = true; ///< false: f32 and f64 inputs, which occupy the VALU as well
};

/// By base mnemonic, gfx942 and the gfx950 forms of the same shapes. nullopt: not a matrix instruction we know.
std::optional<MatrixCost> matrixCost(std::string_view base);

} // namespace asmevo::isa
