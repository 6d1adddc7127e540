#include "verify/wait_mutation.h"

#include "emulator/debug/describe.h"
#include "emulator/scheduler.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace asmevo::tests {

using emulator::AccessEvent;
using emulator::Space;
using isa::InstClass;
using isa::InstRef;
using isa::Instruction;
using isa::RegSet;

namespace {

constexpr std::size_t vmSlots = 63, ldsSlots = 15; ///< s_waitcnt, gfx942: more in flight stall the wave

/// Registers that an instruction needs when it issues. The old contents of a load's destination are none.
RegSet neededAtIssue(const Instruction& inst, unsigned accumOffset) {
  RegSet needed = inst.reads(accumOffset);
  if (!inst.mayLoad || inst.isAtomic() || !inst.tiedDest)
    return needed;
  RegSet named;
  for (const isa::Operand& operand : inst.operands) {
    if (operand.isDef)
      continue;
    if (operand.kind == isa::OperandKind::vgpr)
      named.setRange(isa::vgprBase + operand.index, operand.dwords);
    else if (operand.kind == isa::OperandKind::agpr)
      named.setRange(isa::vgprBase + accumOffset + operand.index, operand.dwords);
  }
  RegSet kept = inst.writes(accumOffset);
  kept.remove(named);
  return needed.remove(kept);
}

bool usesOtherLanes(const Instruction& inst) {
  static constexpr std::string_view heads[] = {"v_readlane", "v_readfirstlane", "v_writelane",   "v_permlane",
                                               "ds_permute", "ds_bpermute",     "ds_swizzle_b32"};
  return inst.cls == InstClass::mfma || inst.mods.dpp != isa::DppCtrl::none ||
         std::ranges::any_of(heads, [&](std::string_view head) { return inst.base.starts_with(head); });
}

bool onlyScalar(const RegSet& set) {
  bool scalar = true;
  set.forEach([&](isa::RegUnit unit) { scalar = scalar && unit < isa::vgprBase; });
  return scalar;
}

} // namespace

void PathRecorder::workgroupStarted(emulator::Workgroup& group) {
  for (const emulator::Wave& wave : group.waves) {
    paths.push_back({group.index, wave.waveInGroup, 0, {}, {}});
    current[&wave] = &paths.back();
  }
}

PathRecorder::WavePath& PathRecorder::pathOf(const emulator::Wave& wave) {
  return *current.at(&wave);
}

void PathRecorder::before(emulator::Wave& wave, const emulator::Op* op) {
  WavePath& path = pathOf(wave);
  const auto touch = static_cast<std::uint32_t>(path.touches.size());
  path.steps.push_back({op->inst, emulator::objectAddress(wave, op), wave.exec(),
                        wave.gprIdx != 0 && op->inst->cls == InstClass::valu, touch, touch, path.epoch});
  if (op->inst->cls == InstClass::barrier)
    ++path.epoch;
  written.clear();
}

void PathRecorder::access(emulator::Wave& wave, const emulator::Op*, const AccessEvent& event) {
  if (event.space == Space::scratch)
    return;
  WavePath& path = pathOf(wave);
  const bool lds = event.space == Space::lds;
  for (std::uint64_t lanes = event.exec; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    for (unsigned k = 0; k < event.bytes; ++k) {
      if ((event.valid[std::min<std::size_t>(k / 4, 3)] >> lane & 1) == 0)
        continue;
      const std::uint64_t address = event.address[lane] + k;
      const std::uint64_t dword = address / 4 | (lds ? ldsBit : 0);
      if (k == 0 || address % 4 == 0) {
        Touch touch{dword, 0, 0, event.load || event.atomic, event.store || event.atomic, event.atomic, event.ldsDma};
        if (touch.write) {
          const std::uint8_t* host = lds ? wave.lds + address / 4 * 4 : wave.memory->host(address / 4 * 4, 4);
          written.push_back({path.touches.size(), host, 0});
          std::memcpy(&written.back().old, host, 4);
        }
        path.touches.push_back(touch);
        if (lds) {
          PathRecorder::Step& step = path.steps.back();
          step.ldsBegin = std::min(step.ldsBegin, dword);
          step.ldsEnd = std::max(step.ldsEnd, dword + 1);
        }
      }
      path.touches.back().bytes = static_cast<std::uint8_t>(path.touches.back().bytes | 1u << address % 4);
    }
  }
  path.steps.back().touchEnd = static_cast<std::uint32_t>(path.touches.size());
}

void PathRecorder::after(emulator::Wave& wave, const emulator::Op*) {
  WavePath& path = pathOf(wave);
  for (const Written& entry : written) {
    Touch& touch = path.touches[entry.touch];
    std::uint32_t now = 0;
    std::memcpy(&now, entry.host, 4);
    for (unsigned byte = 0; byte < 4; ++byte)
      if ((touch.bytes >> byte & 1) != 0 && (touch.atomic || ((now ^ entry.old) >> 8 * byte & 0xff) != 0))
        touch.changed = static_cast<std::uint8_t>(touch.changed | 1u << byte);
  }
  written.clear();
}

const WaitOracle::Traits& WaitOracle::traitsOf(InstRef ref) {
  const auto [entry, fresh] = traits.try_emplace(ref);
  Traits& t = entry->second;
  if (!fresh)
    return t;
  const Instruction& inst = *ref;
  t.reads = neededAtIssue(inst, accumOffset);
  t.writes = inst.writes(accumOffset);
  t.flat = inst.base.starts_with("flat_");
  t.vm = inst.base.starts_with("buffer_") || inst.base.starts_with("tbuffer_") || inst.base.starts_with("global_") ||
         inst.base.starts_with("scratch_");
  t.lds = inst.base.starts_with("ds_") && inst.base != "ds_nop";
  t.scalar = inst.cls == InstClass::smem;
  t.dma = t.vm && (inst.mods.lds || inst.base.find("_lds_") != std::string::npos);
  t.wait = inst.base == "s_waitcnt";
  t.wholeWave = usesOtherLanes(inst);
  t.states = inst.base == "s_nop" ? (inst.simm16 & 15) + 1 : 1;
  t.passes = program::mfmaPasses(inst, target);
  return t;
}

program::Hazard WaitOracle::hazardOf(InstRef producer, InstRef consumer) {
  const auto [entry, fresh] = hazards[producer].try_emplace(consumer);
  if (fresh)
    entry->second = program::requiredHazard(*producer, *consumer, accumOffset, target);
  return entry->second;
}

WaitOracle::WaitOracle(const PathRecorder& recorded, unsigned accum, program::HazardTarget hazardTarget)
    : recorder(recorded), accumOffset(accum), target(hazardTarget) {
  std::set<std::uint64_t> writtenTo;
  for (const auto& path : recorder.paths)
    for (const Touch& touch : path.touches)
      if (touch.write)
        writtenTo.insert(touch.dword);
  for (std::uint32_t number = 0; number < recorder.paths.size(); ++number) {
    const auto& path = recorder.paths[number];
    originals.push_back(mutatedPath(path, nullptr));
    for (const Step& step : path.steps)
      for (std::uint32_t i = step.touchBegin; i < step.touchEnd; ++i) {
        pathOfStep.try_emplace(&step, number);
        if (writtenTo.contains(path.touches[i].dword))
          touchers[path.touches[i].dword].push_back({number, step.epoch, step.address, &path.touches[i]});
      }
    replayWaits(number, originals.back(), original);
  }
}

WaitOracle::Path WaitOracle::mutatedPath(const PathRecorder::WavePath& path, const WaitMutant* mutant) {
  Path result;
  result.reserve(path.steps.size());
  for (std::size_t i = 0; i < path.steps.size(); ++i) {
    const Step& step = path.steps[i];
    if (!mutant || step.address != mutant->window.front()) {
      result.push_back({step.inst, step.address, &step});
      continue;
    }
    for (const auto& [inst, address] : mutant->code)
      for (std::size_t k = i; k < i + mutant->window.size() && k < path.steps.size(); ++k)
        if (path.steps[k].address == address)
          result.push_back({inst, address, &path.steps[k]});
    i += mutant->window.size() - 1;
  }
  return result;
}

void WaitOracle::replayWaits(std::size_t number, const Path& path, Replay& replay) {
  struct Outstanding {
    const Issued* issued;
    const Traits* traits;
    bool vm, lgkm;
  };
  std::deque<Outstanding> vm, lds;
  std::vector<Outstanding> unordered;
  RegSet owned;
  unsigned epoch = 0;
  const auto& touches = recorder.paths[number].touches;

  const auto done = [&](const Outstanding& op) { replay.epochs[op.issued->step] = epoch; };
  const auto refresh = [&] {
    owned = {};
    for (const auto* queue : {&vm, &lds})
      for (const Outstanding& op : *queue)
        owned |= op.traits->writes;
    for (const Outstanding& op : unordered)
      owned |= op.traits->writes;
  };
  const auto shrink = [&](std::deque<Outstanding>& queue, std::size_t left) {
    for (; queue.size() > left; queue.pop_front())
      done(queue.front());
  };
  const auto violate = [&](const char* rule, const Issued& producer, const Issued& consumer) {
    replay.worst[{rule, producer.address, consumer.address}] = 1;
  };
  const auto overlap = [&](const Step& a, bool aWrites, const Step& b, bool bWrites) {
    if (a.ldsBegin >= b.ldsEnd || b.ldsBegin >= a.ldsEnd)
      return false;
    for (std::uint32_t i = a.touchBegin; i < a.touchEnd; ++i)
      for (std::uint32_t j = b.touchBegin; j < b.touchEnd; ++j) {
        const Touch &x = touches[i], &y = touches[j];
        if ((x.dword & PathRecorder::ldsBit) != 0 && x.dword == y.dword && (x.bytes & y.bytes) != 0 &&
            (!aWrites || x.write) && (!bWrites || y.write))
          return true;
      }
    return false;
  };

  for (const Issued& issued : path) {
    const Traits& now = traitsOf(issued.inst);
    if (now.wait) {
      const isa::WaitCount wait = issued.inst->waitCount();
      shrink(vm, wait.vm);
      shrink(lds, wait.lgkm);
      std::erase_if(unordered, [&](Outstanding& op) {
        op.vm &= wait.vm != 0;
        op.lgkm &= wait.lgkm != 0;
        if (!op.vm && !op.lgkm)
          done(op);
        return !op.vm && !op.lgkm;
      });
      refresh();
      continue;
    }
    if (issued.inst->cls == InstClass::barrier) {
      ++epoch;
      continue;
    }
    if (!issued.step->indexed && (owned.intersects(now.reads) || owned.intersects(now.writes))) {
      const auto check = [&](const Outstanding& op, bool sameOrder) {
        const RegSet read = op.traits->writes & now.reads, overwritten = op.traits->writes & now.writes;
        const std::uint64_t lanes = op.issued->step->exec & (now.wholeWave ? ~std::uint64_t{0} : issued.step->exec);
        const auto matters = [&](const RegSet& set) { return set.any() && (lanes != 0 || onlyScalar(set)); };
        if (matters(read))
          violate("read", *op.issued, issued);
        else if (matters(overwritten) && !sameOrder)
          violate("overwritten", *op.issued, issued);
      };
      for (const Outstanding& op : vm)
        check(op, now.vm);
      for (const Outstanding& op : lds)
        check(op, now.lds);
      for (const Outstanding& op : unordered)
        check(op, false);
    }
    if (!now.memory())
      continue;
    // LDS-DMA and LDS operations of one wave do not wait for each other.
    if (now.lds)
      for (const Outstanding& op : vm)
        if (op.traits->dma && overlap(*op.issued->step, true, *issued.step, false))
          violate("lds under dma", *op.issued, issued);
    if (now.dma)
      for (const Outstanding& op : lds)
        if (overlap(*op.issued->step, false, *issued.step, true))
          violate("dma over lds access", *op.issued, issued);
    const Outstanding op{&issued, &now, now.vm || now.flat, now.lds || now.scalar || now.flat};
    if (now.vm) {
      shrink(vm, vmSlots - 1);
      vm.push_back(op);
    } else if (now.lds) {
      shrink(lds, ldsSlots - 1);
      lds.push_back(op);
    } else {
      unordered.push_back(op);
    }
    refresh();
  }
  shrink(vm, 0);
  shrink(lds, 0);
  for (const Outstanding& op : unordered)
    done(op);
}

void WaitOracle::replayDistances(const Path& path, const std::vector<std::size_t>& at, Replay& replay,
                                 std::set<std::vector<std::uint64_t>>& judged) {
  constexpr std::size_t reach = program::maxWaitStates;
  for (const std::size_t place : at) {
    const std::size_t begin = place > 2 * reach ? place - 2 * reach : 0, end = std::min(path.size(), place + 2 * reach);
    std::vector<std::uint64_t> addresses;
    for (std::size_t i = begin; i < end; ++i)
      addresses.push_back(path[i].address);
    if (!judged.insert(std::move(addresses)).second)
      continue;
    // When each instruction can issue at the earliest: a matrix operation not before the passes of the last one are
    // over.
    std::vector<std::uint64_t> issue(end - begin);
    std::uint64_t next = 0, matrixFree = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const Traits& t = traitsOf(path[i].inst);
      std::uint64_t& when = issue[i - begin];
      when = t.passes != 0 ? std::max(next, matrixFree) : next;
      if (t.passes != 0)
        matrixFree = when + t.passes;
      next = when + t.states;
    }
    for (std::size_t i = place > reach ? place - reach : 0; i < end; ++i)
      for (std::size_t back = 1; back <= reach && back <= i - begin; ++back) {
        const Issued &producer = path[i - back], &consumer = path[i];
        const std::uint64_t present = issue[i - begin] - issue[i - back - begin] - traitsOf(producer.inst).states;
        if (present >= reach)
          break;
        const program::Hazard hazard = hazardOf(producer.inst, consumer.inst);
        if (hazard.states <= present)
          continue;
        unsigned& worst =
            replay.worst[{std::string(program::hazardRuleName(hazard.rule)), producer.address, consumer.address}];
        worst = std::max(worst, hazard.states - static_cast<unsigned>(present));
      }
  }
}

std::vector<std::size_t> WaitOracle::placesOf(const Path& path, const WaitMutant& mutant) const {
  const std::uint64_t first = mutant.code.front().second;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < path.size(); ++i)
    if (path[i].address == first)
      at.push_back(i);
  return at;
}

std::string WaitOracle::crossWave(const Replay& mutant) {
  for (const auto& [step, completed] : mutant.epochs) {
    const unsigned before = original.epochs.at(step);
    if (completed <= before || step->touchBegin == step->touchEnd)
      continue;
    const std::uint32_t number = pathOfStep.at(step);
    const auto& path = recorder.paths[number];
    for (std::uint32_t i = step->touchBegin; i < step->touchEnd; ++i) {
      const Touch& mine = path.touches[i];
      const auto found = touchers.find(mine.dword);
      if (found == touchers.end())
        continue;
      for (const Toucher& other : found->second) {
        const auto& otherPath = recorder.paths[other.path];
        if (other.path == number || otherPath.workgroup != path.workgroup || other.epoch <= before ||
            other.epoch > completed || (mine.atomic && other.touch->atomic))
          continue;
        const Touch& theirs = *other.touch;
        if ((mine.changed & theirs.bytes) != 0 && theirs.read)
          return fmt::format("wave {} reads at {:#x} what wave {} stores at {:#x}", otherPath.wave, other.address,
                             path.wave, step->address);
        if ((theirs.changed & mine.bytes) != 0 && mine.read)
          return fmt::format("wave {} stores at {:#x} what wave {} reads at {:#x}", otherPath.wave, other.address,
                             path.wave, step->address);
      }
    }
  }
  return {};
}

std::string WaitOracle::whyLive(const WaitMutant& mutant) {
  const bool isWait = mutant.kind == MutationKind::droppedWait || mutant.kind == MutationKind::weakenedWait;
  Replay mutated, around; // around: the original near the places of a distance
  std::set<std::vector<std::uint64_t>> judged, judgedAround;
  const Replay& before = isWait ? original : around;
  const auto violated = [&]() -> std::string {
    for (const auto& [violation, worst] : mutated.worst) {
      const auto known = before.worst.find(violation);
      if (known == before.worst.end() || known->second < worst)
        return fmt::format("{}: {:#x}, {:#x}", std::get<0>(violation), std::get<1>(violation), std::get<2>(violation));
    }
    return {};
  };
  for (std::size_t number = 0; number < originals.size(); ++number) {
    const Path path = mutatedPath(recorder.paths[number], &mutant);
    if (isWait) {
      replayWaits(number, path, mutated);
      if (std::string why = violated(); !why.empty())
        return why;
      continue;
    }
    const std::vector<std::size_t> at = placesOf(path, mutant);
    replayDistances(path, at, mutated, judged);
    replayDistances(originals[number], at, around, judgedAround);
  }
  return isWait ? crossWave(mutated) : violated();
}

} // namespace asmevo::tests
