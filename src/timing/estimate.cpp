#include "timing/behaviour.h"
#include "timing/hardware_counters.h"
#include "timing/loop_fold.h"
#include "timing/memory_use.h"
#include "timing/roofline.h"
#include "timing/sampling.h"
#include "timing/whole_chip.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace asmevo::timing {
namespace {

/// Share of its time from which on a unit is what binds the kernel.
constexpr double boundShare = 0.7;

double rate(std::uint64_t hits, std::uint64_t misses) {
  return hits + misses ? static_cast<double>(hits) / static_cast<double>(hits + misses) : 0;
}

void fillProfile(Estimate& estimate, const Totals& totals, double scale) {
  for (std::size_t i = 0; i < totals.counters.size(); ++i) {
    const InstructionCounters& c = totals.counters[i];
    if (!c.issued)
      continue;
    InstructionProfile& profile = estimate.instructions.emplace_back();
    profile.offset = static_cast<std::uint32_t>(i * 4);
    profile.issued = static_cast<std::uint64_t>(std::llround(static_cast<double>(c.issued) * scale));
    for (std::size_t s = 1; s < stallCount; ++s) {
      profile.byReason[s] = static_cast<double>(c.stalls[s]) * scale;
      profile.stallCycles += profile.byReason[s];
    }
  }
}

} // namespace

std::string_view stallName(Stall s) {
  constexpr std::string_view names[stallCount] = {"none",         "no instruction", "dependency",  "wait vmcnt",
                                                  "wait lgkmcnt", "barrier",        "arbitration", "LDS conflict",
                                                  "memory queue", "MFMA busy",      "sleep"};
  const auto i = static_cast<std::size_t>(s);
  return i < stallCount ? names[i] : "none";
}

namespace {

/// What an estimate is made from, whatever the clock.
struct Subject {
  const Chip& chip;
  const Launch& launch;
  const std::vector<isa::InstRef>& code;
  unsigned accumOffset;
  const TraceSet& set;
  const Placement& placement;
  Timeline* timeline = nullptr; ///< gets the run that decides
};

/// Everything at one engine clock.
Result<Estimate> estimateAt(const Parameters& p, const Subject& subject) {
  const Placement& placement = subject.placement;
  const std::vector<StaticInst> staticCode = analyseCode(subject.code, subject.accumOffset, p);
  const Behaviours behaviours = Behaviours::find(subject.set, staticCode, placement.grid, p);
  WholeChip whole(p, staticCode, subject.set, behaviours, placement);
  if (subject.timeline) {
    *subject.timeline = {};
    whole.record(subject.timeline);
  }
  ASMEVO_CHECK(whole.run());
  const Totals& totals = whole.totals();
  const double cuClk = whole.clk();

  Estimate result;
  const double interval = std::max(p.dispatchClkPerWorkgroup, p.dispatchClkPerWave * subject.launch.wavesPerWorkgroup) /
                          p.shaderEnginesPerXcd;
  const double perXcd = std::ceil(static_cast<double>(placement.workgroups) / p.xcds);
  const double ramp = interval * (placement.load.activeCusPerXcd - 1);
  result.cuCycles = cuClk;
  result.cycles = std::max(cuClk + ramp, interval * perXcd);
  result.cyclesLow = std::max(whole.clkLow() + ramp, interval * perXcd);
  result.cyclesHigh = std::max(whole.clkHigh() + ramp, interval * perXcd);
  result.workgroups = placement.workgroups;
  result.simulatedWorkgroups = whole.simulatedWorkgroups();
  result.tracedWorkgroups = subject.set.groups.size();
  result.behaviours = static_cast<unsigned>(behaviours.count());
  result.workgroupsPerCu = placement.residents;
  const unsigned simdsPerCu = subject.chip.simdsPerCu;
  result.wavesPerSimd = static_cast<unsigned>(std::min<std::uint64_t>(
      placement.wavesPerSimd,
      (std::uint64_t{placement.residents} * subject.launch.wavesPerWorkgroup + simdsPerCu - 1) / simdsPerCu));
  result.occupancyLimiter = placement.limiter;
  result.utilisation = totals.utilisation();
  const auto busiest = std::max_element(result.utilisation.begin(), result.utilisation.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  result.bound = interval * perXcd > cuClk + ramp ? "dispatch"
                 : busiest->second >= boundShare  ? busiest->first
                                                  : "latency";
  result.clockMhz = p.peakMhz;
  const double scale = static_cast<double>(placement.workgroups) / static_cast<double>(totals.workgroups);
  result.hbmBytes = totals.traffic.hbmBytes * scale;
  result.mallBytes = totals.traffic.mallBytes * scale;
  result.l2Bytes = totals.traffic.l2Bytes * scale;
  result.l1Bytes = totals.traffic.l1Bytes * scale;
  result.usedBytes = totals.traffic.usedBytes * scale;
  result.l1HitRate = rate(totals.traffic.l1Hits, totals.traffic.l1Misses);
  result.l2HitRate = rate(totals.traffic.l2Hits, totals.traffic.l2Misses);
  result.waveInstructions = static_cast<double>(totals.instructions) * scale;
  fillProfile(result, totals, scale);
  addHitRates(result, totals.traffic);
  result.counters = hardwareCounters(staticCode, totals.counters, totals.traffic, scale);
  return result;
}

/// Busy share that the instructions alone allow: a first guess for the clock.
double staticMatrixShare(const TraceSet& set, const std::vector<StaticInst>& code, const Parameters& p) {
  double matrix = 0, others = 0;
  for (const TraceSet::Group& group : set.groups)
    for (const PreparedWave& wave : group.waves)
      for (const std::uint32_t offset : *wave.path) {
        const StaticInst& inst = code[offset / 4];
        if (inst.category == Category::mfma)
          matrix += inst.passes * p.mfmaPassClk;
        else
          others += p.slot;
      }
  return matrix > 0 ? matrix / (matrix + others) : 0;
}

/// Sustained engine clock at these busy shares of the matrix pipe and the VALU.
double clockOf(const Parameters& p, double matrixShare, double valuShare) {
  const auto towards = [&](double clock, double share) {
    return p.memoryMhz + (clock - p.memoryMhz) * std::min(1.0, share / p.denseShare);
  };
  return std::min(towards(p.matrixMhz, matrixShare), towards(p.vectorMhz, valuShare));
}

/// Share of the chip's CUs that get work: a power cap counts what all of them draw together.
double activeShare(const Placement& placement) {
  return static_cast<double>(std::min(placement.workgroups, placement.cus)) / static_cast<double>(placement.cus);
}

/// The load sets the clock and, since the memory has clocks of its own, the clock the load.
Result<Estimate> atSustainedClock(const Parameters& p, const Subject& subject, double firstGuess) {
  constexpr double sameClock = 0.01;
  constexpr int mostRuns = 4;
  double clock = firstGuess;
  for (int run = 1;; ++run) {
    ASMEVO_TRY(Estimate result, estimateAt(p.atClock(clock), subject));
    const double settled = clockOf(p, result.utilisation[0].second,
                                   std::min(1.0, result.utilisation[1].second) * activeShare(subject.placement));
    if (run == mostRuns || std::abs(settled / clock - 1) <= sameClock)
      return result;
    clock = run == 1 ? settled : (settled + clock) / 2;
  }
}

/// Distinct bytes of the whole dispatch: private lines count once per workgroup, shared ones once.
double footprintOf(const TraceSet& set, const Parameters& p, std::uint64_t workgroups) {
  double own = 0, shared = 0;
  for (const LineInfo& line : set.lines)
    (std::popcount(line.touchedBy) == 1 ? own : shared) += 1;
  const double perGroup = own / static_cast<double>(set.groups.size());
  return (perGroup * static_cast<double>(workgroups) + shared) * p.l1LineBytes;
}

/// What to name as a chip instead.
std::string chipsFor(const object::Target& target) {
  std::string names;
  for (const std::string& name : chipNames())
    if (const auto chip = loadChip(name); chip && chip->processor == target.processor)
      names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? fmt::format("no chip file describes {}", target.processor)
                       : fmt::format("chips it can be timed on: {}", names);
}

/// Two estimates with ever more of the loops' iterations left in, continued in a straight line to all of them.
class Continuation {
 public:
  /// Wave-instructions of the two, and of the whole.
  Continuation(double fewer, double more, double all) : slope((all - more) / (more - fewer)) {}
  double of(double fewer, double more) const { return std::max(0.0, more + (more - fewer) * slope); }
  Estimate of(const Estimate& fewer, const Estimate& more) const;

 private:
  double slope;
};

Estimate Continuation::of(const Estimate& fewer, const Estimate& more) const {
  Estimate result = more;
  for (double Estimate::* field :
       {&Estimate::cycles, &Estimate::cyclesLow, &Estimate::cyclesHigh, &Estimate::cuCycles, &Estimate::hbmBytes,
        &Estimate::mallBytes, &Estimate::l2Bytes, &Estimate::l1Bytes, &Estimate::usedBytes, &Estimate::waveInstructions,
        &Estimate::flops, &Estimate::vectorRequests, &Estimate::vectorSectors})
    result.*field = of(fewer.*field, more.*field);
  for (std::size_t i = 0; i < result.counters.size() && i < fewer.counters.size(); ++i)
    result.counters[i].second = of(fewer.counters[i].second, more.counters[i].second);
  for (InstructionProfile& at : result.instructions) {
    const auto less = std::ranges::lower_bound(fewer.instructions, at.offset, {}, &InstructionProfile::offset);
    if (less == fewer.instructions.end() || less->offset != at.offset)
      continue;
    at.issued =
        static_cast<std::uint64_t>(std::llround(of(static_cast<double>(less->issued), static_cast<double>(at.issued))));
    for (double InstructionProfile::* field : {&InstructionProfile::requests, &InstructionProfile::sectors,
                                               &InstructionProfile::bytesUsed, &InstructionProfile::conflictClk})
      at.*field = of((*less).*field, at.*field);
    at.stallCycles = 0;
    for (std::size_t s = 1; s < stallCount; ++s) {
      at.byReason[s] = of(less->byReason[s], at.byReason[s]);
      at.stallCycles += at.byReason[s];
    }
  }
  // The last iterations' pace may differ from that of the first ones by a little.
  constexpr double bend = 0.02;
  const double slack = bend * (result.cycles - more.cycles);
  result.cyclesLow = std::max(0.0, std::min(result.cyclesLow, result.cycles) - slack);
  result.cyclesHigh = std::max(result.cyclesHigh, result.cycles) + slack;
  return result;
}

} // namespace

Result<Estimate> estimate(const Chip& chip, const object::Target& target, const Launch& launch,
                          const std::vector<isa::InstRef>& code, unsigned accumOffset,
                          const std::vector<emulator::WorkgroupTrace>& traces, Timeline* timeline) {
  object::Target device;
  device.processor = chip.processor;
  device.xnack = device.sramecc = object::Feature::any;
  if (const auto reason = object::whyNotOn(target, device))
    return refused("no time on {}: {}; {}", chip.name, *reason, chipsFor(target));
  const Parameters p = Parameters::of(chip);
  const std::vector<StaticInst> staticCode = analyseCode(code, accumOffset, p);
  ASMEVO_TRY(const TraceSet set, TraceSet::prepare(traces, staticCode));
  Placement placement = placementOf(chip, target, launch);
  placement.load.footprintBytes =
      launch.footprintBytes > 0 ? launch.footprintBytes : footprintOf(set, p, placement.workgroups);
  placement.load.kernargClk = launch.kernargClk;
  placement.load.warmMall = p.mallWarm != 0 && launch.warmData && placement.load.footprintBytes <= p.mallBytes;
  const double clock = launch.clockMhz > 0 ? launch.clockMhz : clockOf(p, staticMatrixShare(set, staticCode, p), 0);
  const auto finish = [&](Estimate result) {
    result.microseconds = result.cycles / result.clockMhz + p.launchFloorMicroseconds;
    addTracedFacts(result, traces);
    addResources(result, p.atClock(result.clockMhz), code);
    return result;
  };

  double all = 0;
  for (const TraceSet::Group& group : set.groups)
    all += static_cast<double>(group.instructions);
  const double round = all / static_cast<double>(set.groups.size()) * placement.residents;
  constexpr auto budget = static_cast<double>(WholeChip::simulationBudget);
  if (round > budget) {
    const FoldedTraces fewer = foldLoops(traces, budget / round / 4), more = foldLoops(traces, budget / round / 2);
    const auto fewerCount = static_cast<double>(fewer.instructions), moreCount = static_cast<double>(more.instructions);
    if (fewerCount < moreCount && moreCount < all) {
      ASMEVO_TRY(const TraceSet moreSet, TraceSet::prepare(more.traces, staticCode));
      ASMEVO_TRY(const Estimate second,
                 atSustainedClock(p, {chip, launch, code, accumOffset, moreSet, placement, timeline}, clock));
      if (timeline)
        timeline->shortened = true;
      ASMEVO_TRY(const TraceSet fewerSet, TraceSet::prepare(fewer.traces, staticCode));
      ASMEVO_TRY(const Estimate first,
                 estimateAt(p.atClock(second.clockMhz), {chip, launch, code, accumOffset, fewerSet, placement}));
      return finish(Continuation(fewerCount, moreCount, all).of(first, second));
    }
  }
  ASMEVO_TRY(Estimate result, atSustainedClock(p, {chip, launch, code, accumOffset, set, placement, timeline}, clock));
  return finish(std::move(result));
}

} // namespace asmevo::timing
