#include "cli/command.h"
#include "object/replace.h"

#include <nlohmann/json.hpp>

namespace asmevo::cli {

namespace {

struct Options {
  std::string file, fresh, target, output;
  std::optional<std::size_t> bundle;
  bool json = false;
};

struct Outcome {
  object::Replacement replacement;
  object::DeviceObject object;
};

const char* nameOf(object::Placement placement) {
  switch (placement) {
  case object::Placement::slot:
    return "slot";
  case object::Placement::bundle:
    return "bundle";
  case object::Placement::file:
    return "file";
  case object::Placement::section:
    return "section";
  case object::Placement::segment:
    break;
  }
  return "segment";
}

std::string describe(const object::Replacement& replacement) {
  switch (replacement.placement) {
  case object::Placement::slot:
    return "in place, nothing else changed";
  case object::Placement::bundle:
    return "the bundle was laid out anew in the room it had";
  case object::Placement::file:
    return "the file grew, what follows moved";
  case object::Placement::section:
    return "the section grew and moved to the end of the file";
  case object::Placement::segment:
    break;
  }
  return fmt::format("a new segment holds the bundle (address 0x{:x}) and the program's pointer leads there",
                     replacement.newAddress);
}

Result<Outcome> replace(const Options& options) {
  object::ObjectPath path = object::parseObjectPath(options.file);
  if (options.bundle)
    path.selection.bundle = options.bundle;
  if (!options.target.empty())
    path.selection.target = options.target;
  ASMEVO_TRY(const object::CodeObject fresh, object::CodeObject::load(options.fresh));
  ASMEVO_TRY(const object::Container container, object::Container::open(path.file));
  // The new object's own target names its place unless the user says otherwise.
  if (path.selection.target.empty())
    path.selection.target = fresh.target().id();
  ASMEVO_TRY(const auto objects, selectObjects(container, path.selection));
  if (objects.size() != 1)
    return usageError("{}: {} device objects for {}: name the --bundle ({} to {})", path.file, objects.size(),
                      path.selection.target, objects.front().bundle, objects.back().bundle);
  ASMEVO_TRY(object::Replacement replacement, replaceObject(container, objects.front(), fresh));
  ASMEVO_CHECK(replacement.file.writeAtomic(container.source(), options.output, path.file));
  return Outcome{std::move(replacement), objects.front()};
}

int run(const Options& options) {
  const auto outcome = replace(options);
  if (!outcome)
    return fail(outcome.error(), {options.file});
  const object::Replacement& replacement = outcome->replacement;
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"asmevo_replace", 1},
                                              {"output", options.output},
                                              {"bundle", outcome->object.bundle},
                                              {"entry", outcome->object.entry},
                                              {"id", outcome->object.info.id},
                                              {"old_bytes", replacement.oldSize},
                                              {"new_bytes", replacement.newSize},
                                              {"placement", nameOf(replacement.placement)},
                                              {"address", replacement.newAddress},
                                              {"file_bytes", replacement.file.size()}}
                           .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else
    fmt::print("{}: bundle {}, {}: {} bytes instead of {}: {}\n", options.output, outcome->object.bundle,
               outcome->object.info.target(), replacement.newSize, replacement.oldSize, describe(replacement));
  return ok;
}

} // namespace

void addReplace(CLI::App& app, int& exit) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("replace", "Put a code object back into the bundle, host program or library it "
                                    "came from");
  command->add_option("FILE", options->file, "Offload bundle, host program, library or archive")->required();
  command->add_option("NEW", options->fresh, "Code object to put in")->required();
  command->add_option("--target", options->target, "Target whose object is replaced (default: that of NEW)");
  command->add_option("--bundle", options->bundle, "Bundle (numbers as `asmevo inspect` shows them)");
  command->add_option("-o,--output", options->output, "File to write")->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &exit] { exit = run(*options); });
}

} // namespace asmevo::cli
