#include "cli/command.h"
#include "verify/divergence.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace asmevo::cli {

namespace {

using nlohmann::ordered_json;

struct Arguments {
  std::string k0, k1, dispatch;
  std::size_t launch = 0;
  verify::DivergenceOptions options;
  bool json = false;
};

std::string sideText(const verify::DivergedSide& side) {
  std::string text = side.value.empty() ? "nothing" : side.value;
  if (!side.text.empty())
    text += fmt::format(" by '{}' at {:#x}", side.text, side.pc);
  else if (side.pc != 0)
    text += fmt::format(" at the block entry {:#x}", side.pc);
  return text;
}

void print(const Arguments& arguments, const verify::DivergenceReport& report) {
  fmt::print("{} and {}: {} block entries of {} waves compared\n", arguments.k0, arguments.k1, report.visits,
             report.waves);
  if (report.first) {
    const verify::Divergence& d = *report.first;
    fmt::print("first divergence: {} of wave {} of workgroup {}, after {} common block entries\n",
               verify::divergenceKindName(d.kind), d.wave, d.workgroup, d.visit);
    fmt::print("  {}{}\n    K0: {}\n    K1: {}\n", d.where, d.lane ? fmt::format(", lane {}", *d.lane) : "",
               sideText(d.k0), sideText(d.k1));
  } else {
    fmt::print("no divergence\n");
  }
  for (const std::string& buffer : report.differentBuffers)
    fmt::print("  buffer {} ends up different\n", buffer);
  for (const std::string& note : report.notes)
    fmt::print("  note: {}\n", note);
}

ordered_json toJson(const verify::DivergedSide& side) {
  return {{"pc", side.pc}, {"text", side.text}, {"value", side.value}};
}

ordered_json toJson(const verify::DivergenceReport& report) {
  ordered_json json{{"visits", report.visits},
                    {"waves", report.waves},
                    {"different_buffers", report.differentBuffers},
                    {"notes", report.notes},
                    {"divergence", nullptr}};
  if (!report.first)
    return json;
  const verify::Divergence& d = *report.first;
  json["divergence"] = {{"kind", verify::divergenceKindName(d.kind)},
                        {"workgroup", d.workgroup},
                        {"wave", d.wave},
                        {"lane", d.lane ? ordered_json(*d.lane) : ordered_json(nullptr)},
                        {"where", d.where},
                        {"visit", d.visit},
                        {"k0", toJson(d.k0)},
                        {"k1", toJson(d.k1)}};
  return json;
}

Result<int> run(const Arguments& arguments) {
  ASMEVO_TRY(const object::CodeObject k0, object::CodeObject::load(arguments.k0));
  ASMEVO_TRY(const object::CodeObject k1, object::CodeObject::load(arguments.k1));
  ASMEVO_TRY(const dispatch::Dispatch dispatch, dispatch::loadDispatch(arguments.dispatch));
  if (arguments.launch >= dispatch.cases.size())
    return usageError("--case {}: {} has cases 0 to {}", arguments.launch, arguments.dispatch,
                      dispatch.cases.size() - 1);
  ASMEVO_TRY(const auto report, verify::findDivergence(k0, k1, dispatch.cases[arguments.launch], arguments.options));
  if (arguments.json)
    fmt::print("{}\n", toJson(report).dump(2));
  else
    print(arguments, report);
  return int{report.first || !report.differentBuffers.empty() ? negative : ok};
}

} // namespace

void addDiverge(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("diverge", "Where does K1 first do something else than K0? Registers, stores, branches");
  command->add_option("K0", arguments->k0, "original code object")->required();
  command->add_option("K1", arguments->k1, "candidate")->required();
  command->add_option("-d,--dispatch", arguments->dispatch, "dispatch.json, or a folder with one")->required();
  command->add_option("--case", arguments->launch, "the case to run, counted from 0")->capture_default_str();
  command
      ->add_option("--max-instructions", arguments->options.maxInstructions,
                   "Give up after that many wave-instructions")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", arguments->json, "Report as json");
  command->callback([arguments, &exit] {
    const auto code = run(*arguments);
    exit = code ? *code : fail(code.error(), {arguments->k0, arguments->k1, arguments->dispatch});
  });
}

} // namespace asmevo::cli
