#include "program/analysis/exec_relation.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace asmevo::program {

namespace {

Lanes conjunction(Lanes a, Lanes b) {
  if (a == Lanes::same && b == Lanes::same)
    return Lanes::same;
  return std::max(a, b) == Lanes::other ? Lanes::other : Lanes::within;
}

Lanes disjunction(Lanes a, Lanes b) {
  return std::min(a, b) == Lanes::other ? Lanes::other : std::max(a, b);
}

Lanes part(Lanes a) {
  return a == Lanes::other ? Lanes::other : Lanes::within;
}

/// Value of a two-operand mask operation; nothing for others.
std::optional<Lanes> combined(std::string_view operation, Lanes a, Lanes b) {
  if (operation == "and")
    return conjunction(a, b);
  if (operation == "or")
    return disjunction(a, b);
  if (operation == "xor")
    return part(std::min(a, b));
  if (operation == "andn2")
    return part(a);
  return std::nullopt;
}

} // namespace

ExecRelation ExecRelation::atPoint(bool full) {
  ExecRelation state;
  state.isReached = true;
  state.full = full;
  state.pairs.fill(full ? Lanes::within : Lanes::other);
  state.pairs[execPair] = Lanes::same;
  return state;
}

Lanes ExecRelation::operandLanes(const isa::Operand& operand) const {
  if (operand.kind == isa::OperandKind::imm)
    return operand.imm == 0 ? Lanes::within : operand.imm == -1 && full ? Lanes::same : unknownMask();
  const bool pair = operand.kind == isa::OperandKind::sgpr && operand.dwords == 2 && operand.index % 2 == 0 &&
                    operand.index / 2 < pairs.size();
  return pair ? pairs[operand.index / 2] : unknownMask();
}

void ExecRelation::step(const isa::Instruction& inst) {
  if (!isReached)
    return;
  if (!inst.isComplete || inst.cls == isa::InstClass::unknown || inst.leavesFunction()) {
    pairs.fill(unknownMask());
    return;
  }
  const auto source = [&](std::size_t i) {
    return i < inst.operands.size() ? operandLanes(inst.operands[i]) : unknownMask();
  };
  const Lanes before = exec();
  Lanes destination = unknownMask(), newExec = unknownMask();
  const std::string_view base = inst.base;
  constexpr std::string_view plain = "_b64", saving = "_saveexec_b64";
  const bool compare = inst.cls == isa::InstClass::valu && base.starts_with("v_cmp");
  if (compare) {
    destination = part(before);
    newExec = part(before);
  } else if (inst.cls == isa::InstClass::salu && base.starts_with("s_") && base.ends_with(saving)) {
    // D = EXEC; EXEC = S0 op EXEC.
    destination = before;
    newExec = combined(base.substr(2, base.size() - 2 - saving.size()), source(1), before).value_or(unknownMask());
  } else if (base == "s_mov_b64") {
    destination = source(1);
  } else if (base == "s_cselect_b64") {
    destination = std::min(source(1), source(2));
  } else if (inst.cls == isa::InstClass::salu && base.starts_with("s_") && base.ends_with(plain)) {
    destination =
        combined(base.substr(2, base.size() - 2 - plain.size()), source(1), source(2)).value_or(unknownMask());
  }
  std::optional<std::size_t> named;
  if (!inst.operands.empty() && inst.operands[0].isDef && inst.operands[0].kind == isa::OperandKind::sgpr &&
      inst.operands[0].dwords == 2 && inst.operands[0].index % 2 == 0)
    named = inst.operands[0].index / 2;
  for (const isa::RegRange& range : inst.writeRanges)
    if (range.file == isa::RegRange::File::scalar)
      for (unsigned unit = range.first; unit < unsigned{range.first} + range.count && unit / 2 < pairs.size(); ++unit)
        pairs[unit / 2] = unit / 2 == named ? destination : unit / 2 == execPair ? newExec : unknownMask();
}

bool ExecRelation::join(const ExecRelation& other) {
  if (!other.isReached)
    return false;
  if (!isReached) {
    *this = other;
    return true;
  }
  bool changed = false;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (const Lanes both = std::min(pairs[i], other.pairs[i]); both != pairs[i]) {
      pairs[i] = both;
      changed = true;
    }
  return changed;
}

} // namespace asmevo::program
