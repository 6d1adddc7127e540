#include "emulator/scheduler.h"

#include "emulator/code_image.h"
#include "emulator/debug/describe.h"
#include "emulator/debug/state_hash.h"
#include "emulator/observe/watch.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <numeric>
#include <thread>

namespace asmevo::emulator {

namespace {

/// Waves of one workgroup stay within this many instructions of each other (plus the straight run they are in).
constexpr std::int64_t lockStepInstructions = 128;
/// Wave-instructions a workgroup may run before others that could be waiting for it get a turn.
constexpr std::int64_t workgroupSlice = 4'000'000;
/// Resident workgroups per host thread: what a large chip holds of small workgroups. Opened only while workgroups spin.
constexpr std::size_t residentGroups = 4096;
constexpr std::uint64_t residentBytes = std::uint64_t{1} << 30;
/// Seeded interleaving keeps this many workgroups in flight.
constexpr std::size_t seededWindow = 4;
constexpr std::uint64_t seededSlice = 2048;
/// Turns without any workgroup ending after which they may be waiting for one outside the window.
constexpr std::uint64_t seededPatience = 4096;
/// It wears off by half with each workgroup started so, until one ends: a barrier over the whole grid needs them all.
constexpr std::uint64_t leastPatience = 16;
/// Wave-instructions without any workgroup ending after which the run is first suspected to be endless; then whenever
/// it has twice as many.
constexpr std::uint64_t firstSuspicion = 16'000'000;
/// From then on workgroups change places this often while others have not started: they may be what is waited for.
constexpr std::int64_t impatientSlice = 8192;
/// Sweeps over all resident workgroups in which a state must come again to be noticed.
constexpr unsigned suspectedSweeps = 64;

std::uint64_t mix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::string position(const Workgroup& group) {
  return fmt::format("workgroup {} ({},{},{})", group.index, group.id[0], group.id[1], group.id[2]);
}

std::string instructionAt(const Wave& wave, const Op* op) {
  return fmt::format("'{}' at {:#x}", op->inst->text, wave.code->objectAddress(op->pc));
}

Error faultOf(const Workgroup& group, const Wave& wave) {
  return {wave.faultKind, fmt::format("{} of kernel '{}', wave {} of {}: {}", instructionAt(wave, wave.resume),
                                      wave.code->kernelName(), wave.waveInGroup, position(group), wave.faultMessage)};
}

/// Shared by the threads of one run.
struct Progress {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> executed{0};
  std::atomic<bool> abandoned{false};
  std::atomic<unsigned> workers{0}; ///< that still run
  std::mutex lock;
  std::optional<Error> error; ///< the first

  void abandon(Error e) {
    const std::lock_guard guard(lock);
    if (!error)
      error = std::move(e);
    abandoned = true;
  }
};

enum class Visit { finished, parked, fault };

class Worker {
 public:
  Worker(const WorkgroupFactory& factory, const WorkgroupOrder& order, const RunOptions& options, Progress& progress,
         ScheduleResult& result, Watch* watch)
      : factory(factory), order(order), options(options), progress(progress), result(result), watch(watch),
        random(options.seed),
        limit(std::clamp<std::size_t>(residentBytes / std::max<std::uint64_t>(1, factory.bytesPerGroup()), seededWindow,
                                      residentGroups)) {}

  void run() {
    work();
    --progress.workers;
  }

 private:
  void work() {
    while (!progress.abandoned) {
      if (resident.empty() || (wantsAnother() && resident.size() < limit))
        open();
      if (resident.empty())
        return;
      if (options.seed != 0 && resident.size() > 1)
        std::swap(resident.front(), resident[mix(random) % resident.size()]);
      std::unique_ptr<Workgroup> group = std::move(resident.front());
      resident.pop_front();
      const Visit outcome = visit(*group);
      if (outcome == Visit::fault)
        return;
      if (outcome == Visit::finished) {
        finish(std::move(group));
        parked = 0;
        continue;
      }
      resident.push_back(std::move(group));
      ++parked;
      const std::uint64_t executed = progress.executed.load();
      if (executed >= options.maxInstructions)
        return progress.abandon(endless());
      if (executed - lastEnd >= suspicion && progress.workers == 1 && !canOpen()) {
        suspicion *= 2;
        if (repeats())
          return;
      }
    }
  }

  bool canOpen() const { return resident.size() < limit && progress.next.load() < order.count; }

  bool wantsAnother() const {
    return options.seed == 0 ? parked != 0 : resident.size() < seededWindow || parked >= patience;
  }

  /// Starts the next workgroup, if there is one, and gives it the next turn.
  void open() {
    if (parked >= patience)
      patience = std::max(patience / 2, leastPatience);
    const std::uint64_t slot = progress.next.fetch_add(1);
    if (slot >= order.count)
      return;
    std::unique_ptr<Workgroup> group;
    if (spare.empty()) {
      group = std::make_unique<Workgroup>();
    } else {
      group = std::move(spare.back());
      spare.pop_back();
    }
    factory.start(*group, order.at(slot), result.coverage.empty() ? nullptr : result.coverage.data(), watch);
    result.waves += group->waves.size();
    if (watch)
      watch->workgroupStarted(*group);
    resident.push_front(std::move(group));
    parked = 0;
  }

  void finish(std::unique_ptr<Workgroup> group) {
    lastEnd = progress.executed.load();
    suspicion = firstSuspicion;
    patience = seededPatience;
    if (watch)
      watch->workgroupEnded(*group);
    for (const Wave& wave : group->waves)
      result.lds.merge({wave.ldsBytes, wave.ldsReached, wave.ldsBeyond});
    if (group->trace)
      result.traces.push_back(std::move(*group->trace));
    group->trace.reset();
    spare.push_back(std::move(group));
  }

  /// Runs the waves in turn until all have ended, the workgroup's slice is used up or all that can run sleep.
  Visit visit(Workgroup& group) {
    std::int64_t slice = workgroupSlice;
    const std::uint64_t total = progress.executed.load();
    if (probing)
      slice = lockStepInstructions * static_cast<std::int64_t>(group.waves.size());
    else if (options.seed != 0)
      slice = static_cast<std::int64_t>(1 + mix(random) % (seededSlice * group.waves.size()));
    else if (total - lastEnd >= firstSuspicion && canOpen())
      slice = impatientSlice;
    const std::uint64_t left = options.maxInstructions > total ? options.maxInstructions - total : 1;
    slice = static_cast<std::int64_t>(std::min<std::uint64_t>(static_cast<std::uint64_t>(slice), left));
    std::uint64_t used = 0;
    const Visit outcome = rounds(group, slice, used);
    result.waveInstructions += used;
    progress.executed += used;
    return outcome;
  }

  Visit rounds(Workgroup& group, std::int64_t slice, std::uint64_t& used) {
    const std::size_t count = group.waves.size();
    const bool alone = options.waveToBarrier || count == 1;
    turn.resize(count);
    std::iota(turn.begin(), turn.end(), std::size_t{0});
    while (true) {
      if (options.seed != 0 && !probing)
        for (std::size_t i = count; i > 1; --i)
          std::swap(turn[i - 1], turn[mix(random) % i]);
      std::size_t ended = 0, ran = 0, asleep = 0;
      for (const std::size_t index : turn) {
        Wave& wave = group.waves[index];
        if (wave.stop == Stop::ended) {
          ++ended;
          continue;
        }
        if (wave.stop == Stop::barrier)
          continue;
        ++ran;
        std::int64_t budget = alone ? slice : lockStepInstructions;
        if (options.seed != 0 && !options.waveToBarrier && !probing)
          budget = static_cast<std::int64_t>(1 + mix(random) % (2 * lockStepInstructions));
        used += resume(wave, std::min(budget, slice));
        if (wave.stop == Stop::fault) {
          progress.abandon(faultOf(group, wave));
          return Visit::fault;
        }
        if (watch && watch->stopRequested()) {
          progress.abandoned = true;
          return Visit::fault;
        }
        if (wave.stop == Stop::ended)
          ++ended;
        asleep += wave.stop == Stop::sleep;
      }
      if (ended == count)
        return Visit::finished;
      if (ran == 0) {
        if (watch)
          watch->barrierReleased(group);
        for (Wave& wave : group.waves)
          if (wave.stop == Stop::barrier)
            wave.stop = Stop::budget;
      }
      if ((ran != 0 && asleep == ran) || static_cast<std::int64_t>(used) >= slice)
        return Visit::parked;
    }
  }

  static std::uint64_t resume(Wave& wave, std::int64_t budget) {
    const std::uint64_t before = wave.instructions;
    wave.budget = budget;
    wave.runStart = wave.resume;
    wave.stop = Stop::running;
    wave.resume->fn(wave, wave.resume);
    if (wave.watch) [[unlikely]]
      wave.watch->stopped(wave);
    return wave.instructions - before;
  }

  /// Gives every resident workgroup small turns in a fixed order until their state comes again or the attempt is given
  /// up; true when the run is over. State is compared in steps: scalars of every sweep, vectors and LDS when the
  /// scalars came again, memory when those did, too.
  bool repeats() {
    if (resident.front()->waves.front().code->readsClock())
      return false;
    probing = true;
    const bool over = sweep();
    probing = false;
    return over;
  }

  bool sweep() {
    StateHash scalars, vectors, memory;
    unsigned markedAt = 0, window = 1, matches = 0, lastMatch = 0;
    for (unsigned turnNumber = 0; turnNumber < suspectedSweeps; ++turnNumber) {
      for (auto group = resident.begin(); group != resident.end(); ++group) {
        const Visit outcome = visit(**group);
        if (outcome == Visit::parked)
          continue;
        if (outcome == Visit::finished) {
          std::unique_ptr<Workgroup> done = std::move(*group);
          resident.erase(group);
          finish(std::move(done));
        }
        return outcome == Visit::fault;
      }
      StateHash now;
      for (const auto& group : resident)
        addScalars(now, *group);
      if (turnNumber != 0 && now == scalars) {
        StateHash nowVectors;
        for (const auto& group : resident)
          addVectors(nowVectors, *group);
        if (matches != 0 && !(nowVectors == vectors))
          return false;
        vectors = nowVectors;
        if (++matches == 1)
          continue;
        StateHash nowMemory;
        addMemory(nowMemory, *resident.front()->waves.front().memory);
        if (matches == 3 && nowMemory == memory) {
          progress.abandon(neverEnds(turnNumber - lastMatch));
          return true;
        }
        if (matches == 3)
          return false;
        memory = nowMemory;
        lastMatch = turnNumber;
      } else if (matches == 0 && turnNumber - markedAt >= window) {
        scalars = now;
        markedAt = turnNumber;
        window *= 2;
      }
    }
    return false;
  }

  Error neverEnds(unsigned turns) const {
    const bool barrier = std::ranges::any_of(resident, [](const auto& group) {
      return std::ranges::any_of(group->waves, [](const Wave& wave) { return wave.stop == Stop::barrier; });
    });
    const std::uint64_t waiting = order.count - std::min(order.count, progress.next.load());
    return faultError(
        "kernel '{}' never ends: after {} wave-instructions, registers, LDS and memory are as they were {} turns of "
        "each wave earlier{}{}{}",
        kernelName(), progress.executed.load(), turns,
        barrier ? "; waves wait at a barrier for others that do not get there" : "",
        waiting != 0
            ? fmt::format("; {} workgroups have not started, {} are all that can be resident", waiting, resident.size())
            : "",
        positions("goes round through"));
  }

  Error endless() const {
    return faultError("kernel '{}' is still running after {} wave-instructions: endless?{}", kernelName(),
                      options.maxInstructions, positions("is at"));
  }

  const std::string& kernelName() const { return resident.front()->waves.front().code->kernelName(); }

  /// Where every wave of the first workgroups is.
  std::string positions(std::string_view verb) const {
    constexpr std::size_t shown = 4;
    std::string where;
    std::size_t listed = 0;
    for (const auto& group : resident) {
      if (listed++ == shown) {
        where += fmt::format("\n  and {} more workgroups", resident.size() - shown);
        break;
      }
      where += fmt::format("\n  {}:", position(*group));
      for (const Wave& wave : group->waves)
        where += "\n    " + describePosition(wave, verb);
    }
    return where;
  }

  const WorkgroupFactory& factory;
  const WorkgroupOrder& order;
  const RunOptions& options;
  Progress& progress;
  ScheduleResult& result;
  Watch* watch; ///< null: nobody observes
  std::uint64_t random;
  std::size_t limit; ///< of resident workgroups
  std::deque<std::unique_ptr<Workgroup>> resident;
  std::vector<std::unique_ptr<Workgroup>> spare;
  std::vector<std::size_t> turn;
  std::uint64_t patience = seededPatience;  ///< turns before another workgroup starts, in seeded interleaving
  bool probing = false;                     ///< turns are small and in a fixed order
  std::uint64_t suspicion = firstSuspicion; ///< instructions since `lastEnd` that call for a look
  std::uint64_t lastEnd = 0;                ///< instructions of the run when a workgroup last ended here
  std::uint64_t parked = 0;                 ///< turns given up since a workgroup last started or ended
};

} // namespace

void Wave::fail(const Op* op, ErrorKind kind, const std::string& what) {
  account(op);
  stop = Stop::fault;
  resume = op;
  faultKind = kind;
  faultMessage = what;
}

Result<ScheduleResult> runWorkgroups(const WorkgroupFactory& factory, const WorkgroupOrder& order,
                                     std::size_t coverageDwords, const RunOptions& options, Watch* watch) {
  Progress progress;
  const std::size_t threads =
      watch ? 1 : std::max<std::size_t>(1, std::min<std::uint64_t>(options.threads, order.count));
  std::vector<ScheduleResult> results(threads);
  for (ScheduleResult& result : results)
    result.coverage.assign(options.coverage ? coverageDwords : 0, 0);
  progress.workers = static_cast<unsigned>(threads);
  const auto work = [&](std::size_t i) { Worker(factory, order, options, progress, results[i], watch).run(); };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < threads; ++i)
      helpers.emplace_back(work, i);
    work(0);
  }
  if (progress.error)
    return std::move(*progress.error);
  ScheduleResult all = std::move(results.front());
  for (std::size_t i = 1; i < threads; ++i) {
    all.waveInstructions += results[i].waveInstructions;
    all.waves += results[i].waves;
    all.lds.merge(results[i].lds);
    for (WorkgroupTrace& trace : results[i].traces)
      all.traces.push_back(std::move(trace));
    for (std::size_t c = 0; c < all.coverage.size(); ++c)
      all.coverage[c] += results[i].coverage[c];
  }
  std::sort(all.traces.begin(), all.traces.end(),
            [](const WorkgroupTrace& a, const WorkgroupTrace& b) { return a.index < b.index; });
  return all;
}

} // namespace asmevo::emulator
