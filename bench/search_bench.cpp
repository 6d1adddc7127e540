// What a candidate costs on its way through the search: candidates a second of each stage, on one core, with a loop of
// about 200 instructions.
#include "optimize/search/candidates.h"
#include "optimize/search/pricing.h"
#include "program/program.h"
#include "support/file_io.h"

#include <benchmark/benchmark.h>

#include <cstdlib>

namespace {

using namespace asmevo;

template <class T> T need(Result<T> result, benchmark::State& state) {
  if (!result) {
    state.SkipWithError(result.error().message.c_str());
    std::abort();
  }
  return *std::move(result);
}

/// The kernel, and candidates that cost what real ones cost. They need not be right: addresses stay, values may not.
struct Subject {
  object::CodeObject object;
  dispatch::Dispatch dispatch;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<isa::Codec> codec;
  program::Program program;
  program::BlockId loop = 0;

  explicit Subject(benchmark::State& state)
      : object(need(object::CodeObject::load(ASMEVO_BINARY_DIR "/kernels/long_loop.co"), state)),
        dispatch(need(dispatch::loadDispatch(ASMEVO_SOURCE_DIR "/tests/data/device/long_loop.dispatch.json"), state)),
        device(need(device::makeSimulator("mi300x"), state)), codec(need(isa::Codec::create(object), state)),
        program(need(program::Program::recover(object, *codec), state)) {
    dispatch::shareContents(dispatch);
    for (program::BlockId id = 0; id < program.blocks.size(); ++id)
      if (program.blocks[id].reachable && !program.blocks[id].opaque &&
          program.blocks[id].instrs.size() > program.blocks[loop].instrs.size())
        loop = id;
    state.counters["loop"] = static_cast<double>(program.blocks[loop].instrs.size());
  }

  /// One for each place in the loop: two neighbouring fused multiply-adds change places.
  program::Program candidate(std::size_t n) const {
    program::Program edited = program;
    auto& instrs = edited.blocks[loop].instrs;
    for (std::size_t i = n % (instrs.size() - 3);; i = (i + 1) % (instrs.size() - 3))
      if (instrs[i].inst->base.starts_with("v_fma") && instrs[i + 1].inst->base.starts_with("v_fma") &&
          instrs[i].inst != instrs[i + 1].inst) {
        std::swap(instrs[i], instrs[i + 1]);
        return edited;
      }
  }
};

/// A copy with its edit, laid out and hashed.
void build(benchmark::State& state) {
  const Subject subject(state);
  std::size_t n = 0;
  for (auto _ : state) {
    const auto bytes = need(program::rebuild(subject.object, subject.candidate(n++), *subject.codec), state);
    benchmark::DoNotOptimize(sha256Hex(bytes));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(build)->Unit(benchmark::kMillisecond);

/// Built objects, as many as `count`.
std::vector<object::CodeObject> candidates(const Subject& subject, benchmark::State& state, std::size_t count) {
  std::vector<object::CodeObject> list;
  for (std::size_t n = 0; n < count; ++n)
    list.push_back(need(object::CodeObject::parse(
                            need(program::rebuild(subject.object, subject.candidate(n), *subject.codec), state), "K1"),
                        state));
  return list;
}

void load(benchmark::State& state) {
  const Subject subject(state);
  const auto list = candidates(subject, state, 16);
  std::size_t n = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(subject.device->load(list[n++ % list.size()], "long_loop"));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

/// The trace alone, and with its estimate: of one workgroup, and of those that stand for all.
void traceOne(benchmark::State& state) {
  const Subject subject(state);
  const auto kernel = need(subject.device->load(subject.object, "long_loop"), state);
  for (auto _ : state)
    benchmark::DoNotOptimize(kernel->trace(subject.dispatch.cases.front(), {0}));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(traceOne)->Unit(benchmark::kMillisecond);

void estimateOne(benchmark::State& state) {
  const Subject subject(state);
  const auto kernel = need(subject.device->load(subject.object, "long_loop"), state);
  auto traced = need(kernel->trace(subject.dispatch.cases.front(), {0}), state);
  for (auto _ : state)
    benchmark::DoNotOptimize(traced.estimate(*subject.device->chip()));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(estimateOne)->Unit(benchmark::kMillisecond);

void traceSample(benchmark::State& state) {
  const Subject subject(state);
  const auto kernel = need(subject.device->load(subject.object, "long_loop"), state);
  for (auto _ : state)
    benchmark::DoNotOptimize(kernel->sample(subject.dispatch.cases.front(), *subject.device->chip()));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(traceSample)->Unit(benchmark::kMillisecond);

void estimateSample(benchmark::State& state) {
  const Subject subject(state);
  const auto kernel = need(subject.device->load(subject.object, "long_loop"), state);
  const auto traced = need(kernel->sample(subject.dispatch.cases.front(), *subject.device->chip()), state);
  for (auto _ : state)
    benchmark::DoNotOptimize(traced.estimate(*subject.device->chip()));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(estimateSample)->Unit(benchmark::kMillisecond);

/// The whole-grid price of a built candidate.
void price(benchmark::State& state) {
  const Subject subject(state);
  const auto list = candidates(subject, state, 64);
  const optimize::Pricer pricer(*subject.device, subject.dispatch, 0);
  std::size_t n = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(pricer.cycles(list[n++ % list.size()]));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(price)->Unit(benchmark::kMillisecond);

/// All cheap gates, from the edit to the model of one workgroup: what most candidates come to. Lint included, which
/// only candidates that pass the others come to.
void cheapGates(benchmark::State& state) {
  const Subject subject(state);
  const optimize::Pricer pricer(*subject.device, subject.dispatch, 0);
  optimize::Gates gates;
  gates.parentCycles = gates.parentByOne = 1; // slower than which all are
  gates.clocks = need(pricer.byOne(subject.object), state).clockMhz;
  gates.hazards = program::hazardTargetOf(subject.object.target());
  std::size_t n = 0;
  for (auto _ : state) {
    optimize::Candidate candidate;
    candidate.proposal.program = subject.candidate(n++);
    candidate.bytes = need(program::rebuild(subject.object, candidate.proposal.program, *subject.codec), state);
    candidate.hash = sha256Hex(candidate.bytes);
    benchmark::DoNotOptimize(optimize::lintsClean(candidate.proposal.program, 0, gates.accumOffset, gates.hazards));
    optimize::priceInParallel({&candidate}, pricer, gates, "K1", 1);
    if (!candidate.stoppedByOne)
      state.SkipWithError("a candidate went on to the whole grid");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(cheapGates)->Unit(benchmark::kMillisecond);

void lint(benchmark::State& state) {
  const Subject subject(state);
  const auto hazards = program::hazardTargetOf(subject.object.target());
  for (auto _ : state)
    benchmark::DoNotOptimize(optimize::lintsClean(subject.program, 0, 0, hazards));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(lint)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
