// The ATT vec_add kernel, 10000 workgroups of 256, whose instructions gfx942 all has: life of a wave, and the time from
// a shader engine's first wave to its last one's end.
#include "listing.h"
#include "report.h"

#include <fmt/format.h>

#include <algorithm>

namespace asmevo::bench {
namespace {

using timing::Clk;

constexpr std::uint64_t groups = 10000, wavesPerGroup = 4, waveBytes = 1024, arrayBytes = groups * 4 * waveBytes;
constexpr unsigned residents = 8; ///< 8 waves per SIMD
constexpr double measuredMhz = 2195.1;

emulator::MemoryAccess& add(emulator::WaveTrace& trace, emulator::Space space, std::uint64_t address,
                            std::uint64_t bytes) {
  emulator::MemoryAccess& access = trace.accesses.emplace_back();
  access.step = static_cast<std::uint32_t>(trace.path.size() - 1);
  access.space = space;
  access.firstLine = static_cast<std::uint32_t>(trace.lines.size());
  for (std::uint64_t line = address / 64; line < (address + bytes + 63) / 64; ++line)
    trace.lines.push_back(line);
  access.lineCount = static_cast<std::uint16_t>(trace.lines.size() - access.firstLine);
  access.lookups = access.lineCount;
  return access;
}

/// The addresses follow from the listing: 16 bytes a lane, 4096 a workgroup, A and B read, C written.
emulator::WaveTrace traceOf(const ListedKernel& kernel, std::uint64_t group, unsigned wave) {
  emulator::WaveTrace trace;
  constexpr std::uint64_t kernarg = 1 << 20, firstArray = std::uint64_t{1} << 30;
  std::uint64_t array = firstArray;
  for (const ListedInstruction& at : kernel.instructions) {
    trace.path.push_back(at.offset);
    if (at.inst->cls == isa::InstClass::smem) {
      add(trace, emulator::Space::scalar, kernarg, 8).kernarg = true;
    } else if (at.inst->cls == isa::InstClass::vmem) {
      emulator::MemoryAccess& access =
          add(trace, emulator::Space::global, array + (group * wavesPerGroup + wave) * waveBytes, waveBytes);
      array += arrayBytes;
      access.bytesPerLane = 16;
      access.activeLanes = 64;
      access.store = at.text.starts_with("buffer_store");
      access.returns = !access.store;
    }
  }
  return trace;
}

Clk quantile(std::vector<Clk> of, double share) {
  std::sort(of.begin(), of.end());
  return of[static_cast<std::size_t>(share * static_cast<double>(of.size() - 1))];
}

} // namespace

Result<std::vector<Section>> vecAddSections(const Data& data) {
  ASMEVO_TRY(const timing::Chip chip, timing::loadChip("mi350x"));
  object::Target target;
  target.processor = "gfx950";
  ASMEVO_TRY(const auto codec, isa::Codec::create(target));
  ASMEVO_TRY(const ListedKernel kernel, ListedKernel::read(*codec, data.path("att"), "vec_add_big"));
  std::vector<Clk> lives;
  std::map<unsigned, std::pair<std::int64_t, std::int64_t>> engines;
  for (const MeasuredWave& wave : kernel.waves)
    lives.push_back(wave.end - wave.begin);
  ASMEVO_TRY(const Table occupancy, Table::read(data.path("att/att_gfx950_occupancy.csv.gz")));
  ASMEVO_TRY(const std::size_t name, occupancy.column("kernel"));
  ASMEVO_TRY(const std::size_t engine, occupancy.column("se"));
  ASMEVO_TRY(const std::size_t clk, occupancy.column("clk"));
  for (std::size_t row = 0; row < occupancy.rows(); ++row)
    if (occupancy.text(row, name) == "vec_add") {
      const std::int64_t at = occupancy.number(row, clk);
      auto& span =
          engines.try_emplace(static_cast<unsigned>(occupancy.number(row, engine)), std::pair{at, at}).first->second;
      span = {std::min(span.first, at), std::max(span.second, at)};
    }
  if (lives.empty() || engines.empty())
    return badInput("vec_add: no waves in the trace");
  std::vector<Clk> spans;
  for (const auto& [id, span] : engines)
    spans.push_back(span.second - span.first);

  // One CU of 256 gets every 256th workgroup.
  const auto cus = static_cast<std::uint64_t>(chip.xcds) * chip.cusPerXcd;
  std::vector<emulator::WorkgroupTrace> traces;
  for (std::uint64_t group = 0; group < groups; group += cus) {
    emulator::WorkgroupTrace& trace = traces.emplace_back();
    trace.index = group;
    for (unsigned wave = 0; wave < wavesPerGroup; ++wave)
      trace.waves.push_back(traceOf(kernel, group, wave));
  }
  timing::ChipLoad load;
  load.activeCusPerXcd = chip.cusPerXcd;
  load.activeXcds = chip.xcds;
  load.workShare = 1.0 / static_cast<double>(cus);
  load.workShareOfXcd = 1.0 / chip.cusPerXcd;
  load.warmMall = true; // 123 MB, launched over and over
  load.footprintBytes = 3 * arrayBytes;
  load.concurrentWorkgroups = cus * residents;
  ASMEVO_TRY(const timing::Replay run,
             timing::replay(chip, kernel.code, 512, traces, residents, load, timing::CodeState::cached, measuredMhz));
  std::vector<Clk> modelled;
  for (const timing::WaveSpan& span : run.result.waveSpans)
    modelled.push_back(span.end - span.start);
  // The engine's other CUs start up to seven dispatch intervals later.
  const double ramp = 16 * (static_cast<double>(chip.cusPerXcd) / 4 - 1);

  Section section{"ATT vec_add, 10000 workgroups of 256", chip.name, {}, {}};
  section.rows.push_back(within("wave life, median", static_cast<double>(quantile(lives, 0.5)),
                                static_cast<double>(quantile(modelled, 0.5)), 0.15));
  for (const auto& [text, share] : {std::pair{"wave life, least", 0.0}, {"wave life, most", 1.0}})
    section.rows.push_back({text, static_cast<double>(quantile(lives, share)),
                            static_cast<double>(quantile(modelled, share)), "clk", "", std::nullopt});
  section.rows.push_back(within("first start to last end, by shader engine", static_cast<double>(quantile(spans, 0.5)),
                                static_cast<double>(run.result.end) + ramp, 0.10));
  return std::vector<Section>{section};
}

} // namespace asmevo::bench
