#include "emulator/race/race_detector.h"

#include "emulator/observe/access_dwords.h"
#include "emulator/observe/finding_log.h"
#include "emulator/race/access_log.h"
#include "emulator/race/shadow.h"
#include "emulator/race/store_data.h"
#include "emulator/race/sync_history.h"
#include "emulator/scheduler.h"
#include "program/analysis/in_flight.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace asmevo::emulator {

namespace {

constexpr std::uint64_t ldsShadowBytes = 65536;
/// Operations that the counters can hold; more stall the wave until the oldest are done (facts of s_waitcnt, gfx942).
constexpr std::uint32_t vmCapacity = 63, lgkmCapacity = 15;
/// Bytes of one atomic access at most; wider ones with scope bits are data.
constexpr unsigned atomicBytes = 8;
constexpr std::uint64_t limitCheckPeriod = 1024;

/// What the detector needs of an instruction, looked up once.
struct MemoryForm {
  const Op* op = nullptr;
  bool vm = false, lds = false, unordered = false;
  bool scoped = false; ///< a load or store with scope bits
  bool agent = false;  ///< in scope for other workgroups
};

MemoryForm infoOf(const Op* op) {
  MemoryForm info;
  info.op = op;
  const isa::Instruction& inst = *op->inst;
  const program::Counting counting = program::countingOf(inst);
  const bool flat = inst.cls == isa::InstClass::flat, scalar = inst.cls == isa::InstClass::smem;
  info.unordered = flat || scalar;
  info.vm = counting.counts[0] && !flat;
  info.lds = counting.counts[1] && inst.cls == isa::InstClass::lds;
  info.scoped = inst.mods.sc0 || inst.mods.sc1;
  info.agent = inst.mods.sc1 || (scalar && inst.mods.sc0);
  return info;
}

struct WaveState {
  WaveId id = 0;
  unsigned number = 0;
  Frontier issued, complete;
  std::uint32_t lastDma = 0;   ///< vm stamp of the latest LDS-DMA
  std::vector<Frontier> group; ///< known to be complete, by wave of the workgroup
  Clock foreign;               ///< the same of other workgroups
  struct Pending {
    Domain domain;
    std::uint32_t stamp; ///< of the atomic read that takes it over
    Clock clock;
  };
  std::vector<Pending> pending;
  std::uint32_t published = ~0u; ///< number of the clock in the histories; ~0: has changed since
  unsigned elements = 0;         ///< store events of the instruction under way
};

struct GroupState {
  explicit GroupState(std::uint64_t index) : index(index), shadow(ldsShadowBytes) {}
  std::uint64_t index;
  WaveId first = 0;
  std::vector<WaveState> waves;
  std::vector<Frontier> atBarrier; ///< issued by each wave when it last passed a barrier
  Shadow shadow;
  AccessLog log;
};

struct WaveName {
  std::uint64_t workgroup;
  unsigned wave;
};

struct Race {
  StrictFinding finding;
  std::uint64_t sameValue = 0; ///< occurrences in which both stored the same
  std::uint64_t unwaited = 0;  ///< occurrences with a barrier in between
};

bool isSameValue(const Race& race) {
  return race.sameValue == race.finding.count;
}

/// The access under way.
struct Access {
  const Wave& wave;
  const Op* op;
  const AccessEvent& event;
  unsigned element; ///< which of a two-element LDS instruction
  WaveState& state;
  GroupState& group;
  AccessLog& log;
  bool lds;
  AccessRecord record{};
  std::uint32_t id = 0;
  std::uint32_t single = 0;                                               ///< the set of this access alone
  std::uint32_t harmlessRecord = 0, harmlessSet = 0, harmlessAtomics = 0; ///< checked without a finding
  std::uint32_t oldSet = 0, newSet = 0;                                   ///< the last addition
  // NOLINTNEXTLINE(readability-redundant-member-init): -Wmissing-field-initializers asks for it
  std::unordered_map<std::uint32_t, std::uint32_t> added{}; ///< all others
  unsigned lane = 0;
  std::uint64_t begin = 0;      ///< offset of the lane's element in the shadow
  Shadow::Page* page = nullptr; ///< with the cell under way
};

class RaceDetector final : public FindingObserver {
 public:
  explicit RaceDetector(const RaceOptions& options) : options(options) {}

  void workgroupStarted(Workgroup& group) override {
    auto state = std::make_unique<GroupState>(group.index);
    const std::size_t count = group.waves.size();
    state->first = static_cast<WaveId>(names.size());
    state->waves.resize(count);
    state->atBarrier.resize(count);
    for (std::size_t w = 0; w < count; ++w) {
      state->waves[w].id = state->first + static_cast<WaveId>(w);
      state->waves[w].number = static_cast<unsigned>(w);
      state->waves[w].group.resize(count);
      names.push_back({group.index, static_cast<unsigned>(w)});
    }
    groups[&group] = std::move(state);
    lastGroup = nullptr;
  }

  void workgroupEnded(Workgroup& group) override {
    groups.erase(&group);
    lastGroup = nullptr;
  }

  void waveEnded(Wave& wave) override {
    WaveState& state = stateOf(wave);
    state.complete = state.issued;
  }

  void barrierReleased(Workgroup& workgroup) override {
    GroupState& group = *groups.at(&workgroup);
    std::vector<Frontier> joined(group.waves.size());
    Clock foreign;
    bool quiet = true;
    for (const WaveState& wave : group.waves) {
      for (std::size_t w = 0; w < joined.size(); ++w)
        joined[w].raise(wave.group[w]);
      joined[wave.number].raise(wave.complete);
      foreign.join(wave.foreign);
      quiet = quiet && wave.complete[Domain::lds] == wave.issued[Domain::lds] &&
              wave.complete[Domain::scalar] == wave.issued[Domain::scalar] && wave.complete[Domain::vm] >= wave.lastDma;
    }
    for (WaveState& wave : group.waves) {
      wave.group = joined;
      wave.foreign = foreign;
      wave.published = ~0u;
      group.atBarrier[wave.number] = wave.issued;
    }
    // Nothing of the LDS is in flight: all accesses so far are before all that follow.
    if (quiet)
      group.log.forget();
  }

  void before(Wave& wave, const Op* op) override {
    const isa::InstClass cls = op->inst->cls;
    if (cls == isa::InstClass::waitcnt)
      return wait(stateOf(wave), op->inst->waitCount());
    if (op->inst->isVectorMemory() || cls == isa::InstClass::lds || cls == isa::InstClass::smem) {
      WaveState& state = stateOf(wave);
      state.elements = 0;
      issue(state, info(wave, op));
    }
  }

  void access(Wave& wave, const Op* op, const AccessEvent& event) override {
    const bool lds = event.space == Space::lds;
    if (event.space == Space::scratch || (lds ? !options.lds : !options.global))
      return;
    WaveState& state = stateOf(wave);
    const unsigned element = state.elements++;
    if (event.store && event.space != Space::scalar)
      checkLanes(wave, op, event, element);
    if (!lds && exhausted)
      return;
    const MemoryForm& known = info(wave, op);
    GroupState& group = *lastGroup;
    Access access{wave, op, event, element, state, group, lds ? group.log : globalLog, lds};
    AccessRecord& record = access.record;
    record.domain = known.unordered ? Domain::scalar : event.ldsDma || !lds ? Domain::vm : Domain::lds;
    record.wave = state.id;
    record.stamp = state.issued[record.domain];
    record.code = codeOf(wave, op);
    record.write = event.store || event.atomic;
    record.atomic = event.atomic || (!lds && !event.ldsDma && known.scoped && event.bytes <= atomicBytes);
    record.agent = event.atomic || known.agent;
    if (lds && event.ldsDma)
      state.lastDma = record.stamp;
    access.id = access.log.add(record);
    if (lds)
      touchAll(access, event, group.shadow, 0);
    else
      touchAll(access, event, globalShadow(wave), GuestMemory::baseAddress);
    if (++accesses % limitCheckPeriod == 0)
      checkLimits(group);
  }

  std::vector<StrictFinding> findings() const override {
    std::vector<StrictFinding> all;
    for (const Race& race : races) {
      if (isSameValue(race) && !options.sameValue)
        continue;
      all.push_back(race.finding);
      StrictFinding& finding = all.back();
      if (isSameValue(race))
        finding.message += " (same value: the write before stored it, too, every time)";
      if (race.unwaited == finding.count)
        finding.message += " (a barrier lies between them, but the first is not waited for in front of it)";
    }
    return all;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> all = limitNotes;
    const auto same = std::ranges::count_if(races, isSameValue);
    if (same != 0 && !options.sameValue)
      all.push_back(fmt::format("{} pairs of instructions store the same value to the same place without order", same));
    return all;
  }

 private:
  WaveState& stateOf(const Wave& wave) {
    if (lastWorkgroup != wave.group || !lastGroup) {
      lastWorkgroup = wave.group;
      lastGroup = groups.at(wave.group).get();
    }
    return lastGroup->waves[wave.waveInGroup];
  }

  static std::uint32_t codeOf(const Wave& wave, const Op* op) {
    return static_cast<std::uint32_t>((op->pc - wave.codeAddress) / 4);
  }

  const MemoryForm& info(const Wave& wave, const Op* op) {
    const std::uint32_t code = codeOf(wave, op);
    if (code >= ops.size())
      ops.resize(code + 256);
    if (!ops[code].op)
      ops[code] = infoOf(op);
    return ops[code];
  }

  Shadow& globalShadow(const Wave& wave) {
    if (!shadow)
      shadow = std::make_unique<Shadow>(wave.memory->end() - GuestMemory::baseAddress);
    return *shadow;
  }

  static void issue(WaveState& state, const MemoryForm& op) {
    const auto count = [&](Domain domain, std::uint32_t capacity) {
      const std::uint32_t issued = ++state.issued[domain];
      if (issued > capacity && state.complete[domain] < issued - capacity) {
        state.complete[domain] = issued - capacity;
        advanced(state);
      }
    };
    if (op.unordered)
      ++state.issued[Domain::scalar];
    if (op.vm)
      count(Domain::vm, vmCapacity);
    if (op.lds)
      count(Domain::lds, lgkmCapacity);
  }

  static void wait(WaveState& state, const isa::WaitCount& count) {
    const Frontier before = state.complete;
    const auto reach = [&](Domain domain, std::uint32_t left) {
      const std::uint32_t issued = state.issued[domain];
      if (issued > left)
        state.complete[domain] = std::max(state.complete[domain], issued - left);
    };
    if (count.vm < vmCapacity)
      reach(Domain::vm, count.vm);
    if (count.lgkm < lgkmCapacity)
      reach(Domain::lds, count.lgkm);
    if (count.lgkm == 0)
      reach(Domain::scalar, 0);
    if (!(state.complete == before))
      advanced(state);
  }

  /// Something more is complete: also the atomic reads among it.
  static void advanced(WaveState& state) {
    state.published = ~0u;
    std::erase_if(state.pending, [&](const WaveState::Pending& pending) {
      if (state.complete[pending.domain] < pending.stamp)
        return false;
      state.foreign.join(pending.clock);
      const WaveId first = state.id - state.number;
      for (std::size_t w = 0; w < state.group.size(); ++w)
        state.group[w].raise(pending.clock.of(first + static_cast<WaveId>(w)));
      return true;
    });
  }

  std::uint32_t publish(WaveState& state) {
    if (state.published == ~0u) {
      auto clock = std::make_shared<Clock>(state.foreign);
      const WaveId first = state.id - state.number;
      for (std::size_t w = 0; w < state.group.size(); ++w)
        clock->raise(first + static_cast<WaveId>(w), state.group[w]);
      clock->raise(state.id, state.complete);
      state.published = history.addClock(std::move(clock));
    }
    return state.published;
  }

  static bool covers(const Frontier& frontier, const AccessRecord& record) {
    return frontier[record.domain] >= record.stamp;
  }

  /// `earlier` happens before the access under way. Within one wave the program's order counts.
  static bool ordered(const Access& access, const AccessRecord& earlier) {
    if (earlier.wave == access.state.id)
      return true;
    const WaveId inGroup = earlier.wave - access.group.first;
    return covers(inGroup < access.group.waves.size() ? access.state.group[inGroup]
                                                      : access.state.foreign.of(earlier.wave),
                  earlier);
  }

  static bool conflicting(const Access& access, const AccessRecord& earlier) {
    if (!access.record.write && !earlier.write)
      return false;
    if (!access.record.atomic || !earlier.atomic)
      return true;
    return earlier.wave - access.group.first >= access.group.waves.size() && !(access.record.agent && earlier.agent);
  }

  void touchAll(Access& access, const AccessEvent& event, Shadow& memory, std::uint64_t base) {
    acquired = {};
    acquiredNodes.clear();
    extended.clear();
    const bool acquires = access.record.atomic && (event.load || event.returns);
    forEachDword(event, [&](unsigned lane, unsigned k, unsigned part) {
      access.lane = lane;
      access.begin = event.address[lane] - base;
      const std::uint64_t offset = access.begin + k * 4;
      if (part == 4 && offset % 4 == 0) [[likely]] {
        touchDword(access, memory, offset, acquires);
        return;
      }
      for (unsigned i = 0; i < part; ++i)
        touchByte(access, memory, offset + i);
      synchronise(access, memory, offset, acquires);
    });
    if (!acquired.empty())
      access.state.pending.push_back({access.record.domain, access.record.stamp, std::move(acquired)});
  }

  void touchDword(Access& access, Shadow& memory, std::uint64_t offset, bool acquires) {
    Shadow::Page* page = access.page = memory.page(offset);
    if (!page)
      return;
    const std::size_t dword = offset % Shadow::pageBytes / 4;
    if (auto* split = page->splitOf(dword)) [[unlikely]] {
      for (unsigned i = 0; i < 4; ++i)
        touch(access, (*split)[i], offset + i);
    } else {
      touch(access, page->cells[dword], offset);
    }
    if (access.record.write)
      keepValue(access, offset, 4);
    if (access.record.atomic || (access.record.write && page->sync)) [[unlikely]]
      synchronise(access, memory, offset, acquires);
  }

  void touchByte(Access& access, Shadow& memory, std::uint64_t offset) {
    access.page = memory.page(offset);
    if (!access.page)
      return;
    touch(access, access.page->makeSplit(offset % Shadow::pageBytes / 4)[offset % 4], offset);
    if (access.record.write)
      keepValue(access, offset, 1);
  }

  void synchronise(Access& access, Shadow& memory, std::uint64_t offset, bool acquires) {
    if (!access.record.atomic && !access.record.write)
      return;
    Shadow::Page* page = memory.page(offset);
    if (!page || (!access.record.atomic && !page->sync))
      return;
    std::uint32_t& at = page->syncOf(offset % Shadow::pageBytes / 4);
    if (!access.record.atomic) {
      at = 0;
      return;
    }
    if (acquires)
      history.collect(at, acquired, acquiredNodes);
    if (!access.record.write)
      return;
    const bool readModifyWrite = access.op->inst->isAtomic();
    const std::uint32_t before = readModifyWrite ? at : 0;
    const auto [entry, isNew] = extended.try_emplace(before, 0);
    if (isNew)
      entry->second = history.extend(before, publish(access.state));
    at = entry->second;
  }

  void touch(Access& access, ShadowCell& cell, std::uint64_t offset) {
    const AccessLog& log = access.log;
    if (cell.write != access.harmlessRecord && cell.write != access.id && log.knows(cell.write)) {
      if (check(access, cell.write, offset))
        access.harmlessRecord = cell.write;
    }
    if (log.knowsSet(cell.reads)) {
      if (access.record.write) {
        if (cell.reads != access.harmlessSet && checkSet(access, cell.reads, offset))
          access.harmlessSet = cell.reads;
      } else if (log.knows(cell.write) && log[cell.write].atomic && cell.reads != access.harmlessAtomics) {
        // Of several atomics, `write` only names the last.
        if (checkSet(access, cell.reads, offset))
          access.harmlessAtomics = cell.reads;
      }
    }
    if (access.record.write)
      cell.write = access.id;
    if (!access.record.write || access.record.atomic)
      cell.reads = withAccess(access, cell.reads);
    else
      cell.reads = 0;
  }

  bool checkSet(Access& access, std::uint32_t set, std::uint64_t offset) {
    bool harmless = true;
    for (; access.log.knowsSet(set); set = access.log.set(set).tail)
      if (access.log.set(set).record != access.id)
        harmless &= check(access, access.log.set(set).record, offset);
    return harmless;
  }

  bool check(Access& access, std::uint32_t record, std::uint64_t offset) {
    const AccessRecord& earlier = access.log[record];
    if (ordered(access, earlier) || !conflicting(access, earlier))
      return true;
    report(access, earlier, offset);
    return false;
  }

  /// `earlier` need not be kept beside the access under way: whatever happens after the latter happens after it, and it
  /// can be in conflict with nothing more.
  static bool subsumed(const Access& access, const AccessRecord& earlier) {
    if ((earlier.atomic && !access.record.atomic) || (earlier.write && !access.record.write) ||
        (!earlier.atomic && access.record.atomic))
      return false;
    if (earlier.wave == access.state.id)
      return (earlier.domain == access.record.domain && earlier.domain != Domain::scalar) ||
             covers(access.state.complete, earlier);
    return ordered(access, earlier);
  }

  std::uint32_t withAccess(Access& access, std::uint32_t old) {
    if (!access.log.knowsSet(old)) {
      if (access.single == 0)
        access.single = access.log.prepend(access.id, 0);
      return access.single;
    }
    if (old == access.oldSet)
      return access.newSet;
    if (access.log.set(old).record == access.id)
      return old;
    const auto [entry, isNew] = access.added.try_emplace(old, 0);
    if (isNew)
      entry->second = extend(access, old);
    access.oldSet = old;
    return access.newSet = entry->second;
  }

  std::uint32_t extend(Access& access, std::uint32_t old) {
    // Long lists are only cleaned now and then, so that adding stays cheap.
    constexpr std::uint32_t alwaysCleaned = 32;
    const std::uint32_t size = access.log.set(old).size;
    if (size > alwaysCleaned && !std::has_single_bit(size))
      return access.log.prepend(access.id, subsumed(access, access.log[access.log.set(old).record])
                                               ? knownOrNone(access.log, access.log.set(old).tail)
                                               : old);
    kept.clear();
    std::size_t unchanged = 0; // kept entries that stand in front of everything removed
    std::uint32_t tail = old;
    for (std::uint32_t at = old; access.log.knowsSet(at); at = access.log.set(at).tail) {
      if (subsumed(access, access.log[access.log.set(at).record])) {
        unchanged = kept.size();
        tail = knownOrNone(access.log, access.log.set(at).tail);
      } else {
        kept.push_back(access.log.set(at).record);
      }
    }
    for (std::size_t i = unchanged; i-- > 0;)
      tail = access.log.prepend(kept[i], tail);
    return access.log.prepend(access.id, tail);
  }

  static std::uint32_t knownOrNone(const AccessLog& log, std::uint32_t set) { return log.knowsSet(set) ? set : 0; }

  /// The access under way stores into the cell's dword what the last write there stored.
  static bool storesTheSame(const Access& access, std::uint64_t offset) {
    const Shadow::Page::Values* values = access.page ? access.page->values.get() : nullptr;
    const std::uint64_t begin = access.begin, dword = offset / 4 * 4;
    bool any = false;
    for (std::uint64_t at = std::max(begin, dword); at < std::min(begin + access.event.bytes, dword + 4); ++at) {
      const auto value = storedByte(access.wave, access.op, access.event, access.element, access.lane, at - begin);
      const std::size_t byte = at % Shadow::pageBytes;
      if (!value || !values || !values->known[byte] || values->byte[byte] != *value)
        return false;
      any = true;
    }
    return any;
  }

  /// Keeps what is stored to [offset, offset + bytes), which lies in one page.
  static void keepValue(Access& access, std::uint64_t offset, unsigned bytes) {
    if (!access.page->values)
      access.page->values = std::make_unique<Shadow::Page::Values>();
    for (unsigned i = 0; i < bytes; ++i) {
      const auto value =
          storedByte(access.wave, access.op, access.event, access.element, access.lane, offset + i - access.begin);
      const std::size_t byte = (offset + i) % Shadow::pageBytes;
      access.page->values->known[byte] = value.has_value();
      access.page->values->byte[byte] = value.value_or(0);
    }
  }

  std::uint64_t objectAddressOf(const Wave& wave, std::uint32_t code) const {
    return objectAddress(wave, ops[code].op);
  }

  std::string describe(const Wave& wave, const AccessRecord& record) const {
    return fmt::format("{} of wave {}", quoted(wave, ops[record.code].op), names[record.wave].wave);
  }

  Race& raceOf(std::string_view rule, std::uint64_t producer, std::uint64_t consumer, bool& isNew) {
    const auto [entry, inserted] = index.try_emplace({std::string(rule), producer, consumer}, races.size());
    isNew = inserted;
    if (inserted) {
      Race& race = races.emplace_back();
      race.finding.rule = rule;
      race.finding.producer = producer;
      race.finding.consumer = consumer;
    }
    return races[entry->second];
  }

  void report(Access& access, const AccessRecord& earlier, std::uint64_t offset) {
    const Wave& wave = access.wave;
    // The write leads, whichever the schedule had first.
    const bool swapped = !earlier.write;
    const AccessRecord& first = swapped ? access.record : earlier;
    const AccessRecord& second = swapped ? earlier : access.record;
    bool isNew = false;
    Race& race = raceOf(access.lds ? "lds_race" : "global_race", objectAddressOf(wave, first.code),
                        objectAddressOf(wave, second.code), isNew);
    ++race.finding.count;
    const WaveId inGroup = earlier.wave - access.group.first;
    const bool sameGroup = inGroup < access.group.waves.size();
    if (sameGroup && covers(access.group.atBarrier[inGroup], earlier))
      ++race.unwaited;
    const std::uint64_t address = access.lds ? offset : offset + GuestMemory::baseAddress;
    if (access.record.write && !swapped && storesTheSame(access, offset))
      ++race.sameValue;
    if (!isNew)
      return;
    const WaveName& name = names[second.wave];
    race.finding.wave = name.wave;
    race.finding.workgroup = name.workgroup;
    race.finding.lane = swapped ? 0 : access.lane;
    const std::string where = access.lds ? fmt::format("LDS + {:#x}", offset) : wave.memory->describe(address);
    const std::string groups =
        sameGroup ? fmt::format(", both of workgroup {},", name.workgroup)
                  : fmt::format(" (of workgroups {} and {})", names[first.wave].workgroup, name.workgroup);
    race.finding.message = fmt::format("{} and {}{} touch {} with no barrier or atomic that orders them",
                                       describe(wave, first), describe(wave, second), groups, where);
  }

  void checkLanes(const Wave& wave, const Op* op, const AccessEvent& event, unsigned element) {
    const auto conflict = findLaneConflict(wave, op, event, element);
    if (!conflict)
      return;
    bool isNew = false;
    info(wave, op);
    const std::uint64_t address = objectAddress(wave, op);
    Race& race = raceOf("lane_conflict", address, address, isNew);
    ++race.finding.count;
    if (!isNew)
      return;
    race.finding.wave = wave.waveInGroup;
    race.finding.lane = conflict->second;
    race.finding.workgroup = wave.group->index;
    race.finding.message = fmt::format(
        "'{}' at {:#x}: lanes {} and {} of wave {} of workgroup {} store {:#04x} and {:#04x} to the same byte, {}",
        op->inst->text, address, conflict->first, conflict->second, wave.waveInGroup, wave.group->index,
        conflict->firstValue, conflict->secondValue,
        event.space == Space::lds ? fmt::format("LDS + {:#x}", conflict->address)
                                  : wave.memory->describe(conflict->address));
  }

  void checkLimits(GroupState& group) {
    if (!exhausted) {
      const std::uint64_t used =
          globalLog.bytes() + history.bytes() + (shadow ? shadow->bytes() : 0) + names.size() * sizeof(WaveName);
      if (used > options.memoryLimit || globalLog.full()) {
        exhausted = true;
        limitNotes.push_back(fmt::format("races in global memory are not judged after {} accesses: {} MiB of history",
                                         accesses, used >> 20));
        globalLog.forget();
        shadow.reset();
      }
    }
    if (group.log.bytes() > options.memoryLimit / 4 || group.log.full()) {
      group.log.forget();
      if (!ldsForgotten)
        limitNotes.push_back(fmt::format("workgroup {}: LDS accesses were forgotten in the middle of a stretch without "
                                         "barrier, races across that point are not seen",
                                         group.index));
      ldsForgotten = true;
    }
  }

  RaceOptions options;
  std::unordered_map<const Workgroup*, std::unique_ptr<GroupState>> groups;
  const Workgroup* lastWorkgroup = nullptr;
  GroupState* lastGroup = nullptr;
  std::vector<WaveName> names; ///< by WaveId
  std::vector<MemoryForm> ops; ///< by dword of the code
  std::unique_ptr<Shadow> shadow;
  AccessLog globalLog;
  SyncHistory history;
  std::uint64_t accesses = 0;
  bool exhausted = false, ldsForgotten = false;
  std::vector<std::string> limitNotes;

  std::vector<Race> races;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, std::size_t> index;

  // Of the access under way.
  Clock acquired;
  std::unordered_set<std::uint32_t> acquiredNodes;
  std::unordered_map<std::uint32_t, std::uint32_t> extended;
  std::vector<std::uint32_t> kept;
};

} // namespace

std::unique_ptr<FindingObserver> makeRaceDetector(const RaceOptions& options) {
  return std::make_unique<RaceDetector>(options);
}

} // namespace asmevo::emulator
