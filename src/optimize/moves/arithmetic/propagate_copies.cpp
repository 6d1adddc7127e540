#include "optimize/moves/arithmetic/propagate_copies.h"

#include "optimize/moves/arithmetic/copies.h"
#include "optimize/moves/move_support.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>

namespace asmevo::optimize {

namespace {

using isa::OperandKind;

bool isCopy(const isa::Instruction& inst) {
  return (inst.base == "v_mov_b32" || inst.base == "v_accvgpr_read_b32" || inst.base == "v_accvgpr_write_b32" ||
          inst.base == "v_accvgpr_read" || inst.base == "v_accvgpr_write" || inst.base == "v_accvgpr_mov_b32" ||
          inst.base == "s_mov_b32" || inst.base == "s_mov_b64" || inst.base == "v_mov_b64") &&
         inst.operands.size() == 2 && isPlain(inst);
}

/// Integer operations that leave a source as it is.
std::optional<std::size_t> unchangedSource(const StraightCode& code, std::size_t at) {
  const isa::Instruction& inst = code.at(at);
  if (inst.operands.size() != 3 || !isPlain(inst) || inst.cls != isa::InstClass::valu)
    return std::nullopt;
  const auto isZero = [&](std::size_t operand) {
    return inst.operands[operand].kind == OperandKind::imm && inst.operands[operand].imm == 0;
  };
  const std::string_view base = inst.base;
  if ((base == "v_add_u32" || base == "v_or_b32" || base == "v_xor_b32") && (isZero(1) || isZero(2)))
    return isZero(1) ? 2 : 1;
  if ((base == "v_lshlrev_b32" || base == "v_lshrrev_b32" || base == "v_ashrrev_i32" || base == "v_subrev_u32") &&
      isZero(1))
    return 2;
  if (base == "v_sub_u32" && isZero(2))
    return 1;
  return std::nullopt;
}

std::size_t takeOutCopies(StraightCode& code) {
  std::size_t taken = 0;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (!code.isEditable(i))
        continue;
      const auto operand = isCopy(code.at(i)) ? std::optional<std::size_t>(1) : unchangedSource(code, i);
      if (!operand)
        continue;
      const isa::Instruction& inst = code.at(i);
      const auto target = tupleOf(inst.operands[0]), source = tupleOf(inst.operands[*operand]);
      bool done = false;
      if (target && source && target == source) {
        code.remove(i);
        done = true;
      } else if (target && source)
        done = readFrom(code, i, *target, *source) || writeTo(code, i, *target, *source);
      else if (target && *operand == 1 &&
               (inst.operands[1].kind == OperandKind::imm || inst.operands[1].kind == OperandKind::fpImm))
        done = readConstant(code, i, *target, operandText(inst, 1));
      taken += done;
      again = again || done;
    }
  }
  return taken;
}

/// Nothing but the destination registers written, and they are the first operand.
bool isValue(const StraightCode& code, std::size_t at) {
  const isa::Instruction& inst = code.at(at);
  if (!code.isEditable(at) || !isPureAlu(inst) || inst.tiedDest || inst.operands.size() < 2 ||
      !inst.operands[0].isDef || code.reads(at).intersects(code.writes(at)) || inst.isAtomic())
    return false;
  const auto target = tupleOf(inst.operands[0]);
  return target && unitsOf(*target, code.accumOffset()) == code.writes(at);
}

std::size_t takeOutRepeats(StraightCode& code) {
  std::size_t taken = 0;
  std::map<std::string, std::size_t> seen; // by text without the destination
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!code.has(i) || !isValue(code, i))
      continue;
    const isa::Instruction& inst = code.at(i);
    const std::string key = inst.mnemonic + inst.text.substr(inst.operands[0].textEnd);
    const auto [entry, fresh] = seen.try_emplace(key, i);
    if (fresh)
      continue;
    const std::size_t first = entry->second;
    entry->second = i;
    if (!code.has(first) || code.at(first).operands.empty() || !isValue(code, first) ||
        code.at(first).mnemonic + code.at(first).text.substr(code.at(first).operands[0].textEnd) != key ||
        !code.sameLanes(first, i) || !code.unchangedBetween(code.reads(i) | code.writes(first), first, i))
      continue;
    const auto target = tupleOf(inst.operands[0]), source = tupleOf(code.at(first).operands[0]);
    if (target == source) {
      code.remove(i);
    } else if (!readFrom(code, i, *target, *source)) {
      continue;
    }
    entry->second = first;
    ++taken;
  }
  return taken;
}

class PropagateCopiesMove final : public Move {
 public:
  std::string_view name() const override { return "propagate-copies"; }
  std::string_view purpose() const override {
    return "take register copies out: readers use the source, or its maker writes where the copy would";
  }
  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    return proposeForBlocks(program, context, [](StraightCode& code) {
      const std::size_t taken = takeOutCopies(code);
      return taken ? fmt::format("{} register copies taken out", taken) : std::string();
    });
  }
};

class CommonSubexpressionsMove final : public Move {
 public:
  std::string_view name() const override { return "common-subexpressions"; }
  std::string_view purpose() const override { return "compute equal values of a block once"; }
  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    return proposeForBlocks(program, context, [](StraightCode& code) {
      const std::size_t taken = takeOutRepeats(code);
      return taken ? fmt::format("{} values computed once instead of again", taken) : std::string();
    });
  }
};

} // namespace

const Move& propagateCopiesMove() {
  static const PropagateCopiesMove move;
  return move;
}

const Move& commonSubexpressionsMove() {
  static const CommonSubexpressionsMove move;
  return move;
}

} // namespace asmevo::optimize
