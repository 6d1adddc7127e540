// Multiply-adds per second of the emulator's matrix instructions on one thread, bit-exact and by the fast form, beside
// what the host's own vector FMA reaches in the same run.
#include "host_peak.h"

#include "emulator/bind.h"
#include "emulator/mfma/mfma_shape.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace asmevo;
using namespace asmevo::emulator;

void stopHere(Wave&, const Op*) {}

/// Ordinary numbers of the element type, about 1 in magnitude.
std::uint32_t operandDword(mfma::Element type, std::uint32_t random) {
  switch (type) {
  case mfma::Element::f16:
    return (random & 0x83ff83ff) | 0x3c003c00;
  case mfma::Element::bf16:
    return (random & 0x807f807f) | 0x3f803f80;
  case mfma::Element::fp8:
    return (random & 0x87878787) | 0x40404040;
  case mfma::Element::bf8:
    return (random & 0x83838383) | 0x40404040;
  case mfma::Element::i8:
    return random;
  default:
    return (random & 0x807fffff) | 0x3f800000;
  }
}

void runShape(benchmark::State& state, const mfma::Shape* shape, SimdLevel level, bool fast) {
  constexpr std::size_t bytes = 512 * 64 * 4;
  const std::unique_ptr<std::uint32_t, void (*)(void*)> registers(
      static_cast<std::uint32_t*>(std::aligned_alloc(64, bytes)), &std::free);
  std::mt19937 random(1);
  for (std::size_t i = 0; i < bytes / 4; ++i)
    registers.get()[i] = operandDword(i < 8 * 64 ? shape->a : shape->b, static_cast<std::uint32_t>(random()));
  Wave wave;
  wave.vgpr = registers.get();
  wave.vgprCount = 512;
  wave.fastMfma = fast;
  mfma::Plan plan;
  plan.shape = shape;
  constexpr unsigned length = 64;
  std::vector<Op> ops(length + 1);
  for (unsigned i = 0; i < length; ++i) {
    ops[i].fn = atLevel(level, scalar::mfmaHandler, avx2::mfmaHandler, avx512::mfmaHandler)(*shape);
    ops[i].extra = &plan;
    ops[i].src[0] = {.kind = SrcKind::vgpr, .reg = 0};
    ops[i].src[1] = {.kind = SrcKind::vgpr, .reg = 8};
    ops[i].src[2] = {.kind = SrcKind::vgpr, .reg = static_cast<std::uint16_t>(shape->sparse ? 20 : 32)};
    ops[i].dst = 32;
  }
  ops[length].fn = stopHere;
  const double perOp = 1.0 * shape->side * shape->side * shape->blocks * shape->k / (shape->sparse ? 2 : 1);
  const double start = bench::threadSeconds();
  for (auto _ : state) {
    for (unsigned r = 0; r < 32 * 64; ++r)
      wave.lanes(32)[r] = 0;
    ops[0].fn(wave, ops.data());
  }
  const double rate = perOp * length * static_cast<double>(state.iterations()) / (bench::threadSeconds() - start);
  state.counters["G_multiply_adds_per_s"] = rate / 1e9;
  state.counters["ratio_to_host_peak"] = rate / bench::hostPeak();
}

/// The elements whose fast form is another one (mfma_fast_simd.cpp).
bool hasFastForm(const mfma::Shape& shape) {
  using enum mfma::Element;
  return shape.a != f64 && shape.a != f32 && shape.a != i8;
}

} // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const mfma::Shape& shape : mfma::shapes())
    for (const SimdLevel level : hostSimdLevels())
      for (const bool fast : {false, true}) {
        if (level == SimdLevel::scalar || (fast && !hasFastForm(shape)))
          continue;
        std::string name(shape.mnemonic);
        name += level == SimdLevel::avx512 ? "/avx512" : "/avx2";
        benchmark::RegisterBenchmark((name + (fast ? "/fast" : "")).c_str(), runShape, &shape, level, fast);
      }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
