/// Which move to try on which kind of window next.
#pragma once

#include "dispatch/random.h"
#include "optimize/optimize.h"

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace asmevo::optimize {

/// Where a window's time goes, in a few words that mean the same in every kernel: "loop waitVm mfma". Windows of one
/// class are alike in what helps them.
std::string windowClass(const program::Program& program, const HotWindow& window, bool inLoop);

/// Thompson sampling over (window class, move): each arm's chance of a gain has a Beta distribution, from its own pulls
/// and from a prior that earlier searches left; the arm whose draw, times what is at stake, is highest is pulled.
class Bandit {
 public:
  Bandit(std::uint64_t seed, std::size_t arms) : random(seed), optimism(1.0 / static_cast<double>(arms + 1)) {}

  /// Pulls of earlier searches count as much as at most `weight` pulls of this one.
  void prior(const std::string& windowClass, const std::string& move, double pulls, double gains);
  void record(const std::string& windowClass, const std::string& move, bool gained);
  /// The chance of a gain that the counts give.
  double mean(const std::string& windowClass, const std::string& move) const;

  struct Choice {
    std::string windowClass, move;
    double stake = 1; ///< share of the time that a gain would touch
  };
  /// Index of the choice to pull; `choices` is not empty.
  std::size_t choose(std::span<const Choice> choices);

 private:
  static constexpr double weight = 8;
  struct Arm {
    double gains = 0, failures = 0;
  };
  double sample(const Arm& arm);
  double gammaDraw(double shape);
  double uniform();

  std::map<std::pair<std::string, std::string>, Arm> arms;
  dispatch::SplitMix64 random;
  double optimism;
};

} // namespace asmevo::optimize
