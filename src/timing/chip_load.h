/// What the modelled CU is told of the rest of the chip.
#pragma once

#include <cstdint>

namespace asmevo::timing {

/// The rest of the chip runs the same dispatch: its demand on shared units follows from the modelled CU's own.
struct ChipLoad {
  double activeCusPerXcd = 1; ///< CUs of the XCD that run this dispatch
  double activeXcds = 1;
  double workShare = 1;      ///< this CU's part of the dispatch's workgroups: its part of the HBM bandwidth
  double workShareOfXcd = 1; ///< likewise of its XCD
  bool warmMall = false;     ///< the dispatch's data lies in the Infinity Cache
  /// Distinct bytes the dispatch touches; 0: not known, taken as small. Beyond the TLB's reach pages have to be walked.
  double footprintBytes = 0;
  /// Workgroups that run on the chip at a time; 0: all. Only these can share a line while it is in L2.
  std::uint64_t concurrentWorkgroups = 0;
  /// Clk of the first read of the kernel arguments where they lie in host memory; 0: like other memory.
  double kernargClk = 0;
};

} // namespace asmevo::timing
