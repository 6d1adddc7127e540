#include "optimize/search/candidates.h"

#include "program/analysis/wait_lint.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace asmevo::optimize {

bool lintsClean(const program::Program& program, std::size_t kernel, unsigned accumOffset,
                std::optional<program::HazardTarget> hazards) {
  const program::Function* function = program.functionOf(kernel);
  if (!function)
    return true;
  if (!program::uncoveredUses(program, *function, accumOffset).empty())
    return false;
  return !hazards || program::unmetWaitStates(program, *function, accumOffset, *hazards).empty();
}

bool passesLint(const Candidate& candidate, const Gates& gates) {
  if (!gates.lintKernel)
    return true;
  const program::Program& edited = candidate.proposal.program;
  unsigned accumOffset = gates.accumOffset;
  if (const auto resources = edited.resources.find(*gates.lintKernel); resources != edited.resources.end())
    accumOffset = resources->second.accumOffset.value_or(accumOffset);
  return lintsClean(edited, *gates.lintKernel, accumOffset, gates.hazards);
}

namespace {

/// Cheapest first. None: cannot be run, or is wrong.
std::optional<double> priceOf(Candidate& candidate, const Pricer& pricer, const Gates& gates, const std::string& name) {
  const auto object = object::CodeObject::parse(candidate.bytes, name);
  if (!object)
    return {};
  if (gates.parentByOne > 0) {
    const auto byOne = pricer.byOne(*object, gates.clocks);
    if (!byOne)
      return {};
    const double ratio = byOne->cycles / gates.parentByOne;
    if (gates.slack > 0 ? ratio > 1 + gates.slack : ratio >= 1) {
      candidate.stoppedByOne = true;
      return gates.parentCycles * ratio;
    }
  }
  if (!passesLint(candidate, gates))
    return {};
  const auto cycles = pricer.cycles(*object);
  return cycles ? std::optional(*cycles) : std::nullopt;
}

} // namespace

std::size_t priceInParallel(const std::vector<Candidate*>& candidates, const Pricer& pricer, const Gates& gates,
                            const std::string& name, unsigned threads, const std::function<bool()>& stop) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    while (!stop || !stop()) {
      const std::size_t i = next++;
      if (i >= candidates.size())
        return;
      candidates[i]->cycles = priceOf(*candidates[i], pricer, gates, name);
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min<std::size_t>(threads, candidates.size()); ++t)
      others.emplace_back(work);
    work();
  }
  return std::min<std::size_t>(next, candidates.size());
}

std::vector<program::BlockId> changedBlocks(const program::Program& before, const program::Program& after) {
  std::vector<program::BlockId> changed;
  for (program::BlockId id = 0; id < before.blocks.size(); ++id)
    if (!std::ranges::equal(before.blocks[id].instrs, after.blocks[id].instrs,
                            [](const program::Instr& a, const program::Instr& b) { return a.inst == b.inst; }))
      changed.push_back(id);
  return changed;
}

} // namespace asmevo::optimize
