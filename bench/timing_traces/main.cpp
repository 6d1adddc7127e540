// Compares the timing model with measurements of real GPUs, instruction by instruction: timing_traces --data DIR.
// Exit code 0: everything demanded holds; 1: something does not; 2: usage; 3: bad data.
#include "report.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace asmevo::bench {

Row within(std::string what, double measured, double modelled, double tolerance, std::string unit) {
  Row row{std::move(what), measured, modelled, std::move(unit), fmt::format("within {:.0f} %", tolerance * 100), false};
  row.holds = std::abs(modelled - measured) <= tolerance * std::abs(measured);
  return row;
}

Row atLeast(std::string what, double share, double least) {
  return {std::move(what), std::nullopt, 100 * share, "%", fmt::format("at least {:.0f} %", 100 * least),
          share >= least};
}

namespace {

struct Part {
  const char* name;
  Result<std::vector<Section>> (*run)(const Data&);
};
constexpr Part parts[] = {{"sqtt", sqttSections},      {"att", attSections},     {"times", attTimesSections},
                          {"vec_add", vecAddSections}, {"vcopy", vcopySections}, {"gemm", gemmSections}};

void printText(const Section& section) {
  fmt::print("\n{} ({})\n", section.title, section.chip);
  for (const Row& row : section.rows)
    fmt::print("  {:<58} {:>10} {:>10.1f} {:<6} {:<18} {}\n", row.what,
               row.measured ? fmt::format("{:.1f}", *row.measured) : "", row.modelled, row.unit, row.demand,
               !row.holds   ? ""
               : *row.holds ? "ok"
                            : "MISSED");
  for (const std::string& note : section.notes)
    fmt::print("  {}\n", note);
}

nlohmann::json toJson(const Section& section) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : section.rows) {
    nlohmann::json entry{{"what", row.what}, {"modelled", row.modelled}, {"unit", row.unit}};
    if (row.measured)
      entry["measured"] = *row.measured;
    if (row.holds) {
      entry["demand"] = row.demand;
      entry["holds"] = *row.holds;
    }
    rows.push_back(std::move(entry));
  }
  return {{"title", section.title}, {"chip", section.chip}, {"rows", std::move(rows)}, {"notes", section.notes}};
}

int run(const Data& data, const std::vector<std::string>& chosen, bool json) {
  bool all = true;
  nlohmann::json out = nlohmann::json::array();
  if (!json)
    fmt::print("{:<60} {:>10} {:>10}\n", "", "measured", "modelled");
  for (const Part& part : parts) {
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), part.name) == chosen.end())
      continue;
    const auto sections = part.run(data);
    if (!sections) {
      fmt::print(stderr, "timing_traces: {}: {}\n", part.name, sections.error().message);
      return 3;
    }
    for (const Section& section : *sections) {
      for (const Row& row : section.rows)
        all &= row.holds.value_or(true);
      if (json)
        out.push_back(toJson(section));
      else
        printText(section);
    }
  }
  if (json)
    fmt::print("{}\n", out.dump(2));
  return all ? 0 : 1;
}

} // namespace
} // namespace asmevo::bench

int main(int argc, char** argv) {
  using namespace asmevo::bench;
  CLI::App app("Compares the timing model with measurements of real GPUs");
  Data data;
  std::vector<std::string> chosen, names;
  bool json = false;
  for (const Part& part : parts)
    names.emplace_back(part.name);
  app.add_option("--data", data.folder, "Folder of the measured data")->required()->check(CLI::ExistingDirectory);
  app.add_option("--part", chosen, "Only these parts")->check(CLI::IsMember(names));
  app.add_flag("--json", json, "Report as json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run(data, chosen, json);
}
