/// Where EXEC is provably all ones.
///
/// Promises: "full" only where every path sets EXEC to ones in all lanes that vector instructions of the wave look at
/// (s_mov_b64 exec, -1; s_or_saveexec_b64 ..., -1; of 32 lanes the _b32 forms on exec_lo) and nothing since changed it.
/// At entries, after calls and after words that are not understood nothing is known.
#pragma once

#include "program/analysis/dataflow.h"

#include <vector>

namespace asmevo::program {

class ExecMask {
 public:
  ExecMask(const Program& program, const Function& function);

  /// By instruction of a block: does a vector instruction there act on all lanes? (Wave size by what it reads of EXEC.)
  std::vector<bool> fullBefore(BlockId block) const;

 private:
  /// Halves of EXEC known to be ones.
  struct Halves {
    bool reached = false, low = false, high = false;
    bool operator==(const Halves&) const = default;
  };
  struct Problem;
  static void step(const isa::Instruction& inst, Halves& halves);

  const Program& program;
  std::vector<Halves> atStart; ///< by block
};

} // namespace asmevo::program
