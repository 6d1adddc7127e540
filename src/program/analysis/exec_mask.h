/// Where EXEC is provably all ones.
///
/// Promises: "full" only where every path sets EXEC to ones in all lanes that vector instructions of the wave look at
/// (s_mov_b64 exec, -1; s_or_saveexec_b64 ..., -1; of 32 lanes the _b32 forms on exec_lo; a saved mask that was full
/// put back) and nothing since changed it. After calls and after words that are not understood nothing is known, nor at
/// entries but where the caller knows that waves start whole.
#pragma once

#include "program/analysis/dataflow.h"

#include <array>
#include <cstdint>
#include <vector>

namespace asmevo::program {

class ExecMask {
 public:
  /// `wholeWaves`: every wave starts at the function's entry with all its lanes on.
  ExecMask(const Program& program, const Function& function, bool wholeWaves = false);

  /// By instruction of a block: does a vector instruction there act on all lanes? (Wave size by what it reads of EXEC.)
  std::vector<bool> fullBefore(BlockId block) const;

 private:
  /// Scalar units (isa::sreg) known to be all ones.
  struct Ones {
    bool reached = false;
    std::array<std::uint64_t, 2> units{};
    bool test(unsigned unit) const { return unit < 128 && ((units[unit >> 6] >> (unit & 63)) & 1) != 0; }
    bool operator==(const Ones&) const = default;
  };
  struct Problem;
  static void step(const isa::Instruction& inst, Ones& ones);

  const Program& program;
  std::vector<Ones> atStart; ///< by block
};

} // namespace asmevo::program
