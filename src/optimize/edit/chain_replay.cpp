#include "optimize/edit/chain_replay.h"

#include "optimize/edit/loop_slice.h"
#include "program/analysis/liveness.h"

#include <algorithm>

namespace asmevo::optimize {

using isa::InstClass;
using isa::RegSet;
using program::Instr;

namespace {

RegSet unitsFrom(std::initializer_list<unsigned> units) {
  RegSet set;
  for (const unsigned unit : units)
    set.set(unit);
  return set;
}

const RegSet& execUnits() {
  static const RegSet units = unitsFrom({isa::sreg::execLo, isa::sreg::execHi});
  return units;
}

const RegSet& vccUnits() {
  static const RegSet units = unitsFrom({isa::sreg::vccLo, isa::sreg::vccHi});
  return units;
}

/// Acts on lanes, or reads which are on.
bool sees(const isa::Instruction& inst, unsigned accum) {
  return inst.cls != InstClass::salu || inst.reads(accum).intersects(execUnits());
}

bool isSimpleScalarLoad(const isa::Instruction& inst) {
  const auto isNumber = [](const isa::Operand& operand) { return operand.kind == isa::OperandKind::imm; };
  const auto base = inst.operands.size() == 3 ? tupleOf(inst.operands[1]) : std::nullopt;
  return (inst.base == "s_load_dword" || inst.base == "s_load_dwordx2" || inst.base == "s_load_dwordx4") && base &&
         base->count == 2 && tupleOf(inst.operands[0]) && isNumber(inst.operands[2]) && !inst.mods.sc0 &&
         inst.operands[2].imm >= -4096 && inst.operands[2].imm < 4096 && inst.operands[2].imm % 4 == 0;
}

} // namespace

ChainReplay::ChainReplay(const program::Program& p, const MoveContext& c, const RegisterKit& k, const BlockChain& ch,
                         std::vector<bool> f)
    : program(p), context(c), kit(k), chain(ch), full(std::move(f)), accum(k.accumOffset()) {}

bool ChainReplay::canIssueAhead(std::size_t load) const {
  const isa::Instruction& inst = *chain.steps[load].inst;
  if (inst.cls == InstClass::smem)
    return isSimpleScalarLoad(inst) && full[load];
  const bool loads = (inst.cls == InstClass::vmem || inst.cls == InstClass::global) && inst.mayLoad && !inst.mayStore &&
                     !inst.isAtomic() && !inst.isLdsDma() && !inst.mods.tfe && !inst.mods.sc0 && !inst.mods.sc1;
  const auto destination = loads && !inst.operands.empty() ? tupleOf(inst.operands.front()) : std::nullopt;
  if (!destination || !inst.operands.front().isDef || destination->file != RegisterFile::vgpr)
    return false;
  RegSet named; // of the address: what is read beside it is the destination's old value
  for (std::size_t o = 1; o < inst.operands.size(); ++o)
    if (const auto tuple = tupleOf(inst.operands[o]))
      named |= unitsOf(*tuple, accum);
  RegSet rest = inst.reads(accum);
  return !rest.remove(named).intersects(unitsOf(*destination, accum));
}

std::optional<ReplaySlice> ChainReplay::sliceOf(std::size_t load, std::size_t place, bool barriersOrder) const {
  const ChainStep &at = chain.steps[load], &from = chain.steps[place];
  if (load < place || !canIssueAhead(load) || !chain.lanesWithin(at.lanes, from.lanes) ||
      !chain.guardWithin(at.guard, from.guard))
    return std::nullopt;
  ReplaySlice slice;
  slice.loads.insert(load);
  bool possible = true;
  const auto needLanes = [&](std::size_t lanes) {
    possible = possible && chain.lanesWithin(lanes, from.lanes);
    for (; possible && lanes != from.lanes; lanes = chain.lanes[lanes].parent)
      slice.lanes.insert(lanes);
  };
  RegSet needed = at.inst->reads(accum);
  needed.remove(execUnits());
  needLanes(at.lanes);
  std::set<std::size_t> readers = {at.lanes}; // lanes that vector work of the slice acts on
  for (std::size_t s = load; possible && s-- > place;) {
    const ChainStep& step = chain.steps[s];
    const isa::Instruction& inst = *step.inst;
    if (storesToGlobal(inst) || (barriersOrder && inst.cls == InstClass::barrier))
      return std::nullopt;
    const bool testsVcc = inst.base.starts_with("s_cbranch_vcc");
    if (testsVcc && needed.test(isa::sreg::scc)) // the test that takes the branch's place would write it
      return std::nullopt;
    const RegSet writes = inst.writes(accum);
    RegSet produced = writes & needed;
    const auto made =
        std::ranges::find_if(slice.lanes, [&](std::size_t lanes) { return chain.lanes[lanes].step == s; });
    if (made != slice.lanes.end()) {
      const ChainLanes& lanes = chain.lanes[*made];
      slice.work.insert(s);
      if (lanes.how == ChainLanes::How::picked)
        return std::nullopt;
      if (lanes.how == ChainLanes::How::unskipped) {
        if (testsVcc)
          needed |= vccUnits();
        else
          needed.set(isa::sreg::scc);
      } else {
        if (produced.test(isa::sreg::scc))
          produced.reset(isa::sreg::scc);
        if (produced.any())
          return std::nullopt;
        needed.reset(isa::sreg::scc);
        RegSet mask;
        const isa::Operand& operand = inst.operands[lanes.operand];
        if (operand.kind == isa::OperandKind::sgpr)
          mask.setRange(operand.index, operand.dwords);
        needed |= mask.remove(execUnits());
      }
    } else if (produced.any()) {
      if (!isRepeatable(inst) || writes.intersects(execUnits()) || writes.test(isa::sreg::m0))
        return std::nullopt;
      slice.work.insert(s);
      const RegSet killed = inst.kills(accum);
      const bool covers =
          std::ranges::all_of(readers, [&](std::size_t lanes) { return chain.lanesWithin(lanes, step.lanes); });
      produced.forEach([&](isa::RegUnit unit) {
        if (unit < isa::vgprBase ? killed.test(unit) : covers)
          needed.reset(unit);
      });
      RegSet reads = inst.reads(accum);
      needed |= reads.remove(execUnits());
      if (sees(inst, accum)) {
        needLanes(step.lanes);
        readers.insert(step.lanes);
      }
    } else {
      continue;
    }
    possible = possible && chain.guardWithin(at.guard, step.guard);
  }
  if (!possible)
    return std::nullopt;
  // Registers outside the vector and scalar files proper are only ever read where they are.
  slice.inputs = needed;
  return slice;
}

void ChainReplay::join(const RegisterTuple& tuple) {
  Group group{tuple.file, tuple.first, tuple.first + tuple.count, alignmentOf(tuple.file, tuple.count, kit.target()),
              0};
  std::erase_if(groups, [&](const Group& other) {
    if (other.file != group.file || other.first >= group.end || group.first >= other.end)
      return false;
    group.first = std::min(group.first, other.first);
    group.end = std::max(group.end, other.end);
    group.step = std::max(group.step, other.step);
    return true;
  });
  groups.push_back(group);
}

const ChainReplay::Group* ChainReplay::groupOf(const RegisterTuple& tuple) const {
  const auto found = std::ranges::find_if(groups, [&](const Group& group) {
    return group.file == tuple.file && group.first <= tuple.first && tuple.first + tuple.count <= group.end;
  });
  return found == groups.end() ? nullptr : &*found;
}

/// Registers of the slice that get others: whatever it writes, and what stands next to that in an operand.
bool ChainReplay::makeGroups(const ReplaySlice& all) {
  RegSet members;
  std::vector<RegisterTuple> operands;
  for (const std::size_t s : all.work) {
    const isa::Instruction& inst = *chain.steps[s].inst;
    const bool makes = std::ranges::any_of(all.lanes, [&](std::size_t l) { return chain.lanes[l].step == s; });
    for (const isa::Operand& operand : inst.operands)
      if (const auto tuple = tupleOf(operand); tuple && !(makes && operand.isDef)) {
        if (tuple->file == RegisterFile::agpr)
          return false;
        operands.push_back(*tuple);
        if (operand.isDef)
          members |= unitsOf(*tuple, accum);
      }
  }
  for (const std::size_t s : all.loads) {
    const isa::Instruction& inst = *chain.steps[s].inst;
    for (std::size_t o = 1; o < inst.operands.size(); ++o)
      if (const auto tuple = tupleOf(inst.operands[o]); tuple && tuple->file != RegisterFile::agpr)
        operands.push_back(*tuple);
  }
  for (bool grows = true; grows;) {
    grows = false;
    for (const RegisterTuple& tuple : operands) {
      const RegSet units = unitsOf(tuple, accum);
      RegSet rest = units;
      if (units.intersects(members) && rest.remove(members).any()) {
        members |= units;
        grows = true;
      }
    }
  }
  for (const RegisterTuple& tuple : operands)
    if (unitsOf(tuple, accum).intersects(members))
      join(tuple);
  return true;
}

bool ChainReplay::flagsLive(std::size_t place, unsigned unit) const {
  const ChainStep& at = chain.steps[place];
  const auto& instrs = program.blocks[at.block].instrs;
  bool live = kit.liveness().liveOut[at.block].test(unit);
  for (std::size_t i = instrs.size(); i-- > at.index;) {
    if (instrs[i].inst->kills(accum).test(unit))
      live = false;
    if (instrs[i].inst->reads(accum).test(unit))
      live = true;
  }
  return live;
}

bool ChainReplay::takeRegisters(const ReplaySlice& all, std::size_t place, RegSet& busy, bool keepsLanes) {
  const auto text = [&](RegisterFile file, unsigned count, std::string& into) {
    const auto tuple = kit.take(file, count, busy);
    if (tuple)
      into = registerText(*tuple);
    return tuple.has_value();
  };
  bool hasScalar = false;
  for (const std::size_t load : all.loads) {
    const isa::Instruction& inst = *chain.steps[load].inst;
    hasScalar = hasScalar || inst.cls == InstClass::smem;
    const auto tuple = kit.take(RegisterFile::vgpr, inst.operands.front().dwords, busy);
    if (!tuple)
      return false;
    brought.emplace(load, *tuple);
  }
  for (Group& group : groups) {
    const auto tuple = kit.take(group.file, group.end - group.first, busy, group.step, group.first % group.step);
    if (!tuple)
      return false;
    group.fresh = tuple->first;
  }
  RegSet written;
  for (const std::size_t s : all.work)
    written |= chain.steps[s].inst->writes(accum);
  const bool testsVcc = std::ranges::any_of(
      all.work, [&](std::size_t s) { return chain.steps[s].inst->base.starts_with("s_cbranch_vcc"); });
  if ((written.test(isa::sreg::scc) || testsVcc || !all.lanes.empty()) && flagsLive(place, isa::sreg::scc) &&
      !text(RegisterFile::sgpr, 1, savedScc))
    return false;
  if (written.intersects(vccUnits()) && (flagsLive(place, isa::sreg::vccLo) || flagsLive(place, isa::sreg::vccHi)) &&
      !text(RegisterFile::sgpr, 2, savedVcc))
    return false;
  if (hasScalar && (!text(RegisterFile::vgpr, 1, zero) || !text(RegisterFile::sgpr, 2, address)))
    return false;
  if (all.lanes.empty())
    return true;
  if (!text(RegisterFile::sgpr, 2, lanesText[startLanes]))
    return false;
  // Pairs are free again behind the last step that has the lanes, or makes others of them.
  std::map<std::size_t, std::size_t> last;
  std::set<std::size_t> steps = all.work;
  steps.insert(all.loads.begin(), all.loads.end());
  for (const std::size_t s : steps)
    last[chain.steps[s].lanes] = std::max(last[chain.steps[s].lanes], s);
  for (const std::size_t lanes : all.lanes)
    last[lanes] = std::max(last[lanes], chain.lanes[lanes].step);
  std::multimap<std::size_t, std::string> ends;
  for (const std::size_t lanes : all.lanes) { // in the order they are made
    std::string& mine = lanesText[lanes];
    if (!keepsLanes && !ends.empty() && ends.begin()->first < chain.lanes[lanes].step) {
      mine = ends.begin()->second;
      ends.erase(ends.begin());
    } else if (!text(RegisterFile::sgpr, 2, mine)) {
      return false;
    }
    ends.emplace(last[lanes], mine);
  }
  return true;
}

bool ChainReplay::assemble(std::vector<Instr>& into, const std::string& text) const {
  auto inst = context.codec.assemble(text);
  if (!inst)
    return false;
  Instr instr;
  instr.inst = context.codec.complete(*inst);
  into.push_back(instr);
  return true;
}

std::string ChainReplay::operandText(const isa::Instruction& inst, std::size_t operand) const {
  const isa::Operand& o = inst.operands[operand];
  const auto tuple = tupleOf(o);
  if (const Group* group = tuple ? groupOf(*tuple) : nullptr)
    return registerText({tuple->file, group->fresh + (tuple->first - group->first), tuple->count});
  return inst.text.substr(o.textBegin, static_cast<std::size_t>(o.textEnd) - o.textBegin);
}

bool ChainReplay::switchTo(std::vector<Instr>& into, std::size_t lanes) {
  if (lanes == current)
    return true;
  current = lanes;
  return assemble(into, fmt::format("s_mov_b64 exec, {}", lanesText.at(lanes)));
}

bool ChainReplay::emitLanes(std::vector<Instr>& into, std::size_t which) {
  const ChainLanes& lanes = chain.lanes[which];
  const isa::Instruction& inst = *chain.steps[lanes.step].inst;
  const std::string &mine = lanesText.at(which), &parent = lanesText.at(lanes.parent);
  switch (lanes.how) {
  case ChainLanes::How::masked:
    return assemble(into, fmt::format("s_and_b64 {}, {}, {}", mine, parent, operandText(inst, lanes.operand)));
  case ChainLanes::How::cleared:
    return assemble(into, fmt::format("s_andn2_b64 {}, {}, {}", mine, parent, operandText(inst, lanes.operand)));
  case ChainLanes::How::unskipped: {
    const bool skipsOnOne = inst.base == "s_cbranch_scc1" || inst.base == "s_cbranch_vccnz";
    if (inst.base.starts_with("s_cbranch_vcc") && !assemble(into, "s_cmp_lg_u64 vcc, 0"))
      return false;
    return assemble(into, skipsOnOne ? fmt::format("s_cselect_b64 {}, 0, {}", mine, parent)
                                     : fmt::format("s_cselect_b64 {}, {}, 0", mine, parent));
  }
  case ChainLanes::How::picked: // sliceOf refuses them
  case ChainLanes::How::start:
    break;
  }
  return false;
}

/// All lanes load the same dwords. A scalar load does not look at the lowest two bits of its address (CDNA3 ISA,
/// "Scalar Memory Operations").
bool ChainReplay::scalarLoad(std::vector<Instr>& into, std::size_t step) {
  const isa::Instruction& inst = *chain.steps[step].inst;
  const RegisterTuple& to = brought.at(step);
  const std::string low = address.substr(2, address.find(':') - 2);
  const std::string size = to.count == 1 ? "" : fmt::format("x{}", to.count);
  return assemble(into, fmt::format("s_mov_b64 {}, {}", address, operandText(inst, 1))) &&
         assemble(into, fmt::format("s_bitset0_b32 s{}, 0", low)) &&
         assemble(into, fmt::format("s_bitset0_b32 s{}, 1", low)) &&
         assemble(into, fmt::format("global_load_dword{} {}, {}, {} offset:{}", size, registerText(to), zero, address,
                                    inst.operands[2].imm));
}

bool ChainReplay::emitStep(std::vector<Instr>& into, std::size_t s, bool isLoad) {
  const isa::Instruction& inst = *chain.steps[s].inst;
  if ((isLoad || sees(inst, accum)) && !switchTo(into, chain.steps[s].lanes))
    return false;
  if (isLoad && inst.cls == InstClass::smem)
    return scalarLoad(into, s);
  std::vector<OperandRename> renames;
  for (std::size_t o = 0; o < inst.operands.size(); ++o) {
    const auto tuple = tupleOf(inst.operands[o]);
    if (isLoad && o == 0)
      renames.push_back({o, brought.at(s).first, RegisterFile::vgpr});
    else if (const Group* group = tuple ? groupOf(*tuple) : nullptr)
      renames.push_back({o, group->fresh + (tuple->first - group->first), tuple->file});
  }
  auto renamed = renameOperands(inst, renames, context.codec);
  if (!renamed)
    return false;
  Instr instr;
  instr.inst = *renamed;
  into.push_back(instr);
  return true;
}

bool ChainReplay::emit(std::vector<Instr>& into, const ReplaySlice& all, std::size_t place) {
  current = startLanes = chain.steps[place].lanes;
  if (!assemble(into, "s_waitcnt vmcnt(0) lgkmcnt(0)") ||
      (!savedScc.empty() && !assemble(into, fmt::format("s_cselect_b32 {}, 1, 0", savedScc))) ||
      (!savedVcc.empty() && !assemble(into, fmt::format("s_mov_b64 {}, vcc", savedVcc))) ||
      (!all.lanes.empty() && !assemble(into, fmt::format("s_mov_b64 {}, exec", lanesText.at(startLanes)))) ||
      (!zero.empty() && !assemble(into, fmt::format("v_mov_b32_e32 {}, 0", zero))))
    return false;
  for (const Group& group : groups)
    for (unsigned r = group.first; r < group.end; ++r) {
      const RegisterTuple one{group.file, r, 1};
      const char* move = group.file == RegisterFile::sgpr ? "s_mov_b32" : "v_mov_b32_e32";
      if (all.inputs.intersects(unitsOf(one, accum)) &&
          !assemble(into, fmt::format("{} {}, {}", move, registerText({one.file, group.fresh + (r - group.first), 1}),
                                      registerText(one))))
        return false;
    }
  std::set<std::size_t> steps = all.work;
  steps.insert(all.loads.begin(), all.loads.end());
  for (const std::size_t s : steps) {
    const auto made = std::ranges::find_if(all.lanes, [&](std::size_t l) { return chain.lanes[l].step == s; });
    if (made != all.lanes.end() ? !emitLanes(into, *made) : !emitStep(into, s, all.loads.contains(s)))
      return false;
  }
  return switchTo(into, startLanes) &&
         (savedVcc.empty() || assemble(into, fmt::format("s_mov_b64 vcc, {}", savedVcc))) &&
         (savedScc.empty() || assemble(into, fmt::format("s_cmp_lg_u32 {}, 0", savedScc)));
}

/// What takes a load's place.
bool ChainReplay::landing(std::vector<Instr>& into, std::size_t load) const {
  const isa::Instruction& inst = *chain.steps[load].inst;
  const auto to = tupleOf(inst.operands.front());
  const RegisterTuple& from = brought.at(load);
  bool done = assemble(into, "s_waitcnt vmcnt(0)");
  for (unsigned d = 0; done && d < from.count; ++d)
    done = assemble(into,
                    fmt::format("{} {}, v{}", to->file == RegisterFile::sgpr ? "v_readfirstlane_b32" : "v_mov_b32_e32",
                                registerText({to->file, to->first + d, 1}), from.first + d));
  return done;
}

bool ChainReplay::takeKeptLanes(program::Program& edited, const ReplaySlice& all) const {
  for (const std::size_t which : all.lanes) {
    const ChainLanes& lanes = chain.lanes[which];
    if (lanes.how != ChainLanes::How::masked && lanes.how != ChainLanes::How::cleared)
      continue;
    const ChainStep& step = chain.steps[lanes.step];
    if (!step.inst->writes(accum).intersects(execUnits()))
      continue;
    const auto saved = tupleOf(step.inst->operands[0]);
    auto inst =
        context.codec.assemble(step.inst->base == "s_and_saveexec_b64" && saved
                                   ? fmt::format("s_and_saveexec_b64 {}, {}", registerText(*saved), lanesText.at(which))
                                   : fmt::format("s_and_b64 exec, exec, {}", lanesText.at(which)));
    if (!inst)
      return false;
    edited.blocks[step.block].instrs[step.index].inst = context.codec.complete(*inst);
  }
  return true;
}

bool ChainReplay::build(program::Program& edited, const ReplaySlice& all, std::size_t place, RegSet& busy,
                        bool keepsLanes) {
  groups.clear();
  brought.clear();
  lanesText.clear();
  for (std::string* text : {&zero, &address, &savedScc, &savedVcc})
    text->clear();
  startLanes = chain.steps[place].lanes;
  std::vector<Instr> replay;
  if (!makeGroups(all) || !takeRegisters(all, place, busy, keepsLanes) || !emit(replay, all, place) ||
      (keepsLanes && !takeKeptLanes(edited, all)))
    return false;
  // From the end, so that positions in front stay.
  for (auto it = all.loads.rbegin(); it != all.loads.rend(); ++it) {
    std::vector<Instr> instead;
    if (!landing(instead, *it))
      return false;
    auto& instrs = edited.blocks[chain.steps[*it].block].instrs;
    const auto at = instrs.erase(instrs.begin() + static_cast<std::ptrdiff_t>(chain.steps[*it].index));
    instrs.insert(at, instead.begin(), instead.end());
  }
  auto& instrs = edited.blocks[chain.steps[place].block].instrs;
  instrs.insert(instrs.begin() + static_cast<std::ptrdiff_t>(chain.steps[place].index), replay.begin(), replay.end());
  return true;
}

} // namespace asmevo::optimize
