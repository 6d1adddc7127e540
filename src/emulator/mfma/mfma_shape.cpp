#include "emulator/mfma/mfma_shape.h"

#include <algorithm>
#include <array>

namespace asmevo::emulator::mfma {

namespace {

using enum Element;

// Source of rows and of the modifiers allowed: AMD matrix instruction calculator, architecture CDNA3; names as LLVM 22
// prints them for gfx942.
//   mnemonic                       A     B     side  k  blocks sparse cbsz  blgp
constexpr auto table = std::to_array<Shape>({
    {"v_mfma_f32_32x32x1_2b_f32", f32, f32, 32, 1, 2, false, true, true},
    {"v_mfma_f32_16x16x1_4b_f32", f32, f32, 16, 1, 4, false, true, true},
    {"v_mfma_f32_4x4x1_16b_f32", f32, f32, 4, 1, 16, false, true, true},
    {"v_mfma_f32_32x32x2_f32", f32, f32, 32, 2, 1, false, false, true},
    {"v_mfma_f32_16x16x4_f32", f32, f32, 16, 4, 1, false, false, true},
    {"v_mfma_f32_16x16x8_xf32", xf32, xf32, 16, 8, 1, false, false, false},
    {"v_mfma_f32_32x32x4_xf32", xf32, xf32, 32, 4, 1, false, false, false},
    {"v_mfma_f32_32x32x4_2b_f16", f16, f16, 32, 4, 2, false, true, true},
    {"v_mfma_f32_16x16x4_4b_f16", f16, f16, 16, 4, 4, false, true, true},
    {"v_mfma_f32_4x4x4_16b_f16", f16, f16, 4, 4, 16, false, true, true},
    {"v_mfma_f32_32x32x8_f16", f16, f16, 32, 8, 1, false, false, false},
    {"v_mfma_f32_16x16x16_f16", f16, f16, 16, 16, 1, false, false, false},
    {"v_mfma_f32_32x32x4_2b_bf16", bf16, bf16, 32, 4, 2, false, true, true},
    {"v_mfma_f32_16x16x4_4b_bf16", bf16, bf16, 16, 4, 4, false, true, true},
    {"v_mfma_f32_4x4x4_16b_bf16", bf16, bf16, 4, 4, 16, false, true, true},
    {"v_mfma_f32_32x32x8_bf16", bf16, bf16, 32, 8, 1, false, false, false},
    {"v_mfma_f32_16x16x16_bf16", bf16, bf16, 16, 16, 1, false, false, false},
    {"v_mfma_i32_32x32x4_2b_i8", i8, i8, 32, 4, 2, false, true, true},
    {"v_mfma_i32_16x16x4_4b_i8", i8, i8, 16, 4, 4, false, true, true},
    {"v_mfma_i32_4x4x4_16b_i8", i8, i8, 4, 4, 16, false, true, true},
    {"v_mfma_i32_32x32x16_i8", i8, i8, 32, 16, 1, false, false, false},
    {"v_mfma_i32_16x16x32_i8", i8, i8, 16, 32, 1, false, false, false},
    {"v_mfma_f32_16x16x32_bf8_bf8", bf8, bf8, 16, 32, 1, false, false, false},
    {"v_mfma_f32_16x16x32_bf8_fp8", bf8, fp8, 16, 32, 1, false, false, false},
    {"v_mfma_f32_16x16x32_fp8_bf8", fp8, bf8, 16, 32, 1, false, false, false},
    {"v_mfma_f32_16x16x32_fp8_fp8", fp8, fp8, 16, 32, 1, false, false, false},
    {"v_mfma_f32_32x32x16_bf8_bf8", bf8, bf8, 32, 16, 1, false, false, false},
    {"v_mfma_f32_32x32x16_bf8_fp8", bf8, fp8, 32, 16, 1, false, false, false},
    {"v_mfma_f32_32x32x16_fp8_bf8", fp8, bf8, 32, 16, 1, false, false, false},
    {"v_mfma_f32_32x32x16_fp8_fp8", fp8, fp8, 32, 16, 1, false, false, false},
    {"v_mfma_f64_16x16x4_f64", f64, f64, 16, 4, 1, false, false, false},
    {"v_mfma_f64_4x4x4_4b_f64", f64, f64, 4, 4, 4, false, false, false},
    {"v_smfmac_f32_16x16x32_f16", f16, f16, 16, 32, 1, true, true, false},
    {"v_smfmac_f32_32x32x16_f16", f16, f16, 32, 16, 1, true, true, false},
    {"v_smfmac_f32_16x16x32_bf16", bf16, bf16, 16, 32, 1, true, true, false},
    {"v_smfmac_f32_32x32x16_bf16", bf16, bf16, 32, 16, 1, true, true, false},
    {"v_smfmac_i32_16x16x64_i8", i8, i8, 16, 64, 1, true, true, false},
    {"v_smfmac_i32_32x32x32_i8", i8, i8, 32, 32, 1, true, true, false},
    {"v_smfmac_f32_16x16x64_bf8_bf8", bf8, bf8, 16, 64, 1, true, true, false},
    {"v_smfmac_f32_16x16x64_bf8_fp8", bf8, fp8, 16, 64, 1, true, true, false},
    {"v_smfmac_f32_16x16x64_fp8_bf8", fp8, bf8, 16, 64, 1, true, true, false},
    {"v_smfmac_f32_16x16x64_fp8_fp8", fp8, fp8, 16, 64, 1, true, true, false},
    {"v_smfmac_f32_32x32x32_bf8_bf8", bf8, bf8, 32, 32, 1, true, true, false},
    {"v_smfmac_f32_32x32x32_bf8_fp8", bf8, fp8, 32, 32, 1, true, true, false},
    {"v_smfmac_f32_32x32x32_fp8_bf8", fp8, bf8, 32, 32, 1, true, true, false},
    {"v_smfmac_f32_32x32x32_fp8_fp8", fp8, fp8, 32, 32, 1, true, true, false},
});

} // namespace

std::span<const Shape> shapes() {
  return table;
}

const Shape* findShape(std::string_view mnemonic) {
  const auto it = std::ranges::find(table, mnemonic, &Shape::mnemonic);
  return it == table.end() ? nullptr : &*it;
}

} // namespace asmevo::emulator::mfma
