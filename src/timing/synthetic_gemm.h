/// The MI300X GEMM main loop that AMD traced (ROCm/gfx950-gluon-tutorials, kernels/gemm/gfx942/intra_wave), rebuilt
/// from its published instruction counts, order, layouts and waits: 256x256x64 f16 tile, four waves, one per SIMD. One
/// iteration holds 256 v_mfma_f32_16x16x16_f16, 32 ds_read_b128, 16 ds_write_b128 and 16 buffer_load_dwordx4.
#pragma once

#include "timing/synthetic.h"

#include <string>
#include <string_view>
#include <vector>

namespace asmevo::timing {

/// One iteration, written as tokens of a letter and a number: M mfma, R ds_read_b128, W ds_write_b128,
/// G buffer_load_dwordx4, S scalar instruction (a count of each); B barrier; l lgkmcnt, v vmcnt (the number awaited).
/// The loop's branch is added at the end.
struct GemmLoop {
  std::string order;
  /// LDS swizzle: rows per phase. 2, as traced, makes every read a two-way conflict; 1 none. Writes have none.
  unsigned swizzleRows = 2;
};

/// The traced variants.
GemmLoop gemmBaseline(); ///< as compiled: memory operations in clumps, 5877 clk
GemmLoop gemmSpread();   ///< opt1: two MFMA after each LDS access, four after each load, 5343 clk
GemmLoop gemmParked();   ///< opt2: surplus MFMA between a region's last read and first write, 4874 clk
GemmLoop gemmDrained();  ///< opt3: two barriers instead of three, fine lgkmcnt, 357 instructions, 4601 clk
GemmLoop gemmPartial();  ///< opt5: vmcnt 15, 13, 12 in place of 3, 1, 0, 4622 clk
/// The loop without the instructions of these letters.
GemmLoop without(GemmLoop loop, std::string_view letters);

/// Clk of a steady iteration, loads served by the Infinity Cache (the matrices, 148 MB, fit). Errors: a token that is
/// none, a statement that does not assemble.
Result<double> gemmClkPerIteration(const Chip& chip, isa::Codec& codec, const GemmLoop& loop);

/// A replay of `iterations` and the statements of one iteration.
struct GemmReplay {
  Replay replay;
  std::string letters; ///< by statement of an iteration
};
Result<GemmReplay> replayGemm(const Chip& chip, isa::Codec& codec, const GemmLoop& loop, unsigned iterations);

} // namespace asmevo::timing
