/// Vector memory of one CU up to L2: address unit, L1 with its misses in flight, data return.
///
/// - The address unit takes the lanes in groups, one 64-byte block of a group per clk (MemoryAccess::lookups).
/// - A missing line takes its place in L1 when it is asked for; the address unit stands still while the places of lines
///   under way are used up.
/// - Data returns in the order of instructions, a 64-byte sector per clk.
#pragma once

#include "timing/l2_cache.h"
#include "timing/tlb.h"

#include <deque>
#include <span>

namespace asmevo::timing {

class VectorL1 {
 public:
  VectorL1(const Parameters& parameters, const ChipLoad& load, const TraceSet& traces);

  RequestQueue::Room room(std::uint32_t wave, Clk now) { return queue.room(wave, now); }
  /// When the instruction's counter decrements.
  Clk access(const PreparedAccess& access, std::span<const LineRequest> lines, std::span<const LineRef> references,
             std::uint32_t wave, L2Cache& l2, Clk now, Traffic& counted);
  /// An instruction without active lanes: returns at once, in order.
  Clk empty(std::uint32_t wave, Clk now);

  double busyClk() const { return addressBusy; }

 private:
  double loadLine(const LineRequest& request, bool pastL1, L2Cache& l2, double& turn, Traffic& counted);
  Clk load(const PreparedAccess& access, std::span<const LineRequest> lines, double start, double perLine, L2Cache& l2,
           Traffic& counted);
  Clk send(const PreparedAccess& access, std::span<const LineRequest> lines, std::span<const LineRef> references,
           double start, double perLine, L2Cache& l2, Traffic& counted);
  double latencyOf(MemoryLevel level) const;
  double walk(std::uint32_t line, double now, Traffic& counted);

  const Parameters& p;
  const TraceSet& set;
  SetAssociativeCache tags;
  Tlb tlb;
  RequestQueue queue;          ///< instructions until their service starts
  std::deque<double> inFlight; ///< completion of missing lines, oldest first
  std::size_t mostInFlight;
  double addressFree = 0, addressBusy = 0;
  Clk returnFree = 0;
};

} // namespace asmevo::timing
