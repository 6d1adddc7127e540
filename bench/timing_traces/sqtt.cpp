// Six tinygrad kernels traced on an MI350X (SQTT): issue distances of neighbouring instructions, wave by wave, and the
// time of a loop iteration in steady state.
#include "csv.h"
#include "objects.h"
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace asmevo::bench {
namespace {

using timing::Clk;

struct TracedKernel {
  const char* name;
  std::vector<const char*> months; ///< captures that hold instructions
  FloatLaunch launch;
  std::vector<std::uint64_t> workgroups; ///< those on the traced CU, in the order of their starts
  double activeCusPerXcd;
  std::int64_t loopHead; ///< first instruction of its loop; -1: none
};

/// Grids: facts, hardware_traces.md. Eight XCDs take workgroups in turn, so XCD 0 has 0, 8, 16, ...; its four shader
/// engines and their CUs likewise.
std::vector<TracedKernel> kernels() {
  return {{"plus", {"jan", "feb"}, {{3, 1, 1}, {1, 1, 1}, {3, 3, 3}}, {0}, 1, -1},
          {"fill", {"jan", "feb"}, {{32, 1, 1}, {32, 1, 1}, {4096}}, {0}, 4, -1},
          {"eye", {"jan", "feb"}, {{8, 16, 1}, {8, 1, 1}, {4096}}, {0}, 1, -1},
          {"gemm64", {"jan", "feb"}, {{8, 16, 1}, {2, 1, 1}, {4096, 4096, 4096}}, {0}, 1, 0xac},
          {"gemm32", {"mar"}, {{16, 1, 1}, {32, 32, 1}, {1024, 1024, 1024}}, {0, 256, 512, 768}, 32, -1}};
}

struct Step {
  std::int64_t clk = 0, offset = 0;
  std::string text;
  bool isWait = false, stalled = false;
};

/// A wait's token comes when it ends, a wave's end when its stores are acknowledged.
bool isWait(const std::string& text) {
  return text.starts_with("s_waitcnt") || text.starts_with("s_endpgm") || text.starts_with("s_barrier");
}

Result<std::vector<std::vector<Step>>> readWaves(const std::string& path) {
  ASMEVO_TRY(const Table table, Table::read(path));
  ASMEVO_TRY(const std::size_t wave, table.column("wave_id"));
  ASMEVO_TRY(const std::size_t clk, table.column("issue_clk"));
  ASMEVO_TRY(const std::size_t pc, table.column("pc_off"));
  ASMEVO_TRY(const std::size_t text, table.column("instruction"));
  ASMEVO_TRY(const std::size_t stall, table.column("stall_begin_clk"));
  std::map<std::int64_t, std::vector<Step>> waves;
  for (std::size_t row = 0; row < table.rows(); ++row)
    waves[table.number(row, wave)].push_back({table.number(row, clk), table.number(row, pc), table.text(row, text),
                                              isWait(table.text(row, text)), !table.text(row, stall).empty()});
  std::vector<std::vector<Step>> result;
  for (auto& [id, steps] : waves)
    result.push_back(std::move(steps));
  return result;
}

struct Tally {
  std::size_t pairs = 0, close = 0;
  double measuredClk = 0, modelledClk = 0;                   ///< sums over the pairs
  std::map<std::string, std::pair<std::size_t, Clk>> misses; ///< "first -> second: measured" to count, modelled
};

std::string mnemonic(const std::string& text) {
  return text.substr(0, text.find(' '));
}

void comparePairs(const std::vector<Step>& measured, const std::vector<Clk>& modelled, Tally& tally) {
  for (std::size_t i = 0; i + 1 < measured.size(); ++i) {
    const Step &a = measured[i], &b = measured[i + 1];
    const bool sameBlock = b.offset > a.offset && b.offset - a.offset <= 8 && !a.text.starts_with("s_cbranch");
    if (!sameBlock || a.isWait || b.isWait || b.stalled)
      continue;
    const std::int64_t want = b.clk - a.clk, got = modelled[i + 1] - modelled[i];
    ++tally.pairs;
    tally.measuredClk += static_cast<double>(want);
    tally.modelledClk += static_cast<double>(got);
    if (std::abs(want - got) <= 4) {
      ++tally.close;
      continue;
    }
    auto& miss =
        tally.misses[fmt::format("{} -> {}: measured {}, modelled {}", mnemonic(a.text), mnemonic(b.text), want, got)];
    ++miss.first;
  }
}

/// Adds the times of a wave's last six iterations: those before wait for cold caches and page walks. `steps` tells loop
/// heads and reported stalls, which spoil an iteration.
void addIterations(const std::vector<Step>& steps, const std::vector<Clk>& clks, std::int64_t head, bool skipStalled,
                   std::vector<Clk>& times) {
  constexpr std::ptrdiff_t steady = 6;
  std::vector<std::optional<Clk>> all;
  std::optional<std::size_t> visit;
  bool stalled = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    stalled |= steps[i].stalled;
    if (steps[i].offset != head)
      continue;
    if (visit)
      all.push_back(stalled && skipStalled ? std::nullopt : std::optional(clks[i] - clks[*visit]));
    visit = i;
    stalled = false;
  }
  for (auto it = all.end() - std::min<std::ptrdiff_t>(steady, std::ssize(all)); it != all.end(); ++it)
    if (*it)
      times.push_back(**it);
}

double median(std::vector<Clk> of) {
  std::sort(of.begin(), of.end());
  return static_cast<double>(of[of.size() / 2]);
}

Result<Section> sectionOf(const Data& data, const TracedKernel& kernel, const timing::Chip& chip, Tally& all) {
  Section section{fmt::format("tinygrad {}", kernel.name), chip.name, {}, {}};
  ASMEVO_TRY(const TracedObject traced,
             traceObject(data.path(fmt::format("sqtt/{}_gfx950.co", kernel.name)), kernel.launch, kernel.workgroups));
  timing::ChipLoad load;
  load.activeCusPerXcd = kernel.activeCusPerXcd;
  ASMEVO_TRY(const timing::Replay run, timing::replay(chip, traced.code, traced.accumOffset, traced.traces,
                                                      static_cast<unsigned>(traced.traces.size()), load));
  Tally tally;
  std::vector<Clk> measuredLoop, modelledLoop;
  for (const char* month : kernel.months) {
    ASMEVO_TRY(const auto waves,
               readWaves(data.path(fmt::format("sqtt/sqtt_gfx950_{}_{}_run0.csv", kernel.name, month))));
    for (std::size_t w = 0; w < waves.size(); ++w) {
      const std::vector<Clk>& issue = run.issue[w % run.issue.size()];
      if (issue.size() != waves[w].size())
        return badInput("{} {}: wave {} ran {} instructions, the emulator's {}", kernel.name, month, w, waves[w].size(),
                        issue.size());
      comparePairs(waves[w], issue, tally);
      if (kernel.loopHead >= 0) {
        std::vector<Clk> clks;
        for (const Step& step : waves[w])
          clks.push_back(step.clk);
        addIterations(waves[w], clks, kernel.loopHead, true, measuredLoop);
        addIterations(waves[w], issue, kernel.loopHead, false, modelledLoop);
      }
    }
  }
  if (tally.pairs)
    section.rows.push_back(atLeast(fmt::format("pairs within 4 clk, of {}", tally.pairs),
                                   static_cast<double>(tally.close) / static_cast<double>(tally.pairs), 0.95));
  section.rows.push_back(within("issue time outside waits", tally.measuredClk, tally.modelledClk, 0.15));
  if (!measuredLoop.empty() && !modelledLoop.empty())
    section.rows.push_back(within("loop iteration in steady state", median(measuredLoop), median(modelledLoop), 0.15));
  for (const auto& [text, miss] : tally.misses)
    section.notes.push_back(fmt::format("{} x {}", miss.first, text));
  all.pairs += tally.pairs;
  all.close += tally.close;
  return section;
}

} // namespace

Result<std::vector<Section>> sqttSections(const Data& data) {
  ASMEVO_TRY(const timing::Chip chip, timing::loadChip("mi350x"));
  std::vector<Section> sections;
  Tally all;
  for (const TracedKernel& kernel : kernels()) {
    ASMEVO_TRY(Section section, sectionOf(data, kernel, chip, all));
    sections.push_back(std::move(section));
  }
  sections.push_back({"tinygrad, all six kernels (empty has no pair)",
                      chip.name,
                      {atLeast(fmt::format("pairs within 4 clk, of {}", all.pairs),
                               static_cast<double>(all.close) / static_cast<double>(all.pairs), 0.95)},
                      {}});
  return sections;
}

} // namespace asmevo::bench
