#include "optimize/moves/arithmetic/pair_floats.h"

#include "optimize/moves/arithmetic/straight_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace asmevo::optimize {

namespace {

using isa::OperandKind;

constexpr std::size_t reach = 24; ///< instructions between the two at most: further apart, live ranges grow
constexpr std::size_t shadow = 6; ///< instructions behind an MFMA among which packed operations wait for it

/// How an operation looks in packed form: which operand each source is, and which of them is negated.
struct Form {
  std::string_view base, packed;
  std::array<std::uint8_t, 3> operands; ///< by source; 0: none (operand 0, the destination, is given as 9)
  std::uint8_t negated = 0;             ///< bit i: source i
};
constexpr std::uint8_t destination = 9;

constexpr std::array forms = {
    Form{"v_mul_f32", "v_pk_mul_f32", {1, 2, 0}},    Form{"v_add_f32", "v_pk_add_f32", {1, 2, 0}},
    Form{"v_sub_f32", "v_pk_add_f32", {1, 2, 0}, 2}, Form{"v_subrev_f32", "v_pk_add_f32", {2, 1, 0}, 2},
    Form{"v_fma_f32", "v_pk_fma_f32", {1, 2, 3}},    Form{"v_fmac_f32", "v_pk_fma_f32", {1, 2, destination}},
    Form{"v_fmamk_f32", "v_pk_fma_f32", {1, 2, 3}},  Form{"v_fmaak_f32", "v_pk_fma_f32", {1, 2, 3}},
};

/// The operation in its packed form; null for others. Signs are fine, other modifiers are not.
const Form* formOf(const StraightCode& code, std::size_t at) {
  if (!code.isEditable(at))
    return nullptr;
  const isa::Instruction& inst = code.at(at);
  const isa::Modifiers& m = inst.mods;
  if (inst.cls != isa::InstClass::valu || m.dpp != isa::DppCtrl::none || m.isSdwa || m.clamp || m.omod != 0 ||
      m.opSel != 0 || inst.operands.empty() || inst.operands[0].kind != OperandKind::vgpr ||
      inst.operands[0].dwords != 1)
    return nullptr;
  for (const isa::Operand& operand : inst.operands)
    if (operand.abs || operand.sext || operand.half != 0)
      return nullptr;
  const auto form = std::ranges::find(forms, std::string_view(inst.base), &Form::base);
  return form == forms.end() ? nullptr : &*form;
}

class Pairing {
 public:
  Pairing(StraightCode& c, bool s) : code(c), inShadows(s) {}

  std::size_t run() {
    std::size_t pairs = 0;
    std::size_t sinceMatrix = shadow + 1;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (!code.has(i))
        continue;
      sinceMatrix = code.at(i).cls == isa::InstClass::mfma ? 0 : sinceMatrix + 1;
      const Form* form = formOf(code, i);
      if (!form || (!inShadows && sinceMatrix <= shadow))
        continue;
      for (std::size_t j = i + 1; j < std::min(code.size(), i + reach); ++j) {
        if (!code.has(j))
          continue;
        if (!inShadows && code.at(j).cls == isa::InstClass::mfma)
          break;
        const Form* other = formOf(code, j);
        if (!other || other->packed != form->packed || !pair(i, *form, j, *other))
          continue;
        ++pairs;
        break;
      }
    }
    return pairs;
  }

 private:
  struct Half {
    const isa::Instruction* inst;
    const Form* form;
  };

  static std::size_t operandOf(const Form& form, std::size_t source) {
    return form.operands[source] == destination ? 0 : form.operands[source];
  }

  bool pair(std::size_t i, const Form& form, std::size_t j, const Form& other) {
    const unsigned a = code.at(i).operands[0].index, b = code.at(j).operands[0].index;
    if ((a ^ b) != 1)
      return false;
    const bool down = canMoveDown(i, j), up = !down && canMoveUp(i, j);
    if (!down && !up)
      return false;
    const Half first{&code.at(i), &form}, second{&code.at(j), &other};
    const auto text = a < b ? packedText(first, second, i) : packedText(second, first, i);
    if (!text || !code.replace(down ? j : i, *text))
      return false;
    code.remove(down ? i : j);
    return true;
  }

  isa::RegSet sources(std::size_t at) const {
    isa::RegSet units = code.reads(at);
    units.reset(isa::sreg::execLo);
    units.reset(isa::sreg::execHi);
    return units;
  }

  bool untouched(const isa::RegSet& result, const isa::RegSet& read, std::size_t i, std::size_t j,
                 bool waitsAllowed) const {
    for (std::size_t k = i + 1; k < j; ++k)
      if (code.has(k) && (code.reads(k).intersects(result) || code.writes(k).intersects(result | read) ||
                          (!waitsAllowed && code.at(k).cls == isa::InstClass::waitcnt)))
        return false;
    return code.sameLanes(i, j);
  }
  /// The first to the second's place.
  bool canMoveDown(std::size_t i, std::size_t j) const {
    return !code.reads(j).intersects(code.writes(i)) && untouched(code.writes(i), sources(i), i, j, true);
  }
  /// The second to the first's: nothing it reads may still be waited for.
  bool canMoveUp(std::size_t i, std::size_t j) const {
    return !code.reads(j).intersects(code.writes(i)) && untouched(code.writes(j), sources(j), i, j, false);
  }

  /// One source of both halves: registers of one aligned pair, or one constant.
  struct Packed {
    std::string text;
    bool low = false, high = false; ///< which register of the pair either half reads
  };
  std::optional<Packed> source(const isa::Operand& low, const std::string& lowText, const isa::Operand& high,
                               const std::string& highText, std::size_t at) const {
    const auto registers = [](char file, unsigned base) { return fmt::format("{}[{}:{}]", file, base, base + 1); };
    if (low.kind == high.kind && (low.kind == OperandKind::vgpr || low.kind == OperandKind::sgpr)) {
      if (low.index / 2 != high.index / 2 || (low.kind == OperandKind::sgpr && low.index >= 102))
        return std::nullopt;
      return Packed{registers(low.kind == OperandKind::vgpr ? 'v' : 's', low.index & ~1u), (low.index & 1) != 0,
                    (high.index & 1) != 0};
    }
    if (low.kind != high.kind || (low.kind != OperandKind::imm && low.kind != OperandKind::fpImm) ||
        lowText != highText)
      return std::nullopt;
    if (low.kind == OperandKind::fpImm || (low.imm >= -16 && low.imm <= 64))
      return Packed{lowText, false, false};
    const auto sgpr = code.sgprHolding(static_cast<std::uint32_t>(low.imm), at);
    if (!sgpr || *sgpr >= 102)
      return std::nullopt;
    return Packed{registers('s', *sgpr & ~1u), (*sgpr & 1) != 0, (*sgpr & 1) != 0};
  }

  std::optional<std::string> packedText(const Half& low, const Half& high, std::size_t at) const {
    const unsigned base = low.inst->operands[0].index;
    if (base % 2 != 0)
      return std::nullopt;
    std::string text = fmt::format("{} v[{}:{}]", low.form->packed, base, base + 1);
    std::array<std::string, 4> bits; // op_sel, op_sel_hi, neg_lo, neg_hi
    for (std::size_t s = 0; s < 3 && low.form->operands[s] != 0; ++s) {
      const std::size_t x = operandOf(*low.form, s), y = operandOf(*high.form, s);
      const isa::Operand &lowOperand = low.inst->operands[x], &highOperand = high.inst->operands[y];
      const auto packed = source(lowOperand, operandText(*low.inst, x), highOperand, operandText(*high.inst, y), at);
      if (!packed)
        return std::nullopt;
      text += ", " + packed->text;
      const auto negated = [&](const Form& form, const isa::Operand& operand) {
        return ((form.negated >> s & 1) != 0) != operand.neg;
      };
      const std::array flags = {packed->low, packed->high, negated(*low.form, lowOperand),
                                negated(*high.form, highOperand)};
      for (std::size_t i = 0; i < flags.size(); ++i)
        bits[i] += fmt::format("{}{}", s == 0 ? "" : ",", flags[i] ? 1 : 0);
    }
    return fmt::format("{} op_sel:[{}] op_sel_hi:[{}] neg_lo:[{}] neg_hi:[{}]", text, bits[0], bits[1], bits[2],
                       bits[3]);
  }

  StraightCode& code;
  bool inShadows;
};

class PairFloatsMove final : public Move {
 public:
  std::string_view name() const override { return "pair-floats"; }
  std::string_view purpose() const override {
    return "make one packed f32 operation of two that work on neighbouring registers";
  }
  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    // Behind an MFMA a packed operation waits for it: there the model decides whether to pair too.
    for (const bool inShadows : {false, true})
      for (Proposal& proposal : proposeForBlocks(program, context, [&](StraightCode& code) {
             const std::size_t pairs = Pairing(code, inShadows).run();
             return pairs ? fmt::format("{} pairs of f32 operations issue as one packed operation each{}", pairs,
                                        inShadows ? "" : ", none in the shadow of an MFMA")
                          : std::string();
           }))
        proposals.push_back(std::move(proposal));
    return proposals;
  }
};

} // namespace

const Move& pairFloatsMove() {
  static const PairFloatsMove move;
  return move;
}

} // namespace asmevo::optimize
