#include "cli/command.h"
#include "report/results.h"
#include "support/file_io.h"

namespace asmevo::cli {

namespace {

struct ReportArguments {
  std::vector<std::string> folders;
  std::string output;
};

Result<int> runReport(const ReportArguments& arguments) {
  std::vector<report::KernelResult> all;
  for (const std::string& folder : arguments.folders) {
    ASMEVO_TRY(std::vector<report::KernelResult> results, report::loadResults(folder));
    if (results.empty())
      return asmevo::badInput("{}: no results in it: asmevo bench SUITE --out {} makes them", folder, folder);
    std::ranges::move(results, std::back_inserter(all));
  }
  const std::string page = report::resultsPage(all);
  if (arguments.output.empty())
    fmt::print("{}", page);
  else
    ASMEVO_CHECK(writeFileAtomic(arguments.output, page));
  return int{ok};
}

} // namespace

void addReport(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report", "the results of asmevo bench as a page of tables (Markdown)");
  command->add_option("FOLDER", arguments->folders, "folders that asmevo bench wrote")->required();
  command->add_option("-o,--output", arguments->output, "page to write (default: standard output)");
  command->callback([arguments, &exit] {
    const auto result = runReport(*arguments);
    exit = result ? *result : fail(result.error(), arguments->folders);
  });
}

} // namespace asmevo::cli
