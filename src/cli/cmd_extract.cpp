#include "cli/command.h"
#include "object/container.h"
#include "object/link.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace asmevo::cli {

namespace {

namespace fs = std::filesystem;
using object::Container;
using object::DeviceObject;

struct Options {
  std::string file, target, kernel, output;
  std::optional<std::size_t> bundle;
  bool all = false, link = false, json = false;
};

/// A file name of our own making: whatever an id in the file says, no character of it can lead to another folder.
std::string fileName(const DeviceObject& object) {
  std::string target = object.info.target().substr(0, 64);
  for (char& c : target)
    if (const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '+';
        !plain)
      c = '_';
  return fmt::format("bundle{}-{}-{}.co", object.bundle, object.entry, target.empty() ? "object" : target);
}

Result<bool> hasKernel(const Container& container, const DeviceObject& which, const std::string& kernel) {
  ASMEVO_TRY(object::ChosenObject chosen, readObject(container, which));
  ASMEVO_TRY(const auto object, object::CodeObject::parse(std::move(chosen.bytes), std::move(chosen.name)));
  return std::any_of(object.kernels().begin(), object.kernels().end(),
                     [&](const object::Kernel& k) { return k.name == kernel; });
}

Result<std::vector<DeviceObject>> wanted(const Container& container, const Options& options,
                                         const object::ObjectSelection& selection) {
  ASMEVO_TRY(auto objects, selectObjects(container, selection));
  if (!options.kernel.empty()) {
    std::vector<DeviceObject> kept;
    for (DeviceObject& object : objects) {
      ASMEVO_TRY(const bool has, hasKernel(container, object, options.kernel));
      if (has)
        kept.push_back(std::move(object));
    }
    if (kept.empty())
      return usageError("{}: no device object has a kernel {}", container.source().name(), options.kernel);
    objects = std::move(kept);
  }
  if (objects.size() > 1 && !options.all) {
    constexpr std::size_t shown = 20;
    std::string list;
    for (std::size_t i = 0; i < objects.size() && i < shown; ++i)
      list += fmt::format("\n  --bundle {} --target {}", objects[i].bundle, objects[i].info.target());
    if (objects.size() > shown)
      list += fmt::format("\n  and {} more", objects.size() - shown);
    return usageError("{}: {} device objects fit: take --all of them (-o names a folder) or one of{}",
                      container.source().name(), objects.size(), list);
  }
  return objects;
}

Result<nlohmann::ordered_json> writeObject(const Container& container, const DeviceObject& which,
                                           const Options& options, const std::string& path) {
  ASMEVO_TRY(object::ChosenObject chosen, readObject(container, which));
  if (options.link) {
    ASMEVO_TRY(const auto relocatable, object::CodeObject::parse(std::move(chosen.bytes), chosen.name));
    ASMEVO_TRY(chosen.bytes, linkRelocatable(relocatable));
  }
  ASMEVO_CHECK(writeFileAtomic(path, chosen.bytes));
  return nlohmann::ordered_json{
      {"output", path},         {"bundle", which.bundle},           {"entry", which.entry},
      {"id", which.info.id},    {"target", which.info.target()},    {"bytes", chosen.bytes.size()},
      {"linked", options.link}, {"sha256", sha256Hex(chosen.bytes)}};
}

Result<nlohmann::ordered_json> extract(const Options& options) {
  object::ObjectPath path = object::parseObjectPath(options.file);
  if (options.bundle)
    path.selection.bundle = options.bundle;
  if (!options.target.empty())
    path.selection.target = options.target;
  ASMEVO_TRY(const Container container, Container::open(path.file));
  ASMEVO_TRY(const auto objects, wanted(container, options, path.selection));
  std::error_code ec;
  const bool intoFolder = options.all || options.output.ends_with('/') || fs::is_directory(options.output, ec);
  if (intoFolder && !fs::is_directory(options.output, ec) && !fs::create_directories(options.output, ec) && ec)
    return internalError("{}: cannot be made: {}", options.output, ec.message());
  Progress progress(!options.json);
  nlohmann::ordered_json written = nlohmann::ordered_json::array();
  for (const DeviceObject& object : objects) {
    progress.show(fmt::format("{} of {}", written.size() + 1, objects.size()));
    const std::string output = intoFolder ? (fs::path(options.output) / fileName(object)).string() : options.output;
    ASMEVO_TRY(auto row, writeObject(container, object, options, output));
    written.push_back(std::move(row));
  }
  return written;
}

int run(const Options& options) {
  const auto written = extract(options);
  if (!written)
    return fail(written.error(), {options.file});
  if (options.json) {
    fmt::print("{}\n",
               nlohmann::ordered_json{{"asmevo_extract", 1}, {"file", options.file}, {"objects", *written}}.dump(
                   1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return ok;
  }
  for (const auto& row : *written)
    fmt::print("{}: {} bytes, {} from bundle {}{}\n", row["output"].get<std::string>(), row["bytes"].get<std::size_t>(),
               row["target"].get<std::string>(), row["bundle"].get<std::size_t>(), options.link ? ", linked" : "");
  return ok;
}

} // namespace

void addExtract(CLI::App& app, int& exit) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("extract", "Take code objects out of bundles, host programs, libraries and "
                                                    "archives; link relocatable ones");
  command->add_option("FILE", options->file, "Offload bundle, host program, library, archive or code object")
      ->required();
  command->add_option("--target", options->target, "Only objects that run on this target (gfx90a:xnack+)");
  command->add_option("--bundle", options->bundle, "Only this bundle (numbers as `asmevo inspect` shows them)");
  command->add_option("--kernel", options->kernel, "Only objects that have this kernel");
  command->add_flag("--all", options->all, "All objects that fit, into the folder -o names");
  command->add_flag("--link", options->link, "Link a relocatable object (ld.lld) so that it can be loaded");
  command->add_option("-o,--output", options->output, "File to write, or folder")->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &exit] { exit = run(*options); });
}

} // namespace asmevo::cli
