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

/// Instructions of a function by address.
std::map<std::uint64_t, isa::InstRef> instructionsOf(const program::Program& program,
                                                     const program::Function& function) {
  std::map<std::uint64_t, isa::InstRef> result;
  for (const program::BlockId id : function.blocks)
    for (const program::Instr& instr : program.blocks[id].instrs)
      if (instr.address != program::noAddress)
        result.emplace(instr.address, instr.inst);
  return result;
}

/// Is the instruction what K0 has at its address? What K0 does wrong is forgiven to the same words only: the gate
/// knows findings by their text.
bool isUnchanged(const program::Program& edited, const program::Place& place,
                 const std::map<std::uint64_t, isa::InstRef>& original) {
  const program::Instr& instr = edited.blocks[place.block].instrs[place.index];
  const auto at = original.find(instr.address);
  return at != original.end() && at->second == instr.inst;
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

/// Wait states to put in front of instructions, which are named by their places before any insertion; last place first.
using Insertions = std::map<std::pair<program::BlockId, std::size_t>, unsigned, std::greater<>>;

/// Those of `insertions` that lie between the two of a finding, in the consumer's block at least.
unsigned statesBetween(const Insertions& insertions, const program::HazardFinding& finding) {
  const bool sameBlock =
      finding.producer.block == finding.consumer.block && finding.producer.index < finding.consumer.index;
  unsigned states = 0;
  for (auto at = insertions.lower_bound({finding.consumer.block, finding.consumer.index});
       at != insertions.end() && at->first.first == finding.consumer.block; ++at)
    if (!sameBlock || at->first.second > finding.producer.index)
      states += at->second;
  return states;
}

bool insertNops(program::Program& program, const Insertions& places, isa::Codec& codec) {
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
  const auto words = instructionsOf(original, *kernelFunction(original, context));
  Insertions places;
  for (const auto& finding :
       program::softClauseConflicts(edited, *kernelFunction(edited, context), context.accumOffset)) {
    const auto& instrs = edited.blocks[finding.second.block].instrs;
    const std::uint64_t first = instrs[finding.first.index].address, second = instrs[finding.second.index].address;
    if (!known.contains({first, second}) || !isUnchanged(edited, finding.first, words) ||
        !isUnchanged(edited, finding.second, words))
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
  const auto words = instructionsOf(original, *before);
  // Every round moves consumers away and never nearer; a chain of hazards settles in a few.
  for (int round = 0; round < 32; ++round) {
    auto findings = program::unmetWaitStates(edited, *kernelFunction(edited, context), context.accumOffset,
                                             targetOf(context), program::HazardScope::withLlvm);
    std::ranges::sort(findings, {},
                      [](const auto& finding) { return std::pair(finding.consumer.block, finding.consumer.index); });
    Insertions missing;
    for (const auto& finding : findings) {
      const Pair pair = pairOf(edited, finding);
      const auto known = tolerated.find(pair);
      const bool same = isUnchanged(edited, finding.producer, words) && isUnchanged(edited, finding.consumer, words);
      if (known != tolerated.end() && same && finding.present >= known->second)
        continue;
      const unsigned present = finding.present + statesBetween(missing, finding);
      if (present < finding.needed)
        missing[{finding.consumer.block, finding.consumer.index}] += finding.needed - present;
    }
    if (missing.empty())
      return true;
    if (!insertNops(edited, missing, context.codec))
      return false;
  }
  return false;
}

bool hasUnmetWaitStates(const program::Program& program, const MoveContext& context) {
  const program::Function* function = kernelFunction(program, context);
  return !function || !program::unmetWaitStates(program, *function, context.accumOffset, targetOf(context),
                                                program::HazardScope::withLlvm)
                           .empty();
}

} // namespace asmevo::optimize
