// Terms that relate lanes and masks, and what is known of a term where a condition holds.
#include "verify/proof/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace asmevo::verify {

namespace {

constexpr std::uint64_t allOnes = ~std::uint64_t{0};

} // namespace

TermId TermTable::lane() {
  return intern(TermOp::lane, Sort::word, 0, {});
}

TermId TermTable::laneBit(TermId a) {
  const Node n = nodes[a];
  switch (n.op) {
  case TermOp::constant:
    if (n.payload == 0 || n.payload == allOnes)
      return truth(n.payload != 0);
    break;
  case TermOp::ballot:
    return arg(a, 0);
  case TermOp::not_:
    return not_(laneBit(arg(a, 0)));
  case TermOp::and_:
  case TermOp::or_:
  case TermOp::xor_: {
    const std::vector<TermId> list(args(a).begin(), args(a).end());
    TermId r = laneBit(list[0]);
    for (std::size_t i = 1; i < list.size(); ++i)
      r = nary(n.op, r, laneBit(list[i]));
    return r;
  }
  case TermOp::select: {
    const TermId condition = arg(a, 0), x = arg(a, 1), y = arg(a, 2);
    return select(condition, laneBit(x), laneBit(y));
  }
  default:
    break;
  }
  return intern(TermOp::laneBit, Sort::bit, 0, std::array{a});
}

TermId TermTable::ballot(TermId truth) {
  const Node n = nodes[truth];
  if (n.op == TermOp::constant)
    return wide(n.payload ? allOnes : 0);
  if (n.op == TermOp::laneBit)
    return arg(truth, 0);
  return intern(TermOp::ballot, Sort::wide, 0, std::array{truth});
}

TermId TermTable::permuted(std::string_view table, TermId value, TermId active) {
  const bool everyLane = constantOf(active) == 1 && table.find('-') == std::string_view::npos;
  if (constantOf(value) == 0 || (everyLane && !nodes[value].varies))
    return value;
  const std::uint64_t payload = internName(table);
  const TermId id = intern(TermOp::permuted, nodes[value].sort, payload, std::array{value, active});
  nodes[id].varies = true;
  return id;
}

TermId TermTable::readLane(TermId value, TermId number) {
  if (!nodes[value].varies)
    return value;
  number = demanded(number, 63);
  if (nodes[value].op == TermOp::lane)
    return and_(number, word(63));
  // What was written to one lane.
  if (const auto c = constantOf(number))
    while (nodes[value].op == TermOp::select && nodes[arg(value, 0)].op == TermOp::eq) {
      const TermId x = arg(arg(value, 0), 0), y = arg(arg(value, 0), 1);
      const auto written = nodes[x].op == TermOp::lane   ? constantOf(y)
                           : nodes[y].op == TermOp::lane ? constantOf(x)
                                                         : std::nullopt;
      if (!written)
        break;
      value = arg(value, *written == *c ? 1 : 2);
      if (!nodes[value].varies)
        return value;
    }
  return intern(TermOp::readLane, nodes[value].sort, 0, std::array{value, number});
}

TermId TermTable::readFirstLane(TermId value, TermId exec) {
  if (!nodes[value].varies)
    return value;
  const TermId active = laneBit(exec);
  const TermId seen = under(active, value);
  const TermId first = !nodes[seen].varies ? seen
                       : constantOf(exec) == allOnes
                           ? readLane(seen, word(0))
                           : intern(TermOp::firstLane, nodes[value].sort, 0, std::array{seen, active});
  return select(eq(exec, wide(0)), readLane(value, word(0)), first);
}

TermId TermTable::apply(std::string_view name, Sort sort, std::span<const TermId> arguments, bool acrossLanes) {
  const std::uint64_t payload = internName(name);
  return intern(acrossLanes ? TermOp::applyAll : TermOp::apply, sort, payload, arguments);
}

TermId TermTable::load(std::string_view kind, Sort sort, std::span<const TermId> arguments) {
  const std::uint64_t payload = internName(kind);
  return intern(TermOp::load, sort, payload, arguments);
}

TermId TermTable::effect(TermId memory, TermId payload) {
  return intern(TermOp::effect, Sort::memory, 0, std::array{memory, payload});
}

bool TermTable::implies(TermId active, TermId condition) const {
  if (active == condition || constantOf(condition) == 1)
    return true;
  const Node& n = nodes[condition];
  if (n.op == TermOp::and_)
    return std::ranges::all_of(args(condition), [&](TermId c) { return implies(active, c); });
  if (n.op == TermOp::or_ && std::ranges::any_of(args(condition), [&](TermId c) { return implies(active, c); }))
    return true;
  // not(or ...) holds where every part is false.
  if (n.op == TermOp::not_ && nodes[arg(condition, 0)].op == TermOp::and_)
    return std::ranges::any_of(args(arg(condition, 0)), [&](TermId c) {
      return std::ranges::any_of(nodes[active].op == TermOp::and_ ? args(active) : std::span<const TermId>(&active, 1),
                                 [&](TermId held) { return isComplement(held, c); });
    });
  if (nodes[active].op == TermOp::and_)
    return std::ranges::find(args(active), condition) != args(active).end();
  return false;
}

TermId TermTable::under(TermId active, TermId value) {
  return constantOf(active) ? value : under(active, value, 4);
}

TermId TermTable::under(TermId active, TermId value, unsigned depth) {
  const Node n = nodes[value];
  if (n.sort == Sort::bit) {
    if (implies(active, value))
      return truth(true);
    if (implies(active, not_(value)))
      return truth(false);
  }
  if (depth == 0)
    return value;
  if (n.op == TermOp::select) {
    const TermId condition = arg(value, 0), a = arg(value, 1), b = arg(value, 2);
    const TermId known = under(active, condition, depth - 1);
    if (const auto c = constantOf(known))
      return under(active, *c ? a : b);
    const TermId x = under(active, a, depth - 1), y = under(active, b, depth - 1);
    return known == condition && x == a && y == b ? value : select(known, x, y);
  }
  if (n.sort == Sort::bit && (n.op == TermOp::and_ || n.op == TermOp::or_ || n.op == TermOp::xor_)) {
    const std::vector<TermId> list(args(value).begin(), args(value).end());
    TermId r = truth(n.op == TermOp::and_);
    for (const TermId part : list)
      r = nary(n.op, r, under(active, part, depth - 1));
    return r;
  }
  if (n.sort == Sort::bit && n.op == TermOp::not_)
    return not_(under(active, arg(value, 0), depth - 1));
  return value;
}

std::string TermTable::describe(TermId id, unsigned depth) const {
  static constexpr std::array names = {"v",        "const",    "sum",       "scaled", "mul",      "and",     "or",
                                       "xor",      "not",      "shl",       "shr",    "sar",      "eq",      "ult",
                                       "slt",      "select",   "pop",       "clz",    "ctz",      "brev",    "zext",
                                       "sext",     "lo",       "hi",        "bit",    "lane",     "laneBit", "ballot",
                                       "permuted", "readlane", "firstlane", "apply",  "applyAll", "load",    "effect"};
  const Node& n = nodes[id];
  if (n.op == TermOp::constant)
    return fmt::format("{:#x}", n.payload);
  if (n.op == TermOp::variable)
    return fmt::format("r{}", n.payload);
  std::string text = names[static_cast<std::size_t>(n.op)];
  if (n.op == TermOp::apply || n.op == TermOp::applyAll || n.op == TermOp::load)
    text += ":" + name(n.payload);
  else if (n.op == TermOp::sum || n.op == TermOp::scaled)
    text += fmt::format("[{:#x}]", n.payload);
  if (depth == 0)
    return text + "(..)";
  text += "(";
  for (std::size_t i = 0; i < n.argCount; ++i)
    text += (i ? ", " : "") + describe(arg(id, i), depth - 1);
  return text + ")";
}

TermId TermTable::select(TermId condition, TermId a, TermId b) {
  if (const auto c = constantOf(condition))
    return *c ? a : b;
  if (nodes[condition].op == TermOp::not_)
    return select(arg(condition, 0), b, a);
  a = under(condition, a);
  b = under(not_(condition), b);
  if (a == b)
    return a;
  if (nodes[a].sort == Sort::bit) {
    if (const auto c = constantOf(a))
      return *c ? or_(condition, b) : and_(not_(condition), b);
    if (const auto c = constantOf(b))
      return *c ? or_(not_(condition), a) : and_(condition, a);
  }
  if (constantOf(a) == 1 && constantOf(b) == 0)
    return nodes[a].sort == Sort::word ? bit(condition) : zext(bit(condition));
  return intern(TermOp::select, nodes[a].sort, 0, std::array{condition, a, b});
}

std::optional<TermId> TermTable::intoSelect(TermOp op, TermId choice, TermId constant) {
  if (nodes[choice].op != TermOp::select || nodes[choice].sort == Sort::bit)
    return std::nullopt;
  const TermId condition = arg(choice, 0), a = arg(choice, 1), b = arg(choice, 2);
  if (!constantOf(a) && !constantOf(b))
    return std::nullopt;
  // Shifts to the left are factors of sums elsewhere; only those that undo one to the right go in.
  if (op == TermOp::shl && nodes[constantOf(a) ? b : a].op != TermOp::shr)
    return std::nullopt;
  const auto apply = [&](TermId value) {
    return op == TermOp::shl ? shl(value, constant) : op == TermOp::shr ? shr(value, constant) : and_(value, constant);
  };
  const TermId first = apply(a), second = apply(b);
  return select(condition, first, second);
}

} // namespace asmevo::verify
