/// Times as they are given on the command line.
#pragma once

#include "support/result.h"

#include <string>

namespace asmevo::cli {

/// Seconds of "60s", "10m", "1h" or plain seconds. Errors name the option.
Result<double> parseDuration(const std::string& option, const std::string& text);

} // namespace asmevo::cli
