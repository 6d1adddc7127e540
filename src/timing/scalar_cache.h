/// The scalar data cache.
#pragma once

#include "timing/l2_cache.h"

namespace asmevo::timing {

class ScalarCache {
 public:
  ScalarCache(const Parameters& parameters, const ChipLoad& load);
  /// A 64-byte half of a line; `request` asks L2 for it. Returns when the data is there.
  Clk read(const LineRequest& request, unsigned half, bool kernarg, L2Cache& l2, Clk now, Traffic& counted);

 private:
  const Parameters& p;
  double kernargClk;
  SetAssociativeCache tags;
};

} // namespace asmevo::timing
