/// Who else asks for a line, judged from the traced workgroups.
#pragma once

#include "timing/chip_load.h"
#include "timing/parameters.h"
#include "timing/trace_set.h"

#include <vector>

namespace asmevo::timing {

class Sharing {
 public:
  Sharing(const Parameters& parameters, const TraceSet& traces, const ChipLoad& load);

  struct Sharers {
    double cusOfXcd = 1; ///< this one included
    double xcds = 1;
  };
  /// Of a line that a workgroup with this trace touches.
  Sharers of(std::uint32_t line, unsigned trace) const;
  /// A line that only one traced workgroup touches stands for private data: another line in every replay.
  bool isPrivate(std::uint32_t line) const;

 private:
  const TraceSet& set;
  double activeCus, activeXcds;
  /// By trace, masks of other traces: neighbours in time on its XCD, and those on other XCDs.
  std::vector<std::uint64_t> sameXcd, otherXcd;
};

} // namespace asmevo::timing
