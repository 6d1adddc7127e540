#include "optimize/moves/memory/hoist_loads.h"

#include "optimize/alias_evidence.h"
#include "optimize/block_graph.h"
#include "optimize/edit/hoist_path.h"
#include "optimize/edit/load_uses.h"
#include "optimize/edit/recount_waits.h"
#include "optimize/edit/registers.h"
#include "optimize/edit/waits.h"
#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/exec_mask.h"
#include "program/analysis/exec_relation.h"
#include "program/analysis/memory_dependence.h"
#include "program/analysis/wait_lint.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace asmevo::optimize {

namespace {

using isa::InstClass;
using isa::RegSet;
using program::BlockId;
using program::ExecRelation;
using program::Place;

constexpr double leastShare = 0.005;
constexpr std::size_t mostLoads = 64;
constexpr std::size_t mostSingles = 8;
/// Instructions of the function times loads looked at, of one call.
constexpr std::size_t mostWork = 600'000;

bool isScalar(const isa::Instruction& inst) {
  return inst.cls == InstClass::smem;
}

/// Plain loads with one destination.
bool isCandidate(const isa::Instruction& inst) {
  const bool kind = inst.cls == InstClass::vmem || inst.cls == InstClass::global || inst.cls == InstClass::lds ||
                    inst.cls == InstClass::smem;
  if (!kind || !inst.mayLoad || inst.mayStore || inst.isAtomic() || inst.isLdsDma() || inst.mods.tfe ||
      program::memoryEffect(inst).ordered || inst.operands.empty() || !inst.operands[0].isDef ||
      !tupleOf(inst.operands[0]))
    return false;
  // Lanes hand each other data, or lanes that are off take part.
  const std::string_view base = inst.base;
  return !base.starts_with("ds_bpermute") && !base.starts_with("ds_permute") && !base.starts_with("ds_swizzle") &&
         base != "ds_append" && base != "ds_consume" && base.find("_tr_") == std::string_view::npos &&
         base.find("addtid") == std::string_view::npos;
}

/// How far loads are to go.
enum class Reach : std::uint8_t {
  far,   ///< as far as they may
  above, ///< to the end of the next block above, or as far as they may in their own
};

struct Choice {
  std::vector<Place> loads; ///< of the original program, in program order
  Reach reach = Reach::far;
  std::string words;
};

/// What all proposals of one call share: analyses of the program as it is.
struct Subject {
  Subject(const program::Program& p, const program::Function& f, const MoveContext& c)
      : program(p), function(f), context(c), waves(wholeWavesOf(c)), kit(p, c, waves), accum(kit.accumOffset()),
        way(p, f), memory(p, f, c.accumOffset), exec(p, f, waves != WholeWaves::unknown) {
    for (const BlockId id : f.blocks)
      for (const program::Instr& instr : p.blocks[id].instrs) {
        ldsDma |= instr.inst->isLdsDma();
        ++size;
      }
    uncovered = uncoveredIn(p, f);
    if (c.launches)
      aliases.emplace(c.object, c.kernel, *c.launches);
  }

  using Uncovered = std::set<std::tuple<std::uint64_t, std::uint64_t, isa::RegUnit>>;
  /// Uses that no wait covers, by addresses of the operation and of the use.
  Uncovered uncoveredIn(const program::Program& which, const program::Function& of) const {
    Uncovered found;
    for (const program::WaitFinding& finding : program::uncoveredUses(which, of, accum))
      found.emplace(which.blocks[finding.producer.block].instrs[finding.producer.index].address,
                    which.blocks[finding.consumer.block].instrs[finding.consumer.index].address, finding.unit);
    return found;
  }

  const std::vector<RegSet>& liveBefore(BlockId id) {
    const auto found = live.find(id);
    if (found != live.end())
      return found->second;
    return live
        .emplace(id, program::liveBefore(program, function, kit.liveness(), id, accum, waves != WholeWaves::unknown))
        .first->second;
  }
  const std::vector<bool>& fullBefore(BlockId id) {
    const auto found = full.find(id);
    return found != full.end() ? found->second : full.emplace(id, exec.fullBefore(id)).first->second;
  }
  bool storedBefore(BlockId id) {
    const auto found = stored.find(id);
    return found != stored.end() ? found->second
                                 : stored.emplace(id, storesBefore(program, function, id)).first->second;
  }
  std::uint64_t addressAt(Place place) const { return program.blocks[place.block].instrs[place.index].address; }
  const isa::Instruction& instAt(Place place) const { return *program.blocks[place.block].instrs[place.index].inst; }

  /// May the load pass the instruction upwards? By what is proved an empty sentence, else the assumption it rests on.
  std::optional<std::string> mayPass(Place load, Place other) {
    const isa::Instruction& passed = instAt(other);
    const bool fromLds = instAt(load).cls == InstClass::lds;
    // A wait for vector memory may be what tells that an LDS-DMA has arrived.
    if (passed.cls == InstClass::waitcnt)
      return ldsDma && fromLds ? std::nullopt : std::optional(std::string());
    if (!memory.mayDepend(load, other))
      return "";
    if (fromLds)
      return std::nullopt;
    // What other waves have stored in front of a barrier is what it is waited for; if nobody has, nothing is missed.
    if (passed.cls == InstClass::barrier && !storedBefore(other.block))
      return "";
    const std::uint64_t from = addressAt(load);
    if (!aliases || from == program::noAddress || !passed.isComplete || passed.cls == InstClass::unknown)
      return std::nullopt;
    if (program::memoryEffect(passed).ordered)
      return aliases->isNeverWritten(from);
    const std::uint64_t store = addressAt(other);
    return store == program::noAddress ? std::nullopt : aliases->mayCross(store, from);
  }

  const program::Program& program;
  const program::Function& function;
  const MoveContext& context;
  WholeWaves waves;
  RegisterKit kit;
  unsigned accum;
  HoistWay way;
  program::MemoryDependence memory;
  program::ExecMask exec;
  std::map<BlockId, std::vector<RegSet>> live;
  std::map<BlockId, std::vector<bool>> full;
  std::map<BlockId, bool> stored;
  std::optional<AliasEvidence> aliases;
  bool ldsDma = false;
  std::size_t size = 0;
  Uncovered uncovered;
};

/// EXEC on the way down from a place.
struct ExecProblem {
  static constexpr program::Direction direction = program::Direction::forward;
  using State = ExecRelation;
  const program::Program& program;
  Place from;
  bool full;

  State initial(BlockId) const { return {}; }
  bool join(State& into, const State& other) const { return into.join(other); }
  void transfer(BlockId id, State& state, program::Solver<ExecProblem>&) const {
    walk(id, state, [](std::size_t, program::Lanes) {});
  }
  template <class F> void walk(BlockId id, State& state, F&& f) const {
    const auto& instrs = program.blocks[id].instrs;
    for (std::size_t i = 0; i < instrs.size(); ++i) {
      if (id == from.block && i == from.index)
        state = ExecRelation::atPoint(full);
      if (state.reached())
        f(i, state.exec());
      state.step(*instrs[i].inst);
    }
  }
};

/// One edited copy of the program: loads go up one after the other.
class Hoister {
 public:
  explicit Hoister(Subject& s) : subject(s), edited(s.program), tags(s.program.blocks.size()) {
    for (const BlockId id : s.function.blocks)
      for (std::size_t i = 0; i < edited.blocks[id].instrs.size(); ++i)
        tags[id].push_back({Place{id, static_cast<std::uint32_t>(i)}, false, false});
  }

  bool hoist(Place original, Reach reach);
  std::optional<Proposal> finish(const std::string& words);
  std::size_t moved() const { return hoisted; }

 private:
  struct Tag {
    std::optional<Place> origin;
    bool hoisted = false; ///< put where it is by this edit
    bool copied = false;  ///< address work that a load has taken along
  };
  /// Registers next to each other that get other ones together.
  struct Renaming {
    RegisterTuple from;
    unsigned to = 0;
  };
  /// Address work that stands at a place already.
  struct Chain {
    std::vector<isa::InstRef> work;
    BlockId block = 0;
    std::vector<Renaming> renamings;
    RegSet renamed; ///< units that are read from the new registers
  };

  const program::Instr& instrAt(Place place) const { return edited.blocks[place.block].instrs[place.index]; }
  const Tag& tagAt(Place place) const { return tags[place.block][place.index]; }

  std::optional<Place> placeOf(Place original) const;
  std::vector<std::size_t> targetsOf(const HoistPath& path, Place load, Reach reach) const;
  bool isWorth(Place to, Place load) const;
  bool tryAt(const HoistPath& path, std::size_t index, Place load);
  bool sameLanes(Place to, Place load, const std::vector<Place>& chain) const;
  bool touchedBetween(const HoistPath& path, Place to, Place load, const RegSet& units) const;
  template <class F> void forCrossed(const HoistPath& path, Place to, Place load, F&& f) const;
  bool renameChain(const std::vector<Place>& chain, Place load, Place to, std::vector<isa::InstRef>& copies,
                   isa::InstRef& moved, std::vector<Renaming>& renamings, RegSet& busy);
  std::optional<isa::InstRef> renamed(const isa::Instruction& inst, const std::vector<Renaming>& renamings,
                                      RegSet& written) const;
  void removeDeadCopies();

  Subject& subject;
  program::Program edited;
  std::vector<std::vector<Tag>> tags;
  RegSet taken; ///< registers given away by this edit
  std::vector<Chain> chains;
  std::size_t hoisted = 0, moreRegisters = 0, borders = 0;
  std::uint64_t begin = program::noAddress, end = 0;
  std::set<std::string> assumptions;
};

std::optional<Place> Hoister::placeOf(Place original) const {
  for (std::size_t i = 0; i < tags[original.block].size(); ++i)
    if (tags[original.block][i].origin == original)
      return Place{original.block, static_cast<std::uint32_t>(i)};
  return std::nullopt;
}

bool Hoister::isWorth(Place to, Place load) const {
  if (to.block != load.block)
    return true;
  const auto& instrs = edited.blocks[to.block].instrs;
  return std::any_of(instrs.begin() + to.index, instrs.begin() + load.index, [](const program::Instr& instr) {
    return instr.inst->cls == InstClass::waitcnt || instr.inst->cls == InstClass::mfma ||
           instr.inst->cls == InstClass::barrier;
  });
}

/// Steps to try, by position in the path, best first.
std::vector<std::size_t> Hoister::targetsOf(const HoistPath& path, Place load, Reach reach) const {
  std::vector<std::size_t> targets;
  if (path.steps.empty())
    return targets;
  const auto inBlock = [&](std::size_t i) { return path.steps[i].place.block; };
  std::size_t last = path.steps.size() - 1;
  if (reach == Reach::above)
    for (std::size_t i = 0, blocks = 0; i + 1 < path.steps.size(); ++i)
      if (inBlock(i + 1) != inBlock(i) && ++blocks == 2) {
        last = i;
        break;
      }
  // The operations that are issued in one go before somebody waits keep their order: the moved load comes behind them.
  const auto behindOthers = [&](std::size_t at) {
    const program::Counting counting = program::countingOf(*instrAt(load).inst);
    const auto& instrs = edited.blocks[inBlock(at)].instrs;
    std::size_t best = at;
    std::size_t i = path.steps[at].place.index;
    for (std::size_t step = at + 1; step-- > 0 && inBlock(step) == inBlock(at);) {
      for (; i < path.steps[step].place.index; ++i) {
        const isa::Instruction& inst = *instrs[i].inst;
        if (inst.cls == InstClass::waitcnt || inst.cls == InstClass::mfma)
          return best;
        const program::Counting other = program::countingOf(inst);
        if ((counting.counts[0] && other.counts[0]) || (counting.counts[1] && other.counts[1]))
          best = step;
      }
    }
    return best;
  };
  const auto add = [&](std::size_t at) {
    const std::size_t to = behindOthers(at);
    for (const std::size_t each : {to, at})
      if (std::ranges::find(targets, each) == targets.end())
        targets.push_back(each);
  };
  add(last);
  // Nearer ones, where EXEC or registers are in the way: block by block, and wait by wait.
  for (std::size_t i = last; i-- > 0 && targets.size() < 12;) {
    const Place here = path.steps[i].place, above = path.steps[i + 1].place;
    if (here.block != above.block ||
        (here.index > 0 && instrAt({here.block, here.index - 1}).inst->cls == InstClass::waitcnt))
      add(i);
  }
  return targets;
}

/// Everything that the load passes on its way from `load` up to `to`.
template <class F> void Hoister::forCrossed(const HoistPath& path, Place to, Place load, F&& f) const {
  // `crossed` goes up from the load's block; side blocks stand in front of the block above them.
  for (const BlockId id : path.crossed) {
    const auto& instrs = edited.blocks[id].instrs;
    const std::size_t first = id == to.block ? to.index : 0;
    const std::size_t past = id == load.block ? load.index : instrs.size();
    for (std::size_t i = first; i < past; ++i)
      f(Place{id, static_cast<std::uint32_t>(i)}, *instrs[i].inst);
    if (id == to.block)
      return;
  }
}

bool Hoister::touchedBetween(const HoistPath& path, Place to, Place load, const RegSet& units) const {
  bool touched = false;
  forCrossed(path, to, load, [&](Place, const isa::Instruction& inst) {
    touched |= (inst.reads(subject.accum) | inst.writes(subject.accum)).intersects(units);
  });
  return touched;
}

bool Hoister::sameLanes(Place to, Place load, const std::vector<Place>& chain) const {
  std::optional<Place> origin;
  for (std::size_t i = to.index; i < tags[to.block].size() && !origin; ++i)
    origin = tags[to.block][i].origin;
  const bool full = origin && origin->block == to.block && subject.fullBefore(to.block)[origin->index];
  ExecProblem problem{edited, to, full};
  program::Solver<ExecProblem> solver(edited, program::reversePostOrder(edited, subject.function), problem);
  solver.run();
  const auto isSame = [&](Place place) {
    ExecRelation state = solver.at(place.block);
    bool same = false;
    problem.walk(place.block, state, [&](std::size_t i, program::Lanes lanes) {
      if (i == place.index)
        same = lanes == program::Lanes::same;
    });
    return same;
  };
  return isSame(load) && std::ranges::all_of(chain, isSame);
}

/// The instruction with what the chain has written renamed, destinations always; `written` grows.
std::optional<isa::InstRef> Hoister::renamed(const isa::Instruction& inst, const std::vector<Renaming>& renamings,
                                             RegSet& written) const {
  std::vector<OperandRename> operands;
  const auto inside = [](const RegisterTuple& inner, const RegisterTuple& outer) {
    return inner.file == outer.file && outer.first <= inner.first &&
           inner.first + inner.count <= outer.first + outer.count;
  };
  for (std::size_t i = 0; i < inst.operands.size(); ++i) {
    const auto tuple = tupleOf(inst.operands[i]);
    if (!tuple)
      continue;
    const auto group = std::ranges::find_if(renamings, [&](const Renaming& r) { return inside(*tuple, r.from); });
    if (group == renamings.end())
      continue;
    const RegSet units = unitsOf(*tuple, subject.accum);
    RegSet known = units;
    known &= written;
    const bool reads = !inst.operands[i].isDef || inst.tiedDest;
    if (reads && known.any() && !(known == units))
      return std::nullopt;
    if (reads && inst.operands[i].isDef && !known.any())
      return std::nullopt; // a destination that goes on from what somebody else wrote
    if (inst.operands[i].isDef || known.any())
      operands.push_back({i, group->to + (tuple->first - group->from.first), tuple->file});
  }
  for (const OperandRename& rename : operands)
    if (inst.operands[rename.operand].isDef)
      written |= unitsOf(*tupleOf(inst.operands[rename.operand]), subject.accum);
  if (operands.empty())
    return &inst;
  auto result = renameOperands(inst, operands, subject.context.codec);
  return result ? std::optional(*result) : std::nullopt;
}

bool Hoister::renameChain(const std::vector<Place>& chain, Place load, Place to, std::vector<isa::InstRef>& copies,
                          isa::InstRef& moved, std::vector<Renaming>& renamings, RegSet& busy) {
  const unsigned accum = subject.accum;
  RegSet written;
  for (const Place place : chain) {
    const isa::Instruction& inst = *instrAt(place).inst;
    RegSet units = inst.writes(accum);
    // Flags come out of the copies as well: nobody may be waiting for their old value.
    for (const unsigned flag : {unsigned{isa::sreg::scc}, unsigned{isa::sreg::vccLo}, unsigned{isa::sreg::vccHi}})
      if (units.test(flag)) {
        if (!tagAt(to).origin || tagAt(to).origin->block != to.block ||
            subject.liveBefore(to.block)[tagAt(to).origin->index].test(flag))
          return false;
        units.reset(flag);
      }
    if (units.test(isa::sreg::execLo) || units.test(isa::sreg::execHi) || units.test(isa::sreg::m0) ||
        units.test(isa::sreg::mode) || units.test(isa::sreg::hwreg))
      return false;
    written |= units;
  }
  std::vector<isa::InstRef> originals;
  for (const Place place : chain)
    originals.push_back(instrAt(place).inst);
  // The same work for the load before, at the same place.
  const auto known = std::ranges::find_if(chains, [&](const Chain& c) {
    return c.block == to.block && c.work == originals && to.index > 0 && tags[to.block][to.index - 1].hoisted;
  });
  if (known != chains.end()) {
    renamings = known->renamings;
    RegSet all = known->renamed;
    const auto result = renamed(*moved, renamings, all);
    if (!result)
      return false;
    moved = *result;
    return true;
  }
  std::vector<RegisterTuple> groups;
  std::map<std::pair<RegisterFile, unsigned>, unsigned> steps;
  const auto note = [&](const isa::Instruction& inst) {
    for (const isa::Operand& operand : inst.operands) {
      auto tuple = tupleOf(operand);
      // The load's own destination is renamed by itself.
      if (!tuple || !unitsOf(*tuple, accum).intersects(written) || (operand.isDef && inst.mayLoad))
        continue;
      for (bool again = true; again;) {
        again = false;
        for (std::size_t g = 0; g < groups.size(); ++g) {
          const RegisterTuple group = groups[g];
          if (group.file != tuple->file || group.first >= tuple->first + tuple->count ||
              tuple->first >= group.first + group.count)
            continue;
          const unsigned past = std::max(group.first + group.count, tuple->first + tuple->count);
          tuple->first = std::min(group.first, tuple->first);
          tuple->count = past - tuple->first;
          groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(g));
          again = true;
          break;
        }
      }
      groups.push_back(*tuple);
    }
  };
  for (const Place place : chain)
    note(*instrAt(place).inst);
  note(*instrAt(load).inst);
  for (const RegisterTuple& group : groups) {
    if (group.file == RegisterFile::agpr)
      return false;
    // Parts keep their alignment if the whole keeps its place modulo that of the largest tuples.
    const unsigned step =
        group.count == 1 ? 1 : std::max(alignmentOf(group.file, std::min(group.count, 4u), subject.kit.target()), 2u);
    const auto fresh = subject.kit.take(group.file, group.count, busy, step, group.first % step);
    if (!fresh)
      return false;
    renamings.push_back({group, fresh->first});
  }
  // What stands beside the chain's results in an operand (half of a descriptor, say) goes along as a copy.
  RegSet sofar;
  for (const Renaming& group : renamings)
    for (unsigned i = 0; i < group.from.count; ++i) {
      const RegisterTuple from{group.from.file, group.from.first + i, 1};
      const RegSet unit = unitsOf(from, accum);
      if (unit.intersects(written))
        continue;
      const bool scalar = from.file == RegisterFile::sgpr;
      const auto copy =
          subject.context.codec.assemble(fmt::format("{} {}, {}", scalar ? "s_mov_b32" : "v_mov_b32_e32",
                                                     registerText({from.file, group.to + i, 1}), registerText(from)));
      if (!copy)
        return false;
      copies.push_back(subject.context.codec.complete(*copy));
      sofar |= unit;
    }
  for (const Place place : chain) {
    const auto copy = renamed(*instrAt(place).inst, renamings, sofar);
    if (!copy)
      return false;
    copies.push_back(*copy);
  }
  const auto result = renamed(*moved, renamings, sofar);
  if (!result)
    return false;
  moved = *result;
  chains.push_back({originals, to.block, renamings, sofar});
  return true;
}

bool Hoister::tryAt(const HoistPath& path, std::size_t index, Place load) {
  const MoveContext& context = subject.context;
  const unsigned accum = subject.accum;
  Place to = path.steps[index].place;
  std::size_t steps = index;
  // What came here before stays in front.
  while (tagAt(to).hoisted) {
    ++to.index;
    if (steps == 0 || to.index >= tags[to.block].size())
      return false;
    while (steps > 0 && path.steps[steps].place != to)
      --steps;
    if (path.steps[steps].place != to)
      return false;
  }
  if (!isWorth(to, load))
    return false;
  std::vector<Place> chain(path.chain.begin(),
                           path.chain.begin() + static_cast<std::ptrdiff_t>(path.steps[steps].chain));
  std::ranges::reverse(chain);
  isa::InstRef moved = instrAt(load).inst;
  bool execChanges = false;
  forCrossed(path, to, load, [&](Place, const isa::Instruction& inst) {
    const RegSet writes = inst.writes(accum);
    execChanges |= writes.test(isa::sreg::execLo) || writes.test(isa::sreg::execHi);
  });
  if (execChanges && !sameLanes(to, load, chain))
    return false;

  const RegisterTuple destination = *tupleOf(moved->operands[0]);
  RegSet units = moved->writes(accum);
  if (!(units == unitsOf(destination, accum)))
    return false;
  std::vector<BlockId> blocks;
  for (const BlockId id : path.crossed) {
    blocks.push_back(id);
    if (id == to.block)
      break;
  }
  RegSet inFlight;
  if (const Pending pending(edited, subject.function, accum); true)
    inFlight = pending.before(to.block)[to.index];
  const bool tied = moved->tiedDest || moved->reads(accum).intersects(units);
  bool keeps = !touchedBetween(path, to, load, units) && !inFlight.intersects(units);
  std::optional<LoadUses> uses;
  if (!keeps) {
    if (moved->tiedDest)
      return false;
    const auto origin = tagAt(load).origin;
    const bool full = isScalar(*moved) || (origin && subject.fullBefore(origin->block)[origin->index]);
    uses = usesOfLoad(edited, subject.function, load, to, units, full, accum);
    if (!uses)
      return false;
    blocks.insert(blocks.end(), uses->blocks.begin(), uses->blocks.end());
  } else if (tied && !chain.empty()) {
    return false;
  }
  RegSet busy = subject.kit.busyOver(blocks) | taken | inFlight;
  const RegSet busyBefore = busy;
  std::vector<isa::InstRef> copies;
  std::vector<Renaming> renamings;
  // Renames of the load's sources must not touch its destination, which may name the same registers.
  const std::size_t chainsBefore = chains.size();
  const auto undo = [&] {
    chains.resize(chainsBefore);
    return false;
  };
  if (!chain.empty() && !renameChain(chain, load, to, copies, moved, renamings, busy))
    return undo();
  RegisterTuple fresh = destination;
  if (!keeps) {
    const auto other = subject.kit.take(destination.file, destination.count, busy);
    if (!other)
      return undo();
    fresh = *other;
  }
  if (*tupleOf(moved->operands[0]) != fresh) {
    const OperandRename rename{0, fresh.first, fresh.file};
    const auto result = renameOperands(*moved, {&rename, 1}, context.codec);
    if (!result)
      return undo();
    moved = *result;
  }
  std::vector<std::pair<Place, isa::InstRef>> readers;
  if (uses) {
    std::map<Place, std::vector<OperandRename>> byPlace;
    for (const auto& use : uses->operands) {
      const auto tuple = tupleOf(instrAt(use.place).inst->operands[use.operand]);
      byPlace[use.place].push_back({use.operand, fresh.first + (tuple->first - destination.first), fresh.file});
    }
    for (const auto& [place, renames] : byPlace) {
      const auto result = renameOperands(*instrAt(place).inst, renames, context.codec);
      if (!result)
        return undo();
      readers.emplace_back(place, *result);
    }
  }
  std::set<std::string> rests;
  forCrossed(path, to, load, [&](Place place, const isa::Instruction& inst) {
    const bool matters = program::memoryEffect(inst).any() || inst.cls == InstClass::waitcnt;
    if (const auto& origin = tagAt(place).origin; matters && origin)
      if (const auto sentence = subject.mayPass(*tagAt(load).origin, *origin); sentence && !sentence->empty())
        rests.insert(*sentence);
  });
  program::Program backup = edited;
  for (const auto counter : {program::Counter::vm, program::Counter::lgkm})
    if (program::countingOf(*moved).counts[static_cast<std::size_t>(counter)] &&
        !recountWaits(edited, subject.function, load, to, counter, context.codec)) {
      edited = std::move(backup);
      return undo();
    }
  for (const auto& [place, inst] : readers)
    edited.blocks[place.block].instrs[place.index].inst = inst;
  if (!copies.empty())
    for (const Place place : chain)
      tags[place.block][place.index].copied = true;
  program::Instr instr = instrAt(load);
  instr.inst = moved;
  Tag tag = tagAt(load);
  tag.hoisted = true;
  edited.blocks[load.block].instrs.erase(edited.blocks[load.block].instrs.begin() + load.index);
  tags[load.block].erase(tags[load.block].begin() + load.index);
  auto& instrs = edited.blocks[to.block].instrs;
  auto& marks = tags[to.block];
  instrs.insert(instrs.begin() + to.index, instr);
  marks.insert(marks.begin() + to.index, tag);
  for (std::size_t i = copies.size(); i-- > 0;) {
    program::Instr copy;
    copy.inst = copies[i];
    instrs.insert(instrs.begin() + to.index, copy);
    marks.insert(marks.begin() + to.index, Tag{std::nullopt, true, false});
  }
  RegSet now = busy;
  now.remove(busyBefore);
  taken |= now;
  assumptions.merge(rests);
  ++hoisted;
  borders += to.block != load.block;
  moreRegisters += !keeps;
  for (const BlockId id : {to.block, load.block}) {
    const auto [b, e] = addressRange(subject.program.blocks[id]);
    begin = std::min(begin, b);
    end = std::max(end, e);
  }
  return true;
}

bool Hoister::hoist(Place original, Reach reach) {
  const auto load = placeOf(original);
  if (!load)
    return false;
  const Pending pending(edited, subject.function, subject.accum);
  HoistRules rules;
  // The proof compares blocks and refutes one whose load another block has issued: such a candidate is never accepted.
  rules.overBlocks = false;
  rules.mayCross = [&](Place place) {
    const auto& origin = tagAt(place).origin;
    return origin && subject.mayPass(original, *origin).has_value();
  };
  const HoistPath path = hoistPathOf(edited, subject.way, pending, *load, subject.accum, rules);
  for (const std::size_t index : targetsOf(path, *load, reach))
    if (tryAt(path, index, *load))
      return true;
  return false;
}

/// Address work that nobody reads any more where it stood.
void Hoister::removeDeadCopies() {
  const unsigned accum = subject.accum;
  const bool whole = subject.waves != WholeWaves::unknown;
  const program::Liveness live = program::liveness(edited, *kernelFunction(edited, subject.context), accum, whole);
  for (const BlockId id : subject.function.blocks) {
    if (std::ranges::none_of(tags[id], &Tag::copied))
      continue;
    auto& instrs = edited.blocks[id].instrs;
    RegSet after = live.liveOut[id];
    for (std::size_t i = instrs.size(); i-- > 0;) {
      const isa::Instruction& inst = *instrs[i].inst;
      if (tags[id][i].copied && isPureAlu(inst) && !inst.writes(accum).intersects(after)) {
        instrs.erase(instrs.begin() + static_cast<std::ptrdiff_t>(i));
        tags[id].erase(tags[id].begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      after.remove(inst.kills(accum));
      after |= inst.reads(accum);
    }
  }
}

std::optional<Proposal> Hoister::finish(const std::string& words) {
  edited.relink();
  removeDeadCopies();
  const MoveContext grown = subject.kit.editedContext();
  const program::Function* function = kernelFunction(edited, subject.context);
  std::size_t weakened = 0;
  if (!function || !weakenWaits(edited, *function, grown, weakened) ||
      !std::ranges::includes(subject.uncovered, subject.uncoveredIn(edited, *function)) ||
      !repairWaitStates(subject.program, edited, grown))
    return std::nullopt;
  Proposal proposal;
  proposal.program = std::move(edited);
  proposal.reason = fmt::format("{} loads issued where their addresses are ready, {}: {} over block borders, {} into "
                                "registers of their own",
                                hoisted, words, borders, moreRegisters);
  proposal.begin = begin;
  proposal.end = end;
  if (subject.waves == WholeWaves::assumed)
    proposal.assumptions.emplace_back(wholeWavesAssumption);
  proposal.assumptions.insert(proposal.assumptions.end(), assumptions.begin(), assumptions.end());
  return proposal;
}

/// Loads of the hot blocks and of those that lead to them, in program order.
std::vector<Place> loadsOf(Subject& subject) {
  std::set<BlockId> blocks;
  for (const BlockId id : hotBlocks(subject.function, subject.context, leastShare)) {
    blocks.insert(id);
    BlockId below = id;
    for (unsigned up = 0; up < 3; ++up) {
      const auto above = subject.way.nextAbove(below);
      if (!above || !subject.way.between(*above, id))
        break;
      blocks.insert(below = *above);
    }
  }
  std::vector<Place> loads;
  for (const BlockId id : program::reversePostOrder(subject.program, subject.function))
    if (blocks.contains(id))
      for (std::size_t i = 0; i < subject.program.blocks[id].instrs.size(); ++i)
        if (isCandidate(*subject.program.blocks[id].instrs[i].inst))
          loads.push_back({id, static_cast<std::uint32_t>(i)});
  return loads;
}

std::vector<Choice> choicesOf(const Subject& subject, const std::vector<Place>& loads) {
  const auto some = [&](auto&& wanted) {
    std::vector<Place> chosen;
    std::ranges::copy_if(loads, std::back_inserter(chosen), [&](Place place) { return wanted(subject.instAt(place)); });
    return chosen;
  };
  const auto isLds = [](const isa::Instruction& inst) { return inst.cls == InstClass::lds; };
  const std::vector<Place> lds = some(isLds), beyond = some([&](const auto& inst) { return !isLds(inst); });
  std::vector<Choice> choices;
  const auto add = [&](const std::vector<Place>& chosen, Reach reach, std::string words) {
    const bool known = std::ranges::any_of(
        choices, [&](const Choice& choice) { return choice.loads == chosen && choice.reach == reach; });
    if (!chosen.empty() && !known)
      choices.push_back({chosen, reach, std::move(words)});
  };
  for (const auto& [reach, words] :
       {std::pair(Reach::far, "as far up as they may"), std::pair(Reach::above, "a block up")}) {
    add(loads, reach, words);
    add(beyond, reach, words);
    add(lds, reach, words);
  }
  for (std::size_t i = 0; i < loads.size() && i < mostSingles * (1 + subject.context.effort); ++i)
    add({loads[i]}, Reach::far, "as far up as it may");
  return choices;
}

class HoistLoadsMove final : public Move {
 public:
  std::string_view name() const override { return "hoist-loads"; }
  std::string_view purpose() const override {
    return "issue loads where their addresses are ready, over waits, uses and block borders";
  }

  bool growsWithEffort() const override { return true; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    const program::Function* function = kernelFunction(program, context);
    if (!function)
      return proposals;
    Subject subject(program, *function, context);
    if (!subject.kit.isKnown())
      return proposals;
    std::vector<Place> loads = loadsOf(subject);
    loads.resize(std::min(loads.size(), mostLoads));
    std::size_t work = 0;
    std::set<std::vector<std::uint64_t>> seen;
    for (const Choice& choice : choicesOf(subject, loads)) {
      Hoister hoister(subject);
      for (const Place load : choice.loads)
        if ((work += subject.size) < mostWork)
          hoister.hoist(load, choice.reach);
      if (hoister.moved() == 0)
        continue;
      if (auto proposal = hoister.finish(choice.words);
          proposal && seen.insert(orderOf(proposal->program, *function)).second)
        proposals.push_back(std::move(*proposal));
    }
    return proposals;
  }

 private:
  static std::vector<std::uint64_t> orderOf(const program::Program& program, const program::Function& function) {
    std::vector<std::uint64_t> order;
    for (const BlockId id : function.blocks)
      for (const program::Instr& instr : program.blocks[id].instrs)
        order.push_back(reinterpret_cast<std::uintptr_t>(instr.inst));
    return order;
  }
};

} // namespace

const Move& hoistLoadsMove() {
  static const HoistLoadsMove move;
  return move;
}

} // namespace asmevo::optimize
