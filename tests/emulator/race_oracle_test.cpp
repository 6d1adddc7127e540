// The detector against an independent judge: random sequences of accesses, waits, barriers and atomics, with
// happens-before found by searching paths in a graph.
#include "emulator/race/clock.h"
#include "emulator/race/race_detector.h"
#include "emulator/scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>
#include <random>
#include <set>

namespace asmevo::emulator::test {
namespace {

TEST(RaceClock, JoinsTakeTheLaterOfBoth) {
  const auto frontier = [](std::uint32_t vm, std::uint32_t lds) {
    Frontier f;
    f[Domain::vm] = vm;
    f[Domain::lds] = lds;
    return f;
  };
  Clock a, b;
  a.raise(7, frontier(3, 1));
  a.raise(2, frontier(1, 1));
  b.raise(7, frontier(2, 5));
  b.raise(9, frontier(4, 0));
  a.join(b);
  EXPECT_EQ(a.of(2), frontier(1, 1));
  EXPECT_EQ(a.of(7), frontier(3, 5));
  EXPECT_EQ(a.of(9), frontier(4, 0));
  EXPECT_EQ(a.of(8), frontier(0, 0));
}

constexpr unsigned groupCount = 2, wavesPerGroup = 3, waveCount = groupCount * wavesPerGroup;
constexpr std::uint64_t cells = 6, syncCell = 64; ///< dwords; the last one is only used by atomics

enum class Kind { read, write, atomic, wait, barrier };

struct Event {
  Kind kind;
  unsigned wave = 0; ///< barrier: its workgroup
  std::uint64_t cell = 0;
};

/// An instruction that stands for itself only.
struct FakeOp {
  isa::Instruction inst;
  Op op;
  FakeOp(isa::InstClass cls, std::string base, std::uint64_t pc) {
    inst.cls = cls;
    inst.base = inst.text = std::move(base);
    op.inst = &inst;
    op.pc = pc;
  }
};

/// Program points of all waves in the order of execution, and who is before whom.
class Judge {
 public:
  explicit Judge(const std::vector<Event>& events)
      : events(events), successors(events.size()), completedAt(events.size()) {
    std::array<std::vector<std::size_t>, waveCount> inFlight;
    std::array<std::optional<std::size_t>, waveCount> last;
    std::vector<std::size_t> atomics;
    const auto follow = [&](unsigned wave, std::size_t i) {
      if (last[wave])
        successors[*last[wave]].push_back(i);
      last[wave] = i;
    };
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.kind == Kind::barrier) {
        for (unsigned w = event.wave * wavesPerGroup; w < (event.wave + 1) * wavesPerGroup; ++w)
          follow(w, i);
        continue;
      }
      follow(event.wave, i);
      if (event.kind != Kind::wait) {
        inFlight[event.wave].push_back(i);
        if (event.kind == Kind::atomic)
          atomics.push_back(i);
        continue;
      }
      for (const std::size_t done : inFlight[event.wave]) {
        completedAt[done] = i;
        // The result of an atomic tells of all atomics before it.
        if (events[done].kind == Kind::atomic)
          for (const std::size_t earlier : atomics)
            if (earlier < done)
              successors[earlier].push_back(i);
      }
      inFlight[event.wave].clear();
    }
  }

  bool races(std::uint64_t cell) const {
    for (std::size_t i = 0; i < events.size(); ++i)
      for (std::size_t j = i + 1; j < events.size(); ++j)
        if (touches(i, cell) && touches(j, cell) && events[i].wave != events[j].wave &&
            (events[i].kind == Kind::write || events[j].kind == Kind::write) && !before(i, j))
          return true;
    return false;
  }

 private:
  bool touches(std::size_t i, std::uint64_t cell) const {
    return (events[i].kind == Kind::read || events[i].kind == Kind::write) && events[i].cell == cell;
  }

  /// A path from where `i` is complete to `j`.
  bool before(std::size_t i, std::size_t j) const {
    if (!completedAt[i])
      return false;
    std::set<std::size_t> seen{*completedAt[i]};
    std::deque<std::size_t> open{*completedAt[i]};
    while (!open.empty()) {
      const std::size_t at = open.front();
      open.pop_front();
      if (at == j)
        return true;
      for (const std::size_t next : successors[at])
        if (next <= j && seen.insert(next).second)
          open.push_back(next);
    }
    return false;
  }

  const std::vector<Event>& events;
  std::vector<std::vector<std::size_t>> successors;
  std::vector<std::optional<std::size_t>> completedAt;
};

/// Cells with a finding.
std::set<std::uint64_t> detected(const std::vector<Event>& events, bool lds) {
  GuestMemory memory = std::move(*GuestMemory::create({{"out", 0, 4096, 0, 0}}));
  std::array<Workgroup, groupCount> groups;
  std::vector<std::uint32_t> registers(64 * 8);
  const auto detector = makeRaceDetector();
  for (unsigned g = 0; g < groupCount; ++g) {
    groups[g].index = g;
    groups[g].waves.resize(wavesPerGroup);
    for (unsigned w = 0; w < wavesPerGroup; ++w) {
      Wave& wave = groups[g].waves[w];
      wave.group = &groups[g];
      wave.waveInGroup = w;
      wave.memory = &memory;
      wave.vgpr = registers.data();
      wave.vgprCount = 8;
    }
    detector->workgroupStarted(groups[g]);
  }
  // One instruction for each cell, so that findings tell which.
  std::deque<FakeOp> ops;
  const isa::InstClass cls = lds ? isa::InstClass::lds : isa::InstClass::global;
  for (std::uint64_t c = 0; c < cells; ++c) {
    ops.emplace_back(cls, "read", c * 16);
    ops.emplace_back(cls, "write", c * 16 + 8);
  }
  FakeOp atomic(cls, lds ? "ds_add_rtn_u32" : "global_atomic_add", 1024);
  FakeOp wait(isa::InstClass::waitcnt, "s_waitcnt", 1032);
  for (const Event& event : events) {
    if (event.kind == Kind::barrier) {
      detector->barrierReleased(groups[event.wave]);
      continue;
    }
    Wave& wave = groups[event.wave / wavesPerGroup].waves[event.wave % wavesPerGroup];
    const Op* op = event.kind == Kind::wait     ? &wait.op
                   : event.kind == Kind::atomic ? &atomic.op
                                                : &ops[event.cell * 2 + (event.kind == Kind::write)].op;
    detector->before(wave, op);
    if (event.kind != Kind::wait) {
      AccessEvent access;
      access.space = lds ? Space::lds : Space::global;
      access.load = event.kind == Kind::read;
      access.store = event.kind == Kind::write;
      access.atomic = access.returns = event.kind == Kind::atomic;
      access.exec = 1;
      access.valid.fill(1);
      const std::uint64_t cell = event.kind == Kind::atomic ? syncCell : event.cell;
      const std::uint64_t address = cell * 4 + (lds ? 0 : memory.regions()[0].address);
      access.address = &address;
      detector->access(wave, op, access);
    }
    detector->after(wave, op);
  }
  std::set<std::uint64_t> found;
  for (const StrictFinding& finding : detector->findings()) {
    EXPECT_EQ(finding.rule, lds ? "lds_race" : "global_race");
    found.insert(finding.producer / 16);
  }
  return found;
}

TEST(RaceOracle, RandomSequencesAreJudgedAlike) {
  std::mt19937 random(20261130);
  unsigned withRaces = 0, without = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    // LDS belongs to one workgroup.
    const bool lds = round % 3 == 0;
    const unsigned waves = lds ? wavesPerGroup : waveCount;
    const unsigned orderly = random() % 3;
    std::vector<Event> events;
    for (unsigned i = 0; i < 40; ++i) {
      const unsigned wave = random() % waves;
      const std::uint64_t cell = orderly == 0 ? random() % cells : (wave + i / 12) % cells;
      switch (random() % 10) {
      case 0:
      case 1:
      case 2:
        events.push_back({Kind::read, wave, cell});
        break;
      case 3:
      case 4:
        events.push_back({Kind::write, wave, cell});
        break;
      case 5:
        events.push_back({Kind::atomic, wave, 0});
        break;
      case 6:
      case 7:
        events.push_back({Kind::wait, wave, 0});
        break;
      default:
        if (orderly != 0)
          for (unsigned w = 0; w < wavesPerGroup; ++w)
            events.push_back({Kind::wait, wave / wavesPerGroup * wavesPerGroup + w, 0});
        events.push_back({Kind::barrier, wave / wavesPerGroup, 0});
      }
    }
    const Judge judge(events);
    const std::set<std::uint64_t> found = detected(events, lds);
    for (std::uint64_t c = 0; c < cells; ++c) {
      const bool expected = judge.races(c);
      ++(expected ? withRaces : without);
      ASSERT_EQ(found.contains(c), expected) << "round " << round << " cell " << c << (lds ? " LDS" : " global");
    }
  }
  EXPECT_GT(withRaces, 1000u);
  EXPECT_GT(without, 1000u);
}

} // namespace
} // namespace asmevo::emulator::test
