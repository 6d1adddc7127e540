#include "verify/proof/kept_counterexamples.h"

#include "support/file_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace asmevo::verify {

namespace {

constexpr std::size_t mostPerWindow = 16;
constexpr std::size_t lanesOfAWave = 64;

std::optional<std::uint64_t> number(const nlohmann::json& value, std::uint64_t most) {
  if (!value.is_string())
    return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (!text.starts_with("0x") || text.size() < 3 || text.size() > 18 ||
      text.find_first_not_of("0123456789abcdef", 2) != std::string::npos)
    return std::nullopt;
  const std::uint64_t result = std::stoull(text, nullptr, 16);
  return result <= most ? std::optional(result) : std::nullopt;
}

std::optional<Counterexample::Register> registerOf(const std::string& name, const nlohmann::json& lanes) {
  const auto unit = registerUnit(name);
  if (!unit || !lanes.is_array() || lanes.size() != (*unit >= isa::vgprBase ? lanesOfAWave : 1))
    return std::nullopt;
  Counterexample::Register one{name, {}};
  for (const nlohmann::json& lane : lanes) {
    const auto value = number(lane, ~std::uint32_t{0});
    if (!value)
      return std::nullopt;
    one.lanes.push_back(static_cast<std::uint32_t>(*value));
  }
  return one;
}

std::optional<Counterexample> exampleOf(const nlohmann::json& entry) {
  if (!entry.is_object() || !entry.contains("window") || !entry.contains("memory_seed") ||
      !entry.contains("registers") || !entry["registers"].is_object())
    return std::nullopt;
  const auto window = number(entry["window"], ~std::uint64_t{0}),
             seed = number(entry["memory_seed"], ~std::uint64_t{0});
  if (!window || !seed)
    return std::nullopt;
  Counterexample example;
  example.address = *window;
  example.memorySeed = *seed;
  example.difference = entry.value("difference", "");
  for (const auto& [name, lanes] : entry["registers"].items()) {
    auto one = registerOf(name, lanes);
    if (!one)
      return std::nullopt;
    example.registers.push_back(*std::move(one));
  }
  return example;
}

bool sameState(const Counterexample& x, const Counterexample& y) {
  return x.memorySeed == y.memorySeed && std::ranges::equal(x.registers, y.registers, [](const auto& a, const auto& b) {
           return a.name == b.name && a.lanes == b.lanes;
         });
}

} // namespace

std::optional<isa::RegUnit> registerUnit(const std::string& name) {
  static const auto units = [] {
    std::map<std::string, isa::RegUnit> byName;
    for (std::size_t u = 0; u < isa::regUnitCount; ++u)
      if (u < isa::sreg::count || u >= isa::vgprBase)
        byName.emplace(isa::regUnitName(static_cast<isa::RegUnit>(u)), static_cast<isa::RegUnit>(u));
    return byName;
  }();
  const auto found = units.find(name);
  return found == units.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Counterexample> KeptCounterexamples::at(std::uint64_t address) const {
  const std::lock_guard lock(guard);
  const auto found = byWindow.find(address);
  return found == byWindow.end() ? std::vector<Counterexample>() : found->second;
}

bool KeptCounterexamples::add(const Counterexample& example) {
  Counterexample kept = example;
  std::ranges::sort(kept.registers, {}, &Counterexample::Register::name);
  const std::lock_guard lock(guard);
  auto& list = byWindow[example.address];
  if (list.size() >= mostPerWindow ||
      std::ranges::any_of(list, [&](const Counterexample& other) { return sameState(other, kept); }))
    return false;
  list.push_back(std::move(kept));
  return true;
}

std::size_t KeptCounterexamples::size() const {
  const std::lock_guard lock(guard);
  std::size_t count = 0;
  for (const auto& [address, list] : byWindow)
    count += list.size();
  return count;
}

Status KeptCounterexamples::read(const nlohmann::json& file, const std::string& k0Sha256) {
  if (!file.is_object() || !file.contains("counterexamples") || !file["counterexamples"].is_array())
    return badInput("no list \"counterexamples\" in it");
  if (file.value("k0_sha256", nlohmann::json()) != k0Sha256)
    return badInput("its counterexamples are of another K0: keep one file for each");
  const nlohmann::json& list = file["counterexamples"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto example = exampleOf(list[i]);
    if (!example)
      return badInput("counterexample {} is damaged: delete it, or the file", i);
    add(*example);
  }
  return {};
}

nlohmann::json KeptCounterexamples::json(const std::string& k0Sha256) const {
  const std::lock_guard lock(guard);
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [address, examples] : byWindow)
    for (const Counterexample& example : examples)
      list.push_back(counterexampleJson(example));
  return {{"k0_sha256", k0Sha256}, {"counterexamples", std::move(list)}};
}

Status KeptCounterexamples::load(const std::string& path, const std::string& k0Sha256) {
  if (!std::filesystem::exists(path))
    return {};
  ASMEVO_TRY(const Bytes bytes, readFile(path));
  const auto file = nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (const Status status = read(file, k0Sha256); !status)
    return badInput("{}: {}", path, status.error().message);
  return {};
}

Status KeptCounterexamples::save(const std::string& path, const std::string& k0Sha256) const {
  return writeFileAtomic(path, json(k0Sha256).dump(1) + "\n");
}

nlohmann::json counterexampleJson(const Counterexample& example) {
  nlohmann::json registers = nlohmann::json::object();
  for (const Counterexample::Register& one : example.registers) {
    nlohmann::json lanes = nlohmann::json::array();
    for (const std::uint32_t value : one.lanes)
      lanes.push_back(fmt::format("{:#x}", value));
    registers[one.name] = std::move(lanes);
  }
  return {{"window", fmt::format("{:#x}", example.address)},
          {"difference", example.difference},
          {"memory_seed", fmt::format("{:#x}", example.memorySeed)},
          {"registers", std::move(registers)},
          {"text", example.text()}};
}

} // namespace asmevo::verify
