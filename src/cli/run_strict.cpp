#include "cli/run_strict.h"

#include <algorithm>
#include <cstdio>

namespace asmevo::cli {

namespace {

using emulator::Delivery;
using nlohmann::ordered_json;

constexpr std::size_t shownFindings = 20;
constexpr Delivery everyDelivery[] = {Delivery::late, Delivery::ldsEarly, Delivery::waveToBarrier};

} // namespace

void printFindings(const std::vector<emulator::StrictFinding>& findings) {
  for (std::size_t i = 0; i < findings.size() && i < shownFindings; ++i)
    fmt::print("  {}: {}{}\n", findings[i].rule, findings[i].message,
               findings[i].count > 1 ? fmt::format(" ({} times)", findings[i].count) : "");
  if (findings.size() > shownFindings)
    fmt::print("  ... and {} more findings\n", findings.size() - shownFindings);
}

ordered_json toJson(const std::vector<emulator::StrictFinding>& findings) {
  ordered_json list = ordered_json::array();
  for (const emulator::StrictFinding& finding : findings)
    list.push_back({{"rule", finding.rule},
                    {"producer", finding.producer},
                    {"consumer", finding.consumer},
                    {"workgroup", finding.workgroup},
                    {"wave", finding.wave},
                    {"lane", finding.lane},
                    {"count", finding.count},
                    {"message", finding.message}});
  return list;
}

Result<std::vector<Delivery>> deliveriesOf(const std::string& name) {
  std::vector<Delivery> chosen;
  for (const Delivery delivery : everyDelivery)
    if (name == "all" || name == emulator::deliveryName(delivery))
      chosen.push_back(delivery);
  if (chosen.empty())
    return usageError("--strict={}: it is late, lds-early, wave or all", name);
  return chosen;
}

Result<StrictPasses> StrictPasses::run(const std::vector<Delivery>& deliveries, device::LoadedKernel& kernel,
                                       const dispatch::Case& launch, const emulator::RunOptions& options) {
  StrictPasses all;
  for (const Delivery delivery : deliveries) {
    emulator::RunOptions strict = options;
    strict.strict = emulator::StrictOptions{.delivery = delivery};
    ASMEVO_TRY(auto result, kernel.launch(launch, strict));
    Pass& pass = all.passes.emplace_back(Pass{delivery, std::move(result), {}});
    for (std::size_t i = 0; i < launch.buffers.size(); ++i)
      if (pass.result.buffers[i] != all.first().buffers[i])
        pass.differing.push_back(launch.buffers[i].name);
  }
  return all;
}

bool StrictPasses::clean() const {
  return std::ranges::all_of(passes,
                             [](const Pass& pass) { return pass.result.findings.empty() && pass.differing.empty(); });
}

void StrictPasses::print() const {
  for (const Pass& pass : passes) {
    const auto& findings = pass.result.findings;
    fmt::print("  strict, {}: {}\n", emulator::deliveryName(pass.delivery),
               findings.empty() ? "no findings" : fmt::format("{} findings", findings.size()));
    printFindings(findings);
    for (const std::string& name : pass.differing)
      fmt::print("  {} differs from the one that {} delivery gives\n", name,
                 emulator::deliveryName(passes.front().delivery));
    for (const std::string& note : pass.result.strictNotes)
      fmt::print("  note: {}\n", note);
  }
}

ordered_json StrictPasses::toJson() const {
  ordered_json list = ordered_json::array();
  for (const Pass& pass : passes)
    list.push_back({{"delivery", emulator::deliveryName(pass.delivery)},
                    {"findings", cli::toJson(pass.result.findings)},
                    {"differing_buffers", pass.differing},
                    {"notes", pass.result.strictNotes}});
  return list;
}

} // namespace asmevo::cli
