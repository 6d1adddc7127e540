/// A json value together with the path that leads to it, so that every complaint says where.
#pragma once

#include "support/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace asmevo::dispatch {

using Json = nlohmann::ordered_json;

/// Parses text with limits on nesting; duplicate keys are errors. `name` is for messages.
Result<Json> parseJson(const std::string& text, const std::string& name);

/// The candidate closest to `word`, as " (did you mean 'x'?)", or "" when none is close.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// A view; valid as long as the document is.
class Node {
 public:
  Node(const Json& value, std::string path, const std::string& file)
      : json(&value), where(std::move(path)), fileName(&file) {}

  const Json& value() const { return *json; }
  const std::string& path() const { return where; }
  const std::string& file() const { return *fileName; }

  /// badInput: "file: path: message".
  template <class... Args> Error error(fmt::format_string<Args...> format, Args&&... args) const {
    return wrap(fmt::format(format, std::forward<Args>(args)...));
  }
  Error wrap(const std::string& message) const;

  bool has(const char* key) const { return json->is_object() && json->contains(key); }
  Node member(const std::string& key) const;
  std::optional<Node> find(const char* key) const;
  Node element(std::size_t index) const;

  /// An object whose keys are all in `allowed`.
  Status requireObject(std::initializer_list<const char*> allowed) const;
  /// An array of at least `least` and at most `most` elements.
  Status requireArray(std::size_t least, std::size_t most) const;
  Result<std::uint64_t> asUnsigned(std::uint64_t least, std::uint64_t most) const;
  Result<bool> asBool() const;
  /// A number, or one of the strings "nan", "inf", "-inf".
  Result<double> asNumber() const;
  Result<std::string> asString() const;
  /// A one-member object's key, as in {"constant": 1}.
  Result<std::string> onlyKey() const;
  /// "a number", "an object": what stands here.
  std::string kind() const;

 private:
  const Json* json;
  std::string where;
  const std::string* fileName;
};

} // namespace asmevo::dispatch
