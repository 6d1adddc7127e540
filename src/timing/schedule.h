/// The dispatcher over the whole grid, with run times per workgroup already known.
#pragma once

#include <cstdint>
#include <functional>

namespace asmevo::timing {

/// Clk until the last workgroup ends when workgroups go round-robin to `xcds`, and on each, in order, to the first of
/// `slots` that is free (AMD CDNA3 white paper; facts: hardware_traces.md "Dispatch"). Of very large grids the last
/// part is scheduled, what comes before at the mean rate.
double scheduleClk(std::uint64_t workgroups, std::uint64_t xcds, std::uint64_t slots,
                   const std::function<double(std::uint64_t)>& clkOf);

} // namespace asmevo::timing
