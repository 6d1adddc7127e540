/// Beyond L2: the XCD's way to the fabric, the Infinity Cache and HBM, as shares of one CU.
#pragma once

#include "timing/bandwidth.h"
#include "timing/chip_load.h"
#include "timing/memory_requests.h"
#include "timing/parameters.h"
#include "timing/traffic.h"

#include <vector>

namespace asmevo::timing {

class MemorySide {
 public:
  struct Reply {
    MemoryLevel level = MemoryLevel::mall;
    /// Clk beyond an Infinity Cache or HBM access that nothing is in the way of.
    double extra = 0;
  };

  MemorySide(const Parameters& parameters, const ChipLoad& load, std::size_t lineCount);

  Reply read(const LineRequest& request, double now, Traffic& counted);
  /// A write-back or a store that L2 does not keep; returns the clk it waits.
  double write(double now, double bytes, Traffic& counted);

  double fabricBusyClk() const { return fabric.busyClk(); }
  double hbmBusyClk() const { return hbm.busyClk(); }

 private:
  bool inMall(const LineRequest& request);

  const Parameters& p;
  ChipLoad chip;
  BandwidthServer fabric;
  BatchServer hbm;
  double chipBytes = 0; ///< that have gone through the Infinity Cache, all CUs
  struct Fetched {
    std::uint64_t tag = ~std::uint64_t{0};
    double chipBytes = 0; ///< at that time
  };
  std::vector<Fetched> last; ///< by line: this CU's latest fetch
};

} // namespace asmevo::timing
