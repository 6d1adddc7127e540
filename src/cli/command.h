/// The command line: one file per command, one table of them. The only room that prints or chooses exit codes.
#pragma once

#include "support/result.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace asmevo::cli {

/// Process exit codes (docs: design section 3).
enum Exit : int { ok = 0, negative = 1, usage = 2, badInput = 3 };

/// Adds a subcommand to `app`; its callback stores the exit code in `exit`.
using AddCommand = void (*)(CLI::App& app, int& exit);

/// Prints "asmevo: error: ..." on standard error and gives the exit code of that kind of error.
int fail(const Error& error);
/// The same for a command on these input files: a message that names none of them is given the first one's name.
int fail(const Error& error, const std::vector<std::string>& inputs);

/// Progress line on standard error, only when it is a terminal; rate-limited, erased by `done`.
class Progress {
 public:
  explicit Progress(bool enabled = true);
  ~Progress();
  void show(const std::string& line);
  void done();

 private:
  bool active = false;
  double last = 0;
};

// One line per command, in the order of --help; each defined in cmd_<name>.cpp.
void addInspect(CLI::App& app, int& exit);
void addDisasm(CLI::App& app, int& exit);
void addAsm(CLI::App& app, int& exit);
void addRoundtrip(CLI::App& app, int& exit);
void addLint(CLI::App& app, int& exit);
void addRun(CLI::App& app, int& exit);
void addTime(CLI::App& app, int& exit);
void addProfile(CLI::App& app, int& exit);
void addVerify(CLI::App& app, int& exit);
void addDiverge(CLI::App& app, int& exit);
void addOptimize(CLI::App& app, int& exit);
void addDiff(CLI::App& app, int& exit);
void addApply(CLI::App& app, int& exit);
void addAsmpatch(CLI::App& app, int& exit);
void addExtract(CLI::App& app, int& exit);
void addReplace(CLI::App& app, int& exit);
void addBench(CLI::App& app, int& exit);
void addReport(CLI::App& app, int& exit);
void addIsa(CLI::App& app, int& exit);

/// Gives every command that opens code objects and has no such options of its own --bundle and --target, which say
/// what object of a bundle, host program or library its first input means (object::parseObjectPath).
void addObjectChoice(CLI::App& app);

/// All commands, in order.
const std::vector<AddCommand>& commandTable();

/// Parses and runs a command line; what main does, callable from tests.
int runCommandLine(int argc, const char* const* argv);

} // namespace asmevo::cli
