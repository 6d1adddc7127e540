#include "verify/divergence.h"

#include "emulator/debug/block_stream.h"
#include "emulator/debug/register_file.h"
#include "emulator/emulator.h"
#include "program/analysis/liveness.h"
#include "verify/alignment.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

namespace asmevo::verify {

namespace {

using emulator::Places;
using emulator::StoreDetail;
using emulator::StretchDetail;
using emulator::Visit;
using emulator::WaveKey;
using program::BlockId;
using program::Program;

/// Registers live at the entry of each block, over all functions.
std::vector<isa::RegSet> liveAtEntries(const Program& program, unsigned accumOffset) {
  std::vector<isa::RegSet> live(program.blocks.size());
  for (const program::Function& function : program.functions) {
    const program::Liveness liveness = program::liveness(program, function, accumOffset);
    for (std::size_t b = 0; b < live.size() && b < liveness.liveIn.size(); ++b)
      live[b] |= liveness.liveIn[b];
  }
  return live;
}

struct PlacePair {
  Places k0, k1;
};

/// Entries of blocks that correspond, labelled by K0's block; only registers live in both are worth comparing.
PlacePair placesOf(const ProgramPair& pair, const Alignment& alignment, unsigned accum0, unsigned accum1) {
  const auto live0 = liveAtEntries(pair.k0, accum0), live1 = liveAtEntries(pair.k1, accum1);
  PlacePair places;
  for (BlockId b = 0; b < pair.k0.blocks.size(); ++b) {
    if (!alignment.toK1[b])
      continue;
    const BlockId counterpart = *alignment.toK1[b];
    isa::RegSet registers = live0[b];
    registers &= live1[counterpart];
    // Instructions that VSKIP or MODE change are told apart by what they write.
    registers.reset(isa::sreg::mode);
    registers.reset(isa::sreg::hwreg);
    places.k0[pair.k0.blocks[b].address] = {b, registers};
    places.k1[pair.k1.blocks[counterpart].address] = {b, registers};
  }
  return places;
}

/// An open difference of one wave.
struct Suspect {
  std::uint64_t order = 0; ///< block entries of K1's run before it, all waves
  std::uint64_t visit = 0;
};

/// K1's waves against what K0's did.
class Comparison {
 public:
  explicit Comparison(std::map<WaveKey, std::vector<Visit>> expected) : expected(std::move(expected)) {}

  void visit(const WaveKey& key, const Visit& seen) {
    const std::uint64_t now = ++order;
    WaveState& wave = waves[key];
    if (wave.done)
      return;
    const auto known = expected.find(key);
    if (known == expected.end() || wave.next >= known->second.size()) {
      wave.done = true; // beyond what was kept of K0
      return;
    }
    const std::uint64_t number = wave.next++;
    const Visit& wanted = known->second[number];
    ++compared;
    if (wanted.label != seen.label) {
      wave.done = true;
      wave.path = Suspect{now, number};
      certain = true;
      return;
    }
    const bool sameStores = wanted.stores == seen.stores, sameRegisters = wanted.registers == seen.registers;
    if (sameStores && sameRegisters) {
      wave.stores.reset();
      wave.registers.reset();
      return;
    }
    if (!sameRegisters && !wave.registers)
      wave.registers = Suspect{now, number};
    if (!sameStores && !wave.stores)
      wave.stores = Suspect{now, number};
    if (sameStores)
      wave.stores.reset();
    if (seen.label == Visit::end && wave.stores)
      certain = true;
  }

  bool isCertain() const { return certain; }
  std::uint64_t comparedVisits() const { return compared; }
  std::uint64_t comparedWaves() const { return waves.size(); }

  struct Found {
    WaveKey wave;
    Divergence::Kind kind;
    std::uint64_t visit;
  };
  /// The earliest of what is certain: a path, or stores that were never made up for. What registers showed before that
  /// in the same wave leads.
  /// `failed`: the run did, so that no wave can make up for anything.
  std::optional<Found> first(bool failed) const {
    std::optional<Found> best;
    std::uint64_t bestOrder = ~std::uint64_t{0};
    for (const auto& [key, wave] : waves) {
      const bool ended = wave.next != 0 && expected.at(key)[wave.next - 1].label == Visit::end;
      if (!wave.path && !(wave.stores && (ended || failed)) && !(wave.registers && failed))
        continue;
      const auto consider = [&](const std::optional<Suspect>& suspect, Divergence::Kind kind) {
        if (suspect && suspect->order < bestOrder) {
          bestOrder = suspect->order;
          best = Found{key, kind, suspect->visit};
        }
      };
      consider(wave.registers, Divergence::Kind::reg);
      consider(wave.stores, Divergence::Kind::memory);
      consider(wave.path, Divergence::Kind::controlFlow);
    }
    return best;
  }

 private:
  struct WaveState {
    std::uint64_t next = 0;
    bool done = false;
    std::optional<Suspect> registers, stores, path;
  };
  std::map<WaveKey, std::vector<Visit>> expected;
  std::map<WaveKey, WaveState> waves;
  std::uint64_t order = 0, compared = 0;
  bool certain = false;
};

std::string hexBytes(const std::vector<std::uint8_t>& bytes) {
  std::string text = "0x";
  for (std::size_t i = bytes.size(); i-- > 0;)
    text += fmt::format("{:02x}", bytes[i]);
  return text;
}

/// Runs one object as the comparison needs it.
struct Side {
  std::shared_ptr<const emulator::Kernel> kernel;
  Places places;
  unsigned accumOffset = 0;

  Result<emulator::RunResult> run(const dispatch::Case& launch, std::uint64_t maxInstructions, std::uint64_t imageSpan,
                                  std::vector<emulator::Observer*> observers) const {
    emulator::RunOptions run;
    run.waveToBarrier = true;
    run.imageSpan = imageSpan;
    run.maxInstructions = maxInstructions;
    run.observers = std::move(observers);
    return kernel->run(launch, run);
  }
};

bool sameStore(const StoreDetail& a, const StoreDetail& b) {
  return std::tie(a.space, a.address, a.atomic, a.bytes, a.lane) ==
         std::tie(b.space, b.address, b.atomic, b.bytes, b.lane);
}

/// The first store of `stretch` that `other` does not have as often; stores may be in another order.
const StoreDetail* unmatched(const StretchDetail& stretch, const StretchDetail& other) {
  std::vector<bool> used(other.stores.size());
  for (const StoreDetail& store : stretch.stores) {
    bool found = false;
    for (std::size_t i = 0; i < other.stores.size() && !found; ++i)
      if (!used[i] && sameStore(store, other.stores[i]))
        used[i] = found = true;
    if (!found)
      return &store;
  }
  return nullptr;
}

/// The last store to an address in a stretch.
const StoreDetail* storeTo(const StretchDetail& stretch, const StoreDetail& wanted) {
  const StoreDetail* last = nullptr;
  for (const StoreDetail& store : stretch.stores)
    if (store.space == wanted.space && store.address == wanted.address && store.lane == wanted.lane)
      last = &store;
  return last;
}

DivergedSide sideOf(const StoreDetail* store) {
  return store ? DivergedSide{store->pc, store->text, hexBytes(store->bytes)} : DivergedSide{};
}

DivergedSide sideOf(const StretchDetail& stretch, isa::RegUnit unit, std::uint32_t value) {
  const auto writer = stretch.writers.find(unit);
  if (writer == stretch.writers.end())
    return {stretch.entered, "", fmt::format("{:#x}", value)};
  return {writer->second.pc, writer->second.text, fmt::format("{:#x}", value)};
}

void describeRegisters(const StretchDetail& a, const StretchDetail& b, unsigned accumOffset, Divergence& result) {
  for (const auto& [unit, before] : a.registers) {
    const auto other = b.registers.find(unit);
    if (other == b.registers.end())
      continue;
    const std::vector<std::uint32_t>& after = other->second;
    for (unsigned lane = 0; lane < before.size() && lane < after.size(); ++lane) {
      if (before[lane] == after[lane] || (before.size() > 1 && !(a.exec >> lane & b.exec >> lane & 1)))
        continue;
      result.where = emulator::registerName(unit, accumOffset);
      if (before.size() > 1)
        result.lane = lane;
      result.k0 = sideOf(a, unit, before[lane]);
      result.k1 = sideOf(b, unit, after[lane]);
      return;
    }
  }
}

void describeStores(const StretchDetail& a, const StretchDetail& b, Divergence& result) {
  const StoreDetail* in0 = unmatched(a, b);
  const StoreDetail* in1 = unmatched(b, a);
  const StoreDetail* lead = in0 ? in0 : in1;
  if (!lead)
    return;
  result.lane = lead->lane;
  result.where = lead->where;
  result.k0 = sideOf(in0 ? in0 : storeTo(a, *lead));
  result.k1 = sideOf(in0 ? storeTo(b, *lead) : in1);
}

} // namespace

std::string_view divergenceKindName(Divergence::Kind kind) {
  switch (kind) {
  case Divergence::Kind::reg:
    return "register";
  case Divergence::Kind::memory:
    return "memory";
  case Divergence::Kind::controlFlow:
    break;
  }
  return "control flow";
}

Result<DivergenceReport> findDivergence(const object::CodeObject& k0, const object::CodeObject& k1,
                                        const dispatch::Case& launch, const DivergenceOptions& options) {
  ASMEVO_TRY(const ProgramPair pair, recoverPair(k0, k1));
  ASMEVO_TRY(const object::Kernel* kernel0, k0.findKernel(launch.kernel));
  ASMEVO_TRY(const object::Kernel* kernel1, k1.findKernel(kernel0->name));
  const Alignment alignment = alignBlocks(k0, pair.k0, k1, pair.k1);
  Side side0, side1;
  side0.accumOffset = kernel0->descriptor.accumOffset(k0.target());
  side1.accumOffset = kernel1->descriptor.accumOffset(k1.target());
  ASMEVO_TRY(side0.kernel, emulator::Kernel::prepare(k0, kernel0->name));
  ASMEVO_TRY(side1.kernel, emulator::Kernel::prepare(k1, kernel1->name));
  PlacePair places = placesOf(pair, alignment, side0.accumOffset, side1.accumOffset);
  side0.places = std::move(places.k0);
  side1.places = std::move(places.k1);
  const std::uint64_t span = std::max(side0.kernel->imageBytes(), side1.kernel->imageBytes());

  DivergenceReport report;
  std::map<WaveKey, std::vector<Visit>> expected;
  std::uint64_t kept = 0;
  const auto record = emulator::makeBlockStream(side0.places, [&](const WaveKey& key, const Visit& visit) {
    if (kept < options.maxVisits) {
      expected[key].push_back(visit);
      ++kept;
    }
  });
  ASMEVO_TRY(const emulator::RunResult run0, side0.run(launch, options.maxInstructions, span, {record.get()}));
  if (kept == options.maxVisits)
    report.notes.push_back(fmt::format("compared as far as K0's first {} block entries", kept));

  Comparison comparison(std::move(expected));
  const auto check = emulator::makeBlockStream(
      side1.places, [&](const WaveKey& key, const Visit& visit) { comparison.visit(key, visit); });
  // What follows a certain difference in other workgroups is of no interest any more.
  class Stopper final : public emulator::Observer {
   public:
    explicit Stopper(const Comparison& comparison) : comparison(comparison) {}
    void workgroupEnded(emulator::Workgroup&) override { stopRun = comparison.isCertain(); }

   private:
    const Comparison& comparison;
  };
  Stopper stopper(comparison);
  // A K1 that needs several times K0's instructions is endless.
  const std::uint64_t limit = std::min(options.maxInstructions, run0.waveInstructions * 4 + 1'000'000);
  const Result<emulator::RunResult> run1 = side1.run(launch, limit, span, {check.get(), &stopper});
  report.waves = comparison.comparedWaves();
  report.visits = comparison.comparedVisits();
  if (!run1)
    report.notes.push_back("K1: " + run1.error().message);
  else if (!run1->brokenOff)
    for (std::size_t i = 0; i < launch.buffers.size(); ++i)
      if (run0.buffers[i] != run1->buffers[i])
        report.differentBuffers.push_back(launch.buffers[i].name);

  const auto found = comparison.first(!run1);
  if (!found)
    return report;
  Divergence& first = report.first.emplace();
  first.kind = found->kind;
  first.workgroup = found->wave.workgroup;
  first.wave = found->wave.wave;
  first.visit = found->visit;
  const auto capture0 = emulator::makeStretchCapture(side0.places, found->wave, found->visit, side0.accumOffset);
  const auto capture1 = emulator::makeStretchCapture(side1.places, found->wave, found->visit, side1.accumOffset);
  // Runs that fail have got as far as before.
  const auto again0 = side0.run(launch, options.maxInstructions, span, {capture0.get()});
  const auto again1 = side1.run(launch, limit, span, {capture1.get()});
  if (!capture0->detail().reached || !capture1->detail().reached)
    return internalError("the two runs of {} or of {} differ from each other", k0.name(), k1.name());
  const StretchDetail &a = capture0->detail(), &b = capture1->detail();
  switch (first.kind) {
  case Divergence::Kind::reg:
    describeRegisters(a, b, side0.accumOffset, first);
    break;
  case Divergence::Kind::memory:
    describeStores(a, b, first);
    break;
  case Divergence::Kind::controlFlow:
    first.where = "next block";
    first.k0 = {a.lastPc, a.lastText, fmt::format("{:#x}", a.entered)};
    first.k1 = {b.lastPc, b.lastText, fmt::format("{:#x}", b.entered)};
    break;
  }
  return report;
}

} // namespace asmevo::verify
