#include "verify/proof/symbolic.h"

#include "program/analysis/memory_dependence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace asmevo::verify {

using isa::InstClass;
using isa::Instruction;
using isa::OperandKind;
using isa::RegSet;
using isa::RegUnit;

namespace {

/// Hints that only steer issue.
bool isPacing(const Instruction& inst) {
  return inst.base == "s_sleep" || inst.base == "s_setprio" || inst.base == "s_inst_prefetch";
}

/// The modes that make later instructions address registers indirectly or skip them.
bool changesRegisterAddressing(const Instruction& inst) {
  const std::string_view base = inst.base;
  return base.starts_with("s_set_gpr_idx") || base.starts_with("s_setvskip") || base.starts_with("s_movrel") ||
         base.starts_with("v_movrel");
}

bool isRegister(const isa::Operand& operand) {
  return operand.kind == OperandKind::sgpr || operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr;
}

/// Sources of the scalar file's encoding space that are no registers.
bool isSpecialSource(const isa::Operand& operand) {
  return operand.kind == OperandKind::sgpr && operand.index >= isa::sreg::count && operand.index != 253;
}

/// The instruction without its registers: renaming does not change it.
std::string keyOf(const Instruction& inst, const std::string& literalKey) {
  std::string key = inst.base;
  if (inst.mods.dpp != isa::DppCtrl::none)
    key += "_dpp";
  if (inst.mods.isSdwa)
    key += "_sdwa";
  std::size_t tail = inst.text.find(' ');
  for (const auto& operand : inst.operands) {
    tail = std::max<std::size_t>(tail == std::string::npos ? 0 : tail, operand.textEnd);
    const char* flags = operand.neg ? (operand.abs ? "-|" : "-") : operand.abs ? "|" : operand.sext ? "s" : "";
    key += operand.isDef ? " =" : " ";
    if (isSpecialSource(operand))
      key += fmt::format("{}special{}", flags, operand.index);
    else if (operand.kind == OperandKind::sgpr)
      key += fmt::format("{}s{}", flags, operand.dwords);
    else if (isRegister(operand))
      key += fmt::format("{}v{}", flags, operand.dwords);
    else if (operand.kind == OperandKind::imm)
      key += literalKey.empty() ? fmt::format("{}#{}", flags, operand.imm) : literalKey;
    else if (operand.kind == OperandKind::fpImm)
      key += fmt::format("{}f{}", flags, operand.fp);
    else
      key += inst.text.substr(operand.textBegin, operand.textEnd - operand.textBegin);
  }
  // What follows the last operand are modifiers; they are the same text whatever the registers are.
  if (tail != std::string::npos && tail < inst.text.size())
    key += inst.text.substr(tail);
  return key;
}

/// Clocks and counters differ from read to read: they keep their order among everything.
bool readsMachineState(const Instruction& inst) {
  const std::string_view base = inst.base;
  return base.starts_with("s_memtime") || base.starts_with("s_memrealtime") || base.starts_with("s_getreg") ||
         base.starts_with("s_setreg");
}

} // namespace

SymbolicState initialState(TermTable& table) {
  SymbolicState state;
  for (std::uint32_t u = 0; u < isa::regUnitCount; ++u)
    state.units.push_back(table.variable(u, unitSort(static_cast<RegUnit>(u)), u >= isa::vgprBase));
  state.memory = table.variable(isa::regUnitCount, Sort::memory, false);
  return state;
}

TermId SymbolicExecutor::exec(const SymbolicState& state) {
  return scalarPair(state, isa::sreg::execLo);
}

TermId SymbolicExecutor::active(const SymbolicState& state) {
  return t.laneBit(exec(state));
}

TermId SymbolicExecutor::scalar32(const SymbolicState& state, unsigned index) {
  constexpr unsigned vccz = 251, execz = 252, scc = 253;
  switch (index) {
  case vccz:
    return t.bit(t.eq(scalarPair(state, isa::sreg::vccLo), t.wide(0)));
  case execz:
    return t.bit(t.eq(exec(state), t.wide(0)));
  case scc:
    return t.bit(state.units[isa::sreg::scc]);
  default:
    return state.units[index];
  }
}

TermId SymbolicExecutor::scalarPair(const SymbolicState& state, unsigned index) {
  return t.pack(state.units[index], state.units[index + 1]);
}

void SymbolicExecutor::setPair(SymbolicState& state, unsigned index, TermId value) {
  state.units[index] = t.lo(value);
  state.units[index + 1] = t.hi(value);
}

unsigned SymbolicExecutor::physical(const isa::Operand& operand) const {
  return operand.index + (operand.kind == OperandKind::agpr ? accum : 0);
}

TermId SymbolicExecutor::vectorValue(SymbolicState& state, unsigned physical) {
  return t.under(active(state), state.units[isa::vgprUnit(physical)]);
}

void SymbolicExecutor::writeVector(SymbolicState& state, unsigned physical, TermId lanes, TermId value) {
  TermId& unit = state.units[isa::vgprUnit(physical)];
  unit = t.select(lanes, value, unit);
}

TermId SymbolicExecutor::memorySeen(const SymbolicState& state, std::uint8_t spaces, program::Place place) {
  TermId memory = state.memory;
  for (const Effect& effect : state.effects)
    if ((effect.writes & spaces) != 0 && (effect.fence || !disjoint || !disjoint(effect.place, place)))
      memory = t.effect(memory, effect.payload);
  return memory;
}

void SymbolicExecutor::addEffect(SymbolicState& state, TermId payload, std::uint8_t reads, std::uint8_t writes,
                                 bool fence, program::Place place) {
  state.effects.push_back({payload, reads, writes, fence, place});
}

void SymbolicExecutor::opaque(const Instruction& inst, program::Place place, const std::string& literalKey,
                              SymbolicState& state) {
  std::string key;
  if (literalKey.empty()) {
    auto& slot = keys[&inst];
    if (slot.empty())
      slot = keyOf(inst, literalKey);
    key = slot;
  } else {
    key = keyOf(inst, literalKey);
  }
  const auto unitOf = [&](const isa::Operand& operand, unsigned dword) {
    if (operand.kind == OperandKind::sgpr)
      return static_cast<RegUnit>(operand.index == 253 ? isa::sreg::scc : operand.index + dword);
    return isa::vgprUnit(physical(operand) + dword);
  };
  RegSet reads = inst.reads(accum), writes = inst.writes(accum);
  const RegSet kills = inst.kills(accum);
  std::vector<RegUnit> sources, results;
  RegSet named, written;
  for (const auto& operand : inst.operands) {
    if (!isRegister(operand) || isSpecialSource(operand))
      continue;
    for (unsigned d = 0; d < operand.dwords; ++d) {
      const RegUnit unit = unitOf(operand, d);
      (operand.isDef ? results : sources).push_back(unit);
      (operand.isDef ? written : named).set(unit);
    }
  }
  // A destination that is also an input (preserved halves, accumulation in place) is not printed as a source; its place
  // among the arguments must not depend on which register it is.
  if (inst.tiedDest)
    for (const RegUnit unit : results)
      if (reads.test(unit)) {
        sources.push_back(unit);
        named.set(unit);
      }
  for (const RegUnit unit : inst.implicitReads) {
    sources.push_back(unit);
    named.set(unit);
  }
  reads.remove(named).forEach([&](RegUnit u) { sources.push_back(u); });
  writes.remove(written).forEach([&](RegUnit u) { results.push_back(u); });

  const TermId lanes = active(state);
  // Lanes that EXEC lacks take no part in a memory operation.
  const bool activeOnly = inst.isVectorMemory() || inst.cls == InstClass::lds;
  std::vector<TermId> arguments;
  for (const RegUnit u : sources)
    arguments.push_back(activeOnly && u >= isa::vgprBase ? t.under(lanes, state.units[u]) : state.units[u]);
  const bool readsExec = inst.readsExec();
  if (readsExec)
    arguments.push_back(exec(state));
  const program::MemoryEffect memory = program::memoryEffect(inst);
  constexpr std::uint8_t everywhere = 0xff;
  const bool fence =
      memory.ordered || inst.cls == InstClass::barrier || inst.cls == InstClass::message || readsMachineState(inst);
  const std::uint8_t readSpaces = fence ? everywhere : memory.reads;
  const std::uint8_t writeSpaces = fence ? everywhere : memory.writes;
  if (readSpaces != 0)
    arguments.push_back(memorySeen(state, readSpaces, place));
  std::vector<TermId> values;
  for (std::size_t i = 0; i < results.size(); ++i) {
    TermId value = t.apply(fmt::format("{}/{}", key, i), unitSort(results[i]), arguments, true);
    // What ignores EXEC writes lanes that EXEC lacks; its old value is one of its sources then.
    if (results[i] >= isa::vgprBase && !kills.test(results[i]) && readsExec)
      value = t.select(lanes, value, state.units[results[i]]);
    values.push_back(value);
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    state.units[results[i]] = values[i];
  if (writeSpaces != 0)
    addEffect(state, t.apply(key + "/memory", Sort::memory, arguments, true), readSpaces, writeSpaces, fence, place);
}

bool SymbolicExecutor::execute(const Instruction& inst, program::Place place, const std::string& literalKey,
                               SymbolicState& state, std::string& reason) {
  if (inst.cls == InstClass::waitcnt || inst.cls == InstClass::nop || isPacing(inst))
    return true;
  const char* why = inst.cls == InstClass::unknown    ? "undecodable words"
                    : inst.cls == InstClass::jump     ? "a call or register jump"
                    : changesRegisterAddressing(inst) ? "indexed registers or skip mode"
                                                      : nullptr;
  if (why) {
    reason = fmt::format("{}: {}", inst.text, why);
    return false;
  }
  bool done = false;
  if (literalKey.empty()) {
    switch (inst.cls) {
    case InstClass::salu:
      done = scalarAlu(inst, state);
      break;
    case InstClass::valu:
      done = special(inst, state) || vectorAlu(inst, state);
      break;
    case InstClass::smem:
      done = scalarMemory(inst, place, state);
      break;
    case InstClass::vmem:
    case InstClass::flat:
    case InstClass::global:
    case InstClass::scratch:
      done = vectorMemory(inst, place, state);
      break;
    case InstClass::lds:
      done = laneExchange(inst, state) || ldsMemory(inst, place, state);
      break;
    default:
      break;
    }
  }
  if (!done)
    opaque(inst, place, literalKey, state);
  return true;
}

} // namespace asmevo::verify
