// How fast the timing model is: simulated wave-instructions per second of one core with all caches modelled, whole
// estimates included.
#include "device/device.h"
#include "timing/sampling.h"
#include "timing/whole_chip.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace {

using namespace asmevo;

constexpr const char* chipName = "mi300x";

/// Traces of a kernel, or why there are none.
struct Subject {
  std::string error;
  std::unique_ptr<device::LoadedKernel> kernel; ///< owns the instructions that `traced` refers to
  device::TracedCase traced;
};

dispatch::Argument number(std::uint32_t at, std::uint32_t value) {
  dispatch::Argument argument;
  argument.at = at;
  argument.bytes.resize(sizeof value);
  std::memcpy(argument.bytes.data(), &value, sizeof value);
  return argument;
}

void addBuffer(dispatch::Case& launch, const char* name, std::uint64_t bytes, std::uint32_t at) {
  dispatch::Buffer buffer;
  buffer.name = name;
  buffer.shape = {bytes};
  buffer.sparseBytes = bytes;
  launch.buffers.push_back(std::move(buffer));
  dispatch::Argument argument;
  argument.at = at;
  argument.buffer = name;
  launch.arguments.push_back(std::move(argument));
}

/// AITer's fp8 block-scale GEMM, 4096 x 7168 x 7168 (facts: arguments in slots of 16 bytes).
dispatch::Case gemmCase() {
  constexpr std::uint32_t m = 4096, n = 7168, k = 7168, tile = 128;
  dispatch::Case launch;
  launch.name = "fp8 GEMM";
  launch.workgroupSize = {256, 1, 1};
  launch.gridSize = {n / tile * 256, m / tile, 1};
  launch.explicitKernarg = true;
  addBuffer(launch, "C", std::uint64_t{2} * m * n, 0);
  addBuffer(launch, "A", std::uint64_t{m} * k, 16);
  addBuffer(launch, "B", std::uint64_t{n} * k, 32);
  addBuffer(launch, "scaleA", std::uint64_t{4} * m * (k / 128), 48);
  addBuffer(launch, "scaleB", std::uint64_t{4} * (n / 128) * (k / 128), 64);
  addBuffer(launch, "bias", std::uint64_t{4} * n, 80);
  std::uint32_t at = 96;
  for (const std::uint32_t value : {m, n, k, k, k, 2 * n, 1U, m, n / 128, k / 128}) {
    launch.arguments.push_back(number(at, value));
    at += 16;
  }
  return launch;
}

Status fill(Subject& subject, const std::string& objectPath, const Result<dispatch::Case>& launch) {
  if (!launch)
    return launch.error();
  ASMEVO_TRY(const object::CodeObject object, object::CodeObject::load(objectPath));
  ASMEVO_TRY(const object::Kernel* kernel, object.findKernel(launch->kernel));
  ASMEVO_TRY(const auto simulator, device::makeSimulator(chipName));
  ASMEVO_TRY(subject.kernel, simulator->load(object, kernel->name));
  ASMEVO_TRY(const timing::Chip chip, timing::loadChip(chipName));
  ASMEVO_TRY(subject.traced, subject.kernel->sample(*launch, chip));
  return {};
}

const Subject& subject(const std::string& objectPath, const std::function<Result<dispatch::Case>()>& launch) {
  static std::map<std::string, Subject> made;
  const auto [entry, isNew] = made.try_emplace(objectPath);
  if (isNew)
    if (const Status status = fill(entry->second, objectPath, launch()); !status)
      entry->second.error = status.error().message;
  return entry->second;
}

/// AITer's GEMM, a streaming kernel and one that works in LDS.
const Subject& subject(const std::string& name) {
  if (name == "fp8_gemm")
    return subject(ASMEVO_SOURCE_DIR "/.cache/aiter/hsa/gfx942/fp8gemm_blockscale/"
                                     "fp8gemm_bf16_blockscale_BpreShuffle_128x128.co",
                   [] { return gemmCase(); });
  return subject(ASMEVO_BINARY_DIR "/kernels/" + name + ".co", [&]() -> Result<dispatch::Case> {
    ASMEVO_TRY(const dispatch::Dispatch all,
               dispatch::loadDispatch(ASMEVO_SOURCE_DIR "/kernels/" + name + ".dispatch.json"));
    return all.cases.front();
  });
}

/// One CU at full occupancy, replaying the traced workgroups until some 400,000 wave-instructions are done.
void simulate(benchmark::State& state, const std::string& name) {
  constexpr std::uint64_t wanted = 400'000;
  const Subject& of = subject(name);
  const auto chip = timing::loadChip(chipName);
  if (!of.error.empty() || !chip)
    return state.SkipWithError(of.error.empty() ? "no chip" : of.error.c_str());
  const timing::Parameters p = timing::Parameters::of(*chip);
  const std::vector<timing::StaticInst> code = timing::analyseCode(of.traced.code, of.traced.accumOffset, p);
  const auto set = timing::TraceSet::prepare(of.traced.traces, code);
  if (!set)
    return state.SkipWithError(set.error().message.c_str());
  timing::Launch shape = of.traced.shape;
  shape.workgroups = std::max<std::uint64_t>(shape.workgroups, 304 * 16); // full occupancy, whatever the case's size
  shape.grid = {};
  const timing::Placement placement = timing::placementOf(*chip, of.traced.target, shape);
  timing::CuLaunch launch;
  launch.residents = placement.residents;
  launch.wavesPerSimd = placement.wavesPerSimd;
  launch.load = placement.load;
  for (std::uint64_t done = 0; done < wanted; done += set->groups[launch.traces.back()].instructions)
    launch.traces.push_back(static_cast<unsigned>(launch.traces.size() % set->groups.size()));
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const auto run = timing::simulateCu(p, code, *set, launch);
    if (!run)
      return state.SkipWithError(run.error().message.c_str());
    instructions += run->instructions;
  }
  state.counters["instructions_per_s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

/// A whole estimate from traces: preparation, clock, rounds, tail.
void estimate(benchmark::State& state, const std::string& name) {
  const Subject& of = subject(name);
  const auto chip = timing::loadChip(chipName);
  if (!of.error.empty() || !chip)
    return state.SkipWithError(of.error.empty() ? "no chip" : of.error.c_str());
  for (auto _ : state) {
    auto result = of.traced.estimate(*chip);
    if (!result)
      return state.SkipWithError(result.error().message.c_str());
    benchmark::DoNotOptimize(result);
    state.counters["workgroups_simulated"] = static_cast<double>(result->simulatedWorkgroups);
  }
}

} // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const char* name : {"fp8_gemm", "vector_add", "matmul_tiled"}) {
    benchmark::RegisterBenchmark(("simulate/" + std::string(name)).c_str(), simulate, name)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("estimate/" + std::string(name)).c_str(), estimate, name)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
