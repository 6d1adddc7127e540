#include "timing/compute_unit.h"

#include "timing/lds_unit.h"
#include "timing/wave_state.h"

#include <algorithm>
#include <cmath>

namespace asmevo::timing {
namespace {

constexpr unsigned simdCount = 4;
/// SIMD order of a workgroup's waves (facts: hardware_traces.md, "Dispatch").
constexpr std::array<std::uint8_t, simdCount> placementOrder = {0, 2, 1, 3};

struct SimdState {
  std::vector<WaveState*> waves; ///< resident
  Clk next = never;              ///< next issue slot worth looking at
  Clk valuFree = 0;              ///< a long VALU ends
  Clk matrixFree = 0;            ///< the matrix pipe's passes end
  Clk valuAfterMfma = 0;         ///< simple VALU may issue again after an MFMA
};

/// What has been issued in the slot being arbitrated.
struct Slot {
  Clk at = 0;
  std::array<std::uint8_t, categoryCount> used{};
  const StaticInst* firstValu = nullptr;
};

struct GroupState {
  unsigned trace = 0;
  std::uint64_t generation = 0;
  unsigned live = 0;    ///< waves not ended
  unsigned waiting = 0; ///< waves at the barrier
  Clk end = 0;
  std::vector<std::uint32_t> waves;
};

Clk roundUpToTurn(Clk t, unsigned simd) {
  return t + ((static_cast<Clk>(simd) - t) & 3);
}

class ComputeUnit {
 public:
  ComputeUnit(const Parameters& parameters, const std::vector<StaticInst>& staticCode, const TraceSet& traceSet,
              const CuLaunch& cuLaunch, std::vector<IssueEvent>* eventLog)
      : p(parameters), code(staticCode), set(traceSet), launch(cuLaunch), log(eventLog), memory(p, set, launch.load),
        lds(p), fetch(p, code.size() * 4, launch.codeState) {
    result.counters.resize(code.size());
    replays.resize(set.groups.size());
    hasMfma = std::any_of(code.begin(), code.end(), [](const StaticInst& s) { return s.category == Category::mfma; });
  }

  Result<CuResult> run();

 private:
  const StaticInst& nextOf(const WaveState& wave) const { return code[*wave.path / 4]; }
  void startGroup(Clk at);
  unsigned placeWave();
  void wake(const WaveState& wave) {
    simds[wave.simd].next = std::min(simds[wave.simd].next, roundUpToTurn(wave.ready, wave.simd));
  }
  void arbitrate(unsigned simd, Clk now);
  bool tryIssue(WaveState& wave, Slot& slot);
  void issue(WaveState& wave, Clk now);
  void advance(WaveState& wave, Clk ownEnd);
  void block(WaveState& wave, Clk until, Stall reason) {
    wave.ready = until;
    wave.contentionReason = reason;
  }
  void require(WaveState& wave, Clk at, Stall reason) {
    if (at > wave.dependencyReady) {
      wave.dependencyReady = at;
      wave.dependencyReason = reason;
    }
  }
  void requireMatrix(WaveState& wave, const StaticInst& inst);
  void selfStall(const WaveState& wave, Clk clk, Stall reason) {
    if (clk <= 0)
      return;
    result.counters[*wave.path / 4].stalls[static_cast<std::size_t>(reason)] += clk;
    if (log)
      log->back().ownReason = reason; // only called while its instruction issues
  }
  void issueMfma(WaveState& wave, const StaticInst& inst, Clk now);
  Clk issueLds(WaveState& wave, const StaticInst& inst, Clk now);
  void issueVector(WaveState& wave, const StaticInst& inst, Clk now);
  void issueScalarMemory(WaveState& wave, const StaticInst& inst, Clk now);
  Clk issueInternal(WaveState& wave, const StaticInst& inst, Clk now);
  void endWave(WaveState& wave, Clk now);
  void releaseBarrier(GroupState& group, Clk now);
  template <class F> void forAccesses(WaveState& wave, F&& f) {
    const auto& accesses = wave.trace->accesses;
    while (wave.nextAccess < accesses.size() && accesses[wave.nextAccess].step < wave.step)
      ++wave.nextAccess;
    while (wave.nextAccess < accesses.size() && accesses[wave.nextAccess].step == wave.step)
      f(accesses[wave.nextAccess++]);
  }
  Requester requester(const WaveState& wave) const {
    const GroupState& group = groups[wave.group];
    return {wave.number, group.trace, group.generation};
  }

  const Parameters& p;
  const std::vector<StaticInst>& code;
  const TraceSet& set;
  const CuLaunch& launch;
  std::vector<IssueEvent>* log;
  MemorySystem memory;
  LdsUnit lds;
  InstructionFetch fetch;
  CuResult result;
  bool hasMfma = false;
  std::array<SimdState, simdCount> simds;
  unsigned placement = 0;
  std::size_t nextGroup = 0; ///< into launch.traces
  std::size_t liveWaves = 0;
  std::vector<std::uint64_t> replays;
  std::vector<GroupState> groups;
  std::vector<std::unique_ptr<WaveState>> waves; ///< by number; null when ended
  std::vector<WaveState*> candidates;            ///< of the slot being arbitrated, in order of precedence
};

unsigned ComputeUnit::placeWave() {
  for (unsigned tries = 0; tries < simdCount; ++tries) {
    const unsigned simd = placementOrder[placement++ % simdCount];
    if (simds[simd].waves.size() < launch.wavesPerSimd)
      return simd;
  }
  // Uneven workgroups: the freed slots need not match; take the emptiest.
  return static_cast<unsigned>(
      std::min_element(simds.begin(), simds.end(),
                       [](const SimdState& a, const SimdState& b) { return a.waves.size() < b.waves.size(); }) -
      simds.begin());
}

void ComputeUnit::startGroup(Clk at) {
  const unsigned traceNumber = launch.traces[nextGroup++];
  const auto groupNumber = static_cast<std::uint32_t>(groups.size());
  GroupState& group = groups.emplace_back();
  result.spans.emplace_back(at, at);
  group.trace = traceNumber;
  group.generation = replays[traceNumber]++;
  Clk start = at;
  for (const PreparedWave& trace : set.groups[traceNumber].waves) {
    auto wave = std::make_unique<WaveState>();
    wave->trace = &trace;
    wave->path = trace.path->data();
    wave->steps = static_cast<std::uint32_t>(trace.path->size());
    wave->number = static_cast<std::uint32_t>(waves.size());
    wave->group = groupNumber;
    wave->simd = static_cast<std::uint8_t>(placeWave());
    wave->since = start;
    wave->dependencyReady = start;
    // The first fetch is part of the measured start.
    wave->fetched.refill(fetch, wave->simd, *wave->path, start + static_cast<Clk>(p.waveStart - p.fetchLatency));
    require(*wave, wave->fetched.ready(*wave->path, nextOf(*wave).size), Stall::noInstruction);
    wave->ready = wave->dependencyReady;
    if (hasMfma)
      wave->matrix = std::make_unique<MatrixScoreboard>();
    start += static_cast<Clk>(p.dispatchClkPerWave);
    if (log)
      result.waveSpans.push_back({wave->since, 0, groupNumber, wave->simd});
    group.waves.push_back(wave->number);
    ++group.live;
    ++result.waves;
    ++liveWaves;
    simds[wave->simd].waves.push_back(wave.get());
    wake(*wave);
    waves.push_back(std::move(wave));
  }
}

Result<CuResult> ComputeUnit::run() {
  // The dispatcher serves every CU of the XCD before it comes back to this one.
  const double waveCount = static_cast<double>(set.groups[launch.traces.front()].waves.size());
  const double interval = std::max(p.dispatchClkPerWorkgroup, p.dispatchClkPerWave * waveCount) /
                          p.shaderEnginesPerXcd * launch.load.activeCusPerXcd;
  for (unsigned i = 0; i < launch.residents && nextGroup < launch.traces.size(); ++i)
    startGroup(static_cast<Clk>(std::ceil(i * interval)));
  while (liveWaves > 0) {
    const auto simd =
        static_cast<unsigned>(std::min_element(simds.begin(), simds.end(),
                                               [](const SimdState& a, const SimdState& b) { return a.next < b.next; }) -
                              simds.begin());
    const Clk now = simds[simd].next;
    if (now >= never)
      return internalError("timing model: the waves of a trace wait for each other at a barrier");
    arbitrate(simd, now);
  }
  std::sort(result.workgroupEnds.begin(), result.workgroupEnds.end());
  result.end = result.workgroupEnds.empty() ? 0 : result.workgroupEnds.back();
  result.traffic = memory.traffic();
  result.traffic.fetches = fetch.fetches();
  result.traffic.fetchMisses = fetch.misses();
  result.ldsPortBusy = lds.portBusyClk();
  result.ldsBankBusy = lds.bankBusyClk();
  result.vmemBusy = memory.vmemBusyClk();
  result.l2Busy = memory.l2BusyClk();
  result.fabricBusy = memory.fabricBusyClk();
  result.hbmBusy = memory.hbmBusyClk();
  return std::move(result);
}

void ComputeUnit::arbitrate(unsigned simd, Clk now) {
  SimdState& state = simds[simd];
  // Higher s_setprio first, then the wave that has waited longest. Measured: an MFMA stream and a VALU stream of two
  // waves share the SIMD at full matrix rate (pyhip, inter_mfma_plus_N), which oldest-wave-first would not give.
  const auto before = [](const WaveState* a, const WaveState* b) {
    if (a->priority != b->priority)
      return a->priority > b->priority;
    return a->lastIssue != b->lastIssue ? a->lastIssue < b->lastIssue : a->number < b->number;
  };
  candidates.clear();
  for (WaveState* wave : state.waves) {
    if (wave->ready > now)
      continue;
    // Few waves, mostly in order already: insertion sort.
    auto at = candidates.insert(candidates.end(), wave);
    for (; at != candidates.begin() && before(wave, at[-1]); --at)
      *at = at[-1];
    *at = wave;
  }
  Slot slot;
  slot.at = now;
  for (WaveState* wave : candidates)
    if (tryIssue(*wave, slot))
      issue(*wave, now);
  state.next = never;
  const Clk earliest = now + static_cast<Clk>(p.slot);
  for (const WaveState* wave : state.waves)
    if (wave->ready < never)
      state.next = std::min(state.next, roundUpToTurn(std::max(wave->ready, earliest), simd));
}

bool ComputeUnit::tryIssue(WaveState& wave, Slot& slot) {
  const StaticInst& inst = nextOf(wave);
  const SimdState& simd = simds[wave.simd];
  const Clk now = slot.at;
  const Clk later = now + static_cast<Clk>(p.slot);
  auto& used = slot.used;
  const auto usedBy = [&](Category c) -> std::uint8_t& { return used[static_cast<std::size_t>(c)]; };
  if (inst.lgkmWeight) {
    wave.lgkm.retire(now);
    const auto most = static_cast<std::size_t>(p.lgkmCounterMax);
    const Clk room = wave.lgkm.timeUntil(most - inst.lgkmWeight);
    if (room > now) {
      block(wave, room, Stall::memoryThrottle);
      return false;
    }
  }
  switch (inst.category) {
  case Category::internal:
    return true;
  case Category::valu: {
    Clk free = std::max(simd.valuFree, simd.valuAfterMfma);
    Stall reason = simd.valuAfterMfma > simd.valuFree ? Stall::mfmaBusy : Stall::aluDependency;
    if (inst.packedOrDot && std::max(simd.matrixFree, wave.packedAfterMfma) > free) {
      free = std::max(simd.matrixFree, wave.packedAfterMfma);
      reason = Stall::mfmaBusy;
    }
    if (free > now) {
      block(wave, free, reason);
      return false;
    }
    const std::uint8_t count = usedBy(Category::valu);
    const bool shares = p.valuDualIssue != 0 && count == 1 && pairs(*slot.firstValu, inst);
    if (usedBy(Category::mfma) || (count && !shares)) {
      block(wave, later, Stall::arbitration);
      return false;
    }
    slot.firstValu = &inst;
    break;
  }
  case Category::mfma: {
    const Clk free = std::max(simd.matrixFree, simd.valuFree);
    if (free > now) {
      block(wave, free, Stall::mfmaBusy);
      return false;
    }
    if (usedBy(Category::mfma) || usedBy(Category::valu) || usedBy(Category::lds) || usedBy(Category::vmem)) {
      block(wave, later, Stall::arbitration);
      return false;
    }
    break;
  }
  case Category::lds: {
    if (usedBy(Category::lds) || usedBy(Category::mfma)) {
      block(wave, later, Stall::arbitration);
      return false;
    }
    if (const RequestQueue::Room room = lds.room(wave.simd, wave.number, now); room.at > now) {
      block(wave, room.at, room.conflict ? Stall::ldsConflict : Stall::memoryThrottle);
      return false;
    }
    break;
  }
  case Category::vmem: {
    if (usedBy(Category::vmem) || usedBy(Category::mfma)) {
      block(wave, later, Stall::arbitration);
      return false;
    }
    wave.vm.retire(now);
    if (const Clk counter = wave.vm.timeUntil(static_cast<std::size_t>(p.vmemCounterMax) - 1); counter > now) {
      block(wave, counter, Stall::memoryThrottle);
      return false;
    }
    if (const RequestQueue::Room room = memory.room(wave.number, now); room.at > now) {
      block(wave, room.at, Stall::memoryThrottle);
      return false;
    }
    break;
  }
  case Category::scalar:
  case Category::branch:
    if (usedBy(inst.category)) {
      block(wave, later, Stall::arbitration);
      return false;
    }
    break;
  }
  ++usedBy(inst.category);
  return true;
}

void ComputeUnit::issue(WaveState& wave, Clk now) {
  const std::size_t index = *wave.path / 4;
  const StaticInst& inst = code[index];
  SimdState& simd = simds[wave.simd];
  InstructionCounters& counters = result.counters[index];
  ++counters.issued;
  ++result.instructions;
  const Clk dependency = std::clamp<Clk>(wave.dependencyReady - wave.since, 0, now - wave.since);
  counters.stalls[static_cast<std::size_t>(wave.dependencyReason)] += dependency;
  counters.stalls[static_cast<std::size_t>(wave.contentionReason)] += now - wave.since - dependency;
  wave.lastIssue = now;
  if (log)
    log->push_back({wave.number, wave.step, wave.simd, now, wave.since, dependency, wave.dependencyReason,
                    wave.contentionReason, inst.internal == Internal::barrier ? Stall::barrier : Stall::none});

  Clk ownEnd = now + static_cast<Clk>(p.slot);
  switch (inst.category) {
  case Category::valu:
    if (inst.pipeClk > p.slot) // a plain one leaves room for another wave's in the same slot
      simd.valuFree = now + inst.pipeClk;
    result.valuBusy += inst.pipeClk;
    wave.lastValu = now;
    if (inst.writesScalar)
      wave.lastScalarWrite = now;
    break;
  case Category::mfma:
    issueMfma(wave, inst, now);
    break;
  case Category::scalar:
    result.saluBusy += 1;
    if (inst.scalarMemory)
      issueScalarMemory(wave, inst, now);
    else
      wave.lastSalu = now;
    break;
  case Category::lds:
    ownEnd = issueLds(wave, inst, now);
    break;
  case Category::vmem:
    issueVector(wave, inst, now);
    break;
  case Category::branch:
    break;
  case Category::internal:
    ownEnd = issueInternal(wave, inst, now);
    break;
  }
  if (inst.internal == Internal::end || wave.step + 1 == wave.steps) {
    endWave(wave, now);
    return;
  }
  advance(wave, ownEnd);
}

void ComputeUnit::issueMfma(WaveState& wave, const StaticInst& inst, Clk now) {
  SimdState& simd = simds[wave.simd];
  const auto clk = [&](double passes) { return static_cast<Clk>(passes * p.mfmaPassClk); };
  const Clk passes = clk(inst.passes);
  simd.matrixFree = now + passes;
  result.mfmaBusy += static_cast<double>(passes);
  const unsigned wideSources = inst.sourceBytes / 16;
  const auto simple = static_cast<Clk>(p.mfmaValuDelayClk * (1 + wideSources));
  const Clk packed = clk(inst.passes + p.mfmaPackedExtraPasses);
  // XDL2x: 4 clk more when the sources are wide (LLVM PR 233721).
  wave.packedAfterMfma = now + packed + (inst.sourceBytes >= 16 ? static_cast<Clk>(p.mfmaValuDelayClk) : 0);
  simd.valuAfterMfma = now + (inst.xdl ? simple : packed);
  wave.afterMfma = now + simple;
  MatrixScoreboard& board = *wave.matrix;
  const double extra = inst.xdl ? p.mfmaResultExtraPasses : p.mfmaNonXdlResultExtraPasses;
  for (unsigned i = 0; i < inst.destination.count; ++i) {
    const unsigned r = inst.destination.first + i;
    board.result[r] = now + clk(inst.passes + extra);
    board.sourceC[r] = now + clk(inst.passes + p.mfmaSrcCExtraPasses);
    board.writer[r] = static_cast<std::uint32_t>(*wave.path / 4);
  }
  board.latest = std::max(board.latest, now + clk(inst.passes + extra));
}

Clk ComputeUnit::issueLds(WaveState& wave, const StaticInst& inst, Clk now) {
  LdsUnit::Request request;
  request.sendsData = inst.isLdsWrite;
  bool any = false;
  forAccesses(wave, [&](const PreparedAccess& access) {
    if (access.space != emulator::Space::lds)
      return;
    if (!any)
      request = {0, 0, 0, inst.isLdsWrite};
    any = true;
    // The port moves whole rows of lanes whatever EXEC says.
    request.dataBytes += 64.0 * std::max<unsigned>(access.bytesPerLane, 4);
    // Counted for 32 banks; twice as many take two of its conflict groups at once.
    const auto pairsOfGroups = [&](unsigned clk) { return p.ldsBanks > 32 ? (clk + 1) / 2 : clk; };
    request.bankClk += pairsOfGroups(access.bankClk);
    request.idealClk += pairsOfGroups(access.idealClk);
  });
  const LdsUnit::Reply reply = lds.issue(wave.simd, wave.number, request, now);
  wave.lgkm.push(reply.done);
  const Clk end = now + reply.issueHold;
  selfStall(wave, reply.issueHold - static_cast<Clk>(p.slot), Stall::memoryThrottle);
  return end;
}

void ComputeUnit::issueVector(WaveState& wave, const StaticInst& inst, Clk now) {
  Clk done = longAgo;
  bool any = false, store = false;
  forAccesses(wave, [&](const PreparedAccess& access) {
    any = true;
    store |= access.store || access.atomic;
    if (access.space == emulator::Space::lds) { // a flat access that lands in LDS
      const LdsUnit::Request request{64.0 * std::max<unsigned>(access.bytesPerLane, 4), access.bankClk, access.idealClk,
                                     access.store};
      done = std::max(done, lds.issue(wave.simd, wave.number, request, now).done);
    } else {
      Clk arrival = memory.vector(*wave.trace, access, requester(wave), now);
      if (access.ldsDma) { // lanes write neighbouring dwords
        const unsigned bankClk = 2 * std::max(1U, access.bytesPerLane / 4U);
        arrival = lds.directLoad({64.0 * access.bytesPerLane, bankClk, bankClk, true}, arrival, now);
      }
      done = std::max(done, arrival);
    }
  });
  if (!any)
    done = memory.emptyVector(requester(wave), now);
  done = std::max(done, wave.vm.last());
  for (unsigned i = 0; i < inst.vmWeight; ++i)
    wave.vm.push(done);
  for (unsigned i = 0; i < inst.lgkmWeight; ++i)
    wave.lgkm.push(done);
  if (store)
    wave.lastStore = std::max(wave.lastStore, done);
}

void ComputeUnit::issueScalarMemory(WaveState& wave, const StaticInst& inst, Clk now) {
  Clk done = now + static_cast<Clk>(p.smemHit);
  forAccesses(wave, [&](const PreparedAccess& access) {
    done = std::max(done, memory.scalar(*wave.trace, access, requester(wave), now));
  });
  for (unsigned i = 0; i < inst.lgkmWeight; ++i)
    wave.lgkm.push(done);
}

Clk ComputeUnit::issueInternal(WaveState& wave, const StaticInst& inst, Clk now) {
  const Clk shortest = now + static_cast<Clk>(p.slot);
  switch (inst.internal) {
  case Internal::nop: {
    const Clk end = now + static_cast<Clk>(p.slot) * (1 + static_cast<Clk>(inst.argument));
    selfStall(wave, end - shortest, Stall::aluDependency);
    return end;
  }
  case Internal::sleep: {
    const Clk end = shortest + static_cast<Clk>(p.sleepClkPerUnit * inst.argument);
    selfStall(wave, end - shortest, Stall::sleep);
    return end;
  }
  case Internal::setprio:
    wave.priority = static_cast<std::uint8_t>(inst.argument);
    return shortest;
  case Internal::waitcnt: {
    wave.vm.retire(now);
    wave.lgkm.retire(now);
    const Clk vm = wave.vm.timeUntil(inst.wait.vm), lgkm = wave.lgkm.timeUntil(inst.wait.lgkm);
    const Clk end = roundUpToTurn(std::max(shortest, std::max(vm, lgkm)), wave.simd);
    selfStall(wave, end - shortest, vm > lgkm ? Stall::waitVm : Stall::waitLgkm);
    return end;
  }
  case Internal::barrier:
    wave.atBarrier = true;
    return shortest;
  case Internal::end:
  case Internal::none:
    break;
  }
  return shortest;
}

void ComputeUnit::advance(WaveState& wave, Clk ownEnd) {
  const StaticInst& done = nextOf(wave);
  const std::uint32_t offset = *wave.path;
  ++wave.step;
  ++wave.path;
  const StaticInst& inst = nextOf(wave);
  wave.since = ownEnd;
  wave.dependencyReady = ownEnd;
  wave.dependencyReason = Stall::none;
  wave.contentionReason = Stall::arbitration;

  if (done.category == Category::branch && (!done.conditional || *wave.path != offset + done.size)) {
    wave.fetched.refill(fetch, wave.simd, *wave.path, wave.lastIssue);
    require(wave, wave.fetched.ready(*wave.path, inst.size), Stall::noInstruction);
  } else {
    require(wave, wave.fetched.advance(fetch, wave.simd, *wave.path, inst.size, wave.lastIssue), Stall::noInstruction);
  }
  if (inst.category == Category::vmem || inst.category == Category::lds) {
    require(wave, wave.lastValu + static_cast<Clk>(p.valuToMemory), Stall::aluDependency);
    require(wave, wave.afterMfma, Stall::aluDependency);
    if (inst.category == Category::vmem)
      require(wave, wave.lastSalu + static_cast<Clk>(p.saluToVmem), Stall::aluDependency);
  } else if (inst.category == Category::scalar) {
    require(wave, wave.lastScalarWrite + static_cast<Clk>(p.valuSgprToScalar), Stall::aluDependency);
  } else if (inst.category == Category::branch && inst.readsScalarResult) {
    require(wave, wave.lastSalu + static_cast<Clk>(p.saluToBranch), Stall::aluDependency);
    if (inst.readsVcc)
      require(wave, wave.lastScalarWrite + static_cast<Clk>(p.valuVccToBranch), Stall::aluDependency);
  }
  if (wave.matrix && wave.matrix->latest > wave.dependencyReady)
    requireMatrix(wave, inst);
  wave.ready = wave.dependencyReady;

  if (wave.atBarrier) {
    GroupState& group = groups[wave.group];
    ++group.waiting;
    wave.ready = never;
    if (group.waiting == group.live)
      releaseBarrier(group, wave.lastIssue);
  }
}

void ComputeUnit::requireMatrix(WaveState& wave, const StaticInst& inst) {
  const MatrixScoreboard& board = *wave.matrix;
  for (unsigned i = 0; i < inst.readCount; ++i)
    for (unsigned r = 0; r < inst.touched[i].count; ++r)
      require(wave, board.result[inst.touched[i].first + r], Stall::aluDependency);
  if (inst.category != Category::mfma || !inst.sourceC.count)
    return;
  const std::uint32_t writer = board.writer[inst.sourceC.first];
  if (writer != ~0U && code[writer].opcode == inst.opcode && code[writer].destination == inst.sourceC)
    return; // exact accumulate: forwarded at full rate
  for (unsigned r = 0; r < inst.sourceC.count; ++r)
    require(wave, board.sourceC[inst.sourceC.first + r], Stall::aluDependency);
}

void ComputeUnit::releaseBarrier(GroupState& group, Clk now) {
  group.waiting = 0;
  const Clk release = now + static_cast<Clk>(p.barrierRelease);
  for (const std::uint32_t number : group.waves) {
    if (!waves[number] || !waves[number]->atBarrier)
      continue;
    WaveState& wave = *waves[number];
    wave.atBarrier = false;
    // The wait belongs to the barrier, which is the instruction before the next one.
    const Clk resume = std::max(release, wave.dependencyReady);
    result.counters[wave.path[-1] / 4].stalls[static_cast<std::size_t>(Stall::barrier)] +=
        std::max<Clk>(0, release - wave.since);
    wave.since = std::max(wave.since, release);
    wave.dependencyReady = resume;
    wave.ready = resume;
    wake(wave);
  }
}

void ComputeUnit::endWave(WaveState& wave, Clk now) {
  const Clk end = std::max(now + static_cast<Clk>(p.waveEnd), wave.lastStore);
  const auto groupIndex = wave.group; // the wave goes before its group is done
  GroupState& group = groups[groupIndex];
  group.end = std::max(group.end, end);
  if (log)
    result.waveSpans[wave.number].end = end;
  // The wave stays until its stores are acknowledged.
  selfStall(wave, end - now - static_cast<Clk>(p.slot),
            end > now + static_cast<Clk>(p.waveEnd) ? Stall::waitVm : Stall::noInstruction);
  std::erase(simds[wave.simd].waves, &wave);
  waves[wave.number].reset();
  --liveWaves;
  if (--group.live > 0) {
    if (group.waiting == group.live)
      releaseBarrier(group, now);
    return;
  }
  result.workgroupEnds.push_back(group.end);
  result.spans[groupIndex].second = group.end;
  if (nextGroup < launch.traces.size())
    startGroup(group.end + static_cast<Clk>(p.dispatchReplacement));
}

} // namespace

Result<CuResult> simulateCu(const Parameters& parameters, const std::vector<StaticInst>& code, const TraceSet& traces,
                            const CuLaunch& launch, std::vector<IssueEvent>* log) {
  if (launch.traces.empty() || launch.residents == 0)
    return internalError("timing model: no workgroups to simulate");
  for (const unsigned trace : launch.traces)
    if (trace >= traces.groups.size())
      return internalError("timing model: workgroup without a trace");
  return ComputeUnit(parameters, code, traces, launch, log).run();
}

} // namespace asmevo::timing
