// What a second host thread brings: the same dispatch on one and on two, in turns.
#include "host_peak.h"

#include "dispatch/dispatch.h"
#include "emulator/emulator.h"
#include "support/file_io.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

namespace {

using namespace asmevo;

/// Processor time of all threads.
double processSeconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Best {
  double wall = std::numeric_limits<double>::infinity(), cpu = wall;
};

/// One run; false if it failed.
bool timed(const emulator::Kernel& kernel, const dispatch::Case& launch, unsigned threads, Best& best) {
  emulator::RunOptions options;
  options.threads = threads;
  const double cpu = processSeconds();
  const auto start = std::chrono::steady_clock::now();
  const auto result = kernel.run(launch, options);
  best.wall = std::min(best.wall, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  best.cpu = std::min(best.cpu, processSeconds() - cpu);
  return static_cast<bool>(result);
}

/// `speedup`: wall time of one thread over that of two, the best of several runs each (2 where both cores are free);
/// `more_cpu`: how much more processor time two threads take in all, which a busy machine hardly distorts.
void twoThreads(benchmark::State& state, const std::string& name, const std::string& json) {
  const std::string path = ASMEVO_BINARY_DIR "/kernels/" + name + ".co";
  const auto bytes = readFile(path);
  const auto object = bytes ? object::CodeObject::parse(*bytes, path) : Result<object::CodeObject>(bytes.error());
  const auto kernel = object ? emulator::Kernel::prepare(*object, name)
                             : Result<std::shared_ptr<const emulator::Kernel>>(object.error());
  const auto given = dispatch::parseDispatch(json, ".", name);
  if (!kernel || !given)
    return state.SkipWithError((kernel ? given.error() : kernel.error()).message.c_str());
  Best one, two;
  for (auto unused : state)
    if (!timed(**kernel, given->cases[0], 1, one) || !timed(**kernel, given->cases[0], 2, two))
      return state.SkipWithError("the run failed");
  state.counters["wall_s_1"] = one.wall;
  state.counters["wall_s_2"] = two.wall;
  state.counters["speedup"] = one.wall / two.wall;
  state.counters["more_cpu"] = two.cpu / one.cpu - 1;
}

} // namespace

// 1,024 workgroups each.
BENCHMARK_CAPTURE(twoThreads, matmul_tiled, std::string("matmul_tiled"), std::string(R"({
  "asmevo_dispatch": 1, "kernel": "matmul_tiled", "workgroup_size": [16, 16, 1], "grid_size": [512, 512, 1],
  "buffers": {
    "a": {"dtype": "f32", "shape": [512, 512], "init": {"normal": {"mean": 0, "std": 1, "seed": 1}}},
    "b": {"dtype": "f32", "shape": [512, 512], "init": {"normal": {"mean": 0, "std": 1, "seed": 2}}},
    "c": {"dtype": "f32", "shape": [512, 512], "init": "poison"}
  },
  "args": [{"buffer": "a"}, {"buffer": "b"}, {"buffer": "c"}, {"i32": 512}, {"i32": 512}, {"i32": 512}]
})"))
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(twoThreads, softmax, std::string("softmax"), std::string(R"({
  "asmevo_dispatch": 1, "kernel": "softmax", "workgroup_size": [256, 1, 1], "grid_size": [262144, 1, 1],
  "buffers": {
    "in": {"dtype": "f32", "shape": [1024, 8000], "init": {"normal": {"mean": 0, "std": 2, "seed": 6}}},
    "out": {"dtype": "f32", "shape": [1024, 8000], "init": "poison"}
  },
  "args": [{"buffer": "in"}, {"buffer": "out"}, {"i32": 8000}]
})"))
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
