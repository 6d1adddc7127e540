/// Results of a suite: one file for each kernel, tables made of them.
#pragma once

#include "optimize/optimize.h"
#include "support/result.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace asmevo::report {

/// Where a kernel stands under its roofs.
struct RoofPosition {
  std::string resource; ///< the busiest: "HBM", "VALU" ...
  double share = 0;     ///< of its time that it is busy, 0..1
  unsigned wavesPerSimd = 0;
};
RoofPosition roofPosition(const timing::Estimate& estimate);

/// One kernel of one run of a suite. Everything about time is modelled where `modelled` says so.
struct KernelResult {
  std::string suite, kernel, title, k0Sha256, k1Sha256, device, options;
  bool modelled = true;
  double baselineCycles = 0, finalCycles = 0, baselineMicroseconds = 0, finalMicroseconds = 0;
  std::string verdict, finalVerdict; ///< of K1 on the verified cases, and on the final ones; "" where there is no K1
  bool finalOnTimed = true;          ///< the final cases are the timed ones, not such with fewer workgroups
  timing::Bound bound;               ///< of K0, summed over the timed cases; zero where times are measured
  std::vector<double> perturbedSpeedups;
  RoofPosition before, after;
  struct Edit {
    std::string move, reason;
    double speedup = 1;
  };
  std::vector<Edit> edits;
  std::vector<std::string> assumptions;
  std::size_t cases = 0, candidates = 0, rejected = 0;
  double seconds = 0, secondsToNineTenths = 0; ///< of the search; until nine tenths of its gain were there
  std::string error;                           ///< why there is no result

  double speedup() const { return finalCycles > 0 && error.empty() ? baselineCycles / finalCycles : 1; }
  bool verified() const { return error.empty() && (verdict.empty() || verdict == "exact" || verdict == "proved"); }
  bool improved() const { return error.empty() && !verdict.empty() && finalCycles < baselineCycles; }
  /// Within 5 % of K0's bound: there is nothing to be gained but by other memory accesses.
  bool atRoof() const { return error.empty() && bound.cycles > 0 && baselineCycles <= 1.05 * bound.cycles; }
  /// Perturbed chips on which K1 is slower than K0.
  std::size_t signChanges() const;
};

nlohmann::json resultJson(const KernelResult& result);
/// Errors: missing or mistyped entries.
Result<KernelResult> parseResult(const nlohmann::json& file, const std::string& name);

struct Summary {
  std::size_t kernels = 0, verified = 0, improved = 0, atRoof = 0, failed = 0;
  double geometricMean = 1, maximum = 1;
};
Summary summarise(std::span<const KernelResult> results);
nlohmann::json summaryJson(const Summary& summary);

/// All results of a folder that `asmevo bench` wrote, by kernel name.
Result<std::vector<KernelResult>> loadResults(const std::string& folder);

/// The page docs/results.md: a table for each suite.
std::string resultsPage(std::span<const KernelResult> results);

} // namespace asmevo::report
