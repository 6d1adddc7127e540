#include "optimize/moves/arithmetic/fuse_integer.h"

#include "optimize/moves/arithmetic/straight_code.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <map>
#include <string_view>

namespace asmevo::optimize {

namespace {

using isa::OperandKind;

/// outer(inner(a, b), o) as one instruction; "{a}", "{b}" and "{o}" stand for the sources. A shift names its count
/// first.
struct Fusion {
  std::string_view outer;
  bool first, second; ///< which source of the outer instruction the inner one may give
  std::string_view inner;
  std::string_view fused; ///< without its destination
};

constexpr std::array fusions = {
    Fusion{"v_add_u32", true, true, "v_add_u32", "v_add3_u32 {d}, {a}, {b}, {o}"},
    Fusion{"v_add_u32", true, true, "v_lshlrev_b32", "v_lshl_add_u32 {d}, {b}, {a}, {o}"},
    Fusion{"v_add_u32", true, true, "v_xor_b32", "v_xad_u32 {d}, {a}, {b}, {o}"},
    Fusion{"v_add_u32", true, true, "v_mul_u32_u24", "v_mad_u32_u24 {d}, {a}, {b}, {o}"},
    Fusion{"v_add_u32", true, true, "v_mul_i32_i24", "v_mad_i32_i24 {d}, {a}, {b}, {o}"},
    Fusion{"v_lshlrev_b32", false, true, "v_add_u32", "v_add_lshl_u32 {d}, {a}, {b}, {o}"},
    Fusion{"v_or_b32", true, true, "v_lshlrev_b32", "v_lshl_or_b32 {d}, {b}, {a}, {o}"},
    Fusion{"v_or_b32", true, true, "v_and_b32", "v_and_or_b32 {d}, {a}, {b}, {o}"},
    Fusion{"v_or_b32", true, true, "v_or_b32", "v_or3_b32 {d}, {a}, {b}, {o}"},
    Fusion{"v_max_i32", true, true, "v_max_i32", "v_max3_i32 {d}, {a}, {b}, {o}"},
    Fusion{"v_max_u32", true, true, "v_max_u32", "v_max3_u32 {d}, {a}, {b}, {o}"},
    Fusion{"v_min_i32", true, true, "v_min_i32", "v_min3_i32 {d}, {a}, {b}, {o}"},
    Fusion{"v_min_u32", true, true, "v_min_u32", "v_min3_u32 {d}, {a}, {b}, {o}"},
};

/// An instruction whose one-dword result is read by `user` only.
struct Pair {
  std::size_t maker = 0, user = 0;
  std::size_t slot = 0; ///< operand of the user that reads it
};

bool isPlainValu(const StraightCode& code, std::size_t at, std::size_t operands) {
  const isa::Instruction& inst = code.at(at);
  return inst.cls == isa::InstClass::valu && code.isEditable(at) && isPlain(inst) && inst.operands.size() == operands &&
         inst.operands[0].isDef && inst.operands[0].kind == OperandKind::vgpr && inst.operands[0].dwords == 1;
}

isa::RegSet sourceUnits(const StraightCode& code, std::size_t at) {
  isa::RegSet units = code.reads(at);
  units.reset(isa::sreg::execLo);
  units.reset(isa::sreg::execHi);
  return units;
}

/// The instruction that makes operand `slot` of `user` for nobody else.
std::optional<Pair> makerOf(const StraightCode& code, std::size_t user, std::size_t slot) {
  const isa::Instruction& outer = code.at(user);
  const auto unit = code.unitOf(outer.operands[slot]);
  if (!unit || outer.operands[slot].kind != OperandKind::vgpr)
    return std::nullopt;
  for (std::size_t i = 1; i < outer.operands.size(); ++i)
    if (i != slot && code.unitOf(outer.operands[i]) == unit)
      return std::nullopt;
  const std::size_t maker = code.definition(*unit, user);
  if (maker == StraightCode::npos || !isPlainValu(code, maker, 3) || !code.sameLanes(maker, user) ||
      !code.unreadBetween(*unit, maker, user))
    return std::nullopt;
  const bool overwritten = code.unitOf(outer.operands[0]) == unit;
  if (!overwritten && !code.deadAfter(*unit, user))
    return std::nullopt;
  return Pair{maker, user, slot};
}

/// Puts `text`, which reads sources of both, in place of one of the two and drops the other one.
bool fuse(StraightCode& code, const Pair& pair, const std::string& text) {
  const isa::RegSet made = code.writes(pair.maker), result = code.writes(pair.user);
  // A maker that works in place leaves its source where it is when it goes: nothing else writes it up to the user.
  isa::RegSet makerReads = sourceUnits(code, pair.maker);
  makerReads.remove(made);
  if (code.unchangedBetween(makerReads, pair.maker, pair.user)) {
    if (!code.replace(pair.user, text))
      return false;
    code.remove(pair.maker);
    return true;
  }
  // One of the maker's sources is gone at its user; maybe the user can come to it instead.
  isa::RegSet others = sourceUnits(code, pair.user);
  others.remove(made);
  for (std::size_t i = pair.maker + 1; i < pair.user; ++i)
    if (code.has(i) && (code.at(i).cls == isa::InstClass::waitcnt || code.writes(i).intersects(others | result) ||
                        code.reads(i).intersects(result)))
      return false;
  if (!code.replace(pair.maker, text))
    return false;
  code.remove(pair.user);
  return true;
}

bool isLowMask(std::uint32_t mask) {
  return mask != 0 && (mask & (mask + 1)) == 0;
}

class Fuser {
 public:
  explicit Fuser(StraightCode& c) : code(c) {}

  /// Number of instructions saved, by name of what replaced them.
  std::map<std::string, std::size_t> run() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < code.size(); ++i)
        if (code.has(i) && code.at(i).cls == isa::InstClass::valu)
          while (step(i))
            again = true;
    }
    return counts;
  }

 private:
  bool step(std::size_t user) {
    if (!code.has(user))
      return false;
    if (isPlainValu(code, user, 3)) {
      for (const std::size_t slot : {std::size_t{1}, std::size_t{2}})
        if (const auto pair = makerOf(code, user, slot))
          if (byTable(*pair) || byConstants(*pair))
            return true;
      return rotation(user);
    }
    if (isPlainValu(code, user, 4))
      for (const std::size_t slot : {std::size_t{1}, std::size_t{3}})
        if (const auto pair = makerOf(code, user, slot))
          if (byBytes(*pair))
            return true;
    return false;
  }

  /// As an operand of an instruction without literals: an SGPR that holds the constant where it is none of its own.
  std::string plain(std::size_t at, std::size_t operand) const {
    const isa::Operand& o = code.at(at).operands[operand];
    if (o.kind == OperandKind::imm && (o.imm < -16 || o.imm > 64))
      if (const auto sgpr = code.sgprHolding(static_cast<std::uint32_t>(o.imm), at))
        return fmt::format("s{}", *sgpr);
    return operandText(code.at(at), operand);
  }

  bool done(const Pair& pair, const std::string& text) {
    if (!fuse(code, pair, text))
      return false;
    ++counts[text.substr(0, text.find(' '))];
    return true;
  }

  bool byTable(const Pair& pair) {
    const std::string_view outer = code.at(pair.user).base, inner = code.at(pair.maker).base;
    for (const Fusion& fusion : fusions) {
      if (fusion.outer != outer || fusion.inner != inner || !(pair.slot == 1 ? fusion.first : fusion.second))
        continue;
      const std::string text =
          fmt::format(fmt::runtime(fusion.fused), fmt::arg("d", operandText(code.at(pair.user), 0)),
                      fmt::arg("a", plain(pair.maker, 1)), fmt::arg("b", plain(pair.maker, 2)),
                      fmt::arg("o", plain(pair.user, 3 - pair.slot)));
      if (done(pair, text))
        return true;
    }
    return false;
  }

  std::optional<std::uint32_t> constantAt(std::size_t at, std::size_t operand) const {
    const isa::Operand& o = code.at(at).operands[operand];
    return o.kind == OperandKind::vgpr ? code.vectorConstant(o, at) : code.constant(o, at);
  }
  /// The constant source of a commutative instruction and the place of the other one.
  std::optional<std::pair<std::uint32_t, std::size_t>> commutedConstant(std::size_t at) const {
    for (const std::size_t operand : {std::size_t{1}, std::size_t{2}})
      if (const auto value = constantAt(at, operand))
        return std::pair(*value, 3 - operand);
    return std::nullopt;
  }
  /// Count of a shift by a constant below 32.
  std::optional<unsigned> shiftOf(std::size_t at, std::string_view base) const {
    if (code.at(at).base != base)
      return std::nullopt;
    const auto count = constantAt(at, 1);
    return count && *count < 32 ? std::optional<unsigned>(*count) : std::nullopt;
  }

  /// Shifts, masks and fields with known constants.
  bool byConstants(const Pair& pair) {
    const std::string d = operandText(code.at(pair.user), 0);
    const std::string_view outer = code.at(pair.user).base, inner = code.at(pair.maker).base;
    const std::string x = operandText(code.at(pair.maker), 2); // of inner shifts
    const auto left = shiftOf(pair.maker, "v_lshlrev_b32"), right = shiftOf(pair.maker, "v_lshrrev_b32");
    if (outer == "v_and_b32" && right)
      if (const auto mask = constantAt(pair.user, 3 - pair.slot); mask && isLowMask(*mask)) {
        const auto width = static_cast<unsigned>(std::popcount(*mask));
        return width + *right >= 32 ? done(pair, fmt::format("v_lshrrev_b32_e32 {}, {}, {}", d, *right, x))
                                    : done(pair, fmt::format("v_bfe_u32 {}, {}, {}, {}", d, x, *right, width));
      }
    if (pair.slot != 2)
      return false;
    if (const auto count = shiftOf(pair.user, "v_lshrrev_b32")) {
      if (left && *count >= *left && *count > 0)
        return done(pair, fmt::format("v_bfe_u32 {}, {}, {}, {}", d, x, *count - *left, 32 - *count));
      if (right && *count + *right < 32)
        return done(pair, fmt::format("v_lshrrev_b32_e32 {}, {}, {}", d, *count + *right, x));
      if (inner == "v_and_b32")
        if (const auto mask = commutedConstant(pair.maker); mask && isLowMask(mask->first >> *count))
          return done(pair, fmt::format("v_bfe_u32 {}, {}, {}, {}", d, operandText(code.at(pair.maker), mask->second),
                                        *count, std::popcount(mask->first >> *count)));
    }
    if (const auto count = shiftOf(pair.user, "v_lshlrev_b32"); count && left && *count + *left < 32)
      return done(pair, fmt::format("v_lshlrev_b32_e32 {}, {}, {}", d, *count + *left, x));
    if (const auto count = shiftOf(pair.user, "v_ashrrev_i32"); count && left && *count >= *left && *count > 0)
      return done(pair, fmt::format("v_bfe_i32 {}, {}, {}, {}", d, x, *count - *left, 32 - *count));
    return false;
  }

  /// Three-operand bit operations of which one source is a shift: bytes of two registers, or a funnel shift.
  bool byBytes(const Pair& pair) {
    const std::string d = operandText(code.at(pair.user), 0);
    const std::string_view outer = code.at(pair.user).base;
    const std::string x = operandText(code.at(pair.maker), 2);
    const auto left = shiftOf(pair.maker, "v_lshlrev_b32"), right = shiftOf(pair.maker, "v_lshrrev_b32");
    const auto first = operandText(code.at(pair.user), 1);
    if (outer == "v_lshl_or_b32" && pair.slot == 3) {
      const auto count = constantAt(pair.user, 2);
      if (count && right && *count + *right == 32)
        return done(pair, fmt::format("v_alignbit_b32 {}, {}, {}, {}", d, first, x, *right));
      if (count == 16u && code.at(pair.maker).base == "v_and_b32")
        if (const auto mask = commutedConstant(pair.maker); mask && mask->first == 0xffff)
          return pick(pair, d, first, operandText(code.at(pair.maker), mask->second), 0x05040100);
    }
    if (outer == "v_and_or_b32" && pair.slot == 3)
      for (const std::size_t operand : {std::size_t{1}, std::size_t{2}}) {
        const auto mask = constantAt(pair.user, operand);
        const std::string kept = operandText(code.at(pair.user), 3 - operand);
        if (mask == 0xffff0000u && right == 16u)
          return pick(pair, d, kept, x, 0x07060302);
        if (mask == 0xffffu && left == 16u)
          return pick(pair, d, x, kept, 0x05040100);
      }
    return false;
  }

  /// V_PERM_B32 with a selector that some SGPR holds already; bytes 0 to 3 are those of `low`, 4 to 7 those of `high`
  /// (CDNA3 ISA, V_PERM_B32).
  bool pick(const Pair& pair, const std::string& d, const std::string& high, const std::string& low,
            std::uint32_t selector) {
    const auto sgpr = code.sgprHolding(selector, pair.user);
    return sgpr && code.sgprHolding(selector, pair.maker) == sgpr &&
           done(pair, fmt::format("v_perm_b32 {}, {}, {}, s{}", d, high, low, *sgpr));
  }

  /// (x * c) >> n | x * (c << (32 - n)) is x * c rotated: one product is enough.
  bool rotation(std::size_t user) {
    if (code.at(user).base != "v_or_b32")
      return false;
    for (const std::size_t slot : {std::size_t{1}, std::size_t{2}}) {
      const auto shift = makerOf(code, user, slot), high = makerOf(code, user, 3 - slot);
      if (!shift || !high || code.at(high->maker).base != "v_mul_lo_u32")
        continue;
      const auto count = shiftOf(shift->maker, "v_lshrrev_b32");
      const auto low = count && *count > 0 ? makerOf(code, shift->maker, 2) : std::nullopt;
      if (!low || code.at(low->maker).base != "v_mul_lo_u32" || !code.sameLanes(low->maker, user))
        continue;
      const auto a = commutedConstant(low->maker), b = commutedConstant(high->maker);
      if (!a || !b || b->first != a->first << (32 - *count))
        continue;
      const auto source = code.unitOf(code.at(low->maker).operands[a->second]);
      if (!source || source != code.unitOf(code.at(high->maker).operands[b->second]))
        continue;
      const std::size_t begin = std::min(low->maker, high->maker), end = std::max(low->maker, high->maker);
      isa::RegSet units;
      units.set(*source);
      const isa::Operand& product = code.at(low->maker).operands[0];
      const auto unit = code.unitOf(product);
      isa::RegSet held;
      held.set(*unit);
      if (code.writes(begin).intersects(units) || !code.unchangedBetween(units, begin, end) ||
          !code.unchangedBetween(held, low->maker, shift->maker) || !code.unchangedBetween(held, shift->maker, user) ||
          code.writes(high->maker).test(*unit))
        continue;
      const std::string text = fmt::format("v_alignbit_b32 {0}, {1}, {1}, {2}", operandText(code.at(user), 0),
                                           operandText(code.at(low->maker), 0), *count);
      if (!code.replace(user, text))
        continue;
      code.remove(shift->maker);
      code.remove(high->maker);
      counts["v_alignbit_b32"] += 2;
      return true;
    }
    return false;
  }

  StraightCode& code;
  std::map<std::string, std::size_t> counts;
};

class FuseIntegerMove final : public Move {
 public:
  std::string_view name() const override { return "fuse-integer"; }
  std::string_view purpose() const override {
    return "make one three-operand, field or byte instruction of two integer VALU instructions";
  }
  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    return proposeForBlocks(program, context, [](StraightCode& code) {
      std::string what;
      std::size_t saved = 0;
      for (const auto& [name, count] : Fuser(code).run()) {
        saved += count;
        what += fmt::format("{}{} {}", what.empty() ? "" : ", ", count, name);
      }
      return what.empty() ? what : fmt::format("{} VALU instructions fewer: pairs became {}", saved, what);
    });
  }
};

} // namespace

const Move& fuseIntegerMove() {
  static const FuseIntegerMove move;
  return move;
}

} // namespace asmevo::optimize
