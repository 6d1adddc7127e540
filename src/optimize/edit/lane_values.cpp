#include "optimize/edit/lane_values.h"

#include "program/analysis/dataflow.h"
#include "program/analysis/exec_mask.h"

#include <algorithm>
#include <bit>
#include <span>

namespace asmevo::optimize {

namespace {

using isa::OperandKind;

constexpr unsigned lanes = 64;
constexpr std::uint32_t all = ~std::uint32_t{0};

/// Bits below the lowest unknown one: as far up as sums are known.
constexpr std::uint32_t below(std::uint32_t known) {
  const auto ones = static_cast<unsigned>(std::countr_one(known));
  return ones >= 32 ? all : (std::uint32_t{1} << ones) - 1;
}

/// One lane's word.
struct Word {
  std::uint32_t known = 0, value = 0;
  bool whole() const { return known == all; }
};
Word word(std::uint32_t known, std::uint32_t value) {
  return {known, value & known};
}

Word sum(Word a, Word b) {
  return word(below(a.known & b.known), a.value + b.value);
}
Word difference(Word a, Word b) {
  return word(below(a.known & b.known), a.value - b.value);
}
Word conjunction(Word a, Word b) {
  return word((a.known & b.known) | (a.known & ~a.value) | (b.known & ~b.value), a.value & b.value);
}
Word disjunction(Word a, Word b) {
  return word((a.known & b.known) | a.value | b.value, a.value | b.value);
}
Word exclusive(Word a, Word b) {
  return word(a.known & b.known, a.value ^ b.value);
}
Word left(Word count, Word x) {
  if (!count.whole())
    return {};
  const unsigned n = count.value & 31;
  return word(x.known << n | ((std::uint32_t{1} << n) - 1), x.value << n);
}
Word right(Word count, Word x) {
  if (!count.whole())
    return {};
  const unsigned n = count.value & 31;
  return word(x.known >> n | ~(all >> n), x.value >> n);
}
Word field(Word x, Word offset, Word width) {
  if (!width.whole())
    return {};
  return conjunction(right(offset, x), word(all, (std::uint32_t{1} << (width.value & 31)) - 1));
}

/// Result of a plain one-dword operation; nothing for those that are not followed.
std::optional<Word> result(std::string_view base, std::span<const Word> s, unsigned lane) {
  const auto is = [&](std::string_view name, std::size_t operands) { return base == name && s.size() == operands; };
  if (is("v_mov_b32", 1))
    return s[0];
  if (is("v_mbcnt_lo_u32_b32", 2) || is("v_mbcnt_hi_u32_b32", 2)) {
    if (!s[0].whole())
      return Word{};
    const bool high = base == "v_mbcnt_hi_u32_b32";
    const unsigned counted = high ? (lane < 32 ? 0 : lane - 32) : std::min(lane, 32U);
    const std::uint32_t before = counted >= 32 ? all : (std::uint32_t{1} << counted) - 1;
    return sum(word(all, static_cast<std::uint32_t>(std::popcount(s[0].value & before))), s[1]);
  }
  if (is("v_add_u32", 2))
    return sum(s[0], s[1]);
  if (is("v_sub_u32", 2))
    return difference(s[0], s[1]);
  if (is("v_subrev_u32", 2))
    return difference(s[1], s[0]);
  if (is("v_and_b32", 2))
    return conjunction(s[0], s[1]);
  if (is("v_or_b32", 2))
    return disjunction(s[0], s[1]);
  if (is("v_xor_b32", 2))
    return exclusive(s[0], s[1]);
  if (is("v_lshlrev_b32", 2))
    return left(s[0], s[1]);
  if (is("v_lshrrev_b32", 2))
    return right(s[0], s[1]);
  if (is("v_bfe_u32", 3))
    return field(s[0], s[1], s[2]);
  if (is("v_add3_u32", 3))
    return sum(sum(s[0], s[1]), s[2]);
  if (is("v_lshl_add_u32", 3))
    return sum(left(s[1], s[0]), s[2]);
  if (is("v_add_lshl_u32", 3))
    return left(s[2], sum(s[0], s[1]));
  if (is("v_lshl_or_b32", 3))
    return disjunction(left(s[1], s[0]), s[2]);
  if (is("v_and_or_b32", 3))
    return disjunction(conjunction(s[0], s[1]), s[2]);
  if (is("v_or3_b32", 3))
    return disjunction(disjunction(s[0], s[1]), s[2]);
  if (is("v_xad_u32", 3))
    return sum(exclusive(s[0], s[1]), s[2]);
  return std::nullopt;
}

/// Whether the comparison holds, by its name without "v_cmp_"; nothing for others.
std::optional<bool> compared(std::string_view name, std::uint32_t a, std::uint32_t b) {
  const bool isSigned = name.ends_with("_i32");
  if (!isSigned && !name.ends_with("_u32"))
    return std::nullopt;
  const std::string_view relation = name.substr(0, name.size() - 4);
  const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
  const bool less = isSigned ? sa < sb : a < b;
  if (relation == "lt")
    return less;
  if (relation == "ge")
    return !less;
  if (relation == "eq")
    return a == b;
  if (relation == "ne")
    return a != b;
  if (relation == "gt")
    return !less && a != b;
  if (relation == "le")
    return less || a == b;
  return std::nullopt;
}

bool isPlainWord(const isa::Instruction& inst) {
  const isa::Modifiers& m = inst.mods;
  return m.dpp == isa::DppCtrl::none && !m.isSdwa && !m.clamp && m.omod == 0 && m.opSel == 0 &&
         std::ranges::none_of(inst.operands, [](const isa::Operand& o) { return o.neg || o.abs || o.sext || o.half; });
}

} // namespace

const LaneBits* LaneState::of(isa::RegUnit unit) const {
  const auto found = bits.find(unit);
  return found == bits.end() ? nullptr : found->second.get();
}

std::optional<std::uint64_t> LaneState::mask(isa::RegUnit first) const {
  const auto found = masks.find(first);
  return found == masks.end() ? std::nullopt : std::optional(found->second);
}

struct LaneValues::Problem {
  static constexpr program::Direction direction = program::Direction::forward;
  using State = LaneState;

  LaneValues& values;
  program::BlockId entry;
  std::optional<program::BlockId> second;
  bool itemIsLane;

  State initial(program::BlockId id) const {
    State state;
    const bool byRegister = values.program.blocks[id].entersByRegister && id != entry;
    state.reached = id == entry || id == second || byRegister;
    if (itemIsLane && (id == entry || id == second) && !byRegister) {
      auto lane = std::make_shared<LaneBits>();
      for (unsigned i = 0; i < lanes; ++i) {
        lane->known[i] = lanes - 1;
        lane->value[i] = i;
      }
      state.bits[isa::vgprUnit(0)] = std::move(lane);
    }
    return state;
  }

  bool join(State& into, const State& from) const {
    if (!from.reached)
      return false;
    if (!into.reached) {
      into = from;
      return true;
    }
    bool changed = false;
    for (auto it = into.bits.begin(); it != into.bits.end();) {
      const LaneBits* other = from.of(it->first);
      if (other && (other == it->second.get() || *other == *it->second)) {
        ++it;
        continue;
      }
      auto common = std::make_shared<LaneBits>();
      std::uint32_t any = 0;
      for (unsigned i = 0; other && i < lanes; ++i) {
        const std::uint32_t known = it->second->known[i] & other->known[i] & ~(it->second->value[i] ^ other->value[i]);
        common->known[i] = known;
        common->value[i] = it->second->value[i] & known;
        any |= known;
      }
      if (any == 0) {
        it = into.bits.erase(it);
        changed = true;
        continue;
      }
      if (*common != *it->second) {
        it->second = std::move(common);
        changed = true;
      }
      ++it;
    }
    changed = std::erase_if(into.masks, [&](const auto& m) { return from.mask(m.first) != m.second; }) != 0 || changed;
    return changed;
  }

  template <class Solver> void transfer(program::BlockId id, State& state, Solver&) {
    const auto& instrs = values.program.blocks[id].instrs;
    const auto& full = values.fullBefore.at(id);
    for (std::size_t i = 0; state.reached && i < instrs.size(); ++i)
      values.step(*instrs[i].inst, full[i], state);
  }
};

LaneValues::LaneValues(const program::Program& p, const program::Function& function, unsigned accum, Entry entry)
    : program(p), accumOffset(accum) {
  const program::ExecMask exec(program, function, entry.wholeWaves);
  auto order = program::reversePostOrder(program, function);
  for (const program::BlockId id : order)
    fullBefore[id] = exec.fullBefore(id);
  Problem problem{*this, function.entryBlock, function.preloadEntry, entry.wholeWaves && entry.itemIsLane};
  program::Solver<Problem> solver(program, std::move(order), problem);
  solver.run();
  for (const program::BlockId id : solver.blocks())
    atStart[id] = solver.at(id);
}

void LaneValues::walk(program::BlockId block,
                      const std::function<void(std::size_t, const LaneState&, bool)>& visit) const {
  const auto start = atStart.find(block);
  if (start == atStart.end() || !start->second.reached)
    return;
  LaneState state = start->second;
  const auto& instrs = program.blocks[block].instrs;
  const auto& full = fullBefore.at(block);
  for (std::size_t i = 0; i < instrs.size(); ++i) {
    visit(i, state, full[i]);
    step(*instrs[i].inst, full[i], state);
  }
}

void LaneValues::step(const isa::Instruction& inst, bool full, LaneState& state) const {
  const auto physical = [&](const isa::Operand& o) {
    return isa::vgprUnit(o.kind == OperandKind::agpr ? accumOffset + o.index : o.index);
  };
  const auto wordOf = [&](const isa::Operand& o, unsigned lane) -> Word {
    if (o.kind == OperandKind::imm)
      return word(all, static_cast<std::uint32_t>(o.imm));
    if (o.dwords != 1 || (o.kind != OperandKind::vgpr && o.kind != OperandKind::sgpr))
      return {};
    const LaneBits* bits = state.of(o.kind == OperandKind::vgpr ? physical(o) : isa::RegUnit(o.index));
    return bits ? Word{bits->known[lane], bits->value[lane]} : Word{};
  };
  std::optional<std::pair<isa::RegUnit, LaneBits>> vector;
  std::optional<std::pair<isa::RegUnit, std::uint64_t>> mask;
  const auto& operands = inst.operands;
  const bool plain = inst.isComplete && operands.size() >= 2 && operands[0].isDef && isPlainWord(inst);
  const std::string_view base = inst.base;
  if (plain && inst.cls == isa::InstClass::valu && full && operands[0].kind == OperandKind::vgpr &&
      operands[0].dwords == 1) {
    LaneBits made;
    std::uint32_t any = 0;
    bool followed = true;
    for (unsigned lane = 0; followed && lane < lanes; ++lane) {
      std::optional<Word> value;
      if (base == "v_cndmask_b32" && operands.size() == 4 && operands[3].kind == OperandKind::sgpr) {
        const auto chooses = state.mask(isa::RegUnit(operands[3].index));
        value = chooses ? wordOf(operands[(*chooses >> lane & 1) ? 2 : 1], lane) : Word{};
      } else if (!inst.tiedDest) {
        std::array<Word, 3> sources;
        const std::size_t count = operands.size() - 1;
        for (std::size_t i = 0; i < std::min<std::size_t>(count, 3); ++i)
          sources[i] = wordOf(operands[i + 1], lane);
        if (count <= 3)
          value = result(base, std::span(sources).first(count), lane);
      }
      followed = value.has_value();
      if (followed) {
        made.known[lane] = value->known;
        made.value[lane] = value->value;
        any |= value->known;
      }
    }
    if (followed && any != 0)
      vector.emplace(physical(operands[0]), made);
  } else if (plain && inst.cls == isa::InstClass::valu && full && base.starts_with("v_cmp_") && operands.size() == 3 &&
             operands[0].kind == OperandKind::sgpr && operands[0].dwords == 2) {
    std::uint64_t value = 0;
    bool known = true;
    for (unsigned lane = 0; known && lane < lanes; ++lane) {
      const Word a = wordOf(operands[1], lane), b = wordOf(operands[2], lane);
      const auto holds = compared(base.substr(6), a.value, b.value);
      known = a.whole() && b.whole() && holds.has_value();
      value |= std::uint64_t{known && *holds} << lane;
    }
    if (known)
      mask.emplace(isa::RegUnit(operands[0].index), value);
  } else if (plain && (base == "s_mov_b32" || base == "s_movk_i32") && operands[1].kind == OperandKind::imm &&
             operands[0].kind == OperandKind::sgpr && operands[0].index < isa::sreg::vccLo) {
    LaneBits made;
    made.known.fill(all);
    made.value.fill(base == "s_mov_b32"
                        ? static_cast<std::uint32_t>(operands[1].imm)
                        : static_cast<std::uint32_t>(std::int32_t{static_cast<std::int16_t>(operands[1].imm)}));
    vector.emplace(isa::RegUnit(operands[0].index), made);
  }
  if (!inst.isComplete || inst.cls == isa::InstClass::unknown || inst.cls == isa::InstClass::jump) {
    state.bits.clear();
    state.masks.clear();
    return;
  }
  inst.writes(accumOffset).forEach([&](isa::RegUnit unit) {
    state.bits.erase(unit);
    state.masks.erase(unit);
    if (unit != 0)
      state.masks.erase(isa::RegUnit(unit - 1));
  });
  if (vector)
    state.bits[vector->first] = std::make_shared<const LaneBits>(vector->second);
  if (mask)
    state.masks[mask->first] = mask->second;
}

} // namespace asmevo::optimize
