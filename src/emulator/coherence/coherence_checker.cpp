#include "emulator/coherence/coherence_checker.h"

#include "emulator/observe/access_dwords.h"
#include "emulator/observe/finding_log.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace asmevo::emulator {

namespace {

constexpr std::uint64_t lineBytes = 128;
constexpr std::uint64_t pageBytes = 4096;
constexpr std::uint64_t limitCheckPeriod = 4096;

/// Points in time: one for each access and cache operation, in the order of execution. 0: before the kernel.
using Time = std::uint32_t;
constexpr Time never = ~Time{0};

/// The newest write of a dword.
struct Written {
  Time at = 0; ///< 0: not written by the kernel
  std::uint32_t code = 0;
  std::uint32_t workgroup = 0; ///< its dispatch index; kernels with more workgroups than that are not judged
  bool through = false;        ///< visible to all XCDs when done
  bool scalar = false;         ///< by a scalar instruction
  bool held = false;           ///< in a scalar cache until that is written back
  std::uint16_t wave = 0;
};

/// When the lines of one cache were brought in; what came before `emptied` is gone.
struct Cache {
  std::unordered_map<std::uint64_t, Time> lines;
  Time emptied = 0;

  /// Time of the copy that a read finds; brings the line in if there is none.
  Time fetch(std::uint64_t line, Time now) {
    Time& at = lines.try_emplace(line, now).first->second;
    if (at <= emptied)
      at = now;
    return at;
  }
  void refresh(std::uint64_t line, Time now) { lines[line] = now; }
  void empty(Time now) { emptied = now; }
};

/// Times at which everything so far was written back, ascending.
struct WriteBacks {
  std::vector<Time> times;
  /// The first at or after `time`, or `never`.
  Time after(Time time) const {
    const auto at = std::ranges::lower_bound(times, time);
    return at == times.end() ? never : *at;
  }
};

struct Xcd {
  Cache l2;
  WriteBacks writeBacks;
};

struct ComputeUnit {
  Cache vector, scalar;
};

class CoherenceChecker final : public FindingObserver {
 public:
  explicit CoherenceChecker(const CoherenceOptions& options) : options(options), xcds(std::max(1u, options.xcds)) {}

  void workgroupStarted(Workgroup& group) override { units[group.index]; }
  void workgroupEnded(Workgroup& group) override { units.erase(group.index); }

  void before(Wave& wave, const Op* op) override {
    const isa::Instruction& inst = *op->inst;
    if (inst.cls == isa::InstClass::vmem) {
      if (inst.base == "buffer_wbl2" && inst.mods.sc1)
        xcdOf(wave).writeBacks.times.push_back(++now);
      else if (inst.base == "buffer_inv" && inst.mods.sc1) {
        xcdOf(wave).l2.empty(++now);
        units[wave.group->index].vector.empty(now);
      }
    } else if (inst.cls == isa::InstClass::smem || inst.cls == isa::InstClass::message) {
      if (inst.base.starts_with("s_dcache_inv"))
        units[wave.group->index].scalar.empty(++now);
      else if (inst.base.starts_with("s_dcache_wb"))
        scalarWriteBacks[wave.group->index].times.push_back(++now);
    }
  }

  void access(Wave& wave, const Op* op, const AccessEvent& event) override {
    if (exhausted || (event.space != Space::global && event.space != Space::scalar) || wave.group->index > ~0u)
      return;
    ++now;
    const isa::Modifiers& mods = op->inst->mods;
    const bool scalar = event.space == Space::scalar;
    const bool bypasses = event.atomic || (scalar ? mods.sc0 : mods.sc1);
    forEachDword(event, [&](unsigned lane, unsigned k, unsigned part) {
      const std::uint64_t address = event.address[lane] + k * 4;
      for (std::uint64_t dword = address / 4; dword <= (address + part - 1) / 4; ++dword) {
        if (!event.store)
          read(wave, op, dword, lane, scalar, bypasses, event.atomic || (bypasses && !scalar));
        if (!event.load)
          write(wave, op, dword, scalar, event.atomic || (!scalar && mods.sc1));
      }
    });
    if (now % limitCheckPeriod == 0)
      checkLimit();
  }

  std::vector<StrictFinding> findings() const override { return log.findings(); }
  std::vector<std::string> notes() const override { return limitNotes; }

 private:
  struct Page {
    std::array<Written, pageBytes / 4> dwords;
  };

  Xcd& xcdOf(const Wave& wave) { return xcds[wave.group->index % xcds.size()]; }

  void write(const Wave& wave, const Op* op, std::uint64_t dword, bool scalar, bool through) {
    std::unique_ptr<Page>& page = pages[dword / (pageBytes / 4)];
    if (!page)
      page = std::make_unique<Page>();
    Written& cell = page->dwords[dword % (pageBytes / 4)];
    cell.at = now;
    cell.code = static_cast<std::uint32_t>((op->pc - wave.codeAddress) / 4);
    cell.workgroup = static_cast<std::uint32_t>(wave.group->index);
    cell.through = through;
    cell.scalar = scalar;
    cell.held = scalar && !op->inst->mods.sc0 && !through;
    cell.wave = static_cast<std::uint16_t>(wave.waveInGroup);
    if (cell.code >= ops.size())
      ops.resize(cell.code + 256);
    ops[cell.code] = op;
  }

  /// When a write can be seen in another cache of its XCD and in those of other XCDs.
  Time visibleAt(const Written& write, std::uint64_t readerXcd) const {
    Time time = write.at;
    if (write.held) {
      const auto backs = scalarWriteBacks.find(write.workgroup);
      time = backs == scalarWriteBacks.end() ? never : backs->second.after(time);
    }
    const std::uint64_t home = write.workgroup % xcds.size();
    return time == never || write.through || home == readerXcd ? time : xcds[home].writeBacks.after(time);
  }

  void read(const Wave& wave, const Op* op, std::uint64_t dword, unsigned lane, bool scalar, bool bypasses,
            bool passesL2) {
    const std::uint64_t line = dword * 4 / lineBytes, group = wave.group->index;
    ComputeUnit& unit = units[group];
    Cache& l1 = scalar ? unit.scalar : unit.vector;
    Cache& l2 = xcdOf(wave).l2;
    // Scalar loads with glc pass their L1 only; the L2 is passed by device scope, sc1.
    // Lanes side by side are in one line, and in one page.
    if (fetchedAt != now || fetched != line) {
      fetchedAt = now;
      fetched = line;
      if (passesL2)
        l2.refresh(line, now);
      if (bypasses)
        l1.refresh(line, now);
      inL2 = passesL2 ? now : l2.fetch(line, now);
      inL1 = bypasses ? now : l1.fetch(line, now);
      const auto page = pages.find(dword / (pageBytes / 4));
      fetchedPage = page == pages.end() ? nullptr : page->second.get();
    }
    if (!fetchedPage || fetchedPage->dwords[dword % (pageBytes / 4)].at == 0)
      return;
    const Written& write = fetchedPage->dwords[dword % (pageBytes / 4)];
    // Accesses of one kind of one compute unit share their L1.
    if (write.workgroup == group && scalar == write.scalar)
      return;
    const std::uint64_t readerXcd = group % xcds.size(), writerXcd = write.workgroup % xcds.size();
    const Time visible = visibleAt(write, readerXcd);
    std::string_view why;
    if (visible == never)
      why = write.held ? "the scalar store is not written back (s_dcache_wb)"
                       : "the store is not written back from its L2 (buffer_wbl2 sc1, or sc1 on the store)";
    else if (readerXcd != writerXcd && inL2 < visible)
      why = "the reader's L2 holds the line from before (buffer_inv sc1, or sc1 on the load)";
    else if (inL1 < visible)
      why = scalar ? "the scalar cache holds the line from before (s_dcache_inv, or glc on the load)"
                   : "the reader's L1 holds the line from before (buffer_inv sc1, or sc1 on the load)";
    else
      return;
    report(wave, op, write, dword * 4, lane, why);
  }

  void report(const Wave& wave, const Op* op, const Written& write, std::uint64_t address, unsigned lane,
              std::string_view why) {
    const std::uint64_t group = wave.group->index;
    log.add("coherence_", "stale_read", ops[write.code], op, wave, lane, [&] {
      return fmt::format("{} of wave {} of workgroup {} (XCD {}) may read {} as it was before {} of wave {} of "
                         "workgroup {} (XCD {}): {}",
                         quoted(wave, op), wave.waveInGroup, group, group % xcds.size(), wave.memory->describe(address),
                         quoted(wave, ops[write.code]), write.wave, write.workgroup, write.workgroup % xcds.size(),
                         why);
    });
  }

  void checkLimit() {
    constexpr std::uint64_t lineEntryBytes = 48; // a node of the hash map and its bucket
    std::uint64_t lines = 0;
    for (const auto& [group, unit] : units)
      lines += unit.vector.lines.size() + unit.scalar.lines.size();
    for (const Xcd& xcd : xcds)
      lines += xcd.l2.lines.size();
    const std::uint64_t used = pages.size() * (sizeof(Page) + 64) + lines * lineEntryBytes;
    if (used <= options.memoryLimit && now < never - 2 * limitCheckPeriod)
      return;
    exhausted = true;
    limitNotes.push_back(
        fmt::format("stale reads are not looked for after {} accesses: {} MiB of history", now, used >> 20));
    pages.clear();
    units.clear();
    for (Xcd& xcd : xcds)
      xcd.l2.lines.clear();
  }

  CoherenceOptions options;
  std::vector<Xcd> xcds;
  std::unordered_map<std::uint64_t, ComputeUnit> units;           ///< by dispatch index of the workgroup
  std::unordered_map<std::uint64_t, WriteBacks> scalarWriteBacks; ///< the same
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages; ///< by guest address / pageBytes
  std::vector<const Op*> ops;                                     ///< that wrote, by dword of the code
  Time now = 0;
  Time fetchedAt = 0; ///< of the access whose line was looked up last
  std::uint64_t fetched = 0;
  Time inL1 = 0, inL2 = 0;
  const Page* fetchedPage = nullptr;
  bool exhausted = false;
  std::vector<std::string> limitNotes;
  FindingLog log;
};

} // namespace

std::unique_ptr<FindingObserver> makeCoherenceChecker(const CoherenceOptions& options) {
  return std::make_unique<CoherenceChecker>(options);
}

} // namespace asmevo::emulator
