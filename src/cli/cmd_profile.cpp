#include "cli/command.h"
#include "device/device.h"
#include "isa/codec.h"
#include "program/program.h"
#include "report/profile_json.h"
#include "report/profile_text.h"
#include "report/profile_trace.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace asmevo::cli {

namespace {

struct Arguments {
  std::string object, dispatch, chip = "mi300x", kernel;
  std::optional<std::size_t> onlyCase;
  std::string trace; ///< file; empty: none
  report::TraceWindow window;
  unsigned top = 3;
  bool json = false;
};

Result<int> run(const Arguments& arguments) {
  ASMEVO_TRY(const object::CodeObject object, object::CodeObject::load(arguments.object));
  ASMEVO_TRY(const dispatch::Dispatch dispatch, dispatch::loadDispatch(arguments.dispatch));
  if (arguments.onlyCase && *arguments.onlyCase >= dispatch.cases.size())
    return usageError("--case {}: {} has cases 0 to {}", *arguments.onlyCase, arguments.dispatch,
                      dispatch.cases.size() - 1);
  if (!arguments.trace.empty() && dispatch.cases.size() > 1 && !arguments.onlyCase)
    return usageError("--trace: {} has {} cases, choose one with --case", arguments.dispatch, dispatch.cases.size());
  ASMEVO_TRY(const timing::Chip chip, timing::loadChip(arguments.chip));
  ASMEVO_TRY(const auto device, device::makeSimulator(arguments.chip));
  ASMEVO_TRY(const auto codec, isa::Codec::create(object));
  ASMEVO_TRY(const program::Program program, program::Program::recover(object, *codec));
  nlohmann::json cases = nlohmann::json::array();
  for (std::size_t i = 0; i < dispatch.cases.size(); ++i) {
    if (arguments.onlyCase && *arguments.onlyCase != i)
      continue;
    const dispatch::Case& launch = dispatch.cases[i];
    ASMEVO_TRY(const object::Kernel* kernel,
               object.findKernel(arguments.kernel.empty() ? launch.kernel : arguments.kernel));
    ASMEVO_TRY(const auto loaded, device->load(object, kernel->name));
    timing::Timeline timeline;
    auto estimate = [&]() -> Result<timing::Estimate> {
      ASMEVO_TRY(const device::TracedCase sampled, loaded->sample(launch, chip));
      return sampled.estimate(chip, arguments.trace.empty() ? nullptr : &timeline);
    }();
    if (!estimate)
      return Error{estimate.error().kind, fmt::format("{}: {}", launch.name, estimate.error().message)};
    ASMEVO_TRY(const report::Profile profile,
               report::buildProfile(object, *kernel, program, *std::move(estimate), launch.name, *device));
    if (!arguments.trace.empty())
      ASMEVO_CHECK(writeFileAtomic(arguments.trace, report::chromeTrace(profile, timeline, arguments.window)));
    if (arguments.json)
      cases.push_back(report::profileJson(profile, arguments.top));
    else
      fmt::print("{}{}", i && !arguments.onlyCase ? "\n" : "", report::profileText(profile, arguments.top));
  }
  if (arguments.json)
    fmt::print("{}\n", nlohmann::json{{"cases", std::move(cases)}}.dump(2));
  return int{ok};
}

} // namespace

void addProfile(CLI::App& app, int& exit) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "profile", "Where the modelled time of a dispatch goes: hot loops and blocks, stall reasons per instruction");
  command->add_option("object", arguments->object, "Code object")->required();
  command->add_option("-d,--dispatch", arguments->dispatch, "dispatch.json, or a folder with one")->required();
  command->add_option("--chip", arguments->chip, "Chip of the timing model, or a chip file (.json)")
      ->capture_default_str();
  command->add_option("--kernel", arguments->kernel, "Profile this kernel instead of the one the dispatch names");
  command->add_option("--case", arguments->onlyCase, "Profile only this case, counted from 0");
  command->add_option("--top", arguments->top, "List the instructions of that many of the hottest blocks")
      ->capture_default_str()
      ->check(CLI::Range(0U, 10000U));
  command->add_option("--trace", arguments->trace, "Write the simulated CU's run for Perfetto or chrome://tracing");
  command->add_option("--trace-from", arguments->window.from, "First clk whose instructions the trace shows")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--trace-slices", arguments->window.slices, "Slices of instructions and stalls in the trace, about")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{100}, std::size_t{5'000'000}));
  command->add_flag("--json", arguments->json, "Report as json");
  command->callback([arguments, &exit] {
    const auto code = run(*arguments);
    exit = code ? *code : fail(code.error(), {arguments->object, arguments->dispatch});
  });
}

} // namespace asmevo::cli
