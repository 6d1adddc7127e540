/// A program that the search stands on, and everything that is derived from it.
#pragma once

#include "optimize/optimize.h"
#include "optimize/search/candidates.h"
#include "optimize/search/pricing.h"

#include <deque>
#include <set>

namespace asmevo::optimize {

/// A move on a window, or on all of them.
struct Arm {
  const Move* move = nullptr;
  std::vector<HotWindow> windows;
  std::string windowClass;
  std::string form;                 ///< of the window, canonical; empty for moves on the whole kernel
  std::string memo;                 ///< form and what else decides whether the move is of use
  std::vector<std::string> lessons; ///< reasons of its edits that paid on such a window elsewhere
  double stake = 1;
  bool asked = false;
  std::deque<Proposal> queue;
  bool isUseful = false; ///< some candidate was faster, or became a parent
  bool isOver() const { return asked && queue.empty(); }
  /// On a window that matters.
  bool isReshaping() const { return move->reshapes() && stake >= 0.05; }
};

struct View {
  object::CodeObject object;
  std::string hash; ///< sha256 of its bytes
  program::Program program;
  const object::Kernel* kernel = nullptr;
  std::size_t kernelIndex = 0;
  double cycles = 0;
  timing::Estimate profile;
  std::vector<HotWindow> windows;
  std::set<program::BlockId> inLoops;
  Gates gates;
  std::vector<double> perturbedByOne; ///< Pricer::perturbedByOne; empty where workgroups differ
  std::vector<Arm> arms;

  unsigned accumOffset() const { return kernel->descriptor.accumOffset(object.target()); }
};

/// Without arms. `cycles`: its price.
Result<View> viewOf(const Bytes& bytes, const std::string& name, const std::string& kernel, double cycles,
                    isa::Codec& codec, const Pricer& pricer);

} // namespace asmevo::optimize
