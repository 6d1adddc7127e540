#include "verify/proof/available_facts.h"

#include "program/analysis/dataflow.h"

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

/// Facts while a block is walked.
class Walk {
 public:
  Walk(const program::Program& p, const program::Function& function, unsigned accum)
      : program(p), accumOffset(accum),
        namesVgprs(!program::usesGprIndexing(p, function) && !program::maySkipVectors(p, function)) {}

  void block(program::BlockId id, FactMap& facts) {
    for (const auto& instr : program.blocks[id].instrs)
      transfer(instr, facts);
  }

 private:
  const RegSet& readsOf(isa::InstRef inst) {
    const auto it = reads.find(inst);
    return it != reads.end() ? it->second : reads.emplace(inst, inst->reads(accumOffset)).first->second;
  }

  void transfer(const program::Instr& instr, FactMap& facts) {
    const isa::Instruction& inst = *instr.inst;
    if (inst.cls == InstClass::jump || inst.cls == InstClass::unknown) {
      facts.clear();
      return;
    }
    const RegSet writes = inst.writes(accumOffset);
    if (!writes.any())
      return;
    const bool writesExec = writes.test(isa::sreg::execLo) || writes.test(isa::sreg::execHi);
    std::erase_if(facts, [&](const auto& fact) {
      return writes.test(fact.first) || (writesExec && fact.first >= isa::vgprBase) ||
             readsOf(fact.second->inst).intersects(writes);
    });
    const bool vector = namesVgprs && isPureVector(inst);
    if ((!vector && !isPureScalar(inst)) || instr.pcRef || readsOf(&inst).intersects(writes) ||
        writes.test(isa::sreg::vccLo))
      return;
    for (const auto& operand : inst.operands)
      if (operand.isDef && vector)
        for (unsigned d = 0; d < operand.dwords; ++d)
          facts[isa::vgprUnit(operand.index + d)] = &instr;
      else if (operand.isDef && operand.kind == isa::OperandKind::sgpr && operand.index < isa::sreg::vccLo)
        for (unsigned d = 0; d < operand.dwords; ++d)
          facts[static_cast<RegUnit>(operand.index + d)] = &instr;
  }

  const program::Program& program;
  unsigned accumOffset;
  bool namesVgprs; ///< no VGPR is written by a number that its instruction does not name
  std::unordered_map<isa::InstRef, RegSet> reads;
};

void meet(FactMap& into, const FactMap& other) {
  std::erase_if(into, [&](const auto& fact) {
    const auto it = other.find(fact.first);
    // Two copies of one instruction compute the same: equal encodings are one interned object.
    return it == other.end() || it->second->inst != fact.second->inst;
  });
}

} // namespace

std::vector<FactMap> availableFacts(const program::Program& program, const program::Function& function,
                                    unsigned accumOffset) {
  std::vector<std::optional<FactMap>> entry(program.blocks.size());
  entry[function.entryBlock] = FactMap{};
  if (function.preloadEntry)
    entry[*function.preloadEntry] = FactMap{};
  // Nothing is known where jumps through registers may come from, and that nothing must reach their successors.
  for (const program::BlockId id : function.blocks)
    if (program.blocks[id].entersByRegister)
      entry[id] = FactMap{};
  Walk walk(program, function, accumOffset);
  bool changed = true;
  while (changed) {
    changed = false;
    for (const program::BlockId id : function.blocks) {
      if (!entry[id])
        continue;
      FactMap facts = *entry[id];
      walk.block(id, facts);
      for (const program::BlockId next : program.blocks[id].successors) {
        auto& target = entry[next];
        const bool external =
            program.blocks[next].entersByRegister || next == function.entryBlock || function.preloadEntry == next;
        FactMap merged = external ? FactMap{} : target ? *target : facts;
        if (!external && target)
          meet(merged, facts);
        if (!target || merged.size() != target->size()) {
          target = std::move(merged);
          changed = true;
        }
      }
    }
  }
  std::vector<FactMap> result(program.blocks.size());
  for (std::size_t i = 0; i < entry.size(); ++i)
    if (entry[i])
      result[i] = std::move(*entry[i]);
  return result;
}

} // namespace asmevo::verify
