#include "optimize/edit/loop_ahead.h"

#include "optimize/edit/waits.h"
#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/in_flight.h"
#include "program/analysis/wait_lint.h"

#include <algorithm>

namespace asmevo::optimize {

using program::BlockId;
using program::Instr;

LoopAhead::LoopAhead(const program::Program& p, const MoveContext& c, const RegisterKit& k, const BlockLoop& l,
                     LoopSlice s, unsigned n)
    : program(p), context(c), kit(k), loop(l), slice(std::move(s)), sets(n), accum(k.accumOffset()),
      body(p.blocks[l.block].instrs), exec(p, *kernelFunction(p, c), k.waves() != WholeWaves::unknown),
      full(exec.fullBefore(l.block)) {}

void LoopAhead::addTo(std::vector<Group>& which, const RegisterTuple& tuple) const {
  const unsigned step = alignmentOf(tuple.file, tuple.count, context.object.target());
  Group group{tuple.file, tuple.first, tuple.first + tuple.count, step, {}};
  for (bool merged = true; merged;) {
    merged = false;
    for (auto it = which.begin(); it != which.end(); ++it)
      if (it->file == group.file && it->first < group.end && group.first < it->end) {
        group = {group.file,
                 std::min(group.first, it->first),
                 std::max(group.end, it->end),
                 std::max(group.step, it->step),
                 {}};
        which.erase(it);
        merged = true;
        break;
      }
  }
  which.push_back(group);
}

const LoopAhead::Group* LoopAhead::groupOf(const std::vector<Group>& which, const RegisterTuple& tuple) {
  const auto found = std::ranges::find_if(which, [&](const Group& group) { return group.contains(tuple); });
  return found == which.end() ? nullptr : &*found;
}

bool LoopAhead::prepare(isa::RegSet& busy) {
  return findUses() && makeGroups() && allocate(groups, 1, busy) && allocate(brought, sets, busy);
}

bool LoopAhead::allocate(std::vector<Group>& which, unsigned copies, isa::RegSet& busy) const {
  for (Group& group : which)
    for (unsigned copy = 0; copy < copies; ++copy) {
      const auto tuple = kit.take(group.file, group.end - group.first, busy, group.step, group.first % group.step);
      if (!tuple)
        return false;
      group.fresh.push_back(tuple->first);
    }
  return true;
}

namespace {

/// Reads lanes that EXEC may have turned off.
bool readsAcrossLanes(const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  return inst.cls == isa::InstClass::mfma || inst.mods.dpp != isa::DppCtrl::none || base.starts_with("v_readlane") ||
         base.starts_with("v_readfirstlane") || base.starts_with("v_writelane") || base.starts_with("v_permlane") ||
         base.starts_with("v_swap");
}

/// Of a source operand, what its half selections take: both dwords, or one of them (packed f32).
isa::RegSet selected(const isa::Instruction& inst, std::size_t operand, const RegisterTuple& tuple, unsigned accum) {
  const std::string_view base = inst.base;
  const bool packed = base == "v_pk_fma_f32" || base == "v_pk_mul_f32" || base == "v_pk_add_f32";
  if (!packed || tuple.count != 2 || operand == 0)
    return unitsOf(tuple, accum);
  const bool low = ((inst.mods.opSel >> (operand - 1)) & 1) != 0,
             high = ((inst.mods.opSelHi >> (operand - 1)) & 1) != 0;
  return low == high ? unitsOf({tuple.file, tuple.first + (low ? 1U : 0U), 1}, accum) : unitsOf(tuple, accum);
}

/// Turns lanes off and none on.
bool narrowsExec(const isa::Instruction& inst) {
  const auto isExec = [&](std::size_t o) {
    return o < inst.operands.size() && inst.operands[o].kind == isa::OperandKind::sgpr &&
           inst.operands[o].index == isa::sreg::execLo;
  };
  return inst.base == "s_and_saveexec_b64" || inst.base == "s_andn1_saveexec_b64" ||
         ((inst.base == "s_and_b64" || inst.base == "s_andn2_b64") && isExec(0) && isExec(1));
}

} // namespace

/// May one of these registers be read behind the loop as the loop left it? A write covers the reads of the lanes that
/// it was made in: until EXEC gets others, or all if it was made in all lanes.
bool LoopAhead::isReadBehind(const isa::RegSet& units) const {
  struct Covered {
    isa::RegSet lanes, all; ///< in the lanes that are on now, and in all
    bool operator==(const Covered&) const = default;
  };
  std::map<BlockId, Covered> covered{{loop.exit, {}}};
  std::vector<BlockId> queue = {loop.exit};
  while (!queue.empty()) {
    const BlockId id = queue.back();
    queue.pop_back();
    if (program.blocks[id].opaque)
      return true;
    Covered now = covered.at(id);
    const std::vector<bool> inAll = exec.fullBefore(id);
    for (std::size_t i = 0; i < program.blocks[id].instrs.size(); ++i) {
      const isa::Instruction& inst = *program.blocks[id].instrs[i].inst;
      isa::RegSet open = inst.reads(accum) & units;
      if (open.remove(readsAcrossLanes(inst) && !inAll[i] ? now.all : now.lanes).any() || inst.leavesFunction() ||
          inst.cls == isa::InstClass::unknown)
        return true;
      const isa::RegSet writes = inst.writes(accum);
      if ((writes.test(isa::sreg::execLo) || writes.test(isa::sreg::execHi)) && !narrowsExec(inst))
        now.lanes = now.all;
      now.lanes |= writes & units;
      if (inAll[i])
        now.all |= writes & units;
    }
    for (const BlockId next : program.blocks[id].successors) {
      if (next == loop.block)
        continue;
      const auto [it, fresh] = covered.emplace(next, now);
      const Covered both{it->second.lanes & now.lanes, it->second.all & now.all};
      if (!fresh && both == it->second)
        continue;
      it->second = both;
      queue.push_back(next);
    }
  }
  return false;
}

bool LoopAhead::findUses() {
  for (const std::size_t load : slice.loads) {
    const isa::Instruction& inst = *body[load].inst;
    const auto destination = inst.operands.empty() ? std::nullopt : tupleOf(inst.operands.front());
    if (!destination || !inst.operands.front().isDef || destination->file == RegisterFile::sgpr || inst.mods.tfe)
      return false;
    isa::RegSet tracked = unitsOf(*destination, accum);
    if (inst.reads(accum).intersects(tracked)) { // its own address: read when it is issued, as before
      isa::RegSet address;
      for (std::size_t o = 1; o < inst.operands.size(); ++o)
        if (const auto tuple = tupleOf(inst.operands[o]))
          address |= unitsOf(*tuple, accum);
      isa::RegSet implicit = inst.reads(accum);
      if (implicit.remove(address).intersects(tracked))
        return false;
    }
    addTo(brought, *destination);
    destinations |= tracked;
    for (std::size_t i = load + 1; i < loop.length && tracked.any(); ++i)
      if (!followUses(i, tracked))
        return false;
    // What is left at the end of the body: into the next iteration, until that gives its lanes something else, and
    // behind the loop.
    isa::RegSet carried = tracked;
    for (std::size_t i = 0; i < load; ++i) {
      const isa::Instruction& other = *body[i].inst;
      const bool seesOff = readsAcrossLanes(other) && !full[i];
      if (other.reads(accum).intersects(seesOff ? tracked : carried))
        return false;
      carried.remove(other.writes(accum));
    }
    if (isReadBehind(tracked))
      return false;
  }
  // Those of the slice that use what is loaded cannot do with copies.
  for (const auto& [i, beside] : strangers)
    if (beside.any() && (slice.work.contains(i) || slice.loads.contains(i)))
      return false;
  // A register beside what was loaded, in a tuple of both, is copied to its place there: no load may want that place.
  return std::ranges::none_of(strangers, [&](const auto& entry) { return entry.second.intersects(destinations); });
}

/// Operands of instruction `i` that read `tracked`; what it writes is tracked no more.
bool LoopAhead::followUses(std::size_t i, isa::RegSet& tracked) {
  const isa::Instruction& inst = *body[i].inst;
  isa::RegSet unexplained = inst.reads(accum) & tracked;
  for (std::size_t o = 0; o < inst.operands.size(); ++o) {
    const auto tuple = tupleOf(inst.operands[o]);
    if (!tuple || !unitsOf(*tuple, accum).intersects(tracked) || inst.operands[o].isDef)
      continue;
    const isa::RegSet units = unitsOf(*tuple, accum);
    addTo(brought, *tuple);
    uses[i].insert(o);
    mine[i] |= units & tracked;
    unexplained.remove(units);
    strangers[i] |= selected(inst, o, *tuple, accum);
  }
  if (const auto found = strangers.find(i); found != strangers.end())
    found->second.remove(mine[i]);
  // What lanes that are off hold is another thing in the new registers.
  if (const auto found = uses.find(i); found != uses.end() && readsAcrossLanes(inst) && !full[i])
    return false;
  if (unexplained.any()) // implicitly, or a destination whose old value counts
    return false;
  tracked.remove(inst.writes(accum));
  return true;
}

bool LoopAhead::makeGroups() {
  isa::RegSet written;
  for (const std::size_t i : slice.work)
    for (const isa::Operand& operand : body[i].inst->operands)
      if (operand.isDef)
        if (const auto tuple = tupleOf(operand)) {
          if (tuple->file == RegisterFile::agpr)
            return false;
          written |= unitsOf(*tuple, accum);
        }
  // Grow until every operand lies wholly in one group or outside all.
  std::vector<RegisterTuple> operands;
  for (const auto* list : {&slice.work, &slice.loads})
    for (const std::size_t i : *list) {
      const auto loaded = uses.find(i);
      for (std::size_t o = slice.loads.contains(i) ? 1 : 0; o < body[i].inst->operands.size(); ++o)
        if (const auto tuple = tupleOf(body[i].inst->operands[o]);
            tuple && tuple->file != RegisterFile::agpr && (loaded == uses.end() || !loaded->second.contains(o)))
          operands.push_back(*tuple);
    }
  isa::RegSet members = written;
  for (bool grows = true; grows;) {
    grows = false;
    for (const RegisterTuple& tuple : operands) {
      const isa::RegSet units = unitsOf(tuple, accum);
      isa::RegSet rest = units;
      if (units.intersects(members) && rest.remove(members).any()) {
        members |= units;
        grows = true;
      }
    }
  }
  for (const RegisterTuple& tuple : operands)
    if (unitsOf(tuple, accum).intersects(members))
      addTo(groups, tuple);
  // Unused results still need a place.
  for (const std::size_t i : slice.work)
    for (const isa::Operand& operand : body[i].inst->operands)
      if (const auto tuple = tupleOf(operand); tuple && operand.isDef && !groupOf(groups, *tuple))
        return false;
  return true;
}

bool LoopAhead::assemble(std::vector<Instr>& into, const std::string& text) const {
  auto inst = context.codec.assemble(text);
  if (!inst)
    return false;
  Instr instr;
  instr.inst = context.codec.complete(*inst);
  into.push_back(instr);
  return true;
}

bool LoopAhead::branch(std::vector<Instr>& into, const char* mnemonic, BlockId target) const {
  if (!assemble(into, fmt::format("{} 0", mnemonic)))
    return false;
  into.back().target = target;
  return true;
}

bool LoopAhead::enter(std::vector<Instr>& into) const {
  if (!assemble(into, "s_waitcnt vmcnt(0) lgkmcnt(0)"))
    return false;
  for (const Group& group : groups)
    for (unsigned r = group.first; r < group.end; ++r) {
      const RegisterTuple one{group.file, r, 1};
      if (!slice.inputs.intersects(unitsOf(one, accum)))
        continue;
      const char* move = group.file == RegisterFile::sgpr ? "s_mov_b32" : "v_mov_b32_e32";
      if (!assemble(into, fmt::format("{} {}, {}", move, registerText({group.file, placeOf(group, one, 0), 1}),
                                      registerText(one))))
        return false;
    }
  return true;
}

std::string LoopAhead::leavingText() const {
  const RegisterTuple mask{RegisterFile::sgpr, *loop.leaving, 2};
  const Group* group = groupOf(groups, mask);
  return registerText(group ? RegisterTuple{RegisterFile::sgpr, placeOf(*group, mask, 0), 2} : mask);
}

/// Nothing behind it in the slice writes what it reads: its registers still hold its address at the end of the slice.
bool LoopAhead::isLate(std::size_t load) const {
  const isa::RegSet reads = body[load].inst->reads(accum);
  return std::none_of(slice.work.upper_bound(load), slice.work.end(),
                      [&](std::size_t i) { return body[i].inst->writes(accum).intersects(reads); });
}

bool LoopAhead::aheadOne(std::vector<Instr>& into, std::size_t i, unsigned set) const {
  const isa::Instruction& inst = *body[i].inst;
  const bool isLoad = slice.loads.contains(i);
  std::vector<OperandRename> renames;
  for (std::size_t o = 0; o < inst.operands.size(); ++o) {
    const auto tuple = tupleOf(inst.operands[o]);
    if (!tuple)
      continue;
    const auto loaded = uses.find(i);
    if ((isLoad && o == 0) || (loaded != uses.end() && loaded->second.contains(o)))
      renames.push_back({o, placeOf(*groupOf(brought, *tuple), *tuple, set), tuple->file});
    else if (const Group* group = groupOf(groups, *tuple))
      renames.push_back({o, placeOf(*group, *tuple, 0), tuple->file});
  }
  auto renamed = renameOperands(inst, renames, context.codec);
  if (!renamed)
    return false;
  Instr instr;
  instr.inst = *renamed;
  into.push_back(instr);
  return true;
}

bool LoopAhead::ahead(std::vector<Instr>& into, unsigned set, bool withLate) const {
  std::set<std::size_t> order = slice.work;
  for (const std::size_t load : slice.loads)
    if (withLate || !isLate(load))
      order.insert(load);
  for (const std::size_t i : slice.second)
    order.erase(i);
  return std::ranges::all_of(order, [&](std::size_t i) { return aheadOne(into, i, set); }) &&
         (!loop.testsVcc || assemble(into, "s_cmp_lg_u64 vcc, 0"));
}

bool LoopAhead::second(std::vector<Instr>& into, unsigned set, std::size_t inFlight) const {
  return assemble(into, fmt::format("s_waitcnt vmcnt({})", std::min<std::size_t>(inFlight, 62))) &&
         std::ranges::all_of(slice.second, [&](std::size_t i) { return aheadOne(into, i, set); });
}

std::vector<std::size_t> LoopAhead::placesForSecond() const {
  isa::RegSet flags;
  for (const std::size_t i : slice.second)
    for (const unsigned unit : {unsigned{isa::sreg::scc}, unsigned{isa::sreg::vccLo}, unsigned{isa::sreg::vccHi}})
      if (body[i].inst->writes(accum).test(unit))
        flags.set(unit);
  const auto live = program::liveBefore(program, *kernelFunction(program, context), kit.liveness(), loop.block, accum);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < loop.length; ++i)
    if (!live[i].intersects(flags))
      places.push_back(i);
  return places;
}

std::optional<TurnWaits> LoopAhead::turnWaits(const Next& next) const {
  std::vector<TurnWaits::Operation> operations;
  for (std::size_t i = 0; i < loop.length; ++i) {
    const program::Counting counting = program::countingOf(*body[i].inst);
    constexpr auto vm = static_cast<std::size_t>(program::Counter::vm);
    if (!counting.counts[vm])
      continue;
    if (!counting.inOrder[vm])
      return std::nullopt;
    const bool ahead = slice.loads.contains(i), isSecond = slice.second.contains(i);
    const std::size_t early = isSecond ? next.secondAt : next.withLate || !isLate(i) ? 0 : i;
    operations.push_back({i, ahead ? early : i, ahead, isSecond});
  }
  return TurnWaits(std::move(operations));
}

bool LoopAhead::iteration(std::vector<Instr>& into, unsigned set, bool keepsAddresses, std::optional<Next> next) const {
  const auto counted = next ? turnWaits(*next) : std::nullopt;
  if (next && hasSecond() && (!counted || !next->withLate))
    return false;
  std::size_t others = 0; // of vector memory, behind the loads at the start
  for (std::size_t i = 0; i < loop.length; ++i) {
    if (next && hasSecond() && i == next->secondAt && !second(into, next->set, others))
      return false;
    if (program::countingOf(*body[i].inst).counts[static_cast<std::size_t>(program::Counter::vm)] &&
        !slice.loads.contains(i))
      ++others;
    if (slice.loads.contains(i)) {
      if (next && !next->withLate && isLate(i) && !aheadOne(into, i, next->set))
        return false;
      continue;
    }
    Instr instr = body[i];
    if (!keepsAddresses)
      instr.address = program::noAddress;
    const isa::Instruction& inst = *instr.inst;
    if (inst.cls == isa::InstClass::waitcnt && inst.base == "s_waitcnt") {
      isa::WaitCount wait = inst.waitCount();
      if (wait.vm < 63)
        wait.vm = counted ? static_cast<std::uint8_t>(std::min(63U, counted->count(i, wait.vm))) : std::uint8_t{0};
      auto changed = context.codec.assemble(waitText(wait));
      if (!changed)
        return false;
      instr.inst = context.codec.complete(*changed);
    }
    if (const auto found = uses.find(i); found != uses.end()) {
      std::vector<OperandRename> renames;
      for (const std::size_t operand : found->second) {
        const auto tuple = tupleOf(inst.operands[operand]);
        renames.push_back({operand, placeOf(*groupOf(brought, *tuple), *tuple, set), tuple->file});
        for (unsigned d = 0; d < tuple->count; ++d)
          if (const RegisterTuple one{tuple->file, tuple->first + d, 1};
              unitsOf(one, accum).intersects(strangers.at(i)) &&
              !assemble(into, fmt::format("v_mov_b32_e32 {}, {}",
                                          registerText({one.file, placeOf(*groupOf(brought, one), one, set), 1}),
                                          registerText(one))))
            return false;
      }
      auto renamed = renameOperands(inst, renames, context.codec);
      if (!renamed || (!counted && !assemble(into, "s_waitcnt vmcnt(0)")))
        return false;
      instr.inst = *renamed;
    }
    into.push_back(instr);
  }
  return true;
}

void LoopAhead::insertBlocks(program::Program& edited, BlockId count) const {
  const BlockId at = loop.block;
  const std::size_t section = program.blocks[at].section;
  for (BlockId i = 0; i < count; ++i)
    edited.insertBlock(at, section);
  for (program::Block& block : edited.blocks)
    for (Instr& instr : block.instrs)
      if (instr.target == at + count)
        instr.target = at;
  edited.blocks[at + count].instrs.clear();
}

bool LoopAhead::finish(program::Program& edited) const {
  return settle(program, edited, kit.editedContext(), true);
}

bool clobbersFlags(const program::Program& program, const RegisterKit& kit, const BlockLoop& loop,
                   const LoopSlice& slice) {
  isa::RegSet flags;
  flags.set(isa::sreg::scc);
  for (const std::size_t i : slice.work)
    for (const unsigned unit : {unsigned{isa::sreg::vccLo}, unsigned{isa::sreg::vccHi}})
      if (program.blocks[loop.block].instrs[i].inst->writes(kit.accumOffset()).test(unit))
        flags.set(unit);
  return kit.liveness().liveIn[loop.block].intersects(flags) || kit.liveness().liveIn[loop.exit].intersects(flags);
}

namespace {

/// `throughLoads`: those whose addresses come from others, which are not chosen with them.
std::vector<std::set<std::size_t>> loadChoices(const program::Program& program, const BlockLoop& loop,
                                               unsigned accumOffset, std::size_t most, bool throughLoads) {
  const auto& body = program.blocks[loop.block].instrs;
  std::set<std::size_t> all;
  std::map<unsigned, std::set<std::size_t>, std::greater<>> bySize;
  for (std::size_t i = 0; i < loop.length; ++i) {
    const isa::Instruction& inst = *body[i].inst;
    if (!inst.isVectorMemory() || !inst.mayLoad || inst.cls == isa::InstClass::scratch)
      continue;
    const auto slice = sliceOf(program, loop, {i}, accumOffset, throughLoads);
    if (!slice || (throughLoads && !slice->second.contains(i)))
      continue;
    all.insert(i);
    bySize[inst.operands.empty() ? 0 : inst.operands.front().dwords].insert(i);
  }
  std::vector<std::set<std::size_t>> list;
  const auto add = [&](std::set<std::size_t> loads) {
    if (!loads.empty() && list.size() < most && std::ranges::find(list, loads) == list.end())
      list.push_back(std::move(loads));
  };
  add(all);
  for (const auto& [size, loads] : bySize)
    add(loads);
  for (const std::size_t load : all)
    add({load});
  return list;
}

} // namespace

void proposeAhead(const program::Program& program, const MoveContext& context, std::size_t mostChoices,
                  const std::function<std::vector<Proposal>(const AheadChoice&)>& propose,
                  std::vector<Proposal>& proposals, bool throughLoads) {
  const program::Function* function = kernelFunction(program, context);
  if (!function)
    return;
  const WholeWaves waves = wholeWavesOf(context);
  const RegisterKit kit(program, context, waves);
  if (!kit.isKnown())
    return;
  for (const BlockId id : hotBlocks(*function, context, 0.02)) {
    const auto loop = blockLoopAt(program, *function, id, kit.accumOffset());
    if (!loop)
      continue;
    for (const std::set<std::size_t>& loads :
         loadChoices(program, *loop, kit.accumOffset(), mostChoices, throughLoads)) {
      const auto slice = sliceOf(program, *loop, loads, kit.accumOffset(), throughLoads);
      if (!slice || clobbersFlags(program, kit, *loop, *slice))
        continue;
      const BlockId blocks[] = {id};
      for (Proposal& proposal : propose({kit, *loop, *slice, kit.busyOver(blocks)})) {
        std::tie(proposal.begin, proposal.end) = addressRange(program.blocks[id]);
        if (waves == WholeWaves::assumed)
          proposal.assumptions.emplace_back(wholeWavesAssumption);
        proposals.push_back(std::move(proposal));
      }
    }
  }
}

} // namespace asmevo::optimize
