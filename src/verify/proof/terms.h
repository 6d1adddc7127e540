/// Hash-consed terms of the proof: bit vectors of one lane (or of the scalar unit), kept in a normal form.
///
/// A term is a function of the lane; uniform terms are the same in all. What looks across lanes (a ballot, a lane read,
/// a permutation) takes its argument as a function of all lanes, so that nothing that holds in one lane only may be
/// substituted below it. Equal ids mean equal values for every input; the rules of the normal form are identities of
/// modular arithmetic and logic.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace asmevo::verify {

using TermId = std::uint32_t;

enum class Sort : std::uint8_t {
  bit,    ///< truth value
  word,   ///< 32 bits
  wide,   ///< 64 bits
  memory, ///< a version of memory, or an effect on it
};

enum class TermOp : std::uint8_t {
  variable, ///< payload: number
  constant, ///< payload: value
  sum,      ///< payload: constant; arguments: terms and `scaled` terms, sorted
  scaled,   ///< payload: factor
  mul,
  and_, ///< n-ary, sorted; of bits too
  or_,
  xor_,
  not_,
  shl,
  shr,
  sar,
  eq,
  ult,
  slt,
  select, ///< condition, value if true, value if false
  popcount,
  clz,
  ctz,
  brev,
  zext,
  sext,
  lo,
  hi,
  bit,       ///< 0 or 1 of a truth value
  lane,      ///< the lane's number
  laneBit,   ///< the lane's bit of a wide scalar
  ballot,    ///< a wide scalar of every lane's truth value
  permuted,  ///< payload: interned table; value, activity: value of another lane, 0 if it is inactive
  readLane,  ///< value, lane number
  firstLane, ///< value, activity: the value in the first active lane (there is one)
  apply,     ///< uninterpreted, lane-wise; payload: interned name
  applyAll,  ///< uninterpreted over whole registers
  load,      ///< payload: interned kind; memory, address ...
  effect,    ///< memory, payload term: the memory after an effect
};

/// True for operators whose arguments are functions of all lanes.
bool looksAcrossLanes(TermOp op);

class TermTable {
 public:
  TermTable();

  struct Node {
    TermOp op = TermOp::constant;
    Sort sort = Sort::word;
    bool varies = false; ///< may differ from lane to lane
    std::uint32_t firstArg = 0, argCount = 0;
    std::uint64_t payload = 0;
    std::uint64_t maybeOnes = 0; ///< bits that may be set
  };
  const Node& at(TermId id) const { return nodes[id]; }
  std::span<const TermId> args(TermId id) const { return {argList.data() + nodes[id].firstArg, nodes[id].argCount}; }
  TermId arg(TermId id, std::size_t i) const { return argList[nodes[id].firstArg + i]; }
  std::size_t size() const { return nodes.size(); }
  std::optional<std::uint64_t> constantOf(TermId id) const;
  const std::string& name(std::uint64_t interned) const { return names[interned]; }
  std::uint64_t internName(std::string_view text);

  TermId variable(std::uint32_t number, Sort sort, bool varies);
  TermId constant(Sort sort, std::uint64_t value);
  TermId word(std::uint32_t value) { return constant(Sort::word, value); }
  TermId wide(std::uint64_t value) { return constant(Sort::wide, value); }
  TermId truth(bool value) { return constant(Sort::bit, value); }

  TermId add(TermId a, TermId b, std::uint64_t factorOfB = 1);
  TermId sub(TermId a, TermId b) { return add(a, b, ~std::uint64_t{0}); }
  TermId mul(TermId a, TermId b);
  TermId and_(TermId a, TermId b);
  TermId or_(TermId a, TermId b);
  TermId xor_(TermId a, TermId b);
  TermId not_(TermId a);
  TermId shl(TermId a, TermId n);
  TermId shr(TermId a, TermId n);
  TermId sar(TermId a, TermId n);
  TermId eq(TermId a, TermId b);
  TermId ult(TermId a, TermId b);
  TermId slt(TermId a, TermId b);
  TermId select(TermId condition, TermId a, TermId b);
  TermId unary(TermOp op, TermId a); ///< popcount, clz, ctz, brev
  TermId zext(TermId a);
  TermId sext(TermId a);
  TermId lo(TermId a);
  TermId hi(TermId a);
  TermId pack(TermId low, TermId high);
  TermId bit(TermId truth);
  TermId lane();
  TermId laneBit(TermId wide);
  TermId ballot(TermId truth);
  TermId permuted(std::string_view table, TermId value, TermId active);
  TermId readLane(TermId value, TermId number);
  /// V_READFIRSTLANE: of the first lane whose bit of `exec` is set, of lane 0 when none is.
  TermId readFirstLane(TermId value, TermId exec);
  TermId apply(std::string_view name, Sort sort, std::span<const TermId> arguments, bool acrossLanes = false);
  TermId load(std::string_view kind, Sort sort, std::span<const TermId> arguments);
  TermId effect(TermId memory, TermId payload);

  /// `value` as lanes see it where `active` holds.
  TermId under(TermId active, TermId value);
  /// Does `active` imply `condition`, by its conjuncts?
  bool implies(TermId active, TermId condition) const;
  /// A term that agrees with `value` in the bits of `mask`.
  TermId demanded(TermId value, std::uint64_t mask);

  /// "add(v3, 4)", cut off below some depth.
  std::string describe(TermId id, unsigned depth = 4) const;

 private:
  struct Linear {
    std::uint64_t constant = 0;
    std::map<TermId, std::uint64_t> terms;
  };
  static std::uint64_t maskOf(Sort sort);
  TermId intern(TermOp op, Sort sort, std::uint64_t payload, std::span<const TermId> arguments);
  std::uint64_t possibleOnes(TermOp op, Sort sort, std::uint64_t payload, std::span<const TermId> arguments) const;
  void collect(TermId id, std::uint64_t factor, Linear& into) const;
  TermId fromLinear(Sort sort, const Linear& linear);
  TermId highShift(TermId word);
  /// A shift or mask by a constant of a choice with a constant, as the choice of both done: what rounding code selects
  /// before or after it shifts.
  std::optional<TermId> intoSelect(TermOp op, TermId choice, TermId constant);
  TermId nary(TermOp op, TermId a, TermId b);
  TermId under(TermId active, TermId value, unsigned depth);
  bool isComplement(TermId a, TermId b) const;

  std::vector<Node> nodes;
  std::vector<TermId> argList;
  std::unordered_multimap<std::uint64_t, TermId> index;
  std::vector<std::string> names;
  std::unordered_map<std::string, std::uint64_t> nameIds;
};

} // namespace asmevo::verify
