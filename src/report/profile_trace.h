/// The simulated CU's run as a Chrome trace, which Perfetto and chrome://tracing open: waves on the slots of their
/// SIMDs, inside them instructions and stalls, counters of resident waves and issue rates.
#pragma once

#include "report/profile.h"
#include "timing/timeline.h"

#include <cstdint>
#include <string>

namespace asmevo::report {

/// How much of a run a trace holds.
struct TraceWindow {
  timing::Clk from = 0;         ///< instructions from this clk on ...
  std::size_t slices = 200'000; ///< ... until about so many slices of instructions and stalls
};

/// A slot of a SIMD that waves occupy one after the other.
struct WaveSlot {
  unsigned simd = 0, slot = 0;
};
/// By wave of the timeline: the lowest slot of its SIMD that is free when it starts.
std::vector<WaveSlot> slotsOf(const timing::Timeline& timeline);

/// JSON text, one event per line; one clk is shown as one nanosecond. Waves beyond 20,000 and instructions beyond the
/// window are left out; "otherData" says what was, and the totals of the whole run.
std::string chromeTrace(const Profile& profile, const timing::Timeline& timeline, const TraceWindow& window);

} // namespace asmevo::report
