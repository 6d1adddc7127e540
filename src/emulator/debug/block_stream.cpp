#include "emulator/debug/block_stream.h"

#include "emulator/debug/describe.h"
#include "emulator/debug/register_file.h"
#include "emulator/observe/access_dwords.h"
#include "emulator/scheduler.h"

#include <bit>

namespace asmevo::emulator {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  return std::rotl((hash ^ word) * 0x9fb21c651e98df25, 29) + 0x632be59bd9b4e019;
}

/// The scalar holds a half of an address inside the code.
bool isCodeAddress(const Wave& wave, unsigned unit) {
  const auto inCode = [&](unsigned low) {
    const std::uint64_t address = wave.pair(low);
    return address >= wave.codeAddress && address < wave.codeAddress + 4 * wave.code->codeDwords();
  };
  return (unit + 1 < isa::sreg::vccLo && inCode(unit)) || (unit > 0 && unit < isa::sreg::vccLo && inCode(unit - 1));
}

std::uint64_t summarise(const Wave& wave, const isa::RegSet& registers) {
  std::uint64_t hash = 0;
  const std::uint64_t exec = wave.exec();
  registers.forEach([&](isa::RegUnit unit) {
    hash = mix(hash, unit);
    if (unit >= isa::vgprBase) {
      const unsigned physical = unit - isa::vgprBase;
      if (physical >= wave.vgprCount)
        return;
      const std::uint32_t* lanes = wave.lanes(physical);
      for (std::uint64_t rest = exec; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        hash = mix(hash, lanes[lane] | std::uint64_t{lane} << 32);
      }
    } else if (unit == isa::sreg::scc) {
      hash = mix(hash, wave.scc);
    } else if (unit < isa::sreg::scc && !isCodeAddress(wave, unit)) {
      hash = mix(hash, wave.sgpr[unit]);
    }
  });
  return hash;
}

std::string whereIs(const Wave& wave, Space space, std::uint64_t address) {
  if (space == Space::global || space == Space::scalar)
    return wave.memory->describe(address);
  return fmt::format("{} + {:#x}", space == Space::lds ? "LDS" : "scratch", address);
}

/// Looks up places by instruction, once each.
class PlaceTable {
 public:
  explicit PlaceTable(Places places) : places(std::move(places)) {}
  const Place* at(const Wave& wave, const Op* op) {
    const std::uint64_t code = (op->pc - wave.codeAddress) / 4;
    if (code >= table.size())
      table.resize(code + 256, &unknown);
    if (table[code] == &unknown) {
      const auto found = places.find(objectAddress(wave, op));
      table[code] = found == places.end() ? nullptr : &found->second;
    }
    return table[code];
  }

 private:
  Places places;
  Place unknown; ///< stands for not looked up yet
  std::vector<const Place*> table;
};

/// Collects the stores of the instruction under way and gives them out when it has executed.
class StoreCollector {
 public:
  void begin() { pending.clear(); }
  void add(const AccessEvent& event) {
    if (event.load)
      return;
    forEachDword(event, [&](unsigned lane, unsigned k, unsigned part) {
      pending.push_back({event.space, lane, event.address[lane] + k * 4, part, k, event.atomic});
    });
  }
  /// f(lane, space, address, value, bytes, atomic) for each dword or less.
  template <class F> void forEach(const Wave& wave, const Op* op, F&& f) const {
    for (const Part& part : pending) {
      std::uint32_t value = 0;
      if (part.atomic) {
        // What the location holds afterwards depends on other waves; the operand does not.
        if (part.space == Space::scalar)
          value = wave.sgpr[(op->src[2].reg + part.dword) % 128];
        else if (op->src[1].kind == SrcKind::vgpr)
          value = wave.lanes(op->src[1].reg + part.dword)[part.lane];
      } else if (const std::uint8_t* at = hostOf(wave, part)) {
        std::memcpy(&value, at, part.bytes);
      }
      f(part.lane, part.space, part.address, value, part.bytes, part.atomic);
    }
  }

 private:
  struct Part {
    Space space;
    unsigned lane;
    std::uint64_t address;
    unsigned bytes;
    unsigned dword; ///< in the lane's data
    bool atomic;
  };
  static const std::uint8_t* hostOf(const Wave& wave, const Part& part) {
    switch (part.space) {
    case Space::lds:
      return part.address + part.bytes <= wave.ldsBytes ? wave.lds + part.address : nullptr;
    case Space::scratch:
      return part.address + part.bytes <= wave.scratchPerLane
                 ? wave.scratch + std::uint64_t{part.lane} * wave.scratchPerLane + part.address
                 : nullptr;
    case Space::global:
    case Space::scalar:
      break;
    }
    return wave.memory->host(part.address, part.bytes);
  }
  std::vector<Part> pending;
};

class BlockStream final : public Observer {
 public:
  BlockStream(Places places, VisitSink sink) : places(std::move(places)), sink(std::move(sink)) {}

  void before(Wave& wave, const Op* op) override {
    collector.begin();
    if (const Place* place = places.at(wave, op))
      sink(keyOf(wave), {place->label, summarise(wave, place->registers), stores[keyOf(wave)]});
  }
  void access(Wave&, const Op*, const AccessEvent& event) override { collector.add(event); }
  void after(Wave& wave, const Op* op) override {
    std::uint64_t* sum = nullptr;
    collector.forEach(
        wave, op, [&](unsigned, Space space, std::uint64_t address, std::uint32_t value, unsigned bytes, bool atomic) {
          if (!sum)
            sum = &stores[keyOf(wave)];
          *sum += mix(mix(mix(static_cast<std::uint64_t>(space), address), value), bytes * 2 + atomic);
        });
    collector.begin();
  }
  void waveEnded(Wave& wave) override {
    sink(keyOf(wave), {Visit::end, 0, stores[keyOf(wave)]});
    stores.erase(keyOf(wave));
  }

 private:
  static WaveKey keyOf(const Wave& wave) { return {wave.group->index, wave.waveInGroup}; }

  PlaceTable places;
  VisitSink sink;
  StoreCollector collector;
  std::map<WaveKey, std::uint64_t> stores;
};

class StretchCapture final : public StretchObserver {
 public:
  StretchCapture(Places places, const WaveKey& key, std::uint64_t visit, unsigned accumOffset)
      : places(std::move(places)), key(key), visit(visit), accumOffset(accumOffset) {}

  void before(Wave& wave, const Op* op) override {
    collector.begin();
    active = false;
    if (stopRun || wave.group->index != key.workgroup || wave.waveInGroup != key.wave)
      return;
    if (const Place* place = places.at(wave, op)) {
      if (visits++ == visit) {
        finish(wave);
        stretch.entered = objectAddress(wave, op);
        place->registers.forEach([&](isa::RegUnit unit) {
          if (unit >= isa::vgprBase || unit == isa::sreg::scc || (unit < isa::sreg::scc && !isCodeAddress(wave, unit)))
            stretch.registers[unit] = registerValue(wave, unit);
        });
        return;
      }
      stretch = {};
    }
    active = true;
  }
  void access(Wave&, const Op*, const AccessEvent& event) override {
    if (active)
      collector.add(event);
  }
  void after(Wave& wave, const Op* op) override {
    if (!active)
      return;
    const std::uint64_t pc = objectAddress(wave, op);
    stretch.lastPc = pc;
    stretch.lastText = op->inst->text;
    op->inst->writes(accumOffset).forEach([&](isa::RegUnit unit) { stretch.writers[unit] = {pc, op->inst->text}; });
    collector.forEach(
        wave, op,
        [&](unsigned lane, Space space, std::uint64_t address, std::uint32_t value, unsigned bytes, bool atomic) {
          StoreDetail store{pc, op->inst->text, space, lane, address, whereIs(wave, space, address), atomic, {}};
          for (unsigned i = 0; i < bytes; ++i)
            store.bytes.push_back(static_cast<std::uint8_t>(value >> 8 * i));
          stretch.stores.push_back(std::move(store));
        });
    active = false;
  }
  void waveEnded(Wave& wave) override {
    if (!stopRun && wave.group->index == key.workgroup && wave.waveInGroup == key.wave && visits == visit)
      finish(wave);
  }
  const StretchDetail& detail() const override { return stretch; }

 private:
  void finish(const Wave& wave) {
    stopRun = true;
    stretch.reached = true;
    stretch.exec = wave.exec();
  }

  PlaceTable places;
  WaveKey key;
  std::uint64_t visit;
  unsigned accumOffset;
  std::uint64_t visits = 0;
  bool active = false;
  StoreCollector collector;
  StretchDetail stretch;
};

} // namespace

std::unique_ptr<Observer> makeBlockStream(Places places, VisitSink sink) {
  return std::make_unique<BlockStream>(std::move(places), std::move(sink));
}

std::unique_ptr<StretchObserver> makeStretchCapture(Places places, const WaveKey& wave, std::uint64_t visit,
                                                    unsigned accumOffset) {
  return std::make_unique<StretchCapture>(std::move(places), wave, visit, accumOffset);
}

} // namespace asmevo::emulator
