// Kernels traced on an MI350X (ATT, FlyDSL): barriers, starts and ends of waves, dispatch, latencies of LDS, and which
// VALU of two waves share a slot.
#include "listing.h"
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace asmevo::bench {
namespace {

using timing::Clk;
using timing::SyntheticProgram;
using timing::WaveBuilder;

Row nearby(std::string what, double measured, double modelled) {
  return {std::move(what), measured, modelled, "clk", "within 4 clk", std::abs(measured - modelled) <= 4};
}

double median(std::vector<Clk> of) {
  std::sort(of.begin(), of.end());
  return of.empty() ? 0 : static_cast<double>(of[of.size() / 2]);
}

/// Rows of the latency table by (what, kernel or operation): median, and minimum.
struct Latencies {
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> rows;
  static Result<Latencies> read(const std::string& path) {
    ASMEVO_TRY(const Table table, Table::read(path));
    std::array<std::size_t, 7> at{};
    constexpr const char* names[] = {"what", "kernel", "op", "context", "wait_count", "p50", "n"};
    for (std::size_t i = 0; i < at.size(); ++i) {
      ASMEVO_TRY(at[i], table.column(names[i]));
    }
    ASMEVO_TRY(const std::size_t least, table.column("min"));
    Latencies result;
    std::map<std::pair<std::string, std::string>, std::int64_t> samples;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string& kernel = table.text(row, at[1]);
      if (kernel == "all" && (table.text(row, at[3]) != "solo" || table.text(row, at[4]) != "0"))
        continue;
      const std::pair key{table.text(row, at[0]), kernel == "all" ? table.text(row, at[2]) : kernel};
      if (table.number(row, at[6]) < samples[key])
        continue;
      samples[key] = table.number(row, at[6]);
      result.rows[key] = {static_cast<double>(table.number(row, at[5])), static_cast<double>(table.number(row, least))};
    }
    return result;
  }
  Result<double> middle(const std::string& what, const std::string& of) const {
    const auto found = rows.find({what, of});
    if (found == rows.end())
      return badInput("latency table: no row '{}' of {}", what, of);
    return found->second.first;
  }
};

struct BarrierTimes {
  std::vector<Clk> lastArriver, others; ///< arrival of the last to its own and to the others' next issue
};

/// Waves of one workgroup, barrier by barrier.
void addBarriers(const ListedKernel& kernel, const std::vector<unsigned>& members,
                 const std::vector<std::vector<Clk>>& issue, BarrierTimes& times) {
  std::vector<std::vector<std::pair<Clk, Clk>>> visits(members.size()); // issue, next issue
  for (std::size_t w = 0; w < members.size(); ++w) {
    const std::vector<MeasuredStep>& steps = kernel.waves[members[w]].steps;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i)
      if (kernel.instructions[steps[i].instruction].text.starts_with("s_barrier"))
        visits[w].emplace_back(issue[w][i], issue[w][i + 1]);
  }
  for (const auto& each : visits)
    if (each.size() != visits.front().size())
      return;
  for (std::size_t b = 0; b < visits.front().size(); ++b) {
    const auto last = std::max_element(visits.begin(), visits.end(),
                                       [&](const auto& x, const auto& y) { return x[b].first < y[b].first; });
    for (auto it = visits.begin(); it != visits.end(); ++it)
      (it == last ? times.lastArriver : times.others).push_back((*it)[b].second - (*last)[b].first);
  }
}

class Machine {
 public:
  Machine(const timing::Chip& onChip, isa::Codec& assembler) : chip(onChip), codec(assembler) {}

  /// From the issue of the first statement to the end of the wait that is the second.
  Result<double> latency(const std::string& operation, unsigned bytes, bool store) {
    ASMEVO_TRY(const SyntheticProgram program,
               SyntheticProgram::assemble(codec, {operation, "s_waitcnt lgkmcnt(0)", "s_nop 0"}));
    WaveBuilder wave(program);
    wave.step(0).lds(bytes, bytes, store).run(1, 4);
    ASMEVO_TRY(const timing::Replay run, replayed(program, {{wave.trace}}));
    return static_cast<double>(run.gap(0, 2));
  }
  /// Of a scalar load whose line the cache has.
  Result<double> scalarHit() {
    ASMEVO_TRY(const SyntheticProgram program,
               SyntheticProgram::assemble(codec, {"s_load_dword s4, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)",
                                                  "s_load_dword s4, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_nop 0"}));
    WaveBuilder wave(program);
    wave.step(0).scalar(4096, 4).run(1, 3).scalar(4096, 4).run(3, 6);
    ASMEVO_TRY(const timing::Replay run, replayed(program, {{wave.trace}}));
    return static_cast<double>(run.gap(2, 4));
  }
  /// Eight workgroups of four waves that do nothing, every CU of the chip busy with the like.
  Result<timing::Replay> empties() {
    ASMEVO_TRY(const SyntheticProgram program, SyntheticProgram::assemble(codec, {}));
    const std::vector<emulator::WaveTrace> waves(4, WaveBuilder(program).all().trace);
    return replayed(program, std::vector<std::vector<emulator::WaveTrace>>(8, waves), 8);
  }

 private:
  Result<timing::Replay> replayed(const SyntheticProgram& program, std::vector<std::vector<emulator::WaveTrace>> groups,
                                  unsigned residents = 1) {
    std::vector<emulator::WorkgroupTrace> traces;
    for (auto& waves : groups) {
      emulator::WorkgroupTrace& trace = traces.emplace_back();
      trace.index = traces.size() - 1;
      trace.waves = std::move(waves);
    }
    timing::ChipLoad load;
    load.activeCusPerXcd = chip.cusPerXcd;
    return timing::replay(chip, program.code(), 512, traces, residents, load);
  }
  const timing::Chip& chip;
  isa::Codec& codec;
};

Result<Section> timesSection(const std::string& folder, const timing::Chip& chip, isa::Codec& codec) {
  Section section{"ATT barriers, starts, ends, dispatch, LDS", chip.name, {}, {}};
  ASMEVO_TRY(const Latencies latencies, Latencies::read(folder + "/att_gfx950_latency.csv"));
  BarrierTimes barriers;
  std::vector<Clk> starts;
  const std::string kernelName = "preshuffle_gemm_v2_big";
  ASMEVO_TRY(const ListedKernel kernel, ListedKernel::read(codec, folder, kernelName));
  const auto members = kernel.members(4);
  const auto groups = kernel.workgroups(4);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    ASMEVO_TRY(const timing::Replay run, timing::replay(chip, kernel.code, 512, {groups[g]}, 1));
    addBarriers(kernel, members[g], run.issue, barriers);
    for (std::size_t w = 0; w < run.issue.size(); ++w)
      starts.push_back(run.issue[w].front() - run.result.waveSpans[w].start);
  }
  ASMEVO_TRY(const double last, latencies.middle("barrier_cost_of_last_arriver", kernelName));
  ASMEVO_TRY(const double others, latencies.middle("barrier_release_minus_last_arrival", kernelName));
  ASMEVO_TRY(const double start, latencies.middle("wave_start_to_first_issue", kernelName));
  ASMEVO_TRY(const double end, latencies.middle("s_endpgm_duration", "mla_decode_big"));
  section.rows.push_back(nearby(fmt::format("barrier, last arriver goes on ({} barriers)", barriers.lastArriver.size()),
                                last, median(barriers.lastArriver)));
  section.rows.push_back(nearby("barrier, others go on after the last arrival", others, median(barriers.others)));
  section.rows.push_back(nearby("wave start to first issue", start, median(starts)));

  Machine machine(chip, codec);
  ASMEVO_TRY(const timing::Replay empties, machine.empties());
  const auto& spans = empties.result.waveSpans;
  section.rows.push_back(
      nearby("s_endpgm without stores", end, static_cast<double>(spans[0].end - empties.issue[0][0])));
  section.rows.push_back(nearby("waves of a workgroup apart", 4, static_cast<double>(spans[1].start - spans[0].start)));
  section.rows.push_back(nearby("workgroups of a CU apart, 8 CUs of a shader engine at 16", 128,
                                static_cast<double>(spans[4].start - spans[0].start)));
  bool inOrder = true;
  for (std::size_t w = 0; w < 4; ++w)
    inOrder &= spans[w].simd == std::array{0, 2, 1, 3}[w];
  section.rows.push_back({"SIMDs in the order 0, 2, 1, 3", std::nullopt, inOrder ? 1.0 : 0.0, "", "yes", inOrder});

  const struct {
    const char* name;
    std::string text;
    unsigned bytes;
    bool store;
  } operations[] = {{"ds_read_b64", "ds_read_b64 v[2:3], v1", 8, false},
                    {"ds_read_b128", "ds_read_b128 v[4:7], v1", 16, false},
                    {"ds_swizzle_b32", "ds_swizzle_b32 v2, v1 offset:0x8000", 4, false},
                    {"ds_bpermute_b32", "ds_bpermute_b32 v2, v1, v3", 4, false},
                    {"ds_write_b128", "ds_write_b128 v1, v[4:7]", 16, true}};
  for (const auto& operation : operations) {
    ASMEVO_TRY(const double want, latencies.middle("lgkm_wait_end_minus_issue", operation.name));
    ASMEVO_TRY(const double got, machine.latency(operation.text, operation.bytes, operation.store));
    section.rows.push_back(nearby(fmt::format("{} to the end of its wait", operation.name), want, got));
  }
  ASMEVO_TRY(const double scalar, machine.scalarHit());
  section.rows.push_back(nearby("s_load, line cached, to the end of its wait", 40, scalar));
  return section;
}

/// Share of VALU issues that have another wave's VALU in their slot. `slots` counts VALU by SIMD and 4-clk slot.
double sharedPart(const std::map<std::pair<unsigned, Clk>, unsigned>& slots) {
  double all = 0, together = 0;
  for (const auto& [slot, count] : slots) {
    all += count;
    together += count > 1 ? count : 0;
  }
  return all > 0 ? 100 * together / all : 0;
}

/// softmax, five to six workgroups of a CU at a time. The trace holds no addresses, so the model's waves meet at other
/// places than the traced ones: shown, not demanded.
Result<std::vector<Row>> busyRows(const std::string& folder, const timing::Chip& chip, isa::Codec& codec) {
  ASMEVO_TRY(const ListedKernel kernel, ListedKernel::read(codec, folder, "softmax_big"));
  const auto isValu = [&](const MeasuredStep& step) {
    return kernel.instructions[step.instruction].inst->cls == isa::InstClass::valu;
  };
  std::map<std::pair<unsigned, Clk>, unsigned> measured, modelled;
  for (const MeasuredWave& wave : kernel.waves)
    for (const MeasuredStep& step : wave.steps)
      if (isValu(step))
        ++measured[{(wave.engine * 64 + wave.cu) * 4 + wave.simd, (wave.begin + step.clk) / 4}];
  std::map<unsigned, std::vector<std::size_t>> byEngine;
  const auto members = kernel.members(4);
  const auto groups = kernel.workgroups(4);
  for (std::size_t g = 0; g < groups.size(); ++g)
    byEngine[kernel.waves[members[g].front()].engine].push_back(g);
  timing::ChipLoad load;
  load.activeCusPerXcd = chip.cusPerXcd;
  load.workShareOfXcd = 1.0 / chip.cusPerXcd;
  load.workShare = load.workShareOfXcd / chip.xcds;
  for (const auto& [engine, list] : byEngine) {
    std::vector<emulator::WorkgroupTrace> traces;
    std::vector<unsigned> waves;
    for (const std::size_t g : list) {
      traces.push_back(groups[g]);
      waves.insert(waves.end(), members[g].begin(), members[g].end());
    }
    ASMEVO_TRY(const timing::Replay run, timing::replay(chip, kernel.code, 512, traces, 8, load));
    for (std::size_t w = 0; w < waves.size(); ++w)
      for (std::size_t i = 0; i < run.issue[w].size(); ++i)
        if (isValu(kernel.waves[waves[w]].steps[i]))
          ++modelled[{engine * 4 + run.result.waveSpans[w].simd, run.issue[w][i] / 4}];
  }
  unsigned most = 0;
  for (const auto& [slot, count] : modelled)
    most = std::max(most, count);
  return std::vector<Row>{
      {"softmax: VALU issues that share a slot", sharedPart(measured), sharedPart(modelled), "%", "", std::nullopt},
      {"softmax: VALU in one slot at most", 2, static_cast<double>(most), "", "2", most == 2}};
}

/// Mnemonics that were issued often enough, with company on their SIMD, to say whether they ever share a slot.
Result<Section> pairingSection(const std::string& folder, const timing::Chip& chip, isa::Codec& codec) {
  constexpr std::int64_t leastIssues = 1000, leastShared = 10;
  ASMEVO_TRY(const Table table, Table::read(folder + "/att_gfx950_valu_dual_issue.csv"));
  ASMEVO_TRY(const std::size_t name, table.column("mnemonic"));
  ASMEVO_TRY(const std::size_t issues, table.column("issues_on_simds_with_2plus_waves"));
  ASMEVO_TRY(const std::size_t shared, table.column("issued_in_same_4clk_slot_as_another_waves_valu"));
  std::map<std::string, bool> pairs;
  const timing::Parameters parameters = timing::Parameters::of(chip);
  ASMEVO_TRY(const Table kernels, Table::read(folder + "/att_gfx950_kernels.csv"));
  ASMEVO_TRY(const std::size_t kernel, kernels.column("kernel"));
  ASMEVO_TRY(const std::size_t variant, kernels.column("var"));
  ASMEVO_TRY(const std::size_t heldOut, kernels.column("held_out"));
  for (std::size_t row = 0; row < kernels.rows(); ++row) {
    if (kernels.number(row, heldOut))
      continue;
    const std::string full = kernels.text(row, kernel) + "_" + kernels.text(row, variant);
    ASMEVO_TRY(const ListedKernel listed, ListedKernel::read(codec, folder, full));
    const auto code = timing::analyseCode(listed.code, 512, parameters);
    for (const ListedInstruction& at : listed.instructions)
      pairs[at.inst->base] |= code[at.offset / 4].pairing != timing::Pairing::never;
  }
  Section section{"ATT two VALU of two waves in one slot", chip.name, {}, {}};
  std::size_t known = 0, agree = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto found = pairs.find(table.text(row, name));
    if (table.number(row, issues) < leastIssues || found == pairs.end())
      continue;
    ++known;
    const bool measured = table.number(row, shared) >= leastShared;
    agree += measured == found->second;
    if (measured != found->second)
      section.notes.push_back(
          fmt::format("{}: {} of {} shared a slot", found->first, table.text(row, shared), table.text(row, issues)));
  }
  section.rows.push_back(atLeast(fmt::format("mnemonics that ever share, as measured, of {}", known),
                                 known ? static_cast<double>(agree) / static_cast<double>(known) : 0, 0.95));
  ASMEVO_TRY(const std::vector<Row> busy, busyRows(folder, chip, codec));
  section.rows.insert(section.rows.end(), busy.begin(), busy.end());
  return section;
}

} // namespace

Result<std::vector<Section>> attTimesSections(const Data& data) {
  ASMEVO_TRY(const timing::Chip chip, timing::loadChip("mi350x"));
  object::Target target;
  target.processor = "gfx950";
  ASMEVO_TRY(const auto codec, isa::Codec::create(target));
  const std::string folder = data.path("att");
  ASMEVO_TRY(Section times, timesSection(folder, chip, *codec));
  ASMEVO_TRY(Section pairing, pairingSection(folder, chip, *codec));
  return std::vector<Section>{std::move(times), std::move(pairing)};
}

} // namespace asmevo::bench
