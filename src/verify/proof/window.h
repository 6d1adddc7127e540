/// One window of a proof: straight code of both sides between two cut points.
#pragma once

#include "verify/proof/equality.h"
#include "verify/proof/relation.h"
#include "verify/proof/sides.h"
#include "verify/proof/symbolic.h"
#include "verify/proof/value_proof.h"

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::verify {

/// Straight code: blocks that follow each other without a choice.
struct Path {
  std::vector<program::BlockId> blocks;
  std::vector<std::pair<const program::Instr*, program::Place>> code; ///< without branches and s_endpgm
  const program::Instr* branch = nullptr;                             ///< the conditional branch at its end
};

struct Window {
  std::array<Side*, 2> side{};
  std::array<Path, 2> path;
  Relation entry;
  bool execIsFull = false;            ///< at the entry, on both sides
  isa::RegSet liveIn;                 ///< K0's at the entry
  std::array<isa::RegSet, 2> liveOut; ///< what either side may still read
};

/// What a window's comparison found.
struct WindowResult {
  ProofStatus status = ProofStatus::unknown;
  std::string reason;
  Relation exit; ///< where proved
  bool branchIsInverted = false;
  bool usedFacts = false; ///< what the code around the window establishes was needed
  bool widensLds = false; ///< equal only where LDS accesses stay inside the allocation
  std::optional<Counterexample> counterexample;
};

WindowResult compareWindow(const Window& window, const ProofOptions& options);

/// Runs both sides from states that the entry relation and the facts allow, until they differ. `model`: an assignment
/// to try first, by entry variable (see entryVariables).
struct SearchInput {
  const Window* window = nullptr;
  std::vector<std::pair<isa::RegUnit, isa::RegUnit>> outputs; ///< K0's and K1's registers that should agree at the end
  const Model* model = nullptr;
  std::vector<Counterexample> kept; ///< tried before all others
  unsigned trials = 0;
  double seconds = std::numeric_limits<double>::infinity(); ///< processor time, at most
  std::uint64_t seed = 0;
  bool branchIsInverted = false;
};
std::optional<Counterexample> findCounterexample(const SearchInput& input, std::string& obstacle, unsigned& conclusive);

/// Number of the variable that each side's register starts as: equal numbers are equal values.
std::array<std::vector<std::uint32_t>, 2> entryVariables(const Relation& relation);

} // namespace asmevo::verify
