/// Address translation of an XCD: pages beyond its reach have to be walked.
#pragma once

#include "timing/cache_tags.h"
#include "timing/chip_load.h"
#include "timing/parameters.h"
#include "timing/traffic.h"

namespace asmevo::timing {

class Tlb {
 public:
  Tlb(const Parameters& parameters, const ChipLoad& load);
  /// Clk that an access of `page` waits at `now`. A dispatch whose data fits the reach finds all pages there: launches
  /// repeat (facts: cdna3.md section 1.6, latencies rise beyond 64 MB).
  double wait(std::uint64_t page, double now, Traffic& counted);
  std::uint64_t pageOf(std::uint64_t address) const { return address / pageBytes; }

 private:
  bool covered;
  double knownShare; ///< of the pages that this CU has not touched yet: others or an earlier launch have
  double missClk;
  std::uint64_t pageBytes;
  SetAssociativeCache pages; ///< this CU's share of the entries
};

} // namespace asmevo::timing
