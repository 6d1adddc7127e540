#include "optimize/repair.h"

#include "optimize/moves/move_support.h"
#include "program/analysis/hazards.h"
#include "program/analysis/soft_clauses.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace asmevo::optimize {

namespace {

/// Addresses of producer and consumer, and the rule between them.
using Pair = std::tuple<std::uint64_t, std::uint64_t, program::HazardRule>;

Pair pairOf(const program::Program& program, const program::HazardFinding& finding) {
  const auto address = [&](const program::Place& place) {
    return program.blocks[place.block].instrs[place.index].address;
  };
  return {address(finding.producer), address(finding.consumer), finding.rule};
}

program::HazardTarget targetOf(const MoveContext& context) {
  return program::hazardTargetOf(context.object.target()).value_or(program::HazardTarget::strictest);
}

/// How near K0 itself puts a pair that is nearer than the tables allow. Shipped kernels do that in thousands of places.
std::map<Pair, unsigned> toleratedPairs(const program::Program& program, const program::Function& function,
                                        const MoveContext& context) {
  std::map<Pair, unsigned> tolerated;
  for (const auto& finding : program::unmetWaitStates(program, function, context.accumOffset, targetOf(context),
                                                      program::HazardScope::withLlvm))
    tolerated.emplace(pairOf(program, finding), finding.present);
  return tolerated;
}

/// Inserts an s_nop in front of each instruction at `places`, which are positions of `program` as it is.
bool insertNops(program::Program& program,
                const std::map<std::pair<program::BlockId, std::size_t>, unsigned, std::greater<>>& places,
                isa::Codec& codec) {
  for (const auto& [place, states] : places)
    for (unsigned left = states; left > 0;) {
      const unsigned now = std::min(left, 8u);
      auto nop = codec.assemble(fmt::format("s_nop {}", now - 1));
      if (!nop)
        return false;
      program::Instr instr;
      instr.inst = codec.complete(*nop);
      auto& instrs = program.blocks[place.first].instrs;
      instrs.insert(instrs.begin() + static_cast<std::ptrdiff_t>(place.second), instr);
      left -= now;
    }
  return true;
}

std::set<std::pair<std::uint64_t, std::uint64_t>>
clauseConflicts(const program::Program& program, const program::Function& function, unsigned accumOffset) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> conflicts;
  for (const auto& finding : program::softClauseConflicts(program, function, accumOffset))
    conflicts.emplace(program.blocks[finding.first.block].instrs[finding.first.index].address,
                      program.blocks[finding.second.block].instrs[finding.second.index].address);
  return conflicts;
}

/// Soft clauses that K0 keeps apart stay apart, unless the object is for devices without XNACK.
bool repairSoftClauses(const program::Program& original, program::Program& edited, const MoveContext& context) {
  if (context.object.target().xnack == object::Feature::off)
    return true;
  const auto known = clauseConflicts(original, *kernelFunction(original, context), context.accumOffset);
  std::map<std::pair<program::BlockId, std::size_t>, unsigned, std::greater<>> places;
  for (const auto& finding :
       program::softClauseConflicts(edited, *kernelFunction(edited, context), context.accumOffset)) {
    const auto& instrs = edited.blocks[finding.second.block].instrs;
    const std::uint64_t first = instrs[finding.first.index].address, second = instrs[finding.second.index].address;
    if (second == program::noAddress || !known.contains({first, second}))
      places[{finding.second.block, finding.second.index}] = 1;
  }
  return insertNops(edited, places, context.codec);
}

} // namespace

bool repairWaitStates(const program::Program& original, program::Program& edited, const MoveContext& context) {
  const program::Function* before = kernelFunction(original, context);
  if (!before || !kernelFunction(edited, context))
    return false;
  if (!repairSoftClauses(original, edited, context))
    return false;
  const auto tolerated = toleratedPairs(original, *before, context);
  // Every round moves consumers away and never nearer; a chain of hazards settles in a few.
  for (int round = 0; round < 32; ++round) {
    std::map<std::pair<program::BlockId, std::size_t>, unsigned, std::greater<>> missing;
    for (const auto& finding : program::unmetWaitStates(edited, *kernelFunction(edited, context), context.accumOffset,
                                                        targetOf(context), program::HazardScope::withLlvm)) {
      const Pair pair = pairOf(edited, finding);
      const auto known = tolerated.find(pair);
      const bool inserted = std::get<0>(pair) == program::noAddress || std::get<1>(pair) == program::noAddress;
      if (known != tolerated.end() && !inserted && finding.present >= known->second)
        continue;
      auto& states = missing[{finding.consumer.block, finding.consumer.index}];
      states = std::max(states, finding.needed - finding.present);
    }
    if (missing.empty())
      return true;
    if (!insertNops(edited, missing, context.codec))
      return false;
  }
  return false;
}

} // namespace asmevo::optimize
