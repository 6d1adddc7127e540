#include "verify/lint/sarif.h"

#include "verify/lint/rules.h"

namespace asmevo::verify {

using nlohmann::json;

namespace {

const char* levelOf(Severity severity) {
  switch (severity) {
  case Severity::note:
    return "note";
  case Severity::distance:
    return "warning";
  case Severity::error:
    break;
  }
  return "error";
}

/// A place in the code: SARIF's addresses are for binaries.
json locationOf(const std::string& path, std::uint64_t address, const std::string& function, const std::string& text) {
  json location = {
      {"physicalLocation",
       {{"artifactLocation", {{"uri", path}}}, {"address", {{"absoluteAddress", address}, {"kind", "instruction"}}}}}};
  if (!function.empty())
    location["logicalLocations"] = {{{"name", function}, {"kind", "function"}}};
  if (!text.empty())
    location["message"] = {{"text", text}};
  return location;
}

json flowOf(const LintedFile& file, const LintFinding& finding) {
  json steps = json::array();
  const auto add = [&](std::uint64_t address, const std::string& text) {
    steps.push_back({{"location", locationOf(file.path, address, finding.function, text)}});
  };
  add(finding.producer, finding.producerText);
  for (std::size_t i = 1; i < finding.path.size(); ++i)
    add(finding.path[i], "block");
  add(finding.address, finding.text);
  return {{{"threadFlows", {{{"locations", std::move(steps)}}}}}};
}

json resultOf(const LintedFile& file, const LintFinding& finding, std::size_t rule) {
  json result = {{"ruleId", lintRules()[rule].id},
                 {"ruleIndex", rule},
                 {"level", levelOf(finding.severity)},
                 {"message", {{"text", fmt::format("\"{}\": {}", finding.text, finding.message)}}},
                 {"locations", {locationOf(file.path, finding.address, finding.function, "")}}};
  if (finding.producer != finding.address || !finding.path.empty()) {
    result["relatedLocations"] = {locationOf(file.path, finding.producer, "", finding.producerText)};
    if (!finding.path.empty())
      result["codeFlows"] = flowOf(file, finding);
  }
  json properties = {{"rule", finding.rule}, {"kind", finding.kind}, {"manual", manualOf(finding.rule, *file.target)}};
  if (finding.need)
    properties["need"] = *finding.need;
  if (finding.have)
    properties["have"] = *finding.have;
  result["properties"] = std::move(properties);
  return result;
}

} // namespace

json sarifLog(const std::vector<LintedFile>& files) {
  json rules = json::array();
  for (const LintRule& rule : lintRules())
    rules.push_back({{"id", rule.id},
                     {"shortDescription", {{"text", rule.text}}},
                     {"help", {{"text", fmt::format("{} ({})", rule.text, rule.section)}}}});
  json results = json::array(), artifacts = json::array(), notifications = json::array();
  for (const LintedFile& file : files) {
    artifacts.push_back({{"location", {{"uri", file.path}}}});
    if (file.error)
      notifications.push_back({{"level", "error"},
                               {"message", {{"text", file.error->message}}},
                               {"locations", {{{"physicalLocation", {{"artifactLocation", {{"uri", file.path}}}}}}}}});
    for (const LintFinding& finding : file.report.findings)
      if (const LintRule* rule = lintRuleOf(finding.rule))
        results.push_back(resultOf(file, finding, static_cast<std::size_t>(rule - lintRules().data())));
  }
  return {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       {{{"tool", {{"driver", {{"name", "asmevo lint"}, {"rules", std::move(rules)}}}}},
         {"artifacts", std::move(artifacts)},
         {"invocations",
          {{{"executionSuccessful", notifications.empty()}, {"toolExecutionNotifications", std::move(notifications)}}}},
         {"results", std::move(results)}}}}};
}

} // namespace asmevo::verify
