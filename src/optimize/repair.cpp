#include "optimize/repair.h"

#include "optimize/moves/move_support.h"
#include "program/analysis/hazards.h"

#include <algorithm>
#include <map>

namespace asmevo::optimize {

namespace {

using Pair = std::pair<std::uint64_t, std::uint64_t>; ///< addresses of producer and consumer

/// How near K0 itself puts a pair that is nearer than the tables allow. Shipped kernels do that in thousands of places.
std::map<Pair, unsigned> toleratedPairs(const program::Program& program, const program::Function& function,
                                        unsigned accumOffset) {
  std::map<Pair, unsigned> tolerated;
  for (const auto& hazard : program::findHazards(program, function, accumOffset)) {
    const auto& consumer = program.blocks[hazard.block].instrs[hazard.index];
    const auto [it, isNew] = tolerated.try_emplace({hazard.producer->address, consumer.address}, hazard.present);
    if (!isNew)
      it->second = std::min(it->second, hazard.present);
  }
  return tolerated;
}

} // namespace

bool repairWaitStates(const program::Program& original, program::Program& edited, const MoveContext& context) {
  const program::Function* before = kernelFunction(original, context);
  if (!before || !kernelFunction(edited, context))
    return false;
  const auto tolerated = toleratedPairs(original, *before, context.accumOffset);
  // Every round moves consumers away and never nearer; a chain of hazards settles in a few.
  for (int round = 0; round < 32; ++round) {
    std::map<std::pair<program::BlockId, std::size_t>, unsigned, std::greater<>> missing;
    for (const auto& hazard : program::findHazards(edited, *kernelFunction(edited, context), context.accumOffset)) {
      const auto& consumer = edited.blocks[hazard.block].instrs[hazard.index];
      const auto known = tolerated.find({hazard.producer->address, consumer.address});
      if (known != tolerated.end() && consumer.address != program::noAddress && hazard.present >= known->second)
        continue;
      auto& states = missing[{hazard.block, hazard.index}];
      states = std::max(states, hazard.required - hazard.present);
    }
    if (missing.empty())
      return true;
    for (const auto& [place, states] : missing) {
      auto& instrs = edited.blocks[place.first].instrs;
      for (unsigned left = states; left > 0;) {
        const unsigned now = std::min(left, 8u);
        auto nop = context.codec.assemble(fmt::format("s_nop {}", now - 1));
        if (!nop)
          return false;
        program::Instr instr;
        instr.inst = context.codec.complete(*nop);
        instrs.insert(instrs.begin() + static_cast<std::ptrdiff_t>(place.second), instr);
        left -= now;
      }
    }
  }
  return false;
}

} // namespace asmevo::optimize
