#include "dispatch/json_node.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace asmevo::dispatch {
namespace {

constexpr int maxDepth = 32;
constexpr std::size_t quotedLimit = 60;

/// Text from the input, cut short for a message.
std::string clip(std::string_view text) {
  return text.size() <= quotedLimit ? std::string(text) : std::string(text.substr(0, quotedLimit)) + "...";
}

std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> line(b.size() + 1);
  std::iota(line.begin(), line.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(line[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = line[j];
      line[j] = std::min({replaced, line[j] + 1, line[j - 1] + 1});
    }
  }
  return line.back();
}

/// Stops the parser; never leaves parseJson.
struct Refusal {
  std::string message;
};

} // namespace

Result<Json> parseJson(const std::string& text, const std::string& name) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > maxDepth)
      throw Refusal{fmt::format("more than {} levels of nesting", maxDepth)};
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw Refusal{fmt::format("the key '{}' stands twice in one object", clip(parsed.get<std::string>()))};
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Refusal& refusal) {
    return badInput("{}: {}", name, refusal.message);
  } catch (const Json::exception& e) {
    const std::string what = e.what();
    const std::size_t bracket = what.find("] ");
    return badInput("{}: not valid json: {}", name, bracket == std::string::npos ? what : what.substr(bracket + 2));
  }
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > quotedLimit)
    return "";
  const std::string* best = nullptr;
  std::size_t bestDistance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const bool begun = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t distance = begun ? 1 : editDistance(word, std::string_view(candidate).substr(0, 2 * quotedLimit));
    if (distance < bestDistance) {
      bestDistance = distance;
      best = &candidate;
    }
  }
  return best ? fmt::format(" (did you mean '{}'?)", *best) : "";
}

Error Node::wrap(const std::string& message) const {
  return where.empty() ? badInput("{}: {}", *fileName, message) : badInput("{}: {}: {}", *fileName, where, message);
}

Node Node::member(const std::string& key) const {
  return {json->at(key), where.empty() ? clip(key) : where + "." + clip(key), *fileName};
}

std::optional<Node> Node::find(const char* key) const {
  if (!has(key))
    return std::nullopt;
  return member(key);
}

Node Node::element(std::size_t index) const {
  return {json->at(index), fmt::format("{}[{}]", where, index), *fileName};
}

std::string Node::kind() const {
  switch (json->type()) {
  case Json::value_t::null:
    return "null";
  case Json::value_t::object:
    return "an object";
  case Json::value_t::array:
    return "an array";
  case Json::value_t::string:
    return fmt::format("the string \"{}\"", clip(json->get_ref<const std::string&>()));
  case Json::value_t::boolean:
    return "a boolean";
  default:
    return fmt::format("the number {}", json->dump());
  }
}

Status Node::requireObject(std::initializer_list<const char*> allowed) const {
  if (!json->is_object())
    return error("expected an object, found {}", kind());
  const std::vector<std::string> known(allowed.begin(), allowed.end());
  for (const auto& [key, unused] : json->items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return error("unknown key '{}'{}", clip(key), suggestion(key, known));
  return {};
}

Status Node::requireArray(std::size_t least, std::size_t most) const {
  if (!json->is_array())
    return error("expected an array, found {}", kind());
  if (json->size() < least || json->size() > most)
    return error("{} elements; expected {}", json->size(),
                 least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most));
  return {};
}

Result<std::uint64_t> Node::asUnsigned(std::uint64_t least, std::uint64_t most) const {
  if (!json->is_number_unsigned())
    return error("expected a non-negative integer, found {}", kind());
  const auto number = json->get<std::uint64_t>();
  if (number < least || number > most)
    return error("{} is out of range: {} to {}", number, least, most);
  return number;
}

Result<bool> Node::asBool() const {
  if (!json->is_boolean())
    return error("expected true or false, found {}", kind());
  return json->get<bool>();
}

Result<double> Node::asNumber() const {
  if (json->is_number())
    return json->get<double>();
  if (json->is_string()) {
    const auto& text = json->get_ref<const std::string&>();
    if (text == "nan")
      return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf" || text == "-inf")
      return std::copysign(std::numeric_limits<double>::infinity(), text[0] == '-' ? -1.0 : 1.0);
  }
  return error("expected a number, \"nan\", \"inf\" or \"-inf\", found {}", kind());
}

Result<std::string> Node::asString() const {
  if (!json->is_string())
    return error("expected a string, found {}", kind());
  return json->get<std::string>();
}

Result<std::string> Node::onlyKey() const {
  if (!json->is_object() || json->size() != 1)
    return error("expected an object with one member, found {}",
                 json->is_object() ? fmt::format("{} members", json->size()) : kind());
  return json->begin().key();
}

} // namespace asmevo::dispatch
