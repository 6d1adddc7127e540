/// What the workgroups of a dispatch do, as far as a few traced ones tell: which are alike, and which of those an
/// untraced workgroup resembles.
#pragma once

#include "timing/timing.h"
#include "timing/trace_set.h"

#include <array>
#include <cstdint>
#include <vector>

namespace asmevo::timing {

/// A workgroup's demand on each unit, in clk of one wave after the other: what makes workgroups alike, not a run time.
struct Demand {
  /// VALU, matrix, scalar and branches, vector memory, LDS, the rest.
  std::array<double, 6> clk{};
  double total() const;
  /// Largest difference of a unit, as a share of the larger total.
  double distance(const Demand& other) const;
};

class Behaviours {
 public:
  /// `grid`: workgroups per dimension, dispatch index running over x first.
  static Behaviours find(const TraceSet& set, const std::vector<StaticInst>& code,
                         const std::array<std::uint64_t, 3>& grid, const Parameters& parameters);

  std::size_t count() const { return members.size(); }
  /// Traces of a behaviour, ascending dispatch index; the first stands for it.
  const std::vector<unsigned>& tracesOf(unsigned behaviour) const { return members[behaviour]; }
  unsigned ofTrace(unsigned trace) const { return classes[trace]; }
  const Demand& demand(unsigned trace) const { return demands[trace]; }
  /// The trace that stands for any workgroup: the traced one next to it, along the dimensions in which behaviour
  /// changes at all. A last workgroup of a dimension (a ragged tile) is next to last ones only.
  unsigned traceFor(std::uint64_t workgroup) const {
    return members.size() < 2 ? 0 : nearest(workgroup, indices.size());
  }
  /// Share of the grid that each trace stands for, from up to some thousand evenly spread workgroups.
  const std::vector<double>& shares() const { return traceShares; }
  /// How far the mean demand may be off, relative: what the traced workgroups say of each other.
  double uncertainty() const;

 private:
  void findVarying();
  void findShares();
  unsigned nearest(std::uint64_t workgroup, std::size_t except) const; ///< trace

  std::array<std::uint64_t, 3> dims{1, 1, 1};
  std::uint64_t workgroups = 1;
  std::array<bool, 3> varies{};
  std::vector<std::uint64_t> indices; ///< by trace
  std::vector<unsigned> classes;
  std::vector<Demand> demands;
  std::vector<std::vector<unsigned>> members;
  std::vector<double> traceShares;
};

/// True when the traced workgroups differ enough that more should be looked at: by path lengths and memory accesses.
bool differ(const std::vector<emulator::WorkgroupTrace>& traces);

} // namespace asmevo::timing
