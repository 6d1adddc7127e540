/// One XCD's L2 as the modelled CU sees it: its channels, loaded by the other CUs as much as by this one, and this CU's
/// part of the lines.
///
/// A dispatch that writes more than the L2s hold runs most of its time with an L2 full of what it wrote before: the
/// cache starts so.
///
/// Every active CU of the XCD behaves like the modelled one. So a line that s of them ask for while it is there is
/// fetched by one of them: this CU stands for a share 1/s of such lines ("owns" them), keeps tags of those in a cache
/// of its share of the capacity, and finds the others present.
#pragma once

#include "timing/cache_tags.h"
#include "timing/memory_side.h"

#include <array>

namespace asmevo::timing {

class L2Cache {
 public:
  L2Cache(const Parameters& parameters, const ChipLoad& load, const TraceSet& traces);

  struct Reply {
    MemoryLevel level = MemoryLevel::l2;
    double wait = 0; ///< queueing before service, all levels
  };
  Reply access(const LineRequest& request, double now, Traffic& counted);

  double busyClk() const; ///< of the busiest channel
  std::size_t dirtyLines() const { return tags.dirtyLines(); }
  const MemorySide& beyond() const { return memory; }

  static constexpr std::size_t mostChannels = 16;

 private:
  void fillWithEarlierWork(const ChipLoad& load);
  double queueAt(std::size_t channel, const LineRequest& request, double now);

  const Parameters& p;
  const TraceSet& set;
  std::size_t channels, setsPerChannel;
  double cus; ///< that load the channels
  SetAssociativeCache tags;
  BandwidthServer link; ///< between this CU and the L2
  std::array<double, mostChannels> free{}, busy{};
  MemorySide memory;
};

} // namespace asmevo::timing
