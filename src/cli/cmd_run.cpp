#include "cli/command.h"
#include "cli/run_debug.h"
#include "cli/run_strict.h"
#include "device/device.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace asmevo::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t shownViolations = 8;

struct Options {
  std::string object, dispatch, out;
  std::string kernel;
  std::optional<std::size_t> onlyCase;
  emulator::RunOptions run;
  DebugOptions debug;
  std::string strict;
  bool json = false;
};

/// `folder`/<buffer>.bin for every buffer of a case.
Status writeBuffers(const fs::path& folder, const dispatch::Case& launch, const std::vector<Bytes>& buffers) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    return internalError("{}: {}", folder.string(), failure.message());
  for (std::size_t i = 0; i < buffers.size(); ++i)
    ASMEVO_CHECK(writeFileAtomic((folder / (launch.buffers[i].name + ".bin")).string(), buffers[i]));
  return {};
}

std::uint64_t workgroupsOf(const dispatch::Case& launch) {
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < 3; ++d)
    count *= (std::uint64_t{launch.gridSize[d]} + launch.workgroupSize[d] - 1) / launch.workgroupSize[d];
  return count;
}

ordered_json toJson(const dispatch::Case& launch, const std::string& kernel, const emulator::RunResult& result) {
  ordered_json violations = ordered_json::array();
  for (const emulator::GuardViolation& violation : result.guardViolations)
    violations.push_back({{"buffer", violation.buffer}, {"offset", violation.offset}});
  ordered_json buffers = ordered_json::array();
  for (std::size_t i = 0; i < result.buffers.size(); ++i)
    buffers.push_back({{"name", launch.buffers[i].name},
                       {"dtype", dispatch::dtypeName(launch.buffers[i].dtype)},
                       {"shape", launch.buffers[i].shape},
                       {"sha256", sha256Hex(result.buffers[i])},
                       {"changed", result.buffers[i] != launch.buffers[i].initial}});
  return {{"name", launch.name},
          {"kernel", kernel},
          {"workgroups", workgroupsOf(launch)},
          {"waves", result.waves},
          {"wave_instructions", result.waveInstructions},
          {"guard_violations", std::move(violations)},
          {"buffers", std::move(buffers)}};
}

void print(const dispatch::Case& launch, const std::string& kernel, const emulator::RunResult& result, double seconds) {
  fmt::print("{}: kernel {}: {} workgroups, {} waves, {} wave-instructions in {:.3f} s\n", launch.name, kernel,
             workgroupsOf(launch), result.waves, result.waveInstructions, seconds);
  for (std::size_t i = 0; i < result.buffers.size(); ++i)
    if (result.buffers[i] != launch.buffers[i].initial)
      fmt::print("  wrote {} ({} bytes)\n", launch.buffers[i].name, result.buffers[i].size());
  const auto& violations = result.guardViolations;
  for (std::size_t i = 0; i < violations.size() && i < shownViolations; ++i)
    fmt::print("  stored outside buffer {}: at byte offset {}\n", violations[i].buffer, violations[i].offset);
  if (violations.size() > shownViolations)
    fmt::print("  ... and {} more stores outside buffers\n", violations.size() - shownViolations);
}

Result<int> run(const Options& options) {
  ASMEVO_TRY(const object::CodeObject object, object::CodeObject::load(options.object));
  ASMEVO_TRY(const dispatch::Dispatch dispatch, dispatch::loadDispatch(options.dispatch));
  if (options.onlyCase && *options.onlyCase >= dispatch.cases.size())
    return usageError("--case {}: {} has cases 0 to {}", *options.onlyCase, options.dispatch,
                      dispatch.cases.size() - 1);
  // What a kernel computes does not depend on the chip of the simulator.
  ASMEVO_TRY(const auto device, device::makeSimulator("mi300x"));
  std::vector<emulator::Delivery> deliveries;
  if (!options.strict.empty()) {
    ASMEVO_TRY(deliveries, deliveriesOf(options.strict));
  }

  ordered_json report = ordered_json::array();
  bool clean = true;
  for (std::size_t i = 0; i < dispatch.cases.size(); ++i) {
    if (options.onlyCase && *options.onlyCase != i)
      continue;
    const dispatch::Case& launch = dispatch.cases[i];
    const std::string& wanted = options.kernel.empty() ? launch.kernel : options.kernel;
    ASMEVO_TRY(const auto loaded, device->load(object, wanted));
    ASMEVO_TRY(const object::Kernel* kernel, object.findKernel(wanted));
    ASMEVO_TRY(DebugSession debug, DebugSession::create(options.debug, object, *kernel, options.json));
    emulator::RunOptions launchOptions = options.run;
    debug.attach(launchOptions);
    const auto start = std::chrono::steady_clock::now();
    const auto inCase = [&](const Error& e) { return Error{e.kind, fmt::format("{}: {}", launch.name, e.message)}; };
    auto strict = StrictPasses::run(deliveries, *loaded, launch, launchOptions);
    if (!strict)
      return inCase(strict.error());
    auto result = deliveries.empty() ? loaded->launch(launch, launchOptions) : strict->first();
    if (!result)
      return inCase(result.error());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const auto findings = debug.findings();
    clean = clean && result->guardViolations.empty() && findings.empty() && strict->clean();
    if (!options.out.empty()) {
      const fs::path folder(options.out);
      ASMEVO_CHECK(writeBuffers(dispatch.cases.size() == 1 ? folder : folder / fmt::format("case{}", i), launch,
                                result->buffers));
    }
    if (options.json) {
      report.push_back(toJson(launch, kernel->name, *result));
      report.back()["bit_exact_mfma"] = !options.run.fastMfma;
      report.back().update(debug.toJson());
      if (!deliveries.empty())
        report.back()["strict"] = strict->toJson();
    } else {
      print(launch, kernel->name, *result, elapsed.count());
      if (options.run.fastMfma)
        fmt::print("  fast MFMA: not bit-exact\n");
      debug.print();
      strict->print();
    }
  }
  if (options.json)
    fmt::print("{}\n", ordered_json{{"object", options.object}, {"cases", std::move(report)}}.dump(2));
  return clean ? ok : negative;
}

} // namespace

void addRun(CLI::App& app, int& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a dispatch exactly, on the emulator, and write its buffers");
  command->add_option("object", options->object, "Code object")->required();
  command->add_option("-d,--dispatch", options->dispatch, "dispatch.json, or a folder with one")->required();
  command->add_option("-o,--out", options->out, "Write every buffer as OUT/<name>.bin (several cases: OUT/case0/...)");
  command->add_option("--case", options->onlyCase, "Run only this case, counted from 0");
  command->add_option("--kernel", options->kernel, "Run this kernel instead of the one the dispatch names");
  command->add_option("--seed", options->run.seed, "Interleave waves pseudo-randomly (0: lock step)");
  command->add_flag("--fast-mfma", options->run.fastMfma,
                    "Matrix instructions as plain f32 multiply-adds: quicker, not bit-exact");
  command->add_flag("--wave-to-barrier", options->run.waveToBarrier,
                    "Run each wave to its next barrier before the others");
  command->add_option("--threads", options->run.threads, "Host threads")->check(CLI::Range(1u, 1024u));
  command->add_option("--max-instructions", options->run.maxInstructions, "Give up after that many wave-instructions")
      ->check(CLI::PositiveNumber);
  command->add_flag("--strict{all}", options->strict,
                    "Deliver memory operations at the latest legal moment and report waits, wait states, races, bounds "
                    "and uninitialised contents. --strict=late, --strict=lds-early or --strict=wave: in one order "
                    "only. Buffers are those of the first");
  addDebugOptions(*command, options->debug);
  command->add_flag("--json", options->json, "Report as json");
  command->callback([options, &exit] {
    const auto code = run(*options);
    exit = code ? *code : fail(code.error(), {options->object, options->dispatch});
  });
}

} // namespace asmevo::cli
