/// Speed of the emulator's vector core and memory paths: wave-instructions per second on one thread, beside what the
/// host's own vector FMA reaches in the same run. One wave-instruction of an f32 FMA is 64 lane operations.
#include "host_peak.h"

#include "emulator/bind.h"
#include "emulator/launch.h"
#include "isa/codec.h"
#include "object/target.h"

#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace asmevo;
using bench::threadSeconds;
using emulator::Op;
using emulator::Wave;

constexpr unsigned vgprs = 128;

struct alignas(64) Registers {
  std::uint32_t lanes[vgprs][64];
};

constexpr std::size_t ldsBytes = 65536, bufferBytes = std::size_t{1} << 16;

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
      if (!inst || !emulator::bindInstruction(**inst, context, op))
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
    auto mapped = emulator::GuestMemory::create({{"buffer", 0, bufferBytes, 0}});
    if (!mapped)
      std::abort();
    memory.emplace(*std::move(mapped));
    wave.memory = &*memory;
    wave.lds = lds.get();
    wave.ldsBytes = ldsBytes;
    // What the memory loops address: s[4:5] the buffer, s[8:11] a raw descriptor of it, v100 to v103 4, 8, 12 and 16
    // times the lane, v[104:105] the buffer plus v100.
    const std::uint64_t base = memory->regions()[0].address;
    wave.setPair(4, base);
    wave.setPair(8, base);
    wave.sgpr[10] = bufferBytes;
    wave.sgpr[11] = 0x00020000;
    for (unsigned lane = 0; lane < 64; ++lane) {
      for (unsigned k = 1; k <= 4; ++k)
        registers->lanes[99 + k][lane] = 4 * k * lane;
      registers->lanes[104][lane] = static_cast<std::uint32_t>(base + 4 * lane);
      registers->lanes[105][lane] = static_cast<std::uint32_t>((base + 4 * lane) >> 32);
    }
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
  std::unique_ptr<std::uint8_t[]> lds = std::make_unique<std::uint8_t[]>(ldsBytes);
  std::optional<emulator::GuestMemory> memory;
  Wave wave;
};

std::vector<std::string> repeated(std::initializer_list<const char*> lines, unsigned times) {
  std::vector<std::string> out;
  for (unsigned i = 0; i < times; ++i)
    for (const char* line : lines)
      out.emplace_back(line);
  return out;
}

void measure(benchmark::State& state, const std::vector<std::string>& body, emulator::SimdLevel level,
             std::uint32_t mode) {
  if (level > emulator::bestSimdLevel())
    return state.SkipWithError("this machine lacks the vector instructions");
  Loop loop(body, level, mode);
  constexpr std::uint32_t iterations = 2000;
  const double start = threadSeconds();
  for (auto _ : state)
    loop.run(iterations);
  const double seconds = threadSeconds() - start;
  const double count = static_cast<double>(state.iterations()) * iterations * static_cast<double>(loop.instructions());
  state.counters["M_wave_inst_per_s"] = count / seconds / 1e6;
  state.counters["host_fma_G_lanes_per_s"] = bench::hostPeak() / 1e9;
  state.counters["ratio_to_host_peak"] = count * 64 / seconds / bench::hostPeak();
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

void fmaLoop(benchmark::State& state) {
  measure(state, fmaBody, emulator::bestSimdLevel(), keepAll);
}
void fmaLoopFlush(benchmark::State& state) {
  measure(state, fmaBody, emulator::bestSimdLevel(), flush32);
}
void fmaLoopAvx2(benchmark::State& state) {
  measure(state, fmaBody, emulator::SimdLevel::avx2, keepAll);
}
void fmaLoopAvx2Flush(benchmark::State& state) {
  measure(state, fmaBody, emulator::SimdLevel::avx2, flush32);
}
void mixedLoop(benchmark::State& state) {
  measure(state, mixedBody, emulator::bestSimdLevel(), flush32);
}

// Reads and writes of LDS, and coalesced loads and stores, of the widths that compiled kernels use.
const std::vector<std::string> ldsBody =
    repeated({"ds_read_b32 v1, v100 offset:1024", "ds_write_b32 v100, v2 offset:2048",
              "ds_read_b128 v[4:7], v103 offset:4096", "ds_write_b64 v101, v[8:9] offset:8192"},
             16);
const std::vector<std::string> globalBody = repeated(
    {"global_load_dword v1, v100, s[4:5] offset:1024", "global_load_dwordx4 v[4:7], v103, s[4:5]",
     "global_store_dword v[104:105], v2, off", "buffer_load_dwordx2 v[8:9], v101, s[8:11], 0 offen offset:512"},
    16);
void ldsLoop(benchmark::State& state) {
  measure(state, ldsBody, emulator::bestSimdLevel(), keepAll);
}
void globalLoop(benchmark::State& state) {
  measure(state, globalBody, emulator::bestSimdLevel(), keepAll);
}
void ldsLoopAvx2(benchmark::State& state) {
  measure(state, ldsBody, emulator::SimdLevel::avx2, keepAll);
}
void globalLoopAvx2(benchmark::State& state) {
  measure(state, globalBody, emulator::SimdLevel::avx2, keepAll);
}

BENCHMARK(ldsLoop);
BENCHMARK(globalLoop);
BENCHMARK(ldsLoopAvx2);
BENCHMARK(globalLoopAvx2);
BENCHMARK(fmaLoop);
BENCHMARK(fmaLoopFlush);
BENCHMARK(fmaLoopAvx2);
BENCHMARK(fmaLoopAvx2Flush);
BENCHMARK(mixedLoop);

/// One form of an instruction, repeated.
void oneForm(benchmark::State& state, const char* line) {
  measure(state, repeated({line}, 64), emulator::bestSimdLevel(), flush32);
}
BENCHMARK_CAPTURE(oneForm, add_u32, "v_add_u32_e32 v1, v2, v3");
BENCHMARK_CAPTURE(oneForm, mul_f32_sgpr, "v_mul_f32_e32 v1, s2, v3");
BENCHMARK_CAPTURE(oneForm, mul_f32_neg, "v_mul_f32_e64 v1, -v2, v3");
BENCHMARK_CAPTURE(oneForm, mul_f32_dpp, "v_mul_f32_dpp v1, v2, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf");
BENCHMARK_CAPTURE(oneForm, mov_dpp_bcast, "v_mov_b32_dpp v1, v2 row_bcast:15 row_mask:0xa bank_mask:0xf");
BENCHMARK_CAPTURE(oneForm, and_sdwa,
                  "v_and_b32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD "
                  "src1_sel:DWORD");
BENCHMARK_CAPTURE(oneForm, pk_fma_f32, "v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[2:3]");
BENCHMARK_CAPTURE(oneForm, pk_mul_f32_op_sel, "v_pk_mul_f32 v[2:3], v[4:5], v[6:7] op_sel_hi:[1,0]");
BENCHMARK_CAPTURE(oneForm, cvt_pk_fp8, "v_cvt_pk_fp8_f32 v1, v2, v3");
BENCHMARK_CAPTURE(oneForm, exp_f32, "v_exp_f32_e32 v1, v2");
BENCHMARK_CAPTURE(oneForm, log_f32, "v_log_f32_e32 v1, v2");
BENCHMARK_CAPTURE(oneForm, rcp_f32, "v_rcp_f32_e32 v1, v2");
BENCHMARK_CAPTURE(oneForm, perm_b32, "v_perm_b32 v1, v2, v3, v4");
BENCHMARK_CAPTURE(oneForm, max3_f32, "v_max3_f32 v1, v2, v3, v4");
BENCHMARK_CAPTURE(oneForm, cmp_f32, "v_cmp_lt_f32_e32 vcc, v2, v3");
BENCHMARK_CAPTURE(oneForm, cndmask, "v_cndmask_b32_e32 v1, v2, v3, vcc");
BENCHMARK_CAPTURE(oneForm, mad_u64_u32, "v_mad_u64_u32 v[2:3], s[4:5], v4, v5, v[2:3]");
BENCHMARK_CAPTURE(oneForm, fma_f64, "v_fma_f64 v[2:3], v[4:5], v[6:7], v[2:3]");
BENCHMARK_CAPTURE(oneForm, readlane, "v_readlane_b32 s4, v2, 5");
BENCHMARK_CAPTURE(oneForm, s_add, "s_add_u32 s14, s15, s16");
BENCHMARK_CAPTURE(oneForm, ds_read_b32, "ds_read_b32 v1, v100");
BENCHMARK_CAPTURE(oneForm, ds_read_b64, "ds_read_b64 v[2:3], v101");
BENCHMARK_CAPTURE(oneForm, ds_read_b128, "ds_read_b128 v[4:7], v103");
BENCHMARK_CAPTURE(oneForm, ds_write_b32, "ds_write_b32 v100, v2");
BENCHMARK_CAPTURE(oneForm, ds_write_b64, "ds_write_b64 v101, v[8:9]");
BENCHMARK_CAPTURE(oneForm, ds_write_b128, "ds_write_b128 v103, v[8:11]");
BENCHMARK_CAPTURE(oneForm, global_load_dword, "global_load_dword v1, v100, s[4:5]");
BENCHMARK_CAPTURE(oneForm, global_load_dwordx2, "global_load_dwordx2 v[2:3], v101, s[4:5]");
BENCHMARK_CAPTURE(oneForm, global_load_dwordx4, "global_load_dwordx4 v[4:7], v103, s[4:5]");
BENCHMARK_CAPTURE(oneForm, global_store_dword, "global_store_dword v[104:105], v2, off");
BENCHMARK_CAPTURE(oneForm, global_store_dwordx4, "global_store_dwordx4 v103, v[4:7], s[4:5]");
BENCHMARK_CAPTURE(oneForm, buffer_load_dwordx2, "buffer_load_dwordx2 v[8:9], v101, s[8:11], 0 offen");
// Every other dword: the path of any addresses.
BENCHMARK_CAPTURE(oneForm, ds_read_b32_apart, "ds_read_b32 v1, v101");
BENCHMARK_CAPTURE(oneForm, ds_read2_b32, "ds_read2_b32 v[2:3], v100 offset1:8");
BENCHMARK_CAPTURE(oneForm, global_load_dword_apart, "global_load_dword v1, v101, s[4:5]");
BENCHMARK_CAPTURE(oneForm, global_store_dword_apart, "global_store_dword v101, v2, s[4:5]");
BENCHMARK_CAPTURE(oneForm, buffer_load_dword_apart, "buffer_load_dword v1, v101, s[8:11], 0 offen");
BENCHMARK_CAPTURE(oneForm, ds_bpermute, "ds_bpermute_b32 v1, v100, v2");

} // namespace

BENCHMARK_MAIN();
