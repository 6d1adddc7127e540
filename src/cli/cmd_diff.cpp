#include "cli/command.h"
#include "verify/diff.h"

#include <cstdlib>
#include <memory>

#include <unistd.h>

namespace asmevo::cli {

namespace {

struct Arguments {
  std::string k0, k1, colour = "auto";
  std::size_t context = 3;
  bool json = false;
};

Result<int> runDiff(const Arguments& arguments) {
  ASMEVO_TRY(const object::CodeObject k0, object::CodeObject::load(arguments.k0));
  ASMEVO_TRY(const object::CodeObject k1, object::CodeObject::load(arguments.k1));
  ASMEVO_TRY(const verify::ObjectDiff diff, verify::diffObjects(k0, k1));
  if (arguments.json) {
    fmt::print("{}\n", verify::diffJson(diff).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    const bool terminal = ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    const bool colour = arguments.colour == "always" || (arguments.colour == "auto" && terminal);
    fmt::print("{}", verify::diffText(diff, {.colour = colour, .context = arguments.context}));
  }
  return int{diff.identical ? ok : negative};
}

} // namespace

void addDiff(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("diff", "Compare two code objects instruction by instruction");
  command->add_option("K0", arguments->k0, "Code object")->required();
  command->add_option("K1", arguments->k1, "Code object to compare with it")->required();
  command->add_option("--context", arguments->context, "Unchanged instructions shown around a change");
  command->add_option("--colour,--color", arguments->colour, "auto (on a terminal), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->add_flag("--json", arguments->json, "Machine-readable report");
  command->callback([arguments, &exit] {
    const auto result = runDiff(*arguments);
    exit = result ? *result : fail(result.error());
  });
}

} // namespace asmevo::cli
