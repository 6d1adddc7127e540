/// Who reads what a load brings, and whether it may come in other registers.
#pragma once

#include "isa/registers.h"
#include "optimize/optimize.h"
#include "program/analysis/dataflow.h"

#include <optional>
#include <vector>

namespace asmevo::optimize {

struct LoadUses {
  struct Operand {
    program::Place place;
    std::size_t operand = 0;
  };
  std::vector<Operand> operands;
  std::vector<program::BlockId> blocks; ///< where the value is alive, those of the uses included
};

/// All operands that read what the load at `load` wrote into `units`, where they read nothing else, in lanes that the
/// load had on (`full`: it has all). Nothing if some use sees another value on some path, reads lanes apart, changes
/// the register in place, or stands between `to` and the load, where the load will have written already.
std::optional<LoadUses> usesOfLoad(const program::Program& program, const program::Function& function,
                                   program::Place load, program::Place to, const isa::RegSet& units, bool full,
                                   unsigned accumOffset);

} // namespace asmevo::optimize
