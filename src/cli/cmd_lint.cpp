#include "cli/command.h"

#include "object/code_object.h"
#include "verify/lint_waits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace asmevo::cli {

namespace {

struct Options {
  std::vector<std::string> paths;
  bool json = false;
};

nlohmann::json toJson(const verify::LintFinding& finding) {
  const auto number = [](const std::optional<unsigned>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
  };
  return {{"kind", finding.kind},
          {"rule", finding.rule},
          {"function", finding.function},
          {"address", finding.address},
          {"at", finding.text},
          {"producer", finding.producer},
          {"producer_at", finding.producerText},
          {"need", number(finding.need)},
          {"have", number(finding.have)},
          {"message", finding.message}};
}

void printText(const std::string& path, const verify::LintReport& report) {
  for (const auto& finding : report.findings)
    fmt::print("{}: {:#x}: {}: \"{}\": {}\n", path, finding.address, finding.rule, finding.text, finding.message);
  const auto summary = report.findings.empty() ? std::string("clean")
                                               : fmt::format("{} finding{}", report.findings.size(),
                                                             report.findings.size() == 1 ? "" : "s");
  fmt::print("{}: {}{}\n", path, summary,
             report.waitStatesChecked ? "" : " (wait states not checked: no table for this target)");
}

int run(const Options& options) {
  int exit = Exit::ok;
  nlohmann::json files = nlohmann::json::array();
  Progress progress(options.paths.size() > 1);
  for (const std::string& path : options.paths) {
    progress.show(path);
    const auto lintFile = [&]() -> Result<verify::LintReport> {
      ASMEVO_TRY(const auto object, object::CodeObject::load(path));
      return verify::lint(object);
    };
    const auto report = lintFile();
    if (!report) {
      progress.done();
      exit = std::max(exit, fail(report.error()));
      files.push_back({{"file", path}, {"verdict", "bad_input"}, {"message", report.error().message}});
      continue;
    }
    if (!report->findings.empty())
      exit = std::max<int>(exit, Exit::negative);
    if (!options.json) {
      progress.done();
      printText(path, *report);
      continue;
    }
    nlohmann::json findings = nlohmann::json::array();
    for (const auto& finding : report->findings)
      findings.push_back(toJson(finding));
    files.push_back({{"file", path},
                     {"verdict", report->findings.empty() ? "clean" : "finding"},
                     {"wait_states_checked", report->waitStatesChecked},
                     {"findings", std::move(findings)}});
  }
  progress.done();
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"files", files}}.dump(2));
  return exit;
}

} // namespace

void addLint(CLI::App& app, int& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("lint", "Find missing waits and wait states on every path of a code object");
  command->add_option("file", options->paths, "Code objects")->required();
  command->add_flag("--json", options->json, "Print the findings as JSON");
  command->callback([options, &exit] { exit = run(*options); });
}

} // namespace asmevo::cli
