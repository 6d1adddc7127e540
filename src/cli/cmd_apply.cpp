#include "cli/command.h"
#include "cli/hidden_debug.h"
#include "verify/asmpatch.h"

#include <cstdio>
#include <memory>

namespace asmevo::cli {

namespace {

struct ApplyArguments {
  std::string k0, patch, output;
  bool json = false;
};

Result<int> runApply(const ApplyArguments& arguments) {
  ASMEVO_TRY(const object::CodeObject k0, object::CodeObject::load(arguments.k0));
  ASMEVO_TRY(const nlohmann::json patch, verify::loadPatch(arguments.patch));
  ASMEVO_TRY(const Bytes k1, verify::applyPatch(k0, patch));
  ASMEVO_TRY(const object::CodeObject result, object::CodeObject::parse(k1, arguments.output));
  ASMEVO_CHECK(writeFileAtomic(arguments.output, k1));
  const std::vector<std::string> hiddenDebug = warnOfHiddenDebug(k0, result, arguments.output);
  const std::size_t hunks = patch["hunks"].size();
  const std::string sha256 = sha256Hex(k1);
  if (arguments.json)
    fmt::print("{}\n", nlohmann::json{{"output", arguments.output},
                                      {"sha256", sha256},
                                      {"hunks", hunks},
                                      {"bytes", k1.size()},
                                      {"hidden_debug_sections", hiddenDebug}}
                           .dump(2));
  else
    fmt::print("{}: {} blocks changed, {} bytes, SHA-256 {}\n", arguments.output, hunks, k1.size(), sha256);
  return int{ok};
}

} // namespace

void addApply(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<ApplyArguments>();
  CLI::App* command = app.add_subcommand("apply", "Rebuild K1 from K0 and an .asmpatch, bit for bit");
  command->add_option("K0", arguments->k0, "original code object")->required();
  command->add_option("patch", arguments->patch, ".asmpatch")->required();
  command->add_option("-o,--output", arguments->output, "K1")->required();
  command->add_flag("--json", arguments->json, "machine-readable report");
  command->callback([arguments, &exit] {
    const auto result = runApply(*arguments);
    exit = result ? *result : fail(result.error());
  });
}

} // namespace asmevo::cli
