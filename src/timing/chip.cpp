#include "support/file_io.h"
#include "timing/chip_data.h"
#include "timing/parameters.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace asmevo::timing {
namespace {

constexpr std::uint64_t chipFileLimit = 1 << 20;

Result<Chip> parseChip(std::string_view text, const std::string& origin) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object())
    return badInput("chip file '{}' is not a JSON object", origin);
  for (const auto& item : json.items())
    if (item.key() != "name" && item.key() != "processor" && item.key() != "parameters")
      return badInput("chip file '{}': unknown key '{}'", origin, item.key());
  const auto text1 = [&](const char* key) -> Result<std::string> {
    const auto it = json.find(key);
    if (it == json.end() || !it->is_string())
      return badInput("chip file '{}': key '{}' is missing or not a string", origin, key);
    return it->get<std::string>();
  };
  Chip chip;
  ASMEVO_TRY(chip.name, text1("name"));
  ASMEVO_TRY(chip.processor, text1("processor"));
  const auto parameters = json.find("parameters");
  if (parameters == json.end() || !parameters->is_object())
    return badInput("chip file '{}': key 'parameters' is missing or not an object", origin);
  for (const ParameterKey& k : parameterKeys())
    if (!parameters->contains(k.key))
      return badInput("chip file '{}': parameter '{}' is missing", origin, k.key);
  for (const auto& item : parameters->items()) {
    const auto known = std::find_if(parameterKeys().begin(), parameterKeys().end(),
                                    [&](const ParameterKey& k) { return k.key == item.key(); });
    if (known == parameterKeys().end())
      return badInput("chip file '{}': unknown parameter '{}'", origin, item.key());
    const nlohmann::json& entry = item.value();
    if (!entry.is_object() || entry.size() != 2 || !entry.contains("value") || !entry["value"].is_number() ||
        !entry.contains("source") || !entry["source"].is_string() || entry["source"].get<std::string>().empty())
      return badInput("chip file '{}': parameter '{}' must be {{\"value\": number, \"source\": text}}", origin,
                      item.key());
    const double value = entry["value"].get<double>();
    if (!(value >= known->least && value <= known->most))
      return badInput("chip file '{}': parameter '{}' is {}, allowed are {} to {}", origin, item.key(), value,
                      known->least, known->most);
    chip.parameters.emplace_back(item.key(), value);
  }
  std::sort(chip.parameters.begin(), chip.parameters.end());
  const Parameters p = Parameters::of(chip);
  chip.xcds = static_cast<unsigned>(p.xcds);
  chip.cusPerXcd = static_cast<unsigned>(p.cusPerXcd);
  chip.simdsPerCu = static_cast<unsigned>(p.simdsPerCu);
  chip.maxWavesPerSimd = static_cast<unsigned>(p.maxWavesPerSimd);
  chip.clockMhz = p.peakMhz;
  chip.ldsBytes = static_cast<std::uint32_t>(p.chipLdsBytes);
  return chip;
}

} // namespace

double Chip::parameter(std::string_view key) const {
  const auto it = std::lower_bound(parameters.begin(), parameters.end(), key,
                                   [](const auto& entry, std::string_view k) { return entry.first < k; });
  return it != parameters.end() && it->first == key ? it->second : std::nan("");
}

std::vector<std::string> chipNames() {
  std::vector<std::string> names;
  for (const EmbeddedChip& chip : embeddedChips())
    names.emplace_back(chip.name);
  return names;
}

Result<Chip> loadChip(const std::string& nameOrPath) {
  for (const EmbeddedChip& chip : embeddedChips())
    if (chip.name == nameOrPath)
      return parseChip(chip.json, std::string(chip.name));
  if (nameOrPath.find('/') == std::string::npos && !nameOrPath.ends_with(".json")) {
    std::string list;
    for (const std::string& name : chipNames())
      list += (list.empty() ? "" : ", ") + name;
    return usageError("unknown chip '{}': built in are {}; a path must end in .json or contain a '/'", nameOrPath,
                      list);
  }
  ASMEVO_TRY(const Bytes bytes, readFile(nameOrPath, chipFileLimit));
  return parseChip({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, nameOrPath);
}

} // namespace asmevo::timing
