#include "emulator/strict/distance.h"

#include <algorithm>

namespace asmevo::emulator {

namespace {

using isa::InstClass;

/// No rule reaches farther back to an instruction of the class (CDNA3 ISA, tables 11 and 37).
unsigned reachOf(const isa::Instruction& inst) {
  switch (inst.cls) {
  case InstClass::mfma:
    return program::maxWaitStates;
  case InstClass::valu:
    return 5;
  case InstClass::salu:
    return 2;
  default:
    return inst.isVectorMemory() && inst.mayStore ? 2 : 0;
  }
}

} // namespace

const DistanceTable::Verdict* DistanceTable::judge(std::uint64_t hash, const OpInfo* const* path, unsigned count,
                                                   const OpInfo& consumer) {
  hash |= std::uint64_t{hash == 0};
  Slot* slot = &find(hash);
  if (slot->hash == 0) [[unlikely]] {
    const Verdict verdict = examine(path, count, consumer);
    if (++used * 2 > slots.size()) {
      grow();
      slot = &find(hash);
    }
    slot->hash = hash;
    if (!verdict.empty()) {
      slot->verdict = static_cast<std::uint32_t>(verdicts.size());
      verdicts.push_back(verdict);
    }
  }
  return slot->verdict == 0 ? nullptr : &verdicts[slot->verdict];
}

DistanceTable::Slot& DistanceTable::find(std::uint64_t hash) {
  const std::size_t mask = slots.size() - 1;
  std::size_t at = (hash ^ (hash >> 32)) & mask;
  while (slots[at].hash != 0 && slots[at].hash != hash)
    at = (at + 1) & mask;
  return slots[at];
}

void DistanceTable::grow() {
  std::vector<Slot> old = std::move(slots);
  // A kernel with that many paths is judged anew from here on.
  const bool full = old.size() >= maxSlots;
  slots.assign(full ? initialSlots : old.size() * 2, Slot());
  used = 1;
  if (full)
    return;
  for (const Slot& slot : old)
    if (slot.hash != 0) {
      find(slot.hash) = slot;
      ++used;
    }
}

program::Hazard DistanceTable::between(const OpInfo& producer, const OpInfo& consumer) {
  const auto number = [&](isa::InstRef inst) -> std::uint64_t {
    return numbers.try_emplace(inst, static_cast<unsigned>(numbers.size())).first->second;
  };
  const std::uint64_t key = number(producer.op->inst) << 32 | number(consumer.op->inst);
  const auto [entry, fresh] = pairs.try_emplace(key);
  if (fresh)
    entry->second = program::requiredHazard(*producer.op->inst, *consumer.op->inst, accumOffset, target);
  return entry->second;
}

DistanceTable::Verdict DistanceTable::examine(const OpInfo* const* path, unsigned count, const OpInfo& consumer) {
  // As in the static analysis (program/analysis/hazards.cpp): two matrix operations are as far apart as the passes of
  // the first at least.
  constexpr unsigned noMatrix = ~0u;
  Verdict verdict;
  unsigned states = 0, toNextMatrix = noMatrix;
  for (unsigned i = 0; i < count && states < reach; ++i) {
    const isa::Instruction& earlier = *path[i]->op->inst;
    const unsigned passes = program::mfmaPasses(earlier, target);
    if (passes != 0 && toNextMatrix != noMatrix)
      states = std::max(states, toNextMatrix + passes - 1);
    if (states < reachOf(earlier)) {
      const program::Hazard hazard = between(*path[i], consumer);
      const bool counts = !hazard.llvmOnly || scope == program::HazardScope::withLlvm;
      // Every producer is named: what is wrong with one must not hide another.
      const bool known = std::ranges::any_of(
          verdict, [&](const TooNear& v) { return v.rule == hazard.rule && v.producer == path[i]->op; });
      if (hazard.states > states && counts && !known)
        verdict.push_back({path[i]->op, hazard.rule, hazard.states, states});
    }
    states += path[i]->waitStates;
    if (passes != 0)
      toNextMatrix = states;
  }
  return verdict;
}

void RecentPath::report(Wave& wave, const Op* op, const DistanceTable::Verdict& verdict, FindingLog& log) {
  for (const DistanceTable::TooNear& found : verdict)
    log.add(
        "states.", program::hazardRuleName(found.rule), found.producer, op, wave, 0,
        [&] {
          return fmt::format("{} needs {} wait states after {}, has {}", quoted(wave, op), found.needed,
                             quoted(wave, found.producer), found.present);
        },
        found.needed - found.present);
}

} // namespace asmevo::emulator
