#include "verify/proof/available_facts.h"

#include <algorithm>
#include <optional>
#include <string_view>

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

/// `where` after `instr`.
void transfer(const program::Instr& instr, unsigned accumOffset, FactMap& facts) {
  const isa::Instruction& inst = *instr.inst;
  if (inst.cls == InstClass::jump || inst.cls == InstClass::unknown) {
    facts.clear();
    return;
  }
  const RegSet writes = inst.writes(accumOffset);
  std::erase_if(facts, [&](const auto& fact) {
    return writes.test(fact.first) || fact.second->inst->reads(accumOffset).intersects(writes);
  });
  if (!isPureScalar(inst) || instr.pcRef || inst.reads(accumOffset).intersects(writes))
    return;
  for (const auto& operand : inst.operands)
    if (operand.isDef && operand.kind == isa::OperandKind::sgpr && operand.index < isa::sreg::vccLo)
      for (unsigned d = 0; d < operand.dwords; ++d)
        facts[static_cast<RegUnit>(operand.index + d)] = &instr;
}

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
  bool changed = true;
  while (changed) {
    changed = false;
    for (const program::BlockId id : function.blocks) {
      if (!entry[id])
        continue;
      FactMap facts = *entry[id];
      for (const auto& instr : program.blocks[id].instrs)
        transfer(instr, accumOffset, facts);
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
