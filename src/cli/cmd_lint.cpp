#include "cli/command.h"

#include "object/code_object.h"
#include "verify/lint/baseline.h"
#include "verify/lint/rules.h"
#include "verify/lint/sarif.h"

#include <algorithm>
#include <map>
#include <memory>

namespace asmevo::cli {

namespace {

using verify::LintedFile;
using verify::LintFinding;
using verify::Severity;

struct Options {
  std::vector<std::string> paths;
  std::string format = "text", baseline, failOn = "distance";
  bool json = false, relaxable = false;
  std::optional<std::uint32_t> dynamicLds;
};

Severity failingFrom(const Options& options) {
  return options.failOn == "error" ? Severity::error : options.failOn == "note" ? Severity::note : Severity::distance;
}

nlohmann::json toJson(const LintedFile& file, const LintFinding& finding) {
  const auto number = [](const std::optional<unsigned>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
  };
  return {{"kind", finding.kind},
          {"rule", finding.rule},
          {"severity", verify::severityName(finding.severity)},
          {"manual", verify::manualOf(finding.rule, *file.target)},
          {"function", finding.function},
          {"address", finding.address},
          {"at", finding.text},
          {"producer", finding.producer},
          {"producer_at", finding.producerText},
          {"need", number(finding.need)},
          {"have", number(finding.have)},
          {"path", finding.path},
          {"message", finding.message}};
}

/// " by 0x1a00 > 0x1b40": the blocks of the path, long ones without their middle.
std::string pathText(const std::vector<std::uint64_t>& path) {
  constexpr std::size_t shown = 8;
  if (path.size() < 2)
    return {};
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path.size() > shown && i == shown / 2) {
      text += fmt::format(" > ({} blocks)", path.size() - shown);
      i = path.size() - shown / 2;
    }
    text += fmt::format("{}{:#x}", i == 0 ? "" : " > ", path[i]);
  }
  return fmt::format(" by blocks {}", text);
}

void printText(const LintedFile& file, bool baseline) {
  for (const auto& finding : file.report.findings)
    fmt::print("{}: {:#x}: {}: {}: \"{}\": {}{} [{}]\n", file.path, finding.address,
               verify::severityName(finding.severity), finding.rule, finding.text, finding.message,
               pathText(finding.path), verify::manualOf(finding.rule, *file.target));
  std::string counts;
  for (const Severity severity : {Severity::error, Severity::distance, Severity::note})
    if (const std::size_t n = file.report.count(severity); n != 0)
      counts += fmt::format("{}{} {}{}", counts.empty() ? "" : ", ", n, verify::severityName(severity),
                            n != 1 && severity != Severity::distance ? "s" : "");
  fmt::print("{}: {}{}{}\n", file.path, counts.empty() ? "clean" : counts,
             baseline && !counts.empty() ? " that the baseline does not have" : "",
             file.report.waitStatesChecked ? "" : " (wait states not checked: no table for this target)");
}

nlohmann::json jsonLog(const std::vector<LintedFile>& files) {
  nlohmann::json list = nlohmann::json::array();
  for (const LintedFile& file : files) {
    if (file.error) {
      list.push_back({{"file", file.path}, {"verdict", "bad_input"}, {"message", file.error->message}});
      continue;
    }
    nlohmann::json findings = nlohmann::json::array();
    bool judged = false;
    for (const auto& finding : file.report.findings) {
      judged |= finding.severity != Severity::note;
      findings.push_back(toJson(file, finding));
    }
    list.push_back({{"file", file.path},
                    {"target", file.target->id()},
                    {"verdict", judged ? "finding" : "clean"},
                    {"wait_states_checked", file.report.waitStatesChecked},
                    {"findings", std::move(findings)}});
  }
  return {{"files", std::move(list)}};
}

Result<LintedFile> lintFile(const std::string& path, const std::optional<object::CodeObject>& baseline,
                            const verify::LintOptions& options) {
  ASMEVO_TRY(const auto object, object::CodeObject::load(path));
  LintedFile file{path, object.target(), {}, {}};
  if (baseline) {
    ASMEVO_TRY(auto judged, verify::lintAgainst(*baseline, object, options));
    file.report = std::move(judged.fresh);
  } else {
    ASMEVO_TRY(file.report, verify::lint(object, options));
  }
  return file;
}

int run(const Options& options) {
  const std::string format = options.json ? "json" : options.format;
  std::optional<object::CodeObject> baseline;
  if (!options.baseline.empty()) {
    auto loaded = object::CodeObject::load(options.baseline);
    if (!loaded)
      return fail(loaded.error(), {options.baseline});
    baseline = *std::move(loaded);
  }
  const verify::LintOptions lintOptions{.scope = program::HazardScope::documented,
                                        .paths = true,
                                        .relaxable = options.relaxable,
                                        .dynamicLds = options.dynamicLds};
  int exit = Exit::ok;
  std::vector<LintedFile> files;
  Progress progress(options.paths.size() > 1);
  for (std::size_t i = 0; i < options.paths.size(); ++i) {
    const std::string& path = options.paths[i];
    progress.show(fmt::format("{}/{} {}", i + 1, options.paths.size(), path));
    auto linted = lintFile(path, baseline, lintOptions);
    if (!linted) {
      progress.done();
      exit = std::max(exit, fail(linted.error(), {path}));
      files.push_back({path, {}, {}, linted.error()});
      continue;
    }
    for (const LintFinding& finding : linted->report.findings)
      if (finding.severity >= failingFrom(options))
        exit = std::max<int>(exit, Exit::negative);
    if (format == "text") {
      progress.done();
      printText(*linted, baseline.has_value());
    } else {
      files.push_back(*std::move(linted));
    }
  }
  progress.done();
  if (format == "json")
    fmt::print("{}\n", jsonLog(files).dump(2));
  else if (format == "sarif")
    fmt::print("{}\n", verify::sarifLog(files).dump(2));
  return exit;
}

} // namespace

void addLint(CLI::App& app, int& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("lint", "Find missing waits, wait states, races and excess registers on every path");
  command->add_option("file", options->paths, "Code objects")->required();
  command->add_option("--format", options->format, "text, json or sarif (2.1.0)")
      ->check(CLI::IsMember({"text", "json", "sarif"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Same as --format json");
  command->add_option("--baseline", options->baseline,
                      "Report only what is not in this object: no new finding, no pair nearer than there");
  command->add_flag("--relaxable", options->relaxable, "Also note waits and s_nop that ask for more than needed");
  command->add_option("--fail-on", options->failOn, "Exit 1 from this severity on: error, distance or note")
      ->check(CLI::IsMember({"error", "distance", "note"}))
      ->capture_default_str();
  command->add_option("--dynamic-lds", options->dynamicLds, "LDS bytes that launches add to the descriptor's");
  command->callback([options, &exit] { exit = run(*options); });
}

} // namespace asmevo::cli
