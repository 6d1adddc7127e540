#include "verify/proof/available_facts.h"

#include "program/analysis/dataflow.h"
#include "program/analysis/exec_relation.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace asmevo::verify {

using isa::InstClass;
using isa::RegSet;
using isa::RegUnit;

namespace {

/// Scalar ALU work whose result depends on its registers alone.
bool isPureScalar(const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  return inst.cls == InstClass::salu && base.substr(0, 7) != "s_getpc" && base.substr(0, 8) != "s_getreg" &&
         base.substr(0, 8) != "s_setreg" && base.substr(0, 8) != "s_movrel" && base.substr(0, 9) != "s_set_gpr" &&
         base.substr(0, 9) != "s_setvskip";
}

/// Vector ALU work that writes nothing but VGPRs, all of them in every active lane, and from registers alone.
bool isPureVector(const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  return inst.cls == InstClass::valu && !inst.tiedDest && base != "v_nop" && !base.starts_with("v_movrel") &&
         !base.starts_with("v_swap") && !base.starts_with("v_writelane") && !base.starts_with("v_accvgpr") &&
         std::ranges::all_of(inst.operands, [](const isa::Operand& operand) {
           return !operand.isDef || operand.kind == isa::OperandKind::vgpr;
         });
}

/// Does a lane's result depend on which others are on?
bool looksAcross(const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  return inst.mods.dpp != isa::DppCtrl::none || base.starts_with("v_permlane") || base.starts_with("v_readlane") ||
         base.starts_with("v_readfirstlane");
}

/// What holds at one place. A fact of a VGPR that was made under the entry's EXEC holds in all those lanes, whatever
/// was masked since; others hold as long as EXEC stays.
struct Facts {
  FactMap of;
  RegSet inEntryLanes;
  program::ExecRelation exec; ///< against EXEC at the entry
};

/// Facts while a block is walked.
class Walk {
 public:
  Walk(const program::Program& p, const program::Function& function, unsigned accum)
      : program(p), accumOffset(accum),
        namesVgprs(!program::usesGprIndexing(p, function) && !program::maySkipVectors(p, function)) {}

  void block(program::BlockId id, Facts& facts) {
    for (const auto& instr : program.blocks[id].instrs)
      transfer(instr, facts);
  }

 private:
  const RegSet& readsOf(isa::InstRef inst) {
    const auto it = reads.find(inst);
    return it != reads.end() ? it->second : reads.emplace(inst, inst->reads(accumOffset)).first->second;
  }

  void transfer(const program::Instr& instr, Facts& state) {
    FactMap& facts = state.of;
    const isa::Instruction& inst = *instr.inst;
    const bool underEntryLanes = state.exec.exec() == program::Lanes::same;
    state.exec.step(inst);
    if (inst.cls == InstClass::jump || inst.cls == InstClass::unknown) {
      facts.clear();
      return;
    }
    const RegSet writes = inst.writes(accumOffset);
    if (!writes.any())
      return;
    const bool writesExec = writes.test(isa::sreg::execLo) || writes.test(isa::sreg::execHi);
    const bool within = state.exec.exec() != program::Lanes::other;
    RegSet matters = writes;
    matters.reset(isa::sreg::execLo);
    matters.reset(isa::sreg::execHi);
    std::erase_if(facts, [&](const auto& fact) {
      if (fact.first < isa::vgprBase)
        return writes.test(fact.first) || readsOf(fact.second->inst).intersects(writes);
      return matters.test(fact.first) || readsOf(fact.second->inst).intersects(matters) ||
             (writesExec && !(within && state.inEntryLanes.test(fact.first)));
    });
    const bool vector = namesVgprs && isPureVector(inst);
    if ((!vector && !isPureScalar(inst)) || instr.pcRef || readsOf(&inst).intersects(writes) ||
        writes.test(isa::sreg::vccLo))
      return;
    for (const auto& operand : inst.operands)
      if (operand.isDef && vector)
        for (unsigned d = 0; d < operand.dwords; ++d) {
          const RegUnit unit = isa::vgprUnit(operand.index + d);
          facts[unit] = &instr;
          state.inEntryLanes.reset(unit);
          if (underEntryLanes && !looksAcross(inst))
            state.inEntryLanes.set(unit);
        }
      else if (operand.isDef && operand.kind == isa::OperandKind::sgpr && operand.index < isa::sreg::vccLo)
        for (unsigned d = 0; d < operand.dwords; ++d)
          facts[static_cast<RegUnit>(operand.index + d)] = &instr;
  }

  const program::Program& program;
  unsigned accumOffset;
  bool namesVgprs; ///< no VGPR is written by a number that its instruction does not name
  std::unordered_map<isa::InstRef, RegSet> reads;
};

/// True if less holds now.
bool meet(Facts& into, const Facts& other) {
  const std::size_t fewer = std::erase_if(into.of, [&](const auto& fact) {
    const auto it = other.of.find(fact.first);
    // Two copies of one instruction compute the same: equal encodings are one interned object.
    return it == other.of.end() || it->second->inst != fact.second->inst;
  });
  const RegSet both = into.inEntryLanes & other.inEntryLanes;
  const bool narrower = both != into.inEntryLanes;
  into.inEntryLanes = both;
  return into.exec.join(other.exec) || narrower || fewer != 0;
}

} // namespace

std::vector<FactMap> availableFacts(const program::Program& program, const program::Function& function,
                                    unsigned accumOffset) {
  std::vector<std::optional<Facts>> entry(program.blocks.size());
  const auto start = [&](program::BlockId id) {
    entry[id] = Facts{};
    entry[id]->exec = program::ExecRelation::atPoint(false);
  };
  start(function.entryBlock);
  if (function.preloadEntry)
    start(*function.preloadEntry);
  // Nothing is known where jumps through registers may come from, and that nothing must reach their successors.
  Facts nothing;
  nothing.exec = program::ExecRelation::atPoint(false);
  nothing.exec.forget();
  for (const program::BlockId id : function.blocks)
    if (program.blocks[id].entersByRegister && id != function.entryBlock && id != function.preloadEntry)
      entry[id] = nothing;
  Walk walk(program, function, accumOffset);
  bool changed = true;
  while (changed) {
    changed = false;
    for (const program::BlockId id : function.blocks) {
      if (!entry[id])
        continue;
      Facts facts = *entry[id];
      walk.block(id, facts);
      for (const program::BlockId next : program.blocks[id].successors) {
        auto& target = entry[next];
        const bool external =
            program.blocks[next].entersByRegister || next == function.entryBlock || function.preloadEntry == next;
        if (!target) {
          target = facts;
          changed = true;
        } else if (external ? meet(*target, nothing) : meet(*target, facts)) {
          changed = true;
        }
      }
    }
  }
  std::vector<FactMap> result(program.blocks.size());
  for (std::size_t i = 0; i < entry.size(); ++i)
    if (entry[i])
      result[i] = std::move(entry[i]->of);
  return result;
}

} // namespace asmevo::verify
