#include "timing/whole_chip.h"

#include "timing/schedule.h"

#include <algorithm>
#include <cmath>

namespace asmevo::timing {
namespace {

/// Rounds of resident workgroups that are simulated; the steady ones among them stand for the others. Of short
/// workgroups more, up to some wave-instructions: caches have to fill before what they write back is seen.
constexpr std::uint64_t mostRounds = 3, mostShortRounds = 64, shortInstructions = 200'000;
/// What stays open even of a fully simulated CU: that the other CUs are not the first.
constexpr double leastSlack = 0.01;

/// Relative spread of values around their mean.
double spreadOf(const std::vector<double>& values) {
  if (values.size() < 2)
    return 0;
  double mean = 0, squares = 0;
  for (const double v : values)
    mean += v / static_cast<double>(values.size());
  for (const double v : values)
    squares += (v - mean) * (v - mean);
  return mean > 0 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean : 0;
}

/// Clk per workgroup in steady state: between the first round's end, when every start-up effect is over, and the point
/// where slots stay empty. `slack`: how far the time that workgroups spend says otherwise; in steady state it is that
/// of as many as are resident.
struct Pace {
  double clk = 0, slack = 0;
};
Pace paceOf(const CuResult& run, std::size_t residents) {
  const auto count = run.workgroupEnds.size();
  Pace pace;
  pace.clk = static_cast<double>(run.end) / static_cast<double>(count);
  if (count < 2 * residents) {
    pace.slack = count > residents ? 0.1 : 0;
    return pace;
  }
  const std::size_t last = count > 2 * residents ? count - residents - 1 : count - 1;
  const std::size_t first = count > 2 * mostRounds * residents ? count / 2 : residents - 1;
  pace.clk =
      static_cast<double>(run.workgroupEnds[last] - run.workgroupEnds[first]) / static_cast<double>(last - first);
  double spent = 0;
  for (std::size_t i = first + 1; i <= last; ++i)
    spent += static_cast<double>(run.spans[i].second - run.spans[i].first);
  spent /= static_cast<double>((last - first) * residents);
  pace.slack = spent > 0 ? std::abs(pace.clk / spent - 1) : 0;
  return pace;
}

} // namespace

void Totals::add(const CuResult& r) {
  counters.resize(std::max(counters.size(), r.counters.size()));
  for (std::size_t i = 0; i < r.counters.size(); ++i) {
    counters[i].issued += r.counters[i].issued;
    for (std::size_t s = 0; s < stallCount; ++s)
      counters[i].stalls[s] += r.counters[i].stalls[s];
  }
  traffic += r.traffic;
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

std::vector<std::pair<std::string, double>> Totals::utilisation() const {
  const double whole = std::max(1.0, clk);
  return {{"MFMA", mfma / (4 * whole)}, {"VALU", valu / (4 * whole)},
          {"SALU", salu / whole},       {"LDS", std::max(ldsPort / (2 * whole), ldsBank / whole)},
          {"VMEM", vmem / whole},       {"L2", l2 / whole},
          {"fabric", fabric / whole},   {"HBM", hbm / whole}};
}

Result<CuResult> WholeChip::simulate(std::vector<unsigned> traces, unsigned residents, const ChipLoad& load,
                                     bool recorded) {
  simulated += traces.size();
  CuLaunch cu;
  cu.traces = std::move(traces);
  cu.residents = residents;
  cu.wavesPerSimd = place.wavesPerSimd;
  cu.load = load;
  if (!timeline || !recorded)
    return simulateCu(p, code, set, cu);
  std::vector<IssueEvent> log;
  ASMEVO_TRY(CuResult result, simulateCu(p, code, set, cu, &log));
  if (result.end > timeline->end) // of several, the one that takes longest
    timeline->take(cu, set, code, result, log);
  return result;
}

void WholeChip::bracket(double relative) {
  const double slack = std::sqrt(leastSlack * leastSlack + relative * relative + relativeSlack * relativeSlack);
  low = middle * (1 - std::min(0.9, slack));
  high = middle * (1 + slack) + tailSlack;
}

Status WholeChip::runSpread() {
  // Every behaviour, and more of each as long as the budget lasts.
  std::vector<unsigned> chosen;
  std::uint64_t instructions = 0;
  for (std::size_t rank = 0; chosen.size() < set.groups.size(); ++rank) {
    const std::size_t before = chosen.size();
    for (unsigned kind = 0; kind < kinds.count(); ++kind) {
      const std::vector<unsigned>& own = kinds.tracesOf(kind);
      if (rank >= own.size())
        continue;
      const std::size_t at = rank % 2 ? own.size() - 1 - rank / 2 : rank / 2; // from both ends inwards
      if (rank > 0 && instructions + set.groups[own[at]].instructions > simulationBudget / 4)
        continue;
      instructions += set.groups[own[at]].instructions;
      chosen.push_back(own[at]);
    }
    if (chosen.size() == before)
      break;
  }
  std::vector<double> slowest(kinds.count()), fastest(kinds.count());
  for (const unsigned trace : chosen) {
    ASMEVO_TRY(const CuResult result, simulate({trace}, 1, place.load, true));
    sums.add(result);
    const auto clk = static_cast<double>(result.end);
    const unsigned kind = kinds.ofTrace(trace);
    slowest[kind] = std::max(slowest[kind], clk);
    fastest[kind] = fastest[kind] > 0 ? std::min(fastest[kind], clk) : clk;
  }
  const auto worst = std::ranges::max_element(slowest);
  middle = *worst;
  bracket(0);
  const auto kind = static_cast<std::size_t>(worst - slowest.begin());
  if (chosen.size() < place.workgroups) // the slowest of all may be slower than that of the sample
    high += slowest[kind] - fastest[kind];
  high += kinds.uncertainty() * middle;
  return {};
}

std::vector<unsigned> WholeChip::sequence(std::uint64_t count) const {
  std::vector<unsigned> result;
  if (kinds.count() == 1) {
    std::vector<unsigned> own;
    for (unsigned trace = 0; trace < set.groups.size(); ++trace)
      if (set.groups[trace].index % place.cus == 0)
        own.push_back(trace);
    if (own.empty()) // traces of other workgroups than sampleWorkgroups names: take them as they are
      for (unsigned trace = 0; trace < set.groups.size(); ++trace)
        own.push_back(trace);
    for (std::uint64_t i = 0; i < count; ++i)
      result.push_back(own[count <= own.size() ? i * own.size() / count : i % own.size()]);
    return result;
  }
  // The trace that is most behind its share comes next.
  const std::vector<double>& shares = kinds.shares();
  std::vector<double> given(shares.size());
  for (std::uint64_t i = 0; i < count; ++i) {
    unsigned next = 0;
    double most = -1e9;
    for (unsigned trace = 0; trace < shares.size(); ++trace)
      if (const double behind = shares[trace] * static_cast<double>(i + 1) - given[trace]; behind > most) {
        most = behind;
        next = trace;
      }
    result.push_back(next);
    given[next] += 1;
  }
  return result;
}

double WholeChip::extrapolate(const CuResult& run, std::uint64_t count) const {
  const std::uint64_t done = run.workgroupEnds.size();
  if (done >= count)
    return static_cast<double>(run.end);
  return static_cast<double>(run.end) + paceOf(run, place.residents).clk * static_cast<double>(count - done);
}

Status WholeChip::runRounds() {
  std::uint64_t instructions = 0;
  for (const TraceSet::Group& group : set.groups)
    instructions += group.instructions;
  instructionsEach = std::max<std::uint64_t>(1, instructions / set.groups.size());
  const std::uint64_t full = std::max<std::uint64_t>(1, place.fullRounds()), residents = place.residents;
  const std::uint64_t round = instructionsEach * residents;
  const std::uint64_t rounds = std::max(std::clamp<std::uint64_t>(simulationBudget / round, 1, mostRounds),
                                        std::min(shortInstructions / round, mostShortRounds));
  const std::uint64_t count = std::min(full, std::max<std::uint64_t>(rounds * residents, 2));
  const std::vector<unsigned> traces = sequence(count);
  ASMEVO_TRY(const CuResult result, simulate(traces, place.residents, place.load, true));
  sums.add(result);
  const Pace pace = paceOf(result, place.residents);
  middle = extrapolate(result, full);
  const double steady = count < full ? pace.slack * static_cast<double>(full - count) / static_cast<double>(full) : 0;
  if (kinds.count() > 1) {
    middle *= imbalance(result, traces);
  } else if (place.tail() > 0) {
    ASMEVO_TRY(const double tail, tailClk(middle, pace.clk));
    middle += tail;
  }
  std::vector<double> spans;
  for (const auto& [start, end] : result.spans)
    if (kinds.count() == 1)
      spans.push_back(static_cast<double>(end - start));
  const double sampling = spreadOf(spans) / std::sqrt(std::max<double>(1, static_cast<double>(spans.size())));
  bracket(std::sqrt(steady * steady + (full > count ? sampling * sampling : 0)));
  return {};
}

Result<double> WholeChip::tailClk(double full, double perGroup) {
  const std::uint64_t perCu = place.fullRounds() + 1;
  double more = perGroup; // at the load of the full rounds
  if (perCu * instructionsEach <= simulationBudget && perCu <= mostRounds * place.residents + 1) {
    ChipLoad most = place.load;
    // A workgroup that runs beside the other CUs' last ones gives its CU that much more of what they all share. One
    // that has to wait for them starts when the others' work is done: nothing of its round passes meanwhile.
    if (place.fullRounds() % place.residents != 0) {
      most.workShare = std::min(1.0, static_cast<double>(perCu) / static_cast<double>(place.workgroups));
      most.workShareOfXcd = std::min(1.0, most.workShare * static_cast<double>(place.xcds));
    }
    ASMEVO_TRY(const CuResult result, simulate(sequence(perCu), place.residents, most));
    more = std::max(0.0, static_cast<double>(result.end) - full);
  }
  const std::uint64_t busy = place.tail();
  if (busy * 10 > place.cus * 9)
    return more;
  // The few CUs that still have work share the memory among them.
  ChipLoad few = loadOf(busy, place.xcds, place.cusPerXcd);
  few.warmMall = place.load.warmMall;
  few.footprintBytes = place.load.footprintBytes;
  few.kernargClk = place.load.kernargClk;
  few.concurrentWorkgroups = place.load.concurrentWorkgroups;
  ASMEVO_TRY(const CuResult crowded, simulate(sequence(1), 1, place.load));
  ASMEVO_TRY(const CuResult alone, simulate(sequence(1), 1, few));
  const double ratio = std::min(1.0, static_cast<double>(alone.end) / static_cast<double>(crowded.end));
  // At most the other CUs are still at work, or the slots of a CU are so far in step that it starts last of all.
  tailSlack = std::max(more, static_cast<double>(alone.end)) - more * ratio;
  return more * ratio;
}

double WholeChip::imbalance(const CuResult& run, const std::vector<unsigned>& traces) {
  // Clk per demand, of each behaviour where one ran and of all.
  std::vector<double> clk(kinds.count()), demand(kinds.count());
  double allClk = 0, allDemand = 0;
  for (std::size_t i = 0; i < run.spans.size(); ++i) {
    const auto span = static_cast<double>(run.spans[i].second - run.spans[i].first);
    const double own = std::max(1.0, kinds.demand(traces[i]).total());
    clk[kinds.ofTrace(traces[i])] += span;
    demand[kinds.ofTrace(traces[i])] += own;
    allClk += span;
    allDemand += own;
  }
  std::vector<double> clkOf(set.groups.size()); // by trace
  double longest = 0, mean = 0;
  for (unsigned trace = 0; trace < clkOf.size(); ++trace) {
    const unsigned kind = kinds.ofTrace(trace);
    const double perDemand = demand[kind] > 0 ? clk[kind] / demand[kind] : allClk / allDemand;
    clkOf[trace] = perDemand * std::max(1.0, kinds.demand(trace).total());
    longest = std::max(longest, clkOf[trace]);
    mean += kinds.shares()[trace] * clkOf[trace];
  }
  const std::uint64_t slots = place.residents;
  const double whole = scheduleClk(place.workgroups, place.xcds, place.cusPerXcd * slots,
                                   [&](std::uint64_t workgroup) { return clkOf[kinds.traceFor(workgroup)]; });
  const double one = scheduleClk(std::max<std::uint64_t>(1, place.fullRounds()), 1, slots,
                                 [&](std::uint64_t i) { return clkOf[traces[i % traces.size()]]; });
  // A behaviour's clk per demand is a mean over few workgroups.
  constexpr double meanOfFew = 0.03;
  relativeSlack = std::max(meanOfFew, kinds.uncertainty());
  // Which of the long ones come last is not known exactly.
  tailSlack = std::max(0.0, longest - mean) / static_cast<double>(slots);
  return one > 0 ? whole / one : 1;
}

} // namespace asmevo::timing
