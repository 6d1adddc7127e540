#include "cli/command.h"
#include "cli/hidden_debug.h"
#include "verify/asmpatch.h"

#include <memory>

namespace asmevo::cli {

namespace {

struct Arguments {
  std::string k0, k1, patch, output;
  bool json = false, editsOnly = false;
};

Status writePatch(const std::string& path, const nlohmann::json& patch) {
  return writeFileAtomic(path, patch.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void report(const Arguments& arguments, const nlohmann::json& patch, const std::vector<std::string>& hiddenDebug = {}) {
  if (arguments.json)
    fmt::print("{}\n", nlohmann::json{{"output", arguments.output},
                                      {"hunks", patch["hunks"].size()},
                                      {"resources", patch["resources"].size()},
                                      {"data", patch.contains("data") ? patch["data"].size() : 0},
                                      {"delta", patch.contains("delta")},
                                      {"hidden_debug_sections", hiddenDebug},
                                      {"k0_sha256", patch["k0_sha256"]},
                                      {"k1_sha256", patch["k1_sha256"]}}
                           .dump(2));
  else
    fmt::print("{}: {} blocks changed{}\n", arguments.output, patch["hunks"].size(),
               patch.contains("delta") ? ", and bytes that only follow from the file's layout" : "");
}

Result<int> create(const Arguments& arguments) {
  ASMEVO_TRY(const object::CodeObject k0, object::CodeObject::load(arguments.k0));
  ASMEVO_TRY(const object::CodeObject k1, object::CodeObject::load(arguments.k1));
  ASMEVO_TRY(const nlohmann::json patch,
             verify::createPatch(k0, k1, nlohmann::json::object(),
                                 arguments.editsOnly ? verify::PatchForm::editsOnly : verify::PatchForm::anyBytes));
  ASMEVO_CHECK(writePatch(arguments.output, patch));
  report(arguments, patch);
  return int{ok};
}

Result<int> show(const Arguments& arguments) {
  ASMEVO_TRY(const nlohmann::json patch, verify::loadPatch(arguments.patch));
  ASMEVO_TRY(const std::string text, verify::showPatch(patch));
  if (arguments.json)
    fmt::print("{}\n", patch.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}", text);
  return int{ok};
}

Result<int> apply(const Arguments& arguments) {
  ASMEVO_TRY(const object::CodeObject k0, object::CodeObject::load(arguments.k0));
  ASMEVO_TRY(const nlohmann::json patch, verify::loadPatch(arguments.patch));
  ASMEVO_TRY(const Bytes k1, verify::applyPatch(k0, patch));
  ASMEVO_TRY(const object::CodeObject result, object::CodeObject::parse(k1, arguments.output));
  ASMEVO_CHECK(writeFileAtomic(arguments.output, k1));
  report(arguments, patch, warnOfHiddenDebug(k0, result, arguments.output));
  return int{ok};
}

Result<int> reverse(const Arguments& arguments) {
  ASMEVO_TRY(const object::CodeObject k0, object::CodeObject::load(arguments.k0));
  ASMEVO_TRY(const nlohmann::json patch, verify::loadPatch(arguments.patch));
  ASMEVO_TRY(const nlohmann::json back, verify::reversePatch(k0, patch));
  ASMEVO_CHECK(writePatch(arguments.output, back));
  report(arguments, back);
  return int{ok};
}

} // namespace

void addAsmpatch(CLI::App& app, int& exit) {
  CLI::App* group = app.add_subcommand("asmpatch", "Make, show, apply and reverse .asmpatch files");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* description, Result<int> (*action)(const Arguments&)) {
    auto arguments = std::make_shared<Arguments>();
    CLI::App* command = group->add_subcommand(name, description);
    command->add_flag("--json", arguments->json, "Machine-readable report");
    command->callback([arguments, action, &exit] {
      const auto result = action(*arguments);
      exit = result ? *result : fail(result.error());
    });
    return std::pair(command, arguments);
  };
  const auto output = [](CLI::App* command, const std::shared_ptr<Arguments>& arguments, const char* what) {
    command->add_option("-o,--output", arguments->output, what)->required();
  };
  {
    const auto [command, arguments] = add("create", "The difference between two objects as instructions", create);
    command->add_option("K0", arguments->k0, "Original code object")->required();
    command->add_option("K1", arguments->k1, "Changed code object")->required();
    command->add_flag("--edits-only", arguments->editsOnly, "Refuse differences that are not edits of a program");
    output(command, arguments, ".asmpatch to write");
  }
  {
    const auto [command, arguments] = add("show", "Print a patch for reading", show);
    command->add_option("patch", arguments->patch, ".asmpatch")->required();
  }
  {
    const auto [command, arguments] = add("apply", "Rebuild K1 from K0, bit for bit", apply);
    command->add_option("K0", arguments->k0, "Original code object")->required();
    command->add_option("patch", arguments->patch, ".asmpatch")->required();
    output(command, arguments, "K1");
  }
  {
    const auto [command, arguments] = add("reverse", "The patch from K1 back to K0", reverse);
    command->add_option("K0", arguments->k0, "Original code object")->required();
    command->add_option("patch", arguments->patch, "The .asmpatch from K0 to K1")->required();
    output(command, arguments, ".asmpatch to write");
  }
}

} // namespace asmevo::cli
