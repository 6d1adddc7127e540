// Multiply-adds per second of the emulator's bit-exact matrix instructions, on one thread.
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

void runShape(benchmark::State& state, const mfma::Shape* shape, SimdLevel level) {
  constexpr std::size_t bytes = 512 * 64 * 4;
  const std::unique_ptr<std::uint32_t, void (*)(void*)> registers(
      static_cast<std::uint32_t*>(std::aligned_alloc(64, bytes)), &std::free);
  std::mt19937 random(1);
  for (std::size_t i = 0; i < bytes / 4; ++i)
    registers.get()[i] = operandDword(i < 8 * 64 ? shape->a : shape->b, static_cast<std::uint32_t>(random()));
  Wave wave;
  wave.vgpr = registers.get();
  wave.vgprCount = 512;
  mfma::Plan plan;
  plan.shape = shape;
  constexpr unsigned length = 64;
  std::vector<Op> ops(length + 1);
  for (unsigned i = 0; i < length; ++i) {
    ops[i].fn = level == SimdLevel::avx512 ? avx512::mfmaHandler(*shape) : avx2::mfmaHandler(*shape);
    ops[i].extra = &plan;
    ops[i].src[0] = {.kind = SrcKind::vgpr, .reg = 0};
    ops[i].src[1] = {.kind = SrcKind::vgpr, .reg = 8};
    ops[i].src[2] = {.kind = SrcKind::vgpr, .reg = static_cast<std::uint16_t>(shape->sparse ? 20 : 32)};
    ops[i].dst = 32;
  }
  ops[length].fn = stopHere;
  const double perOp = 1.0 * shape->side * shape->side * shape->blocks * shape->k / (shape->sparse ? 2 : 1);
  for (auto _ : state) {
    for (unsigned r = 0; r < 32 * 64; ++r)
      wave.lanes(32)[r] = 0;
    ops[0].fn(wave, ops.data());
  }
  state.counters["multiply_adds/s"] =
      benchmark::Counter(perOp * length * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

} // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const mfma::Shape& shape : mfma::shapes())
    for (const SimdLevel level : {SimdLevel::avx2, SimdLevel::avx512}) {
      if (level == SimdLevel::avx512 && bestSimdLevel() != SimdLevel::avx512)
        continue;
      benchmark::RegisterBenchmark(
          (std::string(shape.mnemonic) + (level == SimdLevel::avx512 ? "/avx512" : "/avx2")).c_str(), runShape, &shape,
          level);
    }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
