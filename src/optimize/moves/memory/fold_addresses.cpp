#include "optimize/moves/memory/fold_addresses.h"

#include "optimize/moves/arithmetic/straight_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace asmevo::optimize {

namespace {

using isa::InstClass;
using isa::Operand;
using isa::OperandKind;

/// A register as it was read by the instruction at `at`.
struct Term {
  OperandKind kind = OperandKind::vgpr;
  unsigned index = 0;
  std::size_t at = 0;
};

/// A 64-bit address mod 2^64: the zero-extended `low` ones, the `high` ones times 2^32, and a constant. Sums of 32-bit
/// halves with their carry are such sums, whichever halves belong together.
struct Sum {
  std::vector<Term> low, high;
  std::uint64_t constant = 0;
  std::vector<std::size_t> makers; ///< instructions that were looked through
};

class AddressFolder {
 public:
  explicit AddressFolder(StraightCode& c) : code(c) {}

  /// Has the access at `at` do its address arithmetic; false: nothing changed.
  bool fold(std::size_t at) {
    const isa::Instruction& inst = code.at(at);
    const bool load = inst.base.starts_with("global_load_"), store = inst.base.starts_with("global_store_");
    if (inst.cls != InstClass::global || (!load && !store) || !code.isEditable(at) || inst.isLdsDma() ||
        inst.operands.size() != 3)
      return false;
    const std::size_t slot = load ? 1 : 0;
    const Operand& address = inst.operands[slot];
    if (address.kind != OperandKind::vgpr || address.dwords != 2 || inst.operands[2].kind != OperandKind::off)
      return false;
    Sum sum;
    sum.low.push_back({OperandKind::vgpr, address.index, at});
    sum.high.push_back({OperandKind::vgpr, address.index + 1u, at});
    while (expand(sum))
      ;
    if (sum.makers.empty() || !stillThere(sum, at))
      return false;
    const auto offset =
        static_cast<std::int64_t>(sum.constant + static_cast<std::uint64_t>(std::int64_t{inst.mods.offset}));
    if (offset < -4096 || offset > 4095) // 13 bits, signed (CDNA3 ISA, FLAT)
      return false;
    const auto made = assembled(inst, slot, sum, offset);
    if (!made)
      return false;
    code.replace(at, *made);
    std::ranges::sort(sum.makers, std::greater());
    for (const std::size_t maker : sum.makers)
      if (code.has(maker) && code.isEditable(maker) && isDead(maker)) {
        code.remove(maker);
        ++removed;
      }
    return true;
  }

  unsigned removed = 0;

 private:
  bool isDead(std::size_t at) const {
    bool dead = true;
    code.writes(at).forEach([&](isa::RegUnit unit) { dead = dead && code.deadAfter(unit, at); });
    return dead;
  }

  /// The instruction that wrote the VGPR of the term.
  std::size_t makerOf(const Term& term) const {
    return term.kind == OperandKind::vgpr ? code.definition(isa::vgprUnit(term.index), term.at) : StraightCode::npos;
  }

  /// Can the operand stand in a sum?
  static bool isTerm(const Operand& o) {
    return o.kind == OperandKind::imm || o.kind == OperandKind::vgpr ||
           (o.kind == OperandKind::sgpr && o.index < isa::sreg::vccLo);
  }
  static void add(Sum& sum, bool high, const Operand& o, std::size_t at) {
    if (o.kind == OperandKind::imm)
      sum.constant += std::uint64_t{static_cast<std::uint32_t>(o.imm)} << (high ? 32 : 0);
    else
      (high ? sum.high : sum.low).push_back({o.kind, o.index, at});
  }

  /// Looks through one more instruction (or pair of an addition and the one that takes its carry).
  bool expand(Sum& sum) const {
    for (const bool high : {false, true})
      if (copy(sum, high))
        return true;
    for (std::size_t l = 0; l < sum.low.size(); ++l)
      for (std::size_t h = 0; h < sum.high.size(); ++h)
        if (addition(sum, l, h) || wideAddition(sum, l, h))
          return true;
    return false;
  }

  bool copy(Sum& sum, bool high) const {
    auto& terms = high ? sum.high : sum.low;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const std::size_t maker = makerOf(terms[i]);
      if (maker == StraightCode::npos)
        continue;
      const isa::Instruction& inst = code.at(maker);
      if (inst.base != "v_mov_b32" || !isPlain(inst) || !code.isEditable(maker) || inst.operands.size() != 2 ||
          !isTerm(inst.operands[1]))
        continue;
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
      add(sum, high, inst.operands[1], maker);
      sum.makers.push_back(maker);
      return true;
    }
    return false;
  }

  bool addition(Sum& sum, std::size_t l, std::size_t h) const {
    const std::size_t low = makerOf(sum.low[l]), high = makerOf(sum.high[h]);
    if (low == StraightCode::npos || high == StraightCode::npos || low >= high)
      return false;
    const isa::Instruction &a = code.at(low), &b = code.at(high);
    if (a.base != "v_add_co_u32" || b.base != "v_addc_co_u32" || !isPlain(a) || !isPlain(b) || a.operands.size() != 4 ||
        b.operands.size() != 5 || !code.isEditable(low) || !code.isEditable(high))
      return false;
    const Operand &carryOut = a.operands[1], &carryIn = b.operands[4];
    if (carryOut.kind != OperandKind::sgpr || carryIn.kind != OperandKind::sgpr || carryIn.dwords != 2 ||
        carryOut.index != carryIn.index || code.definition(carryIn.index, high) != low ||
        code.definition(carryIn.index + 1u, high) != low)
      return false;
    for (const std::size_t source : {std::size_t{2}, std::size_t{3}})
      if (!isTerm(a.operands[source]) || !isTerm(b.operands[source]))
        return false;
    sum.low.erase(sum.low.begin() + static_cast<std::ptrdiff_t>(l));
    sum.high.erase(sum.high.begin() + static_cast<std::ptrdiff_t>(h));
    for (const std::size_t source : {std::size_t{2}, std::size_t{3}}) {
      add(sum, false, a.operands[source], low);
      add(sum, true, b.operands[source], high);
    }
    sum.makers.push_back(low);
    sum.makers.push_back(high);
    return true;
  }

  /// V_LSHL_ADD_U64 without a shift.
  bool wideAddition(Sum& sum, std::size_t l, std::size_t h) const {
    const std::size_t maker = makerOf(sum.low[l]);
    if (maker == StraightCode::npos || maker != makerOf(sum.high[h]))
      return false;
    const isa::Instruction& inst = code.at(maker);
    if (inst.base != "v_lshl_add_u64" || !isPlain(inst) || inst.operands.size() != 4 || !code.isEditable(maker) ||
        inst.operands[0].index != sum.low[l].index || inst.operands[0].index + 1u != sum.high[h].index ||
        inst.operands[2].kind != OperandKind::imm || inst.operands[2].imm != 0)
      return false;
    for (const std::size_t source : {std::size_t{1}, std::size_t{3}}) {
      const Operand& o = inst.operands[source];
      // Inline integers are sign-extended.
      if (!isTerm(o) || (o.kind == OperandKind::imm ? o.imm < -16 || o.imm > 64 : o.dwords != 2))
        return false;
    }
    sum.low.erase(sum.low.begin() + static_cast<std::ptrdiff_t>(l));
    sum.high.erase(sum.high.begin() + static_cast<std::ptrdiff_t>(h));
    for (const std::size_t source : {std::size_t{1}, std::size_t{3}}) {
      const Operand& o = inst.operands[source];
      if (o.kind == OperandKind::imm) {
        sum.constant += static_cast<std::uint64_t>(o.imm);
        continue;
      }
      sum.low.push_back({o.kind, o.index, maker});
      sum.high.push_back({o.kind, o.index + 1u, maker});
    }
    sum.makers.push_back(maker);
    return true;
  }

  /// Do all registers of the sum still hold at the access what was read of them?
  bool stillThere(const Sum& sum, std::size_t access) const {
    for (const auto* terms : {&sum.low, &sum.high})
      for (const Term& term : *terms) {
        isa::RegSet unit;
        unit.set(term.kind == OperandKind::vgpr ? isa::vgprUnit(term.index) : isa::RegUnit(term.index));
        if (term.at != access &&
            (code.writes(term.at).intersects(unit) || !code.unchangedBetween(unit, term.at, access)))
          return false;
      }
    return true;
  }

  /// The access with the sum as its address, where it has the shape of one.
  std::optional<isa::InstRef> assembled(const isa::Instruction& inst, std::size_t slot, const Sum& sum,
                                        std::int64_t offset) const {
    std::string address, base;
    const auto& low = sum.low;
    const auto& high = sum.high;
    if (low.size() == 2 && high.size() == 1 && low[0].kind != low[1].kind && high[0].kind == OperandKind::sgpr) {
      const Term &scalar = low[0].kind == OperandKind::sgpr ? low[0] : low[1],
                 &vector = low[0].kind == OperandKind::sgpr ? low[1] : low[0];
      if (scalar.index % 2 != 0 || high[0].index != scalar.index + 1)
        return std::nullopt;
      address = fmt::format("v{}", vector.index);
      base = fmt::format("s[{}:{}]", scalar.index, scalar.index + 1);
    } else if (low.size() == 1 && high.size() == 1 && low[0].kind == OperandKind::vgpr &&
               high[0].kind == OperandKind::vgpr && low[0].index % 2 == 0 && high[0].index == low[0].index + 1) {
      address = fmt::format("v[{}:{}]", low[0].index, high[0].index);
      base = "off";
    } else {
      return std::nullopt;
    }
    const Operand& data = inst.operands[1 - slot];
    const std::string dataText = inst.text.substr(data.textBegin, std::size_t{data.textEnd} - data.textBegin);
    std::string text = fmt::format("{} {}, {}, {}", inst.mnemonic, slot == 1 ? dataText : address,
                                   slot == 1 ? address : dataText, base);
    if (offset != 0)
      text += fmt::format(" offset:{}", offset);
    for (const auto& [set, name] :
         {std::pair(inst.mods.sc0, " sc0"), std::pair(inst.mods.nt, " nt"), std::pair(inst.mods.sc1, " sc1")})
      if (set)
        text += name;
    const auto made = code.codec().assemble(text);
    if (!made || (*made)->base != inst.base || (*made)->mods.offset != offset || (*made)->mods.nt != inst.mods.nt ||
        (*made)->mods.sc0 != inst.mods.sc0 || (*made)->mods.sc1 != inst.mods.sc1)
      return std::nullopt;
    return *made;
  }

  StraightCode& code;
};

class FoldAddressesMove final : public Move {
 public:
  std::string_view name() const override { return "fold-addresses"; }
  std::string_view purpose() const override {
    return "64-bit address additions into the base and the immediate offset of global loads and stores";
  }
  /// Unrolled steps gain together: one block's shorter issue hides behind the waits of the others.
  bool isLocal() const override { return false; }
  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    // Only where the printed bits are all there are (sc0, sc1, nt).
    if (!context.object.target().processor.starts_with("gfx94") &&
        !context.object.target().processor.starts_with("gfx95"))
      return {};
    return proposeForBlocks(program, context, [](StraightCode& code) {
      AddressFolder folder(code);
      unsigned accesses = 0;
      for (std::size_t i = 0; i < code.size(); ++i)
        if (code.has(i) && folder.fold(i))
          ++accesses;
      return folder.removed ? fmt::format("{} address instructions fewer: {} global accesses add base and offset "
                                          "themselves",
                                          folder.removed, accesses)
                            : std::string();
    });
  }
};

} // namespace

const Move& foldAddressesMove() {
  static const FoldAddressesMove move;
  return move;
}

} // namespace asmevo::optimize
