#include "isa/semantics/statement.h"

namespace asmevo::isa::semantics {

std::span<const Statement> statement() {
  static constexpr Statement all[] = {
      {"approximate functions",
       "v_rcp, v_rsq, v_sqrt, v_exp, v_log, v_sin and v_cos give the correctly rounded result (f32 and f16: of a value "
       "whose relative error is below 2^-50; v_rsq_f64: but for values within 2^-50 ulp of a tie). The hardware is "
       "documented to about 1 ulp and may differ in the last place, alike for the original and the optimized kernel."},
      {"matrix instructions",
       "MFMA and SMFMAC follow the published bit-accurate model of CDNA3's matrix core (arXiv 2511.10909); denormals "
       "are kept and MODE has no effect."},
      {"dot products", "v_dot2_f32_f16 rounds after each of its two multiply-adds."},
      {"float atomics",
       "Sums are rounded to nearest even. LDS follows MODE's denormal bits; device memory keeps denormals, as LLVM "
       "states for gfx942 (the manual's table says that f32 sums in L2 flush them)."},
      {"16-bit loads", "D16 loads clear the half of the register that they do not fill (registers have ECC on MI300)."},
      {"exceptions", "Floating-point exceptions are not raised and TRAPSTS does not record them."},
      {"identity and time", "HW_ID, XCC_ID and the clocks are functions of the launch and of the instructions "
                            "executed, so that runs repeat."},
  };
  return all;
}

} // namespace asmevo::isa::semantics
