/// Proposals on their way through the cheap gates.
#pragma once

#include "optimize/optimize.h"
#include "optimize/search/pricing.h"
#include "program/analysis/hazards.h"

#include <functional>

namespace asmevo::optimize {

struct Candidate {
  Proposal proposal;
  const Move* move = nullptr;
  std::string form, windowClass; ///< of the window; form: canonical, empty for moves on the whole kernel
  bool standsAlone = false;      ///< its program is not block by block that of its parent: cannot be merged with others
  Bytes bytes;
  std::string hash;                   ///< sha256 of bytes
  std::optional<double> cycles;       ///< modelled; none: cannot be parsed or run
  std::vector<double> perturbedByOne; ///< Pricer::perturbedByOne; empty: not asked for
  std::vector<double> stepSpeedups;   ///< by one workgroup, over the edit before it in a chain, on each perturbed chip
  bool stoppedByOne = false;          ///< its cycles are what one workgroup says
  std::size_t number = 0;             ///< in the order of proposal; breaks ties
};

/// The cheap gates, in front of the whole-grid price: what a candidate has to pass to be worth it.
struct Gates {
  double parentCycles = 0; ///< whole grid, of the program that the candidates are edits of
  /// The same by one workgroup (Pricer::byOne). A candidate that is `slack` of it slower, or no faster without
  /// slack, is given the cycles that the ratio of the two says, and no more work. 0: no such gate.
  double parentByOne = 0;
  std::vector<double> clocks; ///< of the parent, by one workgroup
  double slack = 0;
  /// Kernel whose waits and wait states are looked at. Nothing where the parent has findings of its own, which edits
  /// may carry along: then the verification compares.
  std::optional<std::size_t> lintKernel;
  unsigned accumOffset = 0;
  std::optional<program::HazardTarget> hazards;
};

/// No use that a wait does not cover, no unmet wait states in the kernel. Needs complete instructions.
bool lintsClean(const program::Program& program, std::size_t kernel, unsigned accumOffset,
                std::optional<program::HazardTarget> hazards);

/// lintsClean() of a candidate, where the gates ask for it.
bool passesLint(const Candidate& candidate, const Gates& gates);

/// Fills in `cycles`, of those that fail a gate too: none where the lint does. The result does not depend on `threads`.
/// Returns how many, in their order, were priced before `stop`, which may be empty, said that it is time to end.
std::size_t priceInParallel(const std::vector<Candidate*>& candidates, const Pricer& pricer, const Gates& gates,
                            const std::string& name, unsigned threads, const std::function<bool()>& stop = {});

/// Blocks whose instructions differ between two programs of one shape.
std::vector<program::BlockId> changedBlocks(const program::Program& before, const program::Program& after);

} // namespace asmevo::optimize
