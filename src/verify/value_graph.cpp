#include "verify/value_graph.h"

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

constexpr std::uint32_t variableOp = 0;
constexpr std::uint32_t selectOp = 1;

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15 + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccd;
}

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// VALU instructions whose result in one lane depends on other lanes.
bool crossesLanes(const Instruction& inst) {
  static constexpr std::array<std::string_view, 6> names = {"v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32",
                                                            "v_permlane",     "v_screen_partition",  "v_swaprel"};
  return inst.mods.dpp != isa::DppCtrl::none ||
         std::any_of(names.begin(), names.end(), [&](std::string_view n) { return startsWith(inst.base, n); });
}

/// LDS-class instructions that exchange registers and never touch LDS memory.
bool isLaneExchange(const Instruction& inst) {
  return startsWith(inst.base, "ds_permute") || startsWith(inst.base, "ds_bpermute") ||
         startsWith(inst.base, "ds_swizzle");
}

/// Messages that only steer issue.
bool isPacing(const Instruction& inst) {
  return inst.base == "s_sleep" || inst.base == "s_setprio" || inst.base == "s_inst_prefetch";
}

/// The modes that make later instructions address registers indirectly or skip them.
bool changesRegisterAddressing(const Instruction& inst) {
  return startsWith(inst.base, "s_set_gpr_idx") || startsWith(inst.base, "s_setvskip") ||
         startsWith(inst.base, "s_movrel") || startsWith(inst.base, "v_movrel");
}

RegUnit unitOf(const isa::Operand& operand, unsigned dword, unsigned accumOffset) {
  const unsigned index = operand.index + dword;
  switch (operand.kind) {
  case OperandKind::vgpr:
    return isa::vgprUnit(index);
  case OperandKind::agpr:
    return isa::vgprUnit((accumOffset ? accumOffset : 256) + index);
  default:
    return static_cast<RegUnit>(index == 253 ? isa::sreg::scc : index);
  }
}

bool isRegister(const isa::Operand& operand) {
  return operand.kind == OperandKind::sgpr || operand.kind == OperandKind::vgpr || operand.kind == OperandKind::agpr;
}

void describeOperands(const Instruction& inst, const std::string& literalKey, std::string& key) {
  std::size_t tail = inst.text.find(' ');
  for (const auto& operand : inst.operands) {
    tail = std::max<std::size_t>(tail == std::string::npos ? 0 : tail, operand.textEnd);
    const char* flags = operand.neg ? (operand.abs ? "-|" : "-") : operand.abs ? "|" : operand.sext ? "s" : "";
    key += operand.isDef ? " =" : " ";
    switch (operand.kind) {
    case OperandKind::sgpr:
      // The sources that are not registers of the scalar file keep their identity.
      key += operand.index >= isa::sreg::count && operand.index != 253
                 ? fmt::format("{}special{}", flags, operand.index)
                 : fmt::format("{}s{}", flags, operand.dwords);
      break;
    case OperandKind::vgpr:
    case OperandKind::agpr:
      key += fmt::format("{}v{}", flags, operand.dwords);
      break;
    case OperandKind::imm:
      key += literalKey.empty() ? fmt::format("{}#{}", flags, operand.imm) : literalKey;
      break;
    case OperandKind::fpImm:
      key += fmt::format("{}f{}", flags, operand.fp);
      break;
    default:
      key += inst.text.substr(operand.textBegin, operand.textEnd - operand.textBegin);
    }
  }
  // What follows the last operand are modifiers; they are the same text whatever the registers are.
  if (tail != std::string::npos && tail < inst.text.size())
    key += inst.text.substr(tail);
}

void classifyMemory(const Instruction& inst, InstructionShape& shape) {
  const bool plainLoad = inst.mayLoad && !inst.mayStore;
  switch (inst.cls) {
  case InstClass::smem:
  case InstClass::scratch:
    shape.readsGlobal = true;
    shape.writesGlobal = !plainLoad;
    break;
  case InstClass::global:
  case InstClass::vmem:
    shape.readsGlobal = true;
    shape.writesGlobal = !plainLoad && !inst.isLdsDma();
    shape.readsLds = shape.writesLds = inst.isLdsDma();
    break;
  case InstClass::flat:
    shape.readsGlobal = shape.readsLds = true;
    shape.writesGlobal = shape.writesLds = !plainLoad;
    break;
  case InstClass::lds:
    if (!isLaneExchange(inst)) {
      shape.readsLds = true;
      shape.writesLds = !plainLoad;
    }
    break;
  case InstClass::barrier:
  case InstClass::message:
    shape.readsGlobal = shape.readsLds = shape.writesGlobal = shape.writesLds = true;
    break;
  default:
    break;
  }
  // Scope bits and GDS: other waves may be watching the order, even of loads.
  if (inst.cls != InstClass::barrier && inst.cls != InstClass::message && program::memoryEffect(inst).ordered)
    shape.readsGlobal = shape.writesGlobal = true;
  // Clocks and counters differ from read to read: keep them in the order of memory.
  if (startsWith(inst.base, "s_memtime") || startsWith(inst.base, "s_memrealtime") || startsWith(inst.base, "s_getreg"))
    shape.readsGlobal = shape.writesGlobal = true;
}

} // namespace

TermId TermTable::intern(std::uint32_t op, std::span<const TermId> list) {
  std::uint64_t h = mix(0x51ed270b, op);
  for (const TermId a : list)
    h = mix(h, a);
  const auto [begin, end] = index.equal_range(h);
  for (auto it = begin; it != end; ++it) {
    const Node& n = nodes[it->second];
    if (n.op == op && n.argCount == list.size() &&
        std::equal(list.begin(), list.end(), args.begin() + static_cast<std::ptrdiff_t>(n.firstArg)))
      return it->second;
  }
  const auto id = static_cast<TermId>(nodes.size());
  nodes.push_back({op, static_cast<std::uint32_t>(args.size()), static_cast<std::uint32_t>(list.size())});
  args.insert(args.end(), list.begin(), list.end());
  index.emplace(h, id);
  return id;
}

std::uint32_t TermTable::internOp(const std::string& op) {
  // 0 and 1 are variable and select.
  return opIds.emplace(op, static_cast<std::uint32_t>(opIds.size() + 2)).first->second;
}

TermId TermTable::variable(std::uint32_t number) {
  return intern(variableOp, std::array<TermId, 1>{number});
}

TermId TermTable::node(const std::string& op, std::span<const TermId> list) {
  return intern(internOp(op), list);
}

TermId TermTable::underExec(TermId exec, TermId value) const {
  const Node& n = nodes[value];
  return n.op == selectOp && args[n.firstArg] == exec ? args[n.firstArg + 1] : value;
}

TermId TermTable::select(TermId exec, TermId active, TermId inactive) {
  const Node& n = nodes[inactive];
  if (n.op == selectOp && args[n.firstArg] == exec)
    inactive = args[n.firstArg + 2];
  active = underExec(exec, active);
  if (active == inactive)
    return active;
  return intern(selectOp, std::array<TermId, 3>{exec, active, inactive});
}

InstructionShape shapeOf(const Instruction& inst, unsigned accumOffset, const std::string& literalKey) {
  InstructionShape shape;
  if (inst.cls == InstClass::waitcnt || inst.cls == InstClass::nop || isPacing(inst)) {
    shape.hasEffect = false;
    return shape;
  }
  if (inst.cls == InstClass::unknown)
    shape.unsupported = "undecodable words";
  else if (inst.cls == InstClass::jump)
    shape.unsupported = "a call or register jump";
  else if (changesRegisterAddressing(inst))
    shape.unsupported = "indexed registers or skip mode";

  shape.key = inst.base;
  if (inst.mods.dpp != isa::DppCtrl::none)
    shape.key += "_dpp";
  if (inst.mods.isSdwa)
    shape.key += "_sdwa";
  describeOperands(inst, literalKey, shape.key);

  RegSet reads = inst.reads(accumOffset);
  RegSet writes = inst.writes(accumOffset);
  const RegSet kills = inst.kills(accumOffset);
  RegSet explicitReads, explicitWrites;
  for (const auto& operand : inst.operands) {
    if (!isRegister(operand) ||
        (operand.kind == OperandKind::sgpr && operand.index >= isa::sreg::count && operand.index != 253))
      continue;
    for (unsigned d = 0; d < operand.dwords; ++d) {
      const RegUnit unit = unitOf(operand, d, accumOffset);
      if (operand.isDef) {
        shape.results.push_back(unit);
        explicitWrites.set(unit);
      } else {
        shape.sources.push_back(unit);
        explicitReads.set(unit);
      }
    }
  }
  // A destination that is also an input (accumulate in place, preserved halves, swaps) is not printed as a source; its
  // place among the arguments must not depend on which register it is.
  if (inst.tiedDest)
    for (const RegUnit unit : shape.results)
      if (reads.test(unit)) {
        shape.sources.push_back(unit);
        explicitReads.set(unit);
      }
  for (const RegUnit unit : inst.implicitReads) {
    shape.sources.push_back(unit);
    explicitReads.set(unit);
  }
  reads.remove(explicitReads).forEach([&](RegUnit u) { shape.sources.push_back(u); });
  writes.remove(explicitWrites).forEach([&](RegUnit u) { shape.results.push_back(u); });
  const bool vector = inst.cls == InstClass::valu || inst.isVectorMemory() || inst.cls == InstClass::lds;
  shape.laneWise = vector && !crossesLanes(inst) && !isLaneExchange(inst);
  for (const RegUnit u : shape.results)
    // What ignores EXEC (V_WRITELANE) writes lanes that EXEC lacks: its old value is one of its sources instead.
    shape.partial.push_back(u >= isa::vgprBase && !kills.test(u) && inst.readsExec());
  classifyMemory(inst, shape);
  return shape;
}

bool SymbolicExecutor::execute(const Instruction& inst, const std::string& literalKey, SymbolicState& state,
                               std::string& reason) {
  auto& slot = shapes[{&inst, literalKey}];
  if (!slot)
    slot = std::make_unique<const InstructionShape>(shapeOf(inst, accum, literalKey));
  const InstructionShape& shape = *slot;
  if (!shape.hasEffect)
    return true;
  if (!shape.unsupported.empty()) {
    reason = fmt::format("{}: {}", inst.text, shape.unsupported);
    return false;
  }
  const TermId execLo = state.units[isa::sreg::execLo], execHi = state.units[isa::sreg::execHi];
  const TermId exec = terms.node("exec", std::array<TermId, 2>{execLo, execHi});
  std::vector<TermId> arguments;
  for (const RegUnit u : shape.sources) {
    TermId value = state.units[u];
    if (shape.laneWise && u >= isa::vgprBase)
      value = terms.underExec(exec, value);
    arguments.push_back(value);
  }
  if (shape.readsLds)
    arguments.push_back(state.ldsMemory);
  if (shape.readsGlobal)
    arguments.push_back(state.globalMemory);
  std::vector<TermId> values;
  for (std::size_t i = 0; i < shape.results.size(); ++i) {
    TermId value = terms.node(fmt::format("{}/{}", shape.key, i), arguments);
    if (shape.partial[i])
      value = terms.select(exec, value, state.units[shape.results[i]]);
    values.push_back(value);
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    state.units[shape.results[i]] = values[i];
  if (shape.writesLds)
    state.ldsMemory = terms.node(shape.key + "/lds", arguments);
  if (shape.writesGlobal)
    state.globalMemory = terms.node(shape.key + "/global", arguments);
  return true;
}

} // namespace asmevo::verify
