#include "verify/asmpatch_delta.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>

namespace asmevo::verify {

using nlohmann::json;

namespace {

constexpr std::size_t blockBytes = 32;
constexpr std::size_t largestResult = std::size_t{1} << 30;

std::string_view view(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void addLiteral(json& ops, std::span<const std::uint8_t> bytes) {
  if (bytes.empty())
    return;
  ops.push_back({{"bytes", hexText(bytes)}});
}

} // namespace

std::string hexText(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

Result<Bytes> bytesOfHex(const std::string& digits) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < digits.size() && digits.size() % 2 == 0; i += 2) {
    std::uint8_t value = 0;
    const auto parsed = std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + i + 2)
      break;
    bytes.push_back(value);
  }
  if (bytes.size() * 2 != digits.size())
    return badInput("patch: '{}' is no row of hex digits", digits.substr(0, 40));
  return bytes;
}

json makeDelta(std::span<const std::uint8_t> from, std::span<const std::uint8_t> to) {
  std::unordered_map<std::string_view, std::size_t> places; // first place of each aligned block
  for (std::size_t at = 0; at + blockBytes <= from.size(); at += blockBytes)
    places.try_emplace(view(from.subspan(at, blockBytes)), at);
  json ops = json::array();
  std::size_t literal = 0; // start of what no copy covers yet
  for (std::size_t at = 0; at < to.size();) {
    // Where the two files agree in place nothing has to be looked up.
    std::size_t source = at;
    const bool inPlace = at + blockBytes <= std::min(from.size(), to.size()) &&
                         std::equal(to.begin() + static_cast<std::ptrdiff_t>(at),
                                    to.begin() + static_cast<std::ptrdiff_t>(at + blockBytes),
                                    from.begin() + static_cast<std::ptrdiff_t>(at));
    if (!inPlace) {
      const auto found = at + blockBytes <= to.size() ? places.find(view(to.subspan(at, blockBytes))) : places.end();
      if (found == places.end()) {
        ++at;
        continue;
      }
      source = found->second;
    }
    std::size_t before = 0;
    while (at - before > literal && source > before && to[at - before - 1] == from[source - before - 1])
      ++before;
    std::size_t size = blockBytes;
    while (at + size < to.size() && source + size < from.size() && to[at + size] == from[source + size])
      ++size;
    addLiteral(ops, to.subspan(literal, at - before - literal));
    ops.push_back({{"copy", {source - before, before + size}}});
    at += size;
    literal = at;
  }
  addLiteral(ops, to.subspan(literal));
  return {{"ops", std::move(ops)}};
}

Result<Bytes> applyDelta(std::span<const std::uint8_t> from, const json& delta) {
  const auto found = delta.is_object() ? delta.find("ops") : delta.end();
  if (!delta.is_object() || found == delta.end() || !found->is_array())
    return badInput("patch: a delta is a list of 'ops'");
  Bytes out;
  for (const json& op : *found) {
    const bool isObject = op.is_object() && op.size() == 1;
    if (isObject && op.contains("copy") && op["copy"].is_array() && op["copy"].size() == 2 &&
        op["copy"][0].is_number_unsigned() && op["copy"][1].is_number_unsigned()) {
      const auto offset = op["copy"][0].get<std::uint64_t>(), size = op["copy"][1].get<std::uint64_t>();
      if (offset > from.size() || size > from.size() - offset || size > largestResult - out.size())
        return badInput("patch: the delta copies bytes that are not there");
      const auto piece = from.subspan(offset, size);
      out.insert(out.end(), piece.begin(), piece.end());
    } else if (isObject && op.contains("bytes") && op["bytes"].is_string()) {
      ASMEVO_TRY(const Bytes piece, bytesOfHex(op["bytes"].get<std::string>()));
      if (piece.size() > largestResult - out.size())
        return badInput("patch: the delta makes more than {} bytes", largestResult);
      out.insert(out.end(), piece.begin(), piece.end());
    } else {
      return badInput("patch: a delta holds copies and bytes only");
    }
  }
  return out;
}

} // namespace asmevo::verify
