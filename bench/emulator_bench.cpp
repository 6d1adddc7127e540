/// Speed of the emulator's vector core: wave-instructions per second on one thread, beside what the host's own vector FMA
/// reaches in the same run. One wave-instruction of an f32 FMA is 64 lane operations.
#include "emulator/bind.h"
#include "isa/codec.h"
#include "object/target.h"

#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace asmevo;
using emulator::Op;
using emulator::Wave;

constexpr unsigned vgprs = 128;

struct alignas(64) Registers {
  std::uint32_t lanes[vgprs][64];
};

void stopHandler(Wave&, const Op*) {}

/// s_cbranch_scc1 to op->target.
void loopHandler(Wave& wave, const Op* op) {
  if (wave.scc)
    ASMEVO_GOTO(wave, op->target);
  ASMEVO_NEXT(wave, op);
}

/// A loop body in assembly, with s_sub_u32 and a branch around it.
class Loop {
public:
  Loop(std::span<const std::string> body, emulator::SimdLevel level, std::uint32_t mode) {
    const object::Target target{"gfx942"};
    auto created = isa::Codec::create(target);
    if (!created)
      std::abort();
    codec = std::move(*created);
    emulator::BindContext context;
    context.simd = level;
    context.arena = &arena;
    std::vector<std::string> text(body.begin(), body.end());
    text.emplace_back("s_sub_u32 s0, s0, 1");
    text.emplace_back("s_cmp_lg_u32 s0, 0");
    for (const std::string& line : text) {
      const auto inst = codec->assemble(line);
      Op op;
      if (!inst || !emulator::bindAlu(**inst, context, op))
        std::abort();
      ops.push_back(op);
    }
    Op branch, end;
    branch.fn = &loopHandler;
    end.fn = &stopHandler;
    ops.push_back(branch);
    ops.push_back(end);
    ops[ops.size() - 2].target = ops.data();
    wave.vgpr = registers->lanes[0];
    wave.vgprCount = vgprs;
    wave.mode = mode;
    wave.setPair(isa::sreg::execLo, ~std::uint64_t{0});
    for (unsigned r = 0; r < vgprs; ++r)
      for (unsigned lane = 0; lane < 64; ++lane)
        registers->lanes[r][lane] = 0x3f000000u + r * 64 + lane;
  }
  std::size_t instructions() const { return ops.size() - 1; }
  void run(std::uint32_t iterations) {
    wave.sgpr[0] = iterations;
    ops[0].fn(wave, ops.data());
  }

private:
  std::unique_ptr<isa::Codec> codec;
  emulator::Arena arena;
  std::vector<Op> ops;
  std::unique_ptr<Registers> registers = std::make_unique<Registers>();
  Wave wave;
};

/// Independent FMA chains in host registers: the peak of one thread, in lane operations per second.
template <class V> double hostPeak() {
  constexpr unsigned chains = 12, rounds = 2000000;
  V acc[chains], a, b;
  for (unsigned i = 0; i < chains; ++i)
    acc[i] = V(static_cast<float>(i));
  a = V(0.999f);
  b = V(0.001f);
  const auto start = std::chrono::steady_clock::now();
  for (unsigned r = 0; r < rounds; ++r) {
#pragma clang loop unroll(full)
    for (unsigned i = 0; i < chains; ++i)
      acc[i] = __builtin_elementwise_fma(acc[i], a, b);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (unsigned i = 0; i < chains; ++i)
    benchmark::DoNotOptimize(acc[i]);
  return static_cast<double>(rounds) * chains * static_cast<double>(sizeof(V) / 4) / seconds;
}

using F32x8 = float __attribute__((ext_vector_type(8)));
using F32x16 = float __attribute__((ext_vector_type(16)));

[[gnu::target("avx2,fma")]] double narrowPeak() { return hostPeak<F32x8>(); }
[[gnu::target("avx512f,avx512vl,avx512dq,avx512bw")]] double widePeak() { return hostPeak<F32x16>(); }

double peak() {
  static const double value = emulator::bestSimdLevel() == emulator::SimdLevel::avx512 ? widePeak() : narrowPeak();
  return value;
}

std::vector<std::string> repeated(std::initializer_list<const char*> lines, unsigned times) {
  std::vector<std::string> out;
  for (unsigned i = 0; i < times; ++i)
    for (const char* line : lines)
      out.emplace_back(line);
  return out;
}

void measure(benchmark::State& state, const std::vector<std::string>& body, emulator::SimdLevel level,
             std::uint32_t mode) {
  if (!emulator::hostSupported()) {
    state.SkipWithError("needs AVX2, FMA and F16C");
    return;
  }
  Loop loop(body, level, mode);
  constexpr std::uint32_t iterations = 2000;
  for (auto _ : state)
    loop.run(iterations);
  const double count = static_cast<double>(state.iterations()) * iterations * static_cast<double>(loop.instructions());
  state.counters["wave_inst_per_s"] = benchmark::Counter(count, benchmark::Counter::kIsRate);
  state.counters["host_fma_peak_lanes_per_s"] = peak();
  state.counters["of_host_peak"] = benchmark::Counter(count * 64 / peak(), benchmark::Counter::kIsRate);
}

const std::vector<std::string> fmaBody = repeated({"v_fma_f32 v1, v2, v3, v1", "v_fmac_f32_e32 v4, v5, v6",
                                                   "v_fma_f32 v7, v8, v9, v7", "v_fmac_f32_e32 v10, v11, v12"},
                                                  16);
const std::vector<std::string> mixedBody =
    repeated({"v_mul_f32_e32 v1, s2, v3", "v_add_f32_e32 v4, 1.0, v5", "v_max3_f32 v7, v8, v9, v7",
              "v_lshl_add_u32 v10, v11, 2, v12", "v_exp_f32_e32 v13, v14", "v_cndmask_b32_e32 v15, v16, v17, vcc",
              "v_mul_f32_dpp v18, v19, v20 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", "s_add_u32 s4, s5, s6"},
             8);

constexpr std::uint32_t keepAll = 0x3f0, flush32 = 0xc0;

void fmaLoop(benchmark::State& state) { measure(state, fmaBody, emulator::bestSimdLevel(), keepAll); }
void fmaLoopFlush(benchmark::State& state) { measure(state, fmaBody, emulator::bestSimdLevel(), flush32); }
void fmaLoopAvx2(benchmark::State& state) { measure(state, fmaBody, emulator::SimdLevel::avx2, keepAll); }
void fmaLoopAvx2Flush(benchmark::State& state) { measure(state, fmaBody, emulator::SimdLevel::avx2, flush32); }
void mixedLoop(benchmark::State& state) { measure(state, mixedBody, emulator::bestSimdLevel(), flush32); }

BENCHMARK(fmaLoop);
BENCHMARK(fmaLoopFlush);
BENCHMARK(fmaLoopAvx2);
BENCHMARK(fmaLoopAvx2Flush);
BENCHMARK(mixedLoop);

} // namespace

BENCHMARK_MAIN();
