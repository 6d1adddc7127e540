#include "timing/compute_unit.h"
#include "timing/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace asmevo::timing {
namespace {

/// Wave-instructions that one estimate simulates at most (about a second); more rounds than that are extrapolated.
constexpr std::uint64_t simulationBudget = 1'500'000;
/// Share of its time from which on a unit is what binds the kernel.
constexpr double boundShare = 0.7;

/// Sums over the simulated CU runs.
struct Totals {
  std::vector<InstructionCounters> counters;
  Traffic traffic;
  double clk = 0, valu = 0, mfma = 0, salu = 0, ldsPort = 0, ldsBank = 0, vmem = 0, l2 = 0, fabric = 0, hbm = 0;
  std::uint64_t instructions = 0, workgroups = 0;

  void add(const CuResult& r) {
    counters.resize(std::max(counters.size(), r.counters.size()));
    for (std::size_t i = 0; i < r.counters.size(); ++i) {
      counters[i].issued += r.counters[i].issued;
      for (std::size_t s = 0; s < stallCount; ++s)
        counters[i].stalls[s] += r.counters[i].stalls[s];
    }
    traffic.l1Bytes += r.traffic.l1Bytes;
    traffic.l2Bytes += r.traffic.l2Bytes;
    traffic.mallBytes += r.traffic.mallBytes;
    traffic.hbmBytes += r.traffic.hbmBytes;
    traffic.usedBytes += r.traffic.usedBytes;
    traffic.l1Hits += r.traffic.l1Hits;
    traffic.l1Misses += r.traffic.l1Misses;
    traffic.l2Hits += r.traffic.l2Hits;
    traffic.l2Misses += r.traffic.l2Misses;
    clk += static_cast<double>(r.end);
    valu += r.valuBusy;
    mfma += r.mfmaBusy;
    salu += r.saluBusy;
    ldsPort += r.ldsPortBusy;
    ldsBank += r.ldsBankBusy;
    vmem += r.vmemBusy;
    l2 += r.l2Busy;
    fabric += r.fabricBusy;
    hbm += r.hbmBusy;
    instructions += r.instructions;
    workgroups += r.workgroupEnds.size();
  }
};

double rate(std::uint64_t hits, std::uint64_t misses) {
  return hits + misses ? static_cast<double>(hits) / static_cast<double>(hits + misses) : 0;
}

/// True when the whole dispatch's data fits the Infinity Cache: private lines count once per workgroup, shared ones
/// once.
bool fitsMall(const TraceSet& set, const Parameters& p, std::uint64_t workgroups) {
  double own = 0, shared = 0;
  for (const LineInfo& line : set.lines)
    (std::popcount(line.touchedBy) == 1 ? own : shared) += 1;
  const double perGroup = own / static_cast<double>(set.groups.size());
  return (perGroup * static_cast<double>(workgroups) + shared) * p.l1LineBytes <= p.mallBytes;
}

/// The busiest CU's time from a run of its first workgroups.
double extrapolate(const CuResult& run, const Placement& placement) {
  const auto simulated = run.workgroupEnds.size();
  const double end = static_cast<double>(run.end);
  if (simulated >= placement.perCu)
    return end;
  const std::size_t residents = placement.residents;
  double perGroup = end / static_cast<double>(simulated);
  if (simulated >= 2 * residents) {
    // Between the first round's end, when every start-up effect is over, and the point where slots stay empty.
    const std::size_t last = simulated > 2 * residents ? simulated - residents - 1 : simulated - 1;
    perGroup = static_cast<double>(run.workgroupEnds[last] - run.workgroupEnds[residents - 1]) /
               static_cast<double>(last - (residents - 1));
  }
  return end + perGroup * static_cast<double>(placement.perCu - simulated);
}

std::vector<std::pair<std::string, double>> utilisation(const Totals& t) {
  const double clk = std::max(1.0, t.clk);
  return {{"MFMA", t.mfma / (4 * clk)}, {"VALU", t.valu / (4 * clk)},
          {"SALU", t.salu / clk},       {"LDS", std::max(t.ldsPort / (2 * clk), t.ldsBank / clk)},
          {"VMEM", t.vmem / clk},       {"L2", t.l2 / clk},
          {"fabric", t.fabric / clk},   {"HBM", t.hbm / clk}};
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

/// Runs one CU per sampled workgroup: with one workgroup per CU the slowest is the dispatch's time.
Result<double> runSpread(const Parameters& p, const std::vector<StaticInst>& code, const TraceSet& set,
                         const Placement& placement, Totals& totals) {
  double longest = 0;
  for (unsigned trace = 0; trace < set.groups.size(); ++trace) {
    CuLaunch cu{{trace}, 1, placement.wavesPerSimd, placement.load};
    ASMEVO_TRY(const CuResult run, simulateCu(p, code, set, cu));
    totals.add(run);
    longest = std::max(longest, static_cast<double>(run.end));
  }
  return longest;
}

Result<double> runBusiestCu(const Parameters& p, const std::vector<StaticInst>& code, const TraceSet& set,
                            const Placement& placement, Totals& totals) {
  std::vector<unsigned> own;
  std::uint64_t instructions = 0;
  for (unsigned trace = 0; trace < set.groups.size(); ++trace)
    if (set.groups[trace].index % placement.cus == 0) {
      own.push_back(trace);
      instructions += set.groups[trace].instructions;
    }
  if (own.empty()) // traces of other workgroups than sampleWorkgroups names: take them as they are
    for (unsigned trace = 0; trace < set.groups.size(); ++trace) {
      own.push_back(trace);
      instructions += set.groups[trace].instructions;
    }
  const std::uint64_t each = std::max<std::uint64_t>(1, instructions / own.size());
  std::uint64_t count = placement.perCu;
  const std::uint64_t rounds = std::clamp<std::uint64_t>(simulationBudget / (each * placement.residents), 1, 3);
  count = std::min<std::uint64_t>(count, std::max<std::uint64_t>(rounds * placement.residents, 2));
  CuLaunch cu{{}, placement.residents, placement.wavesPerSimd, placement.load};
  for (std::uint64_t i = 0; i < count; ++i)
    cu.traces.push_back(own[count <= own.size() ? i * own.size() / count : i % own.size()]);
  ASMEVO_TRY(const CuResult run, simulateCu(p, code, set, cu));
  totals.add(run);
  return extrapolate(run, placement);
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
};

/// Everything at one engine clock.
Result<Estimate> estimateAt(const Parameters& p, const Subject& subject, Placement placement) {
  const std::vector<StaticInst> staticCode = analyseCode(subject.code, subject.accumOffset, p);
  placement.load.warmMall = p.mallWarm != 0 && (subject.launch.footprintBytes > 0 ? subject.launch.footprintBytes <= p.mallBytes
                                                               : fitsMall(subject.set, p, placement.workgroups));
  Totals totals;
  double cuClk = 0;
  if (placement.perCu == 1) {
    ASMEVO_TRY(cuClk, runSpread(p, staticCode, subject.set, placement, totals));
  } else {
    ASMEVO_TRY(cuClk, runBusiestCu(p, staticCode, subject.set, placement, totals));
  }

  Estimate result;
  const double interval =
      std::max(p.dispatchClkPerWorkgroup, p.dispatchClkPerWave * subject.launch.wavesPerWorkgroup) /
      p.shaderEnginesPerXcd;
  const double perXcd = std::ceil(static_cast<double>(placement.workgroups) / p.xcds);
  const double ramp = interval * (placement.load.activeCusPerXcd - 1);
  result.cuCycles = cuClk;
  result.cycles = std::max(cuClk + ramp, interval * perXcd);
  result.workgroups = placement.workgroups;
  result.simulatedWorkgroups = totals.workgroups;
  result.workgroupsPerCu = placement.residents;
  const unsigned simdsPerCu = subject.chip.simdsPerCu;
  result.wavesPerSimd = static_cast<unsigned>(std::min<std::uint64_t>(
      placement.wavesPerSimd,
      (std::uint64_t{placement.residents} * subject.launch.wavesPerWorkgroup + simdsPerCu - 1) / simdsPerCu));
  result.occupancyLimiter = placement.limiter;
  result.utilisation = utilisation(totals);
  const auto busiest = std::max_element(result.utilisation.begin(), result.utilisation.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  result.bound = interval * perXcd > cuClk + ramp ? "dispatch"
                 : busiest->second >= boundShare  ? busiest->first
                                                  : "latency";
  result.clockMhz = p.peakMhz;
  result.microseconds = result.cycles / result.clockMhz + p.launchFloorMicroseconds;
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

} // namespace

Result<Estimate> estimate(const Chip& chip, const object::Target& target, const Launch& launch,
                          const std::vector<isa::InstRef>& code, unsigned accumOffset,
                          const std::vector<emulator::WorkgroupTrace>& traces) {
  const Parameters p = Parameters::of(chip);
  const std::vector<StaticInst> staticCode = analyseCode(code, accumOffset, p);
  ASMEVO_TRY(const TraceSet set, TraceSet::prepare(traces, staticCode));
  const Subject subject{chip, launch, code, accumOffset, set};
  const Placement placement = placementOf(chip, target, launch);

  // The load sets the clock and, through the memory's own clocks, the clock the load.
  constexpr double sameClock = 0.01;
  constexpr int mostRuns = 4;
  double clock = clockOf(p, staticMatrixShare(set, staticCode, p), 0);
  for (int run = 1;; ++run) {
    ASMEVO_TRY(Estimate result, estimateAt(p.atClock(clock), subject, placement));
    const double settled = clockOf(p, result.utilisation[0].second, std::min(1.0, result.utilisation[1].second));
    if (run == mostRuns || std::abs(settled / clock - 1) <= sameClock)
      return result;
    clock = (run == 1 ? settled : (settled + clock) / 2);
  }
}

} // namespace asmevo::timing
