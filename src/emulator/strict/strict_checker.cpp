#include "emulator/strict/strict_checker.h"

#include "emulator/strict/distance.h"
#include "emulator/strict/in_flight.h"
#include "emulator/strict/taint.h"

#include <optional>
#include <unordered_map>

namespace asmevo::emulator {

class StrictKnowledge {
 public:
  StrictKnowledge(unsigned accumOffset, unsigned sgprs, program::HazardTarget target, program::HazardScope scope)
      : infos(accumOffset, sgprs), distances(target, accumOffset, scope) {}
  OpInfoTable infos;
  DistanceTable distances;
};

namespace {

struct WaveState {
  WaveState(const Wave& wave, Delivery delivery, LdsInFlight& ldsInFlight, LdsTaint& ldsTaint, bool followsTaint)
      : inFlight(delivery, ldsInFlight) {
    if (followsTaint)
      taint.emplace(wave, ldsTaint);
  }
  InFlight inFlight;
  RecentPath path;
  std::optional<Taint> taint;
  std::vector<std::uint8_t> names; ///< last name that each register above accum_offset was written by, or none
  const OpInfo* current = nullptr;
  unsigned element = 0; ///< accesses of the current instruction so far
};

struct GroupState {
  LdsInFlight ldsInFlight;
  LdsTaint ldsTaint;
  std::vector<std::unique_ptr<WaveState>> waves;
};

enum Name : std::uint8_t { unnamed, asVgpr, asAgpr };

class StrictChecker final : public FindingObserver {
 public:
  StrictChecker(const StrictOptions& options, std::shared_ptr<StrictKnowledge> known)
      : options(options), knowledge(std::move(known)), infos(knowledge->infos), distances(knowledge->distances) {}

  std::vector<StrictFinding> findings() const override { return log.findings(); }
  std::vector<std::string> notes() const override {
    if (log.dropped() == 0)
      return {};
    return {fmt::format("{} more strict findings are not listed", log.dropped())};
  }

  void workgroupStarted(Workgroup& group) override {
    std::unique_ptr<GroupState>& state = groups[&group];
    state = std::make_unique<GroupState>();
    const Wave& first = group.waves.front();
    state->ldsInFlight.reset(first.ldsBytes);
    if (options.uninitialised)
      state->ldsTaint.reset(first.ldsBytes);
    for (const Wave& wave : group.waves)
      state->waves.push_back(std::make_unique<WaveState>(wave, options.delivery, state->ldsInFlight, state->ldsTaint,
                                                         options.uninitialised));
    lastWave = nullptr;
  }
  void workgroupEnded(Workgroup& group) override {
    groups.erase(&group);
    lastWave = nullptr;
  }
  void waveEnded(Wave& wave) override { stateOf(wave).inFlight.completeAll(wave); }

  void before(Wave& wave, const Op* op) override {
    WaveState& state = stateOf(wave);
    const OpInfo* info = &infos.of(wave, op);
    if (wave.gprIdx != 0 && op->inst->cls == isa::InstClass::valu) [[unlikely]]
      info = &infos.indexed(wave, *info);
    state.path.step(wave, infos.of(wave, op), op, distances, log);
    state.current = info;
    state.element = 0;
    state.inFlight.tick();
    if (info->isWait) {
      state.inFlight.wait(wave, op->inst->waitCount());
      return;
    }
    state.inFlight.check(wave, *info, op, log);
    if (info->sgprsBeyond != 0) [[unlikely]]
      reportSgprs(wave, *info, op);
    if (info->vectorsAboveAccum || !state.names.empty()) [[unlikely]]
      checkNames(wave, state, op);
    if (state.taint)
      state.taint->before(wave, *info, op, log);
    if (info->counted)
      state.inFlight.begin(wave, *info, op);
  }

  void access(Wave& wave, const Op* op, const AccessEvent& event) override {
    WaveState& state = stateOf(wave);
    if (event.space == Space::lds)
      checkLds(wave, op, event);
    if (state.taint)
      state.taint->access(wave, *state.current, op, event, state.element, log);
    state.inFlight.access(wave, event);
    ++state.element;
  }

  void after(Wave& wave, const Op*) override {
    WaveState& state = stateOf(wave);
    if (state.current->counted)
      state.inFlight.end(wave);
  }

 private:
  WaveState& stateOf(Wave& wave) {
    if (lastWave != &wave) [[unlikely]] {
      lastWave = &wave;
      lastGroup = groups.at(wave.group).get();
      lastState = lastGroup->waves[wave.waveInGroup].get();
    }
    return *lastState;
  }

  void reportSgprs(Wave& wave, const OpInfo& info, const Op* op) {
    log.add("", "sgpr_allocation", op, op, wave, 0, [&] {
      return fmt::format("{} uses s{}, but the descriptor allocates fewer", quoted(wave, op), info.sgprsBeyond - 1);
    });
  }

  void checkLds(Wave& wave, const Op* op, const AccessEvent& event) {
    const std::uint64_t outside = event.exec & ~(event.valid[0] & event.valid[event.bytes > 4 ? 1 : 0]);
    if (outside != 0) [[unlikely]] {
      const auto lane = static_cast<unsigned>(std::countr_zero(outside));
      log.add("", "lds_bounds", op, op, wave, lane, [&] {
        return fmt::format("{} reaches LDS byte {} with {} bytes; the workgroup has {}", quoted(wave, op),
                           event.address[lane], event.bytes, wave.ldsBytes);
      });
    }
    if (event.ldsDma)
      if (const InFlight::UnderDma under = lastState->inFlight.underDma(event, wave); under.op) [[unlikely]]
        reportUnderDma(wave, op, under, log);
    if (!lastGroup->ldsInFlight.any())
      return;
    // Also the LDS-DMA's own next writes: those return in order.
    if (event.ldsDma && lastState->inFlight.dmaInto(event.address[std::countr_zero(event.exec | 1)], wave))
      return;
    for (std::uint64_t lanes = event.valid[0]; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      for (unsigned k = 0; k < event.bytes; k += 4)
        if (lastGroup->ldsInFlight.at(event.address[lane] + k)) {
          reportDma(wave, op, event, lane, event.address[lane] + k);
          return;
        }
    }
  }

  /// LDS-DMA comes by another way than LDS operations: neither waits for the other.
  static void reportUnderDma(Wave& wave, const Op* op, const InFlight::UnderDma& under, FindingLog& log) {
    log.add("wait.", under.store ? "lgkm.waw" : "lgkm.war", under.op, op, wave, under.lane, [&] {
      return fmt::format("{} writes LDS that {} may still have to {}", quoted(wave, op), quoted(wave, under.op),
                         under.store ? "write" : "read");
    });
  }

  void reportDma(Wave& wave, const Op* op, const AccessEvent& event, unsigned lane, std::uint64_t address) {
    for (Wave& writer : wave.group->waves) {
      const Op* producer = lastGroup->waves[writer.waveInGroup]->inFlight.dmaInto(address, writer);
      if (!producer)
        continue;
      log.add("", "wait.vm.lds-dma", producer, op, wave, lane, [&] {
        return fmt::format("{} {} LDS byte {} while {} of wave {} may still be writing it", quoted(wave, op),
                           event.load ? "reads" : "writes", address, quoted(wave, producer), writer.waveInGroup);
      });
      return;
    }
  }

  /// A register above accum_offset may be used as v[n] or as a[n - accum_offset], but hardly as both.
  void checkNames(Wave& wave, WaveState& state, const Op* op) {
    const unsigned accumOffset = infos.accumulators();
    state.names.resize(isa::regUnitCount - isa::vgprBase, unnamed);
    const auto each = [&](bool defs, auto&& f) {
      for (const isa::Operand& operand : op->inst->operands) {
        const bool agpr = operand.kind == isa::OperandKind::agpr;
        if (operand.isDef != defs || (!agpr && operand.kind != isa::OperandKind::vgpr))
          continue;
        for (unsigned k = 0; k < operand.dwords; ++k) {
          const unsigned physical = operand.index + k + (agpr ? accumOffset : 0);
          if (physical >= accumOffset && physical < state.names.size())
            f(physical, agpr ? asAgpr : asVgpr);
        }
      }
    };
    each(false, [&](unsigned physical, Name name) {
      if (state.names[physical] != unnamed && state.names[physical] != name)
        log.add("", "accum_alias", op, op, wave, 0, [&] {
          return fmt::format("{} reads the register that is v{} and a{} under another name than it was written by",
                             quoted(wave, op), physical, physical - accumOffset);
        });
    });
    each(true, [&](unsigned physical, Name name) { state.names[physical] = name; });
  }

  StrictOptions options;
  FindingLog log;
  std::shared_ptr<StrictKnowledge> knowledge;
  OpInfoTable& infos;
  DistanceTable& distances;
  std::unordered_map<const Workgroup*, std::unique_ptr<GroupState>> groups;
  const Wave* lastWave = nullptr;
  GroupState* lastGroup = nullptr;
  WaveState* lastState = nullptr;
};

} // namespace

std::string_view deliveryName(Delivery delivery) {
  switch (delivery) {
  case Delivery::late:
    return "late";
  case Delivery::ldsEarly:
    return "lds-early";
  case Delivery::waveToBarrier:
    return "wave";
  }
  return "late";
}

std::shared_ptr<StrictKnowledge> makeStrictKnowledge(const object::Kernel& kernel, const object::Target& target,
                                                     bool llvmDistances) {
  return std::make_shared<StrictKnowledge>(
      kernel.descriptor.accumOffset(target), kernel.descriptor.allocatedSgprs(target),
      program::hazardTargetOf(target).value_or(program::HazardTarget::gfx940),
      llvmDistances ? program::HazardScope::withLlvm : program::HazardScope::manual);
}

std::unique_ptr<FindingObserver> makeStrictChecker(const StrictOptions& options,
                                                   std::shared_ptr<StrictKnowledge> knowledge) {
  return std::make_unique<StrictChecker>(options, std::move(knowledge));
}

} // namespace asmevo::emulator
