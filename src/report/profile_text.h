/// The terminal view of a profile.
#pragma once

#include "report/profile.h"

#include <string>

namespace asmevo::report {

/// A table: totals, where the time goes by reason, hot loops and blocks, and the listing of the `top` hottest blocks
/// with a column per stall reason that occurs in them. Ends with a newline.
std::string profileText(const Profile& profile, unsigned top);

/// One block of lines about one estimate: cycles, microseconds, occupancy, bound, traffic.
std::string estimateText(const timing::Estimate& estimate, bool modelled);

} // namespace asmevo::report
