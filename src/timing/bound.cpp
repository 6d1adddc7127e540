#include "timing/bound.h"

#include "isa/waitcnt.h"
#include "timing/parameters.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace asmevo::timing {
namespace {

using isa::InstClass;

/// An access of a wave as others wait for it: how many accesses have to follow one another before its result is there,
/// then its step, so that the larger of two is the later one in the order of the result. 0: none.
using Source = std::uint64_t;
Source sourceOf(std::uint32_t level, std::uint32_t step) {
  return (std::uint64_t{level} + 1) << 32 | step;
}
std::uint32_t levelAfter(Source source) {
  return static_cast<std::uint32_t>(source >> 32);
}

/// The latest accesses that a value comes from, one of each counter: vector memory returns in order.
struct Origin {
  Source vector = 0, scalar = 0;
  void join(const Origin& other) {
    vector = std::max(vector, other.vector);
    scalar = std::max(scalar, other.scalar);
  }
  std::uint32_t level() const { return std::max(levelAfter(vector), levelAfter(scalar)); }
};

/// What a wave's dataflow needs of an instruction, worked out once.
struct Flow {
  std::vector<isa::RegUnit> reads, writes;
  bool known = false;
};

bool isExec(isa::RegUnit unit) {
  return unit == isa::sreg::execLo || unit == isa::sreg::execHi;
}

bool isMemory(const emulator::MemoryAccess& access) {
  return access.space != emulator::Space::lds;
}

class Reducer {
 public:
  Reducer(const std::vector<isa::InstRef>& code, unsigned accumOffset) : accumOffset(accumOffset), flows(code.size()) {
    result.code = code;
  }

  MemoryOnly run(const std::vector<emulator::WorkgroupTrace>& traces, AccessOrder order) {
    for (const emulator::WorkgroupTrace& trace : traces) {
      emulator::WorkgroupTrace& group = result.traces.emplace_back();
      group.index = trace.index;
      group.id = trace.id;
      for (const emulator::WaveTrace& wave : trace.waves)
        group.waves.push_back(order == AccessOrder::written ? asWritten(wave) : byDataflow(wave));
    }
    return std::move(result);
  }

 private:
  isa::InstRef at(std::uint32_t offset) const {
    return offset / 4 < result.code.size() ? result.code[offset / 4] : nullptr;
  }

  static void append(emulator::WaveTrace& into, const emulator::WaveTrace& from, const emulator::MemoryAccess& access) {
    emulator::MemoryAccess moved = access;
    moved.step = static_cast<std::uint32_t>(into.path.size());
    into.accesses.push_back(moved);
    into.path.push_back(from.path[access.step]);
  }

  emulator::WaveTrace asWritten(const emulator::WaveTrace& wave) const {
    emulator::WaveTrace kept;
    kept.lines = wave.lines;
    auto access = wave.accesses.begin();
    for (std::uint32_t step = 0; step < wave.path.size(); ++step) {
      while (access != wave.accesses.end() && access->step < step)
        ++access;
      if (access != wave.accesses.end() && access->step == step && isMemory(*access)) {
        append(kept, wave, *access);
        continue;
      }
      const isa::InstRef inst = at(wave.path[step]);
      const bool orders = inst && (inst->cls == InstClass::waitcnt || inst->cls == InstClass::barrier);
      if (orders || step + 1 == wave.path.size())
        kept.path.push_back(wave.path[step]);
    }
    return kept;
  }

  const Flow& flowOf(std::uint32_t offset) {
    Flow& flow = flows[offset / 4];
    if (!flow.known) {
      flow.known = true;
      const auto into = [](std::vector<isa::RegUnit>& list) {
        return [&list](isa::RegUnit unit) {
          if (!isExec(unit))
            list.push_back(unit);
        };
      };
      at(offset)->reads(accumOffset).forEach(into(flow.reads));
      at(offset)->writes(accumOffset).forEach(into(flow.writes));
    }
    return flow;
  }

  struct Placed {
    const emulator::MemoryAccess* access = nullptr;
    Origin needs;
    Source self = 0;
    bool scalar = false;
  };

  /// The accesses of a wave with what each needs, in the order of the result.
  std::vector<Placed> placedOf(const emulator::WaveTrace& wave) {
    std::vector<Placed> placed;
    origins.fill({});
    Origin lds;
    auto access = wave.accesses.begin();
    for (std::uint32_t step = 0; step < wave.path.size(); ++step) {
      const isa::InstRef inst = at(wave.path[step]);
      if (!inst)
        continue;
      while (access != wave.accesses.end() && access->step < step)
        ++access;
      const Flow& flow = flowOf(wave.path[step]);
      Origin origin;
      for (const isa::RegUnit unit : flow.reads)
        origin.join(origins[unit]);
      if (access != wave.accesses.end() && access->step == step && isMemory(*access)) {
        const bool scalar = access->space == emulator::Space::scalar;
        const Source self = sourceOf(origin.level(), step);
        placed.push_back({&*access, origin, self, scalar});
        origin = scalar ? Origin{0, self} : Origin{self, 0};
        if (access->ldsDma)
          lds.join(origin);
      } else if (inst->cls == InstClass::lds) {
        if (inst->mayLoad)
          origin.join(lds);
        if (inst->mayStore)
          lds.join(origin);
      }
      for (const isa::RegUnit unit : flow.writes)
        origins[unit] = origin;
    }
    std::ranges::sort(placed, {}, &Placed::self);
    return placed;
  }

  emulator::WaveTrace byDataflow(const emulator::WaveTrace& wave) {
    emulator::WaveTrace kept;
    kept.lines = wave.lines;
    const std::vector<Placed> placed = placedOf(wave);
    std::vector<Source> vectors; // issued so far, ascending
    Source scalarsDone = 0, lastScalar = 0;
    for (const Placed& one : placed) {
      isa::WaitCount wait;
      if (one.needs.vector) {
        const auto after = vectors.end() - std::ranges::upper_bound(vectors, one.needs.vector);
        wait.vm = static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(after, isa::WaitCount{}.vm));
      }
      if (one.needs.scalar > scalarsDone) { // scalar loads return in any order: all of them
        wait.lgkm = 0;
        scalarsDone = lastScalar;
      }
      if (wait != isa::WaitCount{})
        kept.path.push_back(waitAt(wait));
      append(kept, wave, *one.access);
      if (one.scalar)
        lastScalar = one.self;
      else
        vectors.push_back(one.self);
    }
    kept.path.push_back(wave.path.back());
    return kept;
  }

  /// Offset of an s_waitcnt behind the kernel's code.
  std::uint32_t waitAt(isa::WaitCount wait) {
    const auto key = std::pair(wait.vm, wait.lgkm);
    if (const auto known = waits.find(key); known != waits.end())
      return known->second;
    auto inst = std::make_unique<isa::Instruction>();
    inst->cls = InstClass::waitcnt;
    inst->base = inst->mnemonic = "s_waitcnt";
    inst->simm16 = isa::encodeWaitcnt(wait);
    inst->isComplete = true;
    const auto offset = static_cast<std::uint32_t>(result.code.size() * 4);
    result.code.push_back(inst.get());
    result.made.push_back(std::move(inst));
    waits.emplace(key, offset);
    return offset;
  }

  MemoryOnly result;
  unsigned accumOffset;
  std::vector<Flow> flows;
  std::array<Origin, isa::regUnitCount> origins{};
  std::map<std::pair<std::uint8_t, std::uint8_t>, std::uint32_t> waits;
};

/// Everything beside memory as fast as the model can have it. The clock is held: without arithmetic it would rise.
Chip freeArithmetic(const Chip& chip, double mhz) {
  Chip result = chip;
  for (auto& [name, value] : result.parameters) {
    if (name == "fetch.latency" || name == "barrier.release" || name.starts_with("salu.") ||
        name.starts_with("valu.to"))
      value = std::ranges::find(parameterKeys(), name, &ParameterKey::key)->least;
    if (name == "clock.matrixMhz" || name == "clock.vectorMhz" || name == "clock.memoryMhz")
      value = mhz;
  }
  return result;
}

} // namespace

MemoryOnly memoryOnly(const std::vector<isa::InstRef>& code, unsigned accumOffset,
                      const std::vector<emulator::WorkgroupTrace>& traces, AccessOrder order) {
  return Reducer(code, accumOffset).run(traces, order);
}

Result<Bound> bound(const Chip& chip, const object::Target& target, const Launch& launch,
                    const std::vector<isa::InstRef>& code, unsigned accumOffset,
                    const std::vector<emulator::WorkgroupTrace>& traces, const Estimate& estimate) {
  const Chip free = freeArithmetic(chip, estimate.clockMhz);
  const auto timeIn = [&](AccessOrder order) -> Result<double> {
    const MemoryOnly reduced = memoryOnly(code, accumOffset, traces, order);
    ASMEVO_TRY(const Estimate alone, timing::estimate(free, target, launch, reduced.code, accumOffset, reduced.traces));
    return alone.cycles;
  };
  Bound result;
  ASMEVO_TRY(result.written, timeIn(AccessOrder::written));
  ASMEVO_TRY(result.dataflow, timeIn(AccessOrder::dataflow));
  for (const ResourceUse& use : estimate.resources)
    result.busiestUnit = std::max(result.busiestUnit, std::min(1.0, use.share) * estimate.cuCycles);
  result.cycles = std::min(estimate.cycles, std::max(std::min(result.written, result.dataflow), result.busiestUnit));
  return result;
}

} // namespace asmevo::timing
