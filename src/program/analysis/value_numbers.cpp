#include "program/analysis/value_numbers.h"

#include "program/analysis/dominators.h"

#include <algorithm>

namespace asmevo::program {

namespace {

using isa::InstClass;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
namespace sreg = isa::sreg;

constexpr std::uint32_t anyExec = 0; ///< number of an EXEC of all ones

LinearForm constantForm(std::uint32_t value) {
  return {value, {}};
}
LinearForm symbolForm(std::uint32_t symbol) {
  return {0, {{symbol, 1}}};
}

/// Sources in printed order, destinations left out.
std::vector<const Operand*> sourcesOf(const Instruction& inst) {
  std::vector<const Operand*> sources;
  for (const Operand& operand : inst.operands)
    if (!operand.isDef)
      sources.push_back(&operand);
  return sources;
}

bool isPlainVector(const Instruction& inst) {
  const isa::Modifiers& m = inst.mods;
  const bool modified = std::any_of(inst.operands.begin(), inst.operands.end(), [](const Operand& operand) {
    return operand.neg || operand.abs || operand.sext || operand.half != 0;
  });
  return !modified && m.dpp == isa::DppCtrl::none && !m.isSdwa && !m.clamp && m.omod == 0 && m.opSel == 0 &&
         inst.mnemonic.find("_dpp") == std::string::npos && inst.text.find(" :: ") == std::string::npos;
}

} // namespace

LinearForm sum(const LinearForm& a, const LinearForm& b, std::uint32_t factor) {
  LinearForm result{a.constant + factor * b.constant, {}};
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    std::pair<std::uint32_t, std::uint32_t> term;
    if (y == b.terms.end() || (x != a.terms.end() && x->first < y->first))
      term = *x++;
    else if (x == a.terms.end() || y->first < x->first) {
      term = {y->first, factor * y->second};
      ++y;
    } else {
      term = {x->first, x->second + factor * y->second};
      ++x;
      ++y;
    }
    if (term.second != 0)
      result.terms.push_back(term);
  }
  return result;
}

ValueNumbers::ValueNumbers(const Program& p, const Function& f, unsigned accum, bool linearIds, const Visit& visit)
    : program(p), function(f), accumOffset(accum), uniformSymbols{false}, waveBase(freshSymbol(true)),
      countLow(freshSymbol(false)), state(isa::regUnitCount) {
  // Code that names VGPRs by M0 writes registers that its operands do not show.
  if (usesGprIndexing(p, f))
    return;
  const Dominators dominators(p, f);
  std::vector<isa::RegSet> writtenBy(p.blocks.size());
  for (const BlockId id : f.blocks)
    for (const Instr& instr : p.blocks[id].instrs)
      writtenBy[id] |= p.blocks[id].opaque || instr.inst->leavesFunction() ? allUnits() : instr.inst->writes(accum);
  std::map<BlockId, State> ends;
  std::map<BlockId, std::size_t> waiting; // immediate dominees still to come
  const std::vector<BlockId> order = reversePostOrder(p, f);
  for (const BlockId id : order)
    if (const auto dominator = dominators.immediate(id))
      ++waiting[*dominator];
  for (const BlockId id : order) {
    const auto dominator = dominators.immediate(id);
    if (!dominator || p.blocks[id].entersByRegister) {
      forget(allUnits());
      if (linearIds && id == f.entryBlock && f.kernel && !f.preloadEntry && p.blocks[id].predecessors.empty())
        state[isa::vgprBase].form = intern({0, {{laneSymbol, 1}, {waveBase, 1}}});
    } else {
      state = ends[*dominator];
      if (--waiting[*dominator] == 0)
        ends.erase(*dominator);
      // Whatever is written between the dominator's end and here may differ between paths.
      isa::RegSet written;
      std::vector<BlockId> todo(p.blocks[id].predecessors);
      std::vector<bool> seen(p.blocks.size());
      while (!todo.empty()) {
        const BlockId at = todo.back();
        todo.pop_back();
        if (at == *dominator || seen[at])
          continue;
        seen[at] = true;
        written |= writtenBy[at];
        todo.insert(todo.end(), p.blocks[at].predecessors.begin(), p.blocks[at].predecessors.end());
      }
      forget(written);
    }
    const Block& block = p.blocks[id];
    for (std::size_t i = 0; i < block.instrs.size(); ++i) {
      visit({id, static_cast<std::uint32_t>(i)}, *block.instrs[i].inst, *this);
      step(block.instrs[i], block.opaque);
    }
    if (waiting.contains(id))
      ends[id] = state;
  }
}

std::uint32_t ValueNumbers::intern(const LinearForm& form) {
  const auto [it, fresh] = numbers.try_emplace(form, static_cast<std::uint32_t>(table.size()));
  if (fresh)
    table.push_back(form);
  return it->second;
}

std::uint32_t ValueNumbers::freshSymbol(bool uniform) {
  uniformSymbols.push_back(uniform);
  return static_cast<std::uint32_t>(uniformSymbols.size() - 1);
}

bool ValueNumbers::isUniform(const LinearForm& form) const {
  return std::all_of(form.terms.begin(), form.terms.end(),
                     [&](const auto& term) { return uniformSymbols[term.first]; });
}

void ValueNumbers::forget(std::size_t unit) {
  const bool isVector = unit >= isa::vgprBase;
  const std::uint32_t symbol = freshSymbol(!isVector);
  state[unit] = {intern(symbolForm(symbol)), anyExec, symbol};
}

void ValueNumbers::forget(const isa::RegSet& units) {
  units.forEach([&](isa::RegUnit unit) { forget(unit); });
}

LinearForm ValueNumbers::scalar(unsigned unit) const {
  return unit < isa::vgprBase ? table[state[unit].form] : LinearForm();
}

std::uint32_t ValueNumbers::execNumber() {
  const std::uint32_t low = state[sreg::execLo].form, high = state[sreg::execHi].form;
  if (table[low] == constantForm(~0u) && table[high] == constantForm(~0u))
    return anyExec;
  return execNumbers.try_emplace({low, high}, static_cast<std::uint32_t>(execNumbers.size() + 1)).first->second;
}

LinearForm ValueNumbers::vector(unsigned physical) const {
  const Held& held = state[isa::vgprUnit(physical)];
  if (held.mask == anyExec)
    return table[held.form];
  const auto now = execNumbers.find({state[sreg::execLo].form, state[sreg::execHi].form});
  return now != execNumbers.end() && now->second == held.mask ? table[held.form] : symbolForm(held.raw);
}

std::optional<LinearForm> ValueNumbers::operand(const Operand& operand, unsigned dword) const {
  const unsigned index = operand.index + dword;
  switch (operand.kind) {
  case OperandKind::imm:
    if (dword != 0 && operand.imm > INT32_MAX) // how a 32-bit literal is extended depends on the instruction
      return std::nullopt;
    return constantForm(static_cast<std::uint32_t>(dword == 0 ? operand.imm : operand.imm < 0 ? -1 : 0));
  case OperandKind::sgpr:
    if (index >= sreg::scc) // apertures and the like: encodings, not units
      return std::nullopt;
    return scalar(index);
  case OperandKind::vgpr:
    return vector(index);
  case OperandKind::agpr:
    if (accumOffset + index >= isa::regUnitCount - isa::vgprBase)
      return std::nullopt;
    return vector(accumOffset + index);
  default:
    return std::nullopt;
  }
}

std::optional<LinearForm> ValueNumbers::scalarResult(const Instruction& inst) const {
  const auto sources = sourcesOf(inst);
  const auto at = [&](std::size_t i) { return i < sources.size() ? operand(*sources[i]) : std::nullopt; };
  auto a = at(0);
  const auto b = at(1);
  const std::string_view base = inst.base;
  if (base == "s_mov_b32")
    return a;
  if (base == "s_movk_i32" && a)
    return constantForm(static_cast<std::uint32_t>(static_cast<std::int16_t>(a->constant)));
  if (base == "s_addk_i32" && a && !inst.operands.empty())
    if (const auto old = operand(inst.operands[0]))
      return sum(*old, constantForm(static_cast<std::uint32_t>(static_cast<std::int16_t>(a->constant))));
  if (!a || !b)
    return std::nullopt;
  if (base == "s_add_u32" || base == "s_add_i32")
    return sum(*a, *b);
  if (base == "s_sub_u32" || base == "s_sub_i32")
    return sum(*a, *b, ~0u);
  if (base == "s_lshl_b32" && b->isConstant())
    return sum({}, *a, 1u << (b->constant & 31));
  if (base == "s_mul_i32" && (a->isConstant() || b->isConstant()))
    return a->isConstant() ? sum({}, *b, a->constant) : sum({}, *a, b->constant);
  if (a->isConstant() && b->isConstant()) {
    if (base == "s_or_b32")
      return constantForm(a->constant | b->constant);
    if (base == "s_and_b32")
      return constantForm(a->constant & b->constant);
  }
  return std::nullopt;
}

std::optional<LinearForm> ValueNumbers::vectorResult(const Instruction& inst) {
  if (!isPlainVector(inst))
    return std::nullopt;
  const auto sources = sourcesOf(inst);
  const auto at = [&](std::size_t i) { return i < sources.size() ? operand(*sources[i]) : std::nullopt; };
  auto a = at(0);
  const auto b = at(1), c = at(2);
  const std::string_view base = inst.base;
  if (base == "v_mov_b32")
    return a;
  if (!a || !b)
    return std::nullopt;
  LinearForm lane = symbolForm(laneSymbol);
  if (base == "v_mbcnt_lo_u32_b32" && *a == constantForm(~0u) && b->isConstant())
    return sum(symbolForm(countLow), *b);
  if (base == "v_mbcnt_hi_u32_b32" && *a == constantForm(~0u) && b->terms == symbolForm(countLow).terms)
    return sum(lane, constantForm(b->constant));
  if (base == "v_add_u32" || base == "v_add_co_u32" || base == "v_add_nc_u32")
    return sum(*a, *b);
  if (base == "v_sub_u32" || base == "v_sub_co_u32" || base == "v_sub_nc_u32")
    return sum(*a, *b, ~0u);
  if (base == "v_subrev_u32" || base == "v_subrev_co_u32" || base == "v_subrev_nc_u32")
    return sum(*b, *a, ~0u);
  if (base == "v_lshlrev_b32" && a->isConstant())
    return sum({}, *b, 1u << (a->constant & 31));
  if (base == "v_mul_lo_u32" && (a->isConstant() || b->isConstant()))
    return a->isConstant() ? sum({}, *b, a->constant) : sum({}, *a, b->constant);
  // 63 & (multiple of 64 + lane).
  const auto laneOf = [&](const LinearForm& mask, const LinearForm& value) {
    return mask == constantForm(63) && (value == lane || value == sum(lane, symbolForm(waveBase)));
  };
  if (base == "v_and_b32" && (laneOf(*a, *b) || laneOf(*b, *a)))
    return lane;
  // Of 24 bits each; the lane and its wave's first work-item have no more.
  const auto fits24 = [&](const LinearForm& form) {
    return (form.isConstant() && form.constant < (1u << 24)) || form == lane || form == sum(lane, symbolForm(waveBase));
  };
  if ((base == "v_mul_u32_u24" || base == "v_mad_u32_u24") && fits24(*a) && fits24(*b) &&
      (a->isConstant() || b->isConstant())) {
    const LinearForm product = a->isConstant() ? sum({}, *b, a->constant) : sum({}, *a, b->constant);
    return base == "v_mul_u32_u24" ? std::optional(product) : c ? std::optional(sum(product, *c)) : std::nullopt;
  }
  if (!c)
    return std::nullopt;
  if (base == "v_lshl_add_u32" && b->isConstant())
    return sum(*c, *a, 1u << (b->constant & 31));
  if (base == "v_add_lshl_u32" && c->isConstant())
    return sum({}, sum(*a, *b), 1u << (c->constant & 31));
  if (base == "v_add3_u32")
    return sum(sum(*a, *b), *c);
  return std::nullopt;
}

std::optional<LinearForm> ValueNumbers::result(const Instruction& inst) {
  if (inst.operands.empty() || !inst.operands[0].isDef)
    return std::nullopt;
  if (inst.cls == InstClass::salu)
    return scalarResult(inst);
  if (inst.cls != InstClass::valu)
    return std::nullopt;
  if (inst.base == "v_readfirstlane_b32") {
    const auto value = operand(inst.operands.back());
    return value && isUniform(*value) ? value : std::nullopt;
  }
  return vectorResult(inst);
}

void ValueNumbers::step(const Instr& instr, bool opaque) {
  const Instruction& inst = *instr.inst;
  if (opaque || !inst.isComplete || inst.cls == InstClass::unknown || inst.leavesFunction()) {
    forget(allUnits());
    return;
  }
  std::optional<LinearForm> low = result(inst), high;
  const bool pair = inst.base == "s_mov_b64" && inst.operands.size() == 2;
  if (pair) {
    low = operand(inst.operands[1]);
    high = operand(inst.operands[1], 1);
  }
  const bool isVector = !inst.operands.empty() &&
                        (inst.operands[0].kind == OperandKind::vgpr || inst.operands[0].kind == OperandKind::agpr);
  const std::uint32_t mask = isVector ? execNumber() : anyExec;
  forget(inst.writes(accumOffset));
  if (!low || (inst.operands[0].dwords != 1 && !pair))
    return;
  const Operand& destination = inst.operands[0];
  const std::size_t unit = destination.kind == OperandKind::agpr   ? isa::vgprBase + accumOffset + destination.index
                           : destination.kind == OperandKind::vgpr ? isa::vgprBase + unsigned{destination.index}
                                                                   : unsigned{destination.index};
  if (unit + (pair ? 1 : 0) >= state.size() || (!isVector && destination.index >= sreg::scc))
    return;
  state[unit].form = intern(*low);
  state[unit].mask = mask;
  if (high)
    state[unit + 1].form = intern(*high);
}

} // namespace asmevo::program
