#include "agent/chat_client.h"

#include <curl/curl.h>

#include <memory>

namespace asmevo::agent {

namespace {

constexpr std::size_t answerLimit = std::size_t{8} << 20;

std::size_t collect(char* data, std::size_t size, std::size_t count, void* user) {
  auto& body = *static_cast<std::string*>(user);
  const std::size_t bytes = size * count;
  if (body.size() + bytes > answerLimit)
    return 0;
  body.append(data, bytes);
  return bytes;
}

/// Beginning of an answer for an error message. Some servers repeat the key they were sent.
std::string excerpt(std::string answer, const std::string& key) {
  for (std::size_t at = 0; !key.empty() && (at = answer.find(key, at)) != std::string::npos;)
    answer.erase(at, key.size());
  return answer.substr(0, 300);
}

struct CurlDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct HeaderDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

} // namespace

Result<nlohmann::json> complete(const Endpoint& endpoint, const nlohmann::json& messages, const nlohmann::json& tools) {
  std::unique_ptr<CURL, CurlDeleter> curl(curl_easy_init());
  if (!curl)
    return internalError("libcurl could not be initialised");
  nlohmann::json request{{"model", endpoint.model}, {"messages", messages}};
  if (!tools.empty()) {
    request["tools"] = tools;
    request["tool_choice"] = "auto";
  }
  // Model text comes back in `messages`; bytes that are not UTF-8 are replaced rather than thrown on.
  const std::string body = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string url = endpoint.baseUrl + "/chat/completions";
  std::string answer;
  std::unique_ptr<curl_slist, HeaderDeleter> headers(curl_slist_append(nullptr, "Content-Type: application/json"));
  if (!endpoint.apiKey.empty())
    headers.reset(curl_slist_append(headers.release(), ("Authorization: Bearer " + endpoint.apiKey).c_str()));
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, endpoint.timeoutSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, collect);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer);
  if (const CURLcode code = curl_easy_perform(curl.get()); code != CURLE_OK)
    return internalError("{}: {}", url,
                         code == CURLE_WRITE_ERROR ? "the answer is longer than 8 MiB" : curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200)
    return internalError("{}: HTTP status {}: {}", url, status, excerpt(answer, endpoint.apiKey));
  const auto parsed = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("choices") || !parsed["choices"].is_array() ||
      parsed["choices"].empty() || !parsed["choices"][0].is_object() || !parsed["choices"][0].contains("message") ||
      !parsed["choices"][0]["message"].is_object())
    return internalError("{}: the answer is not a chat completion: {}", url, excerpt(answer, endpoint.apiKey));
  return parsed["choices"][0]["message"];
}

} // namespace asmevo::agent
