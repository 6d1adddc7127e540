/// The memory side of one CU: vector L1, scalar cache, its share of L2, Infinity Cache and HBM. Completion times are
/// known at issue: every queue is served in order.
#pragma once

#include "timing/l2_cache.h"
#include "timing/scalar_cache.h"
#include "timing/sharing.h"
#include "timing/vector_l1.h"

#include <vector>

namespace asmevo::timing {

class MemorySystem {
 public:
  MemorySystem(const Parameters& parameters, const TraceSet& traces, const ChipLoad& load);

  /// Room in the vector memory queue for a request of `wave`.
  RequestQueue::Room room(std::uint32_t wave, Clk now) { return vectorL1.room(wave, now); }
  /// Issues a vector access; returns when its counter decrements.
  Clk vector(const PreparedWave& wave, const PreparedAccess& access, Requester who, Clk now);
  /// A vector instruction without active lanes: returns at once, in order.
  Clk emptyVector(Requester who, Clk now) { return vectorL1.empty(who.wave, now); }
  Clk scalar(const PreparedWave& wave, const PreparedAccess& access, Requester who, Clk now);

  Traffic traffic() const;
  double vmemBusyClk() const { return vectorL1.busyClk(); }
  double l2BusyClk() const { return l2.busyClk(); }
  double fabricBusyClk() const { return l2.beyond().fabricBusyClk(); }
  double hbmBusyClk() const { return l2.beyond().hbmBusyClk(); }

 private:
  LineRequest requestOf(const LineRef& line, const PreparedAccess& access, Requester who) const;

  const TraceSet& set;
  Sharing sharing;
  ScalarCache scalarCache;
  VectorL1 vectorL1;
  L2Cache l2;
  Traffic counted;
  std::vector<LineRequest> lines; ///< of the access at hand
};

} // namespace asmevo::timing
