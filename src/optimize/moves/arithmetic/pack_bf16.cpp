#include "optimize/moves/arithmetic/pack_bf16.h"

#include "optimize/edit/registers.h"
#include "optimize/moves/arithmetic/straight_code.h"
#include "optimize/moves/move_support.h"

#include <fmt/format.h>

#include <array>
#include <memory>

namespace asmevo::optimize {

namespace {

using isa::OperandKind;

constexpr std::uint32_t lowHalves = 0x05040100, highHalves = 0x07060302; ///< selectors of V_PERM_B32

/// V_CNDMASK_B32 whose one value is made by `maker` for it alone.
struct Select {
  std::size_t at = 0, maker = 0;
  std::size_t made = 0;  ///< operand that is the maker's
  std::size_t other = 0; ///< the one that is not
};

/// Free registers of one block, looked for when first needed.
class SpareRegisters {
 public:
  SpareRegisters(const FunctionFacts& f, program::BlockId b) : facts(f), block(b) {}
  std::optional<unsigned> take(RegisterFile file) {
    if (!kit) {
      kit = std::make_unique<RegisterKit>(facts.program, facts.context);
      busy = kit->busyOver(std::span(&block, 1));
    }
    const auto tuple = kit->take(file, 1, busy);
    return tuple ? std::optional(tuple->first) : std::nullopt;
  }

 private:
  const FunctionFacts& facts;
  program::BlockId block;
  std::unique_ptr<RegisterKit> kit;
  isa::RegSet busy;
};

class Packer {
 public:
  explicit Packer(StraightCode& c) : code(c), spare(c.functionFacts(), c.block()) {}

  std::string run() {
    for (std::size_t i = 0; i < code.size(); ++i)
      if (code.has(i) && code.at(i).cls == isa::InstClass::valu)
        wordSelect(i);
    pairs();
    std::string what;
    if (words)
      what = fmt::format("{} masked rounding results are selected by SDWA as high words, without V_AND", words);
    if (packed)
      what += fmt::format("{}{} bf16 pairs are packed from high halves by V_PERM, without shifts",
                          what.empty() ? "" : ", ", packed);
    return what;
  }

 private:
  bool isValu(std::size_t at, std::string_view base, std::size_t operands) const {
    const isa::Instruction& inst = code.at(at);
    return code.isEditable(at) && inst.base == base && isPlain(inst) && inst.operands.size() == operands &&
           inst.operands[0].kind == OperandKind::vgpr;
  }

  /// The only reader of what the maker writes?
  bool isOnlyUse(std::size_t maker, std::size_t user, isa::RegUnit unit) const {
    return code.sameLanes(maker, user) && code.unreadBetween(unit, maker, user) &&
           (code.writes(user).test(unit) || code.deadAfter(unit, user));
  }

  std::optional<Select> selectAt(std::size_t at, std::string_view makerBase) const {
    if (!isValu(at, "v_cndmask_b32", 4))
      return std::nullopt;
    const isa::Instruction& inst = code.at(at);
    for (const std::size_t operand : {std::size_t{1}, std::size_t{2}}) {
      const auto unit = code.unitOf(inst.operands[operand]);
      if (!unit || inst.operands[operand].kind != OperandKind::vgpr || code.unitOf(inst.operands[3 - operand]) == unit)
        continue;
      const std::size_t maker = code.definition(*unit, at);
      if (maker == StraightCode::npos || !isValu(maker, makerBase, 3) || !isOnlyUse(maker, at, *unit))
        continue;
      return Select{at, maker, operand, 3 - operand};
    }
    return std::nullopt;
  }

  std::optional<std::uint32_t> valueOf(std::size_t at, std::size_t operand) const {
    const isa::Operand& o = code.at(at).operands[operand];
    return o.kind == OperandKind::vgpr ? code.vectorConstant(o, at) : code.constant(o, at);
  }

  /// The maker's sources are still there at its user. One that works in place leaves its source where it is when it
  /// goes.
  bool lasts(const Select& select) const {
    isa::RegSet units = code.reads(select.maker);
    units.remove(code.writes(select.maker));
    return code.unchangedBetween(units, select.maker, select.at);
  }

  /// select(vcc, x & 0xffff0000, constant << 16): both high words, and zeros below.
  void wordSelect(std::size_t at) {
    const auto select = selectAt(at, "v_and_b32");
    if (!select || !lasts(*select))
      return;
    const isa::Instruction& inst = code.at(at);
    if (inst.operands[3].kind != OperandKind::sgpr || inst.operands[3].index != isa::sreg::vccLo)
      return;
    const auto other = valueOf(at, select->other);
    if (!other || (*other & 0xffff) != 0 || code.at(at).operands[select->other].kind != OperandKind::vgpr)
      return;
    for (const std::size_t mask : {std::size_t{1}, std::size_t{2}}) {
      if (valueOf(select->maker, mask) != 0xffff0000u ||
          code.at(select->maker).operands[3 - mask].kind != OperandKind::vgpr)
        continue;
      std::array<std::string, 3> sources;
      sources[select->other] = operandText(inst, select->other);
      sources[select->made] = operandText(code.at(select->maker), 3 - mask);
      if (code.replace(at, fmt::format("v_cndmask_b32_sdwa {}, {}, {}, vcc dst_sel:WORD_1 dst_unused:UNUSED_PAD "
                                       "src0_sel:WORD_1 src1_sel:WORD_1",
                                       operandText(inst, 0), sources[1], sources[2]))) {
        code.remove(select->maker);
        ++words;
      }
      return;
    }
  }

  struct PackedPair {
    std::size_t perm = 0;
    Select high, low;
  };

  /// perm(select(m, x >> 16, c), select(n, y >> 16, c)) of the low halves.
  std::optional<PackedPair> pairAt(std::size_t at) const {
    if (!isValu(at, "v_perm_b32", 4) || code.constant(code.at(at).operands[3], at) != lowHalves)
      return std::nullopt;
    PackedPair pair;
    pair.perm = at;
    for (const std::size_t operand : {std::size_t{1}, std::size_t{2}}) {
      const auto unit = code.unitOf(code.at(at).operands[operand]);
      if (!unit || code.at(at).operands[operand].kind != OperandKind::vgpr ||
          unit == code.unitOf(code.at(at).operands[3 - operand]))
        return std::nullopt;
      const std::size_t maker = code.definition(*unit, at);
      if (maker == StraightCode::npos || !isOnlyUse(maker, at, *unit))
        return std::nullopt;
      const auto select = selectAt(maker, "v_lshrrev_b32");
      if (!select || !lasts(*select) || valueOf(select->maker, 1) != 16u ||
          code.at(select->maker).operands[2].kind != OperandKind::vgpr)
        return std::nullopt;
      const auto other = valueOf(maker, select->other);
      if (!other || *other > 0xffff)
        return std::nullopt;
      (operand == 1 ? pair.high : pair.low) = *select;
    }
    if (valueOf(pair.high.at, pair.high.other) != valueOf(pair.low.at, pair.low.other))
      return std::nullopt;
    return pair;
  }

  void pairs() {
    std::vector<PackedPair> found;
    for (std::size_t i = 0; i < code.size(); ++i)
      if (code.has(i) && code.at(i).cls == isa::InstClass::valu)
        if (const auto pair = pairAt(i))
          found.push_back(*pair);
    if (found.empty())
      return;
    // The constant and the selector: where they are at hand, or moved once in front of the first pair.
    std::optional<unsigned> ownSelector, ownConstant;
    std::uint32_t ownValue = 0;
    const std::size_t begin = std::min(found.front().high.at, found.front().low.at);
    std::size_t start = begin;
    for (const PackedPair& pair : found)
      start = std::min({start, pair.high.at, pair.low.at});
    for (const PackedPair& pair : found) {
      const std::uint32_t value = *valueOf(pair.high.at, pair.high.other) << 16;
      auto selector = code.sgprHolding(highHalves, pair.perm);
      auto high = code.vgprHolding(value, pair.high.at), low = code.vgprHolding(value, pair.low.at);
      const bool needsConstant = !high || !low;
      if (needsConstant && (!ownConstant || ownValue != value)) {
        if (ownConstant || found.size() < 2)
          continue;
        ownConstant = spare.take(RegisterFile::vgpr);
        if (!ownConstant || !code.insert(start, fmt::format("v_mov_b32_e32 v{}, {:#x}", *ownConstant, value)))
          return;
        ownValue = value;
      }
      if (needsConstant) {
        if (!code.sameLanes(start, pair.perm))
          continue;
        high = low = ownConstant;
      }
      if (!selector) {
        if (!ownSelector) {
          ownSelector = spare.take(RegisterFile::sgpr);
          if (!ownSelector || !code.insert(start, fmt::format("s_mov_b32 s{}, {:#x}", *ownSelector, highHalves)))
            return;
        }
        selector = ownSelector;
      }
      rewrite(pair, *selector, *high, *low);
    }
  }

  void rewrite(const PackedPair& pair, unsigned selector, unsigned high, unsigned low) {
    const auto text = [&](const Select& select, unsigned constant) {
      const isa::Instruction& inst = code.at(select.at);
      std::array<std::string, 3> sources;
      sources[select.other] = fmt::format("v{}", constant);
      sources[select.made] = operandText(code.at(select.maker), 2);
      return fmt::format("{} {}, {}, {}, {}", inst.mnemonic, operandText(inst, 0), sources[1], sources[2],
                         operandText(inst, 3));
    };
    const isa::Instruction& perm = code.at(pair.perm);
    const auto a = code.codec().assemble(text(pair.high, high)), b = code.codec().assemble(text(pair.low, low));
    const auto p = code.codec().assemble(fmt::format("v_perm_b32 {}, {}, {}, s{}", operandText(perm, 0),
                                                     operandText(perm, 1), operandText(perm, 2), selector));
    if (!a || !b || !p)
      return;
    code.replace(pair.high.at, *a);
    code.replace(pair.low.at, *b);
    code.replace(pair.perm, *p);
    code.remove(pair.high.maker);
    code.remove(pair.low.maker);
    ++packed;
  }

  StraightCode& code;
  SpareRegisters spare;
  std::size_t words = 0, packed = 0;
};

class PackBf16Move final : public Move {
 public:
  std::string_view name() const override { return "pack-bf16"; }
  std::string_view purpose() const override {
    return "round f32 to bf16 and pack pairs without shifting or masking each value";
  }
  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    return proposeForBlocks(program, context, [](StraightCode& code) { return Packer(code).run(); });
  }
};

} // namespace

const Move& packBf16Move() {
  static const PackBf16Move move;
  return move;
}

} // namespace asmevo::optimize
