// How fast the timing model is: simulated wave-instructions per second of one core with all caches modelled, whole
// estimates included. A counter with "per_s" is a rate; "share" says what part of an estimate is simulation.
#include "device/device.h"
#include "timing/sampling.h"
#include "timing/whole_chip.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace {

using namespace asmevo;

constexpr const char* chipName = "mi300x";

/// Traces of a kernel, or why there are none.
struct Subject {
  std::string error;
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

/// One of the suite's dispatches.
Result<dispatch::Case> suiteCase(const std::string& name) {
  ASMEVO_TRY(const dispatch::Dispatch all, dispatch::loadDispatch(ASMEVO_SOURCE_DIR "/kernels/dispatch/" + name + ".json"));
  return all.cases.front();
}

Result<device::TracedCase> trace(const std::string& objectPath, Result<dispatch::Case> launch) {
  if (!launch)
    return launch.error();
  ASMEVO_TRY(const object::CodeObject object, object::CodeObject::load(objectPath));
  ASMEVO_TRY(const object::Kernel* kernel, object.findKernel(launch->kernel));
  ASMEVO_TRY(const auto simulator, device::makeSimulator(chipName));
  ASMEVO_TRY(const auto loaded, simulator->load(object, kernel->name));
  ASMEVO_TRY(const timing::Chip chip, timing::loadChip(chipName));
  return loaded->sample(*launch, chip);
}

Subject subject(const std::string& objectPath, Result<dispatch::Case> launch) {
  Subject result;
  auto traced = trace(objectPath, std::move(launch));
  if (traced)
    result.traced = *std::move(traced);
  else
    result.error = traced.error().message;
  return result;
}

const Subject& gemm() {
  static const Subject made = subject(ASMEVO_SOURCE_DIR "/.cache/aiter/hsa/gfx942/fp8gemm_blockscale/"
                                                        "fp8gemm_bf16_blockscale_BpreShuffle_128x128.co",
                                      gemmCase());
  return made;
}
