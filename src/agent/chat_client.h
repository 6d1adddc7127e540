/// Chat completions over HTTP: any OpenAI-compatible endpoint.
#pragma once

#include "support/result.h"

#include <nlohmann/json.hpp>

#include <string>

namespace asmevo::agent {

struct Endpoint {
  std::string baseUrl; ///< "http://127.0.0.1:8000/v1"; requests go to <baseUrl>/chat/completions
  std::string model;
  std::string apiKey; ///< sent as a bearer token when not empty
  long timeoutSeconds = 300;
};

/// Sends one chat.completions request and returns the first choice's message object. Answers above 8 MiB, other status
/// codes than 200, and bodies of another shape are errors; redirects are not followed. The key never appears in a
/// message.
Result<nlohmann::json> complete(const Endpoint& endpoint, const nlohmann::json& messages, const nlohmann::json& tools);

} // namespace asmevo::agent
