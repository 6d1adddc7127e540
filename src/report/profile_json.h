/// The JSON view of estimates and profiles.
#pragma once

#include "report/profile.h"

#include <nlohmann/json.hpp>

namespace asmevo::report {

/// Everything of an estimate but the instructions; "modelled" says where the numbers come from.
nlohmann::json estimateJson(const timing::Estimate& estimate, bool modelled);

/// The profile with all blocks and loops, hottest first, and the listing of the `top` hottest blocks.
nlohmann::json profileJson(const Profile& profile, unsigned top);

} // namespace asmevo::report
