#include "cli/command.h"
#include "device/device.h"
#include "report/profile_json.h"
#include "report/profile_text.h"

#include <nlohmann/json.hpp>

namespace asmevo::cli {

namespace {

struct Arguments {
  std::string object, dispatch, chip = "mi300x", kernel;
  bool json = false;
};

Result<int> run(const Arguments& arguments) {
  ASMEVO_TRY(const object::CodeObject object, object::CodeObject::load(arguments.object));
  ASMEVO_TRY(const dispatch::Dispatch dispatch, dispatch::loadDispatch(arguments.dispatch));
  ASMEVO_TRY(const auto device, device::makeSimulator(arguments.chip));
  nlohmann::json cases = nlohmann::json::array();
  for (const dispatch::Case& launch : dispatch.cases) {
    ASMEVO_TRY(const object::Kernel* kernel,
               object.findKernel(arguments.kernel.empty() ? launch.kernel : arguments.kernel));
    ASMEVO_TRY(const auto loaded, device->load(object, kernel->name));
    const auto estimate = loaded->time(launch);
    if (!estimate)
      return Error{estimate.error().kind, fmt::format("{}: {}", launch.name, estimate.error().message)};
    if (arguments.json) {
      nlohmann::json entry = report::estimateJson(*estimate, device->modelled());
      entry["name"] = launch.name;
      entry["kernel"] = kernel->name;
      cases.push_back(std::move(entry));
    } else {
      fmt::print("{}: {} on {}\n{}", launch.name, kernel->name, device->name(),
                 report::estimateText(*estimate, device->modelled()));
    }
  }
  if (arguments.json)
    fmt::print("{}\n", nlohmann::json{{"object", arguments.object},
                                      {"device", device->name()},
                                      {"modelled", device->modelled()},
                                      {"cases", std::move(cases)}}
                           .dump(2));
  return int{ok};
}

} // namespace

void addTime(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("time", "Modelled cycles and microseconds of every case of a dispatch");
  command->add_option("object", arguments->object, "Code object")->required();
  command->add_option("-d,--dispatch", arguments->dispatch, "dispatch.json, or a folder with one")->required();
  command->add_option("--chip", arguments->chip, "Chip of the timing model, or a chip file (.json)")
      ->capture_default_str();
  command->add_option("--kernel", arguments->kernel, "Time this kernel instead of the one the dispatch names");
  command->add_flag("--json", arguments->json, "Report as json");
  command->callback([arguments, &exit] {
    const auto code = run(*arguments);
    exit = code ? *code : fail(code.error(), {arguments->object, arguments->dispatch});
  });
}

} // namespace asmevo::cli
