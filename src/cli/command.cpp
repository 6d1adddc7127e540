#include "cli/command.h"

#include <chrono>
#include <cstdio>
#include <memory>

#include <unistd.h>

namespace asmevo::cli {

int fail(const Error& error) {
  fmt::print(stderr, "asmevo: error: {}\n", error.message);
  switch (error.kind) {
  case ErrorKind::usage:
    return usage;
  case ErrorKind::fault:
    return negative;
  case ErrorKind::badInput:
  case ErrorKind::refused:
  case ErrorKind::internal:
    break;
  }
  return badInput;
}

int fail(const Error& error, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs)
    if (!input.empty() && error.message.find(input) != std::string::npos)
      return fail(error);
  if (inputs.empty() || inputs.front().empty() || error.kind == ErrorKind::usage)
    return fail(error);
  return fail(Error{error.kind, fmt::format("{}: {}", inputs.front(), error.message)});
}

namespace {
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
} // namespace

Progress::Progress(bool enabled) : active(enabled && ::isatty(STDERR_FILENO) != 0) {}
Progress::~Progress() {
  done();
}

void Progress::show(const std::string& line) {
  if (!active || now() - last < 0.1)
    return;
  last = now();
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
}

void Progress::done() {
  if (active && last > 0)
    fmt::print(stderr, "\r\x1b[K");
  last = 0;
}

const std::vector<AddCommand>& commandTable() {
  static const std::vector<AddCommand> table = {addInspect,  addDisasm, addAsm,     addRoundtrip, addLint,
                                                addRun,      addTime,   addProfile, addVerify,    addDiverge,
                                                addOptimize, addDiff,   addApply,   addAsmpatch,  addExtract,
                                                addReplace,  addBench,  addReport,  addIsa};
  return table;
}

void addObjectChoice(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    CLI::Option* input = nullptr;
    // What the commands call their first code object.
    for (const char* name : {"object", "K0", "file"})
      if (input == nullptr)
        input = command->get_option_no_throw(name);
    if (input == nullptr || command->get_option_no_throw("--target") || command->get_option_no_throw("--bundle"))
      continue;
    const auto target = std::make_shared<std::string>();
    const auto bundle = std::make_shared<std::string>();
    CLI::Option* byBundle =
        command->add_option("--bundle", *bundle, "Which bundle of a host program or library is meant")
            ->check(CLI::NonNegativeNumber);
    CLI::Option* byTarget =
        command->add_option("--target", *target, "Which target's object of an offload bundle is meant (gfx90a:xnack+)");
    // The choice travels with the path. All arguments are parsed before any of them is transformed.
    input->transform(CLI::Validator(
        [byBundle, byTarget, target, bundle](std::string& path) {
          const auto text = [](const CLI::Option* option) {
            return option->count() == 0 ? std::string() : option->results().front();
          };
          const std::string chosenBundle = text(byBundle), chosenTarget = text(byTarget);
          if (!chosenBundle.empty() || !chosenTarget.empty())
            path += "#" + chosenBundle + (chosenBundle.empty() || chosenTarget.empty() ? "" : ":") + chosenTarget;
          return std::string();
        },
        ""));
  }
}

int runCommandLine(int argc, const char* const* argv) {
  CLI::App app{"AsmEvo optimizes compiled AMD GPU code objects: recover, edit, verify, rebuild.", "asmevo"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "asmevo 0.1.0");
  int exit = ok;
  for (const AddCommand add : commandTable())
    add(app, exit);
  addObjectChoice(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? ok : usage;
  }
  return exit;
}

} // namespace asmevo::cli
