#include "cli/duration.h"

#include <cmath>
#include <cstdlib>

namespace asmevo::cli {

Result<double> parseDuration(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || scale == 0 || !(value > 0) || !std::isfinite(value))
    return usageError("{} {}: give seconds, or a number with s, m or h, such as 60s", option, text);
  return value * scale;
}

} // namespace asmevo::cli
