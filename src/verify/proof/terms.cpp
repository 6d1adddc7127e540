#include "verify/proof/terms.h"

#include <algorithm>
#include <array>
#include <bit>

namespace asmevo::verify {

namespace {

constexpr std::uint64_t allOnes = ~std::uint64_t{0};
/// Sums longer than this are not merged further: terms stay small whatever the code does.
constexpr std::size_t longestSum = 48;

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15 + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccd;
}

unsigned widthOf(Sort sort) {
  return sort == Sort::wide ? 64 : sort == Sort::word ? 32 : 1;
}

std::int64_t asSigned(Sort sort, std::uint64_t value) {
  return sort == Sort::wide ? static_cast<std::int64_t>(value)
                            : static_cast<std::int64_t>(static_cast<std::int32_t>(value));
}

/// All bits up to the highest one that may be set.
std::uint64_t filledBelow(std::uint64_t bits) {
  return bits == 0 ? 0 : allOnes >> std::countl_zero(bits);
}

} // namespace

bool looksAcrossLanes(TermOp op) {
  return op == TermOp::ballot || op == TermOp::permuted || op == TermOp::readLane || op == TermOp::firstLane ||
         op == TermOp::applyAll || op == TermOp::effect;
}

TermTable::TermTable() {
  nodes.reserve(1 << 14);
}

std::uint64_t TermTable::maskOf(Sort sort) {
  return sort == Sort::wide ? allOnes : sort == Sort::word ? 0xffffffff : 1;
}

std::uint64_t TermTable::internName(std::string_view text) {
  const auto [it, isNew] = nameIds.emplace(std::string(text), names.size());
  if (isNew)
    names.emplace_back(text);
  return it->second;
}

TermId TermTable::intern(TermOp op, Sort sort, std::uint64_t payload, std::span<const TermId> arguments) {
  std::uint64_t h =
      mix(mix(static_cast<std::uint64_t>(op) * 8 + static_cast<std::uint64_t>(sort), 0x51ed270b), payload);
  for (const TermId a : arguments)
    h = mix(h, a);
  const auto [begin, end] = index.equal_range(h);
  for (auto it = begin; it != end; ++it) {
    const Node& n = nodes[it->second];
    if (n.op == op && n.sort == sort && n.payload == payload && n.argCount == arguments.size() &&
        std::equal(arguments.begin(), arguments.end(), argList.begin() + static_cast<std::ptrdiff_t>(n.firstArg)))
      return it->second;
  }
  const auto id = static_cast<TermId>(nodes.size());
  Node node{op,
            sort,
            op == TermOp::lane,
            static_cast<std::uint32_t>(argList.size()),
            static_cast<std::uint32_t>(arguments.size()),
            payload,
            0};
  if (op == TermOp::laneBit || op == TermOp::applyAll)
    node.varies = true;
  else if (op != TermOp::ballot && op != TermOp::readLane && op != TermOp::firstLane && sort != Sort::memory)
    for (const TermId a : arguments)
      node.varies |= nodes[a].varies;
  node.maybeOnes = possibleOnes(op, sort, payload, arguments);
  nodes.push_back(node);
  argList.insert(argList.end(), arguments.begin(), arguments.end());
  index.emplace(h, id);
  return id;
}

std::uint64_t TermTable::possibleOnes(TermOp op, Sort sort, std::uint64_t payload, std::span<const TermId> list) const {
  const std::uint64_t all = maskOf(sort);
  const auto ones = [&](std::size_t i) { return nodes[list[i]].maybeOnes; };
  switch (op) {
  case TermOp::constant:
    return payload;
  case TermOp::bit:
    return 1;
  case TermOp::lane:
    return 63;
  case TermOp::zext:
  case TermOp::lo:
    return ones(0) & 0xffffffff;
  case TermOp::hi:
    return ones(0) >> 32;
  case TermOp::popcount:
  case TermOp::clz:
  case TermOp::ctz:
    return 127;
  case TermOp::and_: {
    std::uint64_t r = all;
    for (std::size_t i = 0; i < list.size(); ++i)
      r &= ones(i);
    return r;
  }
  case TermOp::or_:
  case TermOp::xor_: {
    std::uint64_t r = 0;
    for (std::size_t i = 0; i < list.size(); ++i)
      r |= ones(i);
    return r;
  }
  case TermOp::select:
    return ones(1) | ones(2);
  case TermOp::shl:
    if (const auto n = constantOf(list[1]))
      return ones(0) << (*n & (widthOf(sort) - 1)) & all;
    return all;
  case TermOp::shr:
    if (const auto n = constantOf(list[1]))
      return ones(0) >> (*n & (widthOf(sort) - 1));
    return filledBelow(ones(0));
  case TermOp::scaled:
    // The zeros at the low end stay; the high end may fill up.
    return ones(0) == 0 || payload == 0
               ? 0
               : all & (allOnes << std::min(63, std::countr_zero(ones(0)) + std::countr_zero(payload)));
  case TermOp::sum: {
    std::uint64_t low = payload, bound = payload;
    bool exact = true; // no wrap: the sum of the largest values fits
    for (std::size_t i = 0; i < list.size(); ++i) {
      low |= ones(i);
      exact &= !__builtin_add_overflow(bound, ones(i), &bound);
    }
    const std::uint64_t zerosBelow = low == 0 ? all : allOnes << std::countr_zero(low);
    return zerosBelow & (exact && bound <= all ? filledBelow(bound) : all);
  }
  default:
    return all;
  }
}

std::optional<std::uint64_t> TermTable::constantOf(TermId id) const {
  const Node& n = nodes[id];
  return n.op == TermOp::constant ? std::optional(n.payload) : std::nullopt;
}

TermId TermTable::variable(std::uint32_t number, Sort sort, bool varies) {
  const TermId id = intern(TermOp::variable, sort, number, {});
  nodes[id].varies = varies;
  return id;
}

TermId TermTable::constant(Sort sort, std::uint64_t value) {
  return intern(TermOp::constant, sort, value & maskOf(sort), {});
}

void TermTable::collect(TermId id, std::uint64_t factor, Linear& into) const {
  const Node& n = nodes[id];
  switch (n.op) {
  case TermOp::constant:
    into.constant += factor * n.payload;
    break;
  case TermOp::sum:
    into.constant += factor * n.payload;
    for (const TermId a : args(id))
      collect(a, factor, into);
    break;
  case TermOp::scaled:
    into.terms[arg(id, 0)] += factor * n.payload;
    break;
  case TermOp::not_: // ~x = -1 - x
    if (n.sort != Sort::bit) {
      into.constant -= factor;
      collect(arg(id, 0), 0 - factor, into);
      break;
    }
    [[fallthrough]];
  default:
    into.terms[id] += factor;
  }
}

TermId TermTable::fromLinear(Sort sort, const Linear& linear) {
  const std::uint64_t mask = maskOf(sort);
  const std::uint64_t constantPart = linear.constant & mask;
  std::vector<TermId> list;
  for (const auto& [term, factor] : linear.terms) {
    const std::uint64_t f = factor & mask;
    if (f == 0)
      continue;
    if (f == 1)
      list.push_back(term);
    else
      list.push_back(intern(TermOp::scaled, sort, f, std::array{term}));
  }
  if (list.empty())
    return constant(sort, constantPart);
  if (list.size() == 1 && constantPart == 0)
    return list[0];
  // -1 - x is ~x.
  if (list.size() == 1 && constantPart == mask && nodes[list[0]].op == TermOp::scaled && nodes[list[0]].payload == mask)
    return intern(TermOp::not_, sort, 0, std::array{arg(list[0], 0)});
  std::ranges::sort(list);
  return intern(TermOp::sum, sort, constantPart, list);
}

TermId TermTable::add(TermId a, TermId b, std::uint64_t factorOfB) {
  Linear linear;
  collect(a, 1, linear);
  collect(b, factorOfB, linear);
  const Sort sort = nodes[a].sort;
  if (linear.terms.size() > longestSum) {
    Linear pair;
    pair.terms[a] += 1;
    pair.terms[b] += factorOfB;
    return fromLinear(sort, pair);
  }
  if (sort == Sort::wide)
    // zext(lo x) + 2^32 zext(hi x) is x.
    for (const auto& [term, factor] : linear.terms) {
      if (nodes[term].op != TermOp::zext || nodes[arg(term, 0)].op != TermOp::hi || (factor & 0xffffffff) != 0)
        continue;
      const TermId whole = arg(arg(term, 0), 0), low = zext(lo(whole));
      Linear lowForm;
      collect(low, factor >> 32, lowForm);
      if (lowForm.terms.empty())
        continue;
      const bool present = std::ranges::all_of(lowForm.terms, [&](const auto& entry) {
        const auto it = linear.terms.find(entry.first);
        return it != linear.terms.end() && it->second == entry.second;
      });
      if (!present)
        continue;
      Linear joined = linear;
      joined.terms.erase(term);
      for (const auto& entry : lowForm.terms)
        joined.terms.erase(entry.first);
      joined.constant -= lowForm.constant;
      collect(whole, factor >> 32, joined);
      return fromLinear(sort, joined);
    }
  return fromLinear(sort, linear);
}

TermId TermTable::mul(TermId a, TermId b) {
  const Sort sort = nodes[a].sort;
  const auto x = constantOf(a), y = constantOf(b);
  if (x || y) {
    Linear linear;
    collect(x ? b : a, x ? *x : *y, linear);
    return fromLinear(sort, linear);
  }
  if (b < a)
    std::swap(a, b);
  return intern(TermOp::mul, sort, 0, std::array{a, b});
}

bool TermTable::isComplement(TermId a, TermId b) const {
  return (nodes[a].op == TermOp::not_ && arg(a, 0) == b) || (nodes[b].op == TermOp::not_ && arg(b, 0) == a);
}

TermId TermTable::nary(TermOp op, TermId a, TermId b) {
  const Sort sort = nodes[a].sort;
  const std::uint64_t all = maskOf(sort);
  std::uint64_t fixed = op == TermOp::and_ ? all : 0;
  std::vector<TermId> list;
  const auto take = [&](TermId t) {
    if (const auto c = constantOf(t))
      fixed = op == TermOp::and_ ? fixed & *c : op == TermOp::or_ ? fixed | *c : fixed ^ *c;
    else
      list.push_back(t);
  };
  for (const TermId side : {a, b})
    if (nodes[side].op == op)
      for (const TermId t : args(side))
        take(t);
    else
      take(side);
  std::ranges::sort(list);
  if (op == TermOp::xor_) {
    std::vector<TermId> odd;
    for (const TermId t : list)
      if (!odd.empty() && odd.back() == t)
        odd.pop_back();
      else
        odd.push_back(t);
    list = std::move(odd);
  } else {
    list.erase(std::ranges::unique(list).begin(), list.end());
    for (std::size_t i = 0; i < list.size() && list.size() <= 16; ++i)
      for (std::size_t j = i + 1; j < list.size(); ++j)
        if (isComplement(list[i], list[j]))
          return constant(sort, op == TermOp::and_ ? 0 : all);
  }
  if (op == TermOp::and_) {
    std::uint64_t ones = fixed;
    for (const TermId t : list)
      ones &= nodes[t].maybeOnes;
    if (ones == 0)
      return constant(sort, 0);
    fixed &= list.empty() ? all : [&] {
      // Constant bits where some other argument is zero anyway do not matter: keep the smallest mask.
      std::uint64_t others = all;
      for (const TermId t : list)
        others &= nodes[t].maybeOnes;
      return others;
    }();
    std::uint64_t others = all;
    for (const TermId t : list)
      others &= nodes[t].maybeOnes;
    if (!list.empty() && (others & ~fixed) == 0)
      fixed = all;
  }
  if (op == TermOp::or_ && fixed == all)
    return constant(sort, all);
  if (list.empty())
    return constant(sort, fixed);
  const std::uint64_t neutral = op == TermOp::and_ ? all : 0;
  if (op == TermOp::xor_ && fixed == all) {
    const TermId inner = list.size() == 1 ? list[0] : intern(op, sort, 0, list);
    return not_(inner);
  }
  if (op != TermOp::and_ && sort != Sort::bit) {
    // Without a common bit, or and xor are sums.
    std::uint64_t seen = fixed;
    bool disjoint = true;
    for (const TermId t : list) {
      disjoint &= (seen & nodes[t].maybeOnes) == 0;
      seen |= nodes[t].maybeOnes;
    }
    if (disjoint) {
      TermId r = constant(sort, fixed);
      for (const TermId t : list)
        r = add(r, t);
      return r;
    }
  }
  if (fixed == neutral && list.size() == 1)
    return list[0];
  if (op == TermOp::and_ && list.size() == 1 && fixed != neutral) {
    if (const auto inside = intoSelect(op, list[0], constant(sort, fixed)))
      return *inside;
    // An aligned-down sum: what is a multiple of the alignment stays outside.
    const std::uint64_t low = ~fixed & all;
    if (low != 0 && (low & (low + 1)) == 0 && nodes[list[0]].op == TermOp::sum) {
      Linear inside, outside;
      Linear whole;
      collect(list[0], 1, whole);
      for (const auto& [term, factor] : whole.terms) {
        const std::uint64_t reach = factor * (nodes[term].maybeOnes & (0 - nodes[term].maybeOnes));
        ((reach & low) == 0 ? outside : inside).terms[term] = factor;
      }
      outside.constant = whole.constant & ~low;
      inside.constant = whole.constant & low;
      if (!outside.terms.empty() || outside.constant != 0) {
        const TermId rest = fromLinear(sort, inside);
        return add(nary(TermOp::and_, rest, constant(sort, fixed)), fromLinear(sort, outside));
      }
    }
  }
  if (fixed != neutral) {
    list.push_back(constant(sort, fixed));
    std::ranges::sort(list);
  }
  return intern(op, sort, 0, list);
}

TermId TermTable::and_(TermId a, TermId b) {
  if (nodes[a].sort == Sort::wide && (nodes[a].op == TermOp::ballot || nodes[b].op == TermOp::ballot))
    return ballot(nary(TermOp::and_, laneBit(a), laneBit(b)));
  return nary(TermOp::and_, a, b);
}
TermId TermTable::or_(TermId a, TermId b) {
  if (nodes[a].sort == Sort::wide && (nodes[a].op == TermOp::ballot || nodes[b].op == TermOp::ballot))
    return ballot(nary(TermOp::or_, laneBit(a), laneBit(b)));
  return nary(TermOp::or_, a, b);
}
TermId TermTable::xor_(TermId a, TermId b) {
  if (nodes[a].sort == Sort::wide && (nodes[a].op == TermOp::ballot || nodes[b].op == TermOp::ballot))
    return ballot(nary(TermOp::xor_, laneBit(a), laneBit(b)));
  return nary(TermOp::xor_, a, b);
}

TermId TermTable::not_(TermId a) {
  const Node& n = nodes[a];
  if (n.op == TermOp::constant)
    return constant(n.sort, ~n.payload);
  if (n.op == TermOp::not_)
    return arg(a, 0);
  if (n.op == TermOp::ballot)
    return ballot(not_(arg(a, 0)));
  if (n.sort != Sort::bit) {
    Linear linear;
    linear.constant = allOnes;
    collect(a, allOnes, linear);
    return fromLinear(n.sort, linear);
  }
  return intern(TermOp::not_, n.sort, 0, std::array{a});
}

TermId TermTable::shl(TermId a, TermId n) {
  const Sort sort = nodes[a].sort;
  n = demanded(n, widthOf(sort) - 1);
  if (const auto c = constantOf(n)) {
    if (nodes[a].op == TermOp::shr && arg(a, 1) == n)
      return and_(arg(a, 0), constant(sort, maskOf(sort) << *c));
    if (const auto inside = intoSelect(TermOp::shl, a, n))
      return *inside;
    Linear linear;
    collect(a, std::uint64_t{1} << (*c & (widthOf(sort) - 1)), linear);
    return fromLinear(sort, linear);
  }
  if (constantOf(a) == 0)
    return a;
  return intern(TermOp::shl, sort, 0, std::array{a, n});
}

TermId TermTable::shr(TermId a, TermId n) {
  const Sort sort = nodes[a].sort;
  n = demanded(n, widthOf(sort) - 1);
  if (const auto c = constantOf(n)) {
    const std::uint64_t by = *c & (widthOf(sort) - 1);
    if (by == 0)
      return a;
    if (nodes[a].maybeOnes >> by == 0)
      return constant(sort, 0);
    if (const auto v = constantOf(a))
      return constant(sort, *v >> by);
    if (const auto inside = intoSelect(TermOp::shr, a, n))
      return *inside;
    if (nodes[a].op == TermOp::shr)
      if (const auto inner = constantOf(arg(a, 1)); inner && *inner + by < widthOf(sort))
        return shr(arg(a, 0), constant(sort, *inner + by));
    if (sort == Sort::wide && by >= 32)
      return zext(shr(hi(a), word(static_cast<std::uint32_t>(by - 32))));
    if (nodes[a].op == TermOp::and_ || nodes[a].op == TermOp::or_ || nodes[a].op == TermOp::xor_) {
      const std::vector<TermId> list(args(a).begin(), args(a).end());
      const TermOp op = nodes[a].op;
      TermId r = shr(list[0], n);
      for (std::size_t i = 1; i < list.size(); ++i)
        r = nary(op, r, shr(list[i], n));
      return r;
    }
    // A sum of parts without common bits comes apart.
    if (nodes[a].op == TermOp::sum) {
      std::uint64_t seen = nodes[a].payload;
      bool disjoint = true;
      for (const TermId t : args(a)) {
        disjoint &= (seen & nodes[t].maybeOnes) == 0;
        seen |= nodes[t].maybeOnes;
      }
      if (disjoint) {
        const std::vector<TermId> list(args(a).begin(), args(a).end());
        TermId r = constant(sort, nodes[a].payload >> by);
        for (const TermId t : list)
          r = add(r, shr(t, n));
        return r;
      }
    }
    if (nodes[a].op == TermOp::scaled && std::has_single_bit(nodes[a].payload)) {
      const TermId inner = arg(a, 0);
      const auto up = static_cast<std::uint64_t>(std::countr_zero(nodes[a].payload));
      // Nothing is lost at the top: one shift of the difference.
      if ((nodes[inner].maybeOnes << up >> up & maskOf(sort)) == nodes[inner].maybeOnes &&
          (nodes[inner].maybeOnes << up & ~maskOf(sort)) == 0)
        return up >= by ? shl(inner, constant(sort, up - by)) : shr(inner, constant(sort, by - up));
      if (up == by)
        return nary(TermOp::and_, inner, constant(sort, maskOf(sort) >> by));
    }
  }
  if (constantOf(a) == 0)
    return a;
  return intern(TermOp::shr, sort, 0, std::array{a, n});
}

TermId TermTable::sar(TermId a, TermId n) {
  const Sort sort = nodes[a].sort;
  n = demanded(n, widthOf(sort) - 1);
  const std::uint64_t top = std::uint64_t{1} << (widthOf(sort) - 1);
  if ((nodes[a].maybeOnes & top) == 0)
    return shr(a, n);
  if (const auto c = constantOf(n)) {
    const std::uint64_t by = *c & (widthOf(sort) - 1);
    if (by == 0)
      return a;
    if (const auto v = constantOf(a))
      return constant(sort, static_cast<std::uint64_t>(asSigned(sort, *v) >> by));
  }
  return intern(TermOp::sar, sort, 0, std::array{a, n});
}

TermId TermTable::eq(TermId a, TermId b) {
  if (a == b)
    return truth(true);
  const Sort sort = nodes[a].sort;
  if (sort == Sort::bit)
    return not_(xor_(a, b));
  const auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return truth(*x == *y);
  const TermId difference = sub(a, b);
  if (const auto d = constantOf(difference))
    return truth(*d == 0);
  if ((x && (*x & ~nodes[b].maybeOnes) != 0) || (y && (*y & ~nodes[a].maybeOnes) != 0))
    return truth(false);
  for (const auto& [t, c] : {std::pair{a, y}, std::pair{b, x}})
    if (c && nodes[t].op == TermOp::bit)
      return *c == 1 ? arg(t, 0) : *c == 0 ? not_(arg(t, 0)) : truth(false);
  if (b < a)
    std::swap(a, b);
  return intern(TermOp::eq, Sort::bit, 0, std::array{a, b});
}

TermId TermTable::ult(TermId a, TermId b) {
  if (a == b)
    return truth(false);
  const auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return truth(*x < *y);
  if (y && *y == 0)
    return truth(false);
  if (y && nodes[a].maybeOnes < *y)
    return truth(true);
  if (x && *x >= nodes[b].maybeOnes)
    return truth(false);
  if (x && *x == 0)
    return not_(eq(b, a));
  return intern(TermOp::ult, Sort::bit, 0, std::array{a, b});
}

TermId TermTable::slt(TermId a, TermId b) {
  if (a == b)
    return truth(false);
  const Sort sort = nodes[a].sort;
  const auto x = constantOf(a), y = constantOf(b);
  if (x && y)
    return truth(asSigned(sort, *x) < asSigned(sort, *y));
  const std::uint64_t top = std::uint64_t{1} << (widthOf(sort) - 1);
  if (((nodes[a].maybeOnes | nodes[b].maybeOnes) & top) == 0)
    return ult(a, b);
  return intern(TermOp::slt, Sort::bit, 0, std::array{a, b});
}

TermId TermTable::unary(TermOp op, TermId a) {
  const Sort sort = nodes[a].sort;
  if (const auto c = constantOf(a)) {
    const unsigned width = widthOf(sort);
    switch (op) {
    case TermOp::popcount:
      return constant(sort, static_cast<std::uint64_t>(std::popcount(*c)));
    case TermOp::clz:
      return constant(sort, static_cast<std::uint64_t>(std::countl_zero(*c)) - (64 - width));
    case TermOp::ctz:
      return constant(sort, *c == 0 ? width : static_cast<std::uint64_t>(std::countr_zero(*c)));
    case TermOp::brev:
      return constant(sort, __builtin_bitreverse64(*c) >> (64 - width));
    default:
      break;
    }
  }
  return intern(op, sort, 0, std::array{a});
}

TermId TermTable::zext(TermId a) {
  if (const auto c = constantOf(a))
    return wide(*c);
  return intern(TermOp::zext, Sort::wide, 0, std::array{a});
}

TermId TermTable::sext(TermId a) {
  if (const auto c = constantOf(a))
    return wide(static_cast<std::uint64_t>(asSigned(Sort::word, *c)));
  if ((nodes[a].maybeOnes & 0x80000000) == 0)
    return zext(a);
  return intern(TermOp::sext, Sort::wide, 0, std::array{a});
}

TermId TermTable::lo(TermId a) {
  const Node n = nodes[a];
  switch (n.op) {
  case TermOp::constant:
    return word(static_cast<std::uint32_t>(n.payload));
  case TermOp::zext:
  case TermOp::sext:
    return arg(a, 0);
  case TermOp::sum:
  case TermOp::scaled: {
    Linear linear, low;
    collect(a, 1, linear);
    low.constant = linear.constant;
    for (const auto& [term, factor] : linear.terms)
      if ((factor & 0xffffffff) != 0)
        collect(lo(term), factor, low);
    return fromLinear(Sort::word, low);
  }
  case TermOp::mul:
    return mul(lo(arg(a, 0)), lo(arg(a, 1)));
  case TermOp::not_:
    return not_(lo(arg(a, 0)));
  case TermOp::and_:
  case TermOp::or_:
  case TermOp::xor_: {
    const std::vector<TermId> list(args(a).begin(), args(a).end());
    TermId r = lo(list[0]);
    for (std::size_t i = 1; i < list.size(); ++i)
      r = nary(n.op, r, lo(list[i]));
    return r;
  }
  case TermOp::select: {
    const TermId condition = arg(a, 0), x = arg(a, 1), y = arg(a, 2);
    return select(condition, lo(x), lo(y));
  }
  case TermOp::popcount:
    break;
  default:
    break;
  }
  if ((n.maybeOnes & 0xffffffff) == 0)
    return word(0);
  return intern(TermOp::lo, Sort::word, 0, std::array{a});
}

TermId TermTable::hi(TermId a) {
  const Node n = nodes[a];
  if ((n.maybeOnes >> 32) == 0)
    return word(0);
  switch (n.op) {
  case TermOp::constant:
    return word(static_cast<std::uint32_t>(n.payload >> 32));
  case TermOp::sum:
  case TermOp::scaled: {
    // Multiples of 2^32 go straight into the upper half; the rest keeps its carries.
    Linear linear, rest, high;
    collect(a, 1, linear);
    rest.constant = linear.constant & 0xffffffff;
    high.constant = linear.constant >> 32;
    for (const auto& [term, factor] : linear.terms)
      if ((factor & 0xffffffff) == 0)
        collect(lo(term), factor >> 32, high);
      else
        rest.terms[term] = factor;
    const bool split = high.constant != 0 || !high.terms.empty();
    if (!split)
      break;
    const TermId inner = fromLinear(Sort::wide, rest);
    collect(hi(inner), 1, high);
    return fromLinear(Sort::word, high);
  }
  case TermOp::not_:
    return not_(hi(arg(a, 0)));
  case TermOp::and_:
  case TermOp::or_:
  case TermOp::xor_: {
    const std::vector<TermId> list(args(a).begin(), args(a).end());
    TermId r = hi(list[0]);
    for (std::size_t i = 1; i < list.size(); ++i)
      r = nary(n.op, r, hi(list[i]));
    return r;
  }
  case TermOp::select: {
    const TermId condition = arg(a, 0), x = arg(a, 1), y = arg(a, 2);
    return select(condition, hi(x), hi(y));
  }
  case TermOp::sext:
    return sar(arg(a, 0), word(31));
  default:
    break;
  }
  return intern(TermOp::hi, Sort::word, 0, std::array{a});
}

/// 2^32 times a word.
TermId TermTable::highShift(TermId word) {
  Linear linear, wideForm;
  collect(word, 1, linear);
  wideForm.constant = linear.constant << 32;
  for (const auto& [term, factor] : linear.terms) {
    const TermId extended = zext(term);
    collect(extended, factor << 32, wideForm);
  }
  return fromLinear(Sort::wide, wideForm);
}

TermId TermTable::pack(TermId low, TermId high) {
  if (const auto c = constantOf(high); c == 0)
    return zext(low);
  if (const auto h = constantOf(high), l = constantOf(low); h && l)
    return wide(*l | *h << 32);
  // The upper half of a sum whose lower half this is.
  Linear linear;
  collect(high, 1, linear);
  for (const auto& [term, factor] : linear.terms)
    if ((factor & 0xffffffff) == 1 && nodes[term].op == TermOp::hi) {
      const TermId whole = arg(term, 0);
      if (lo(whole) == low)
        return add(whole, highShift(sub(high, term)));
    }
  return add(zext(low), highShift(high));
}

TermId TermTable::bit(TermId truth) {
  if (const auto c = constantOf(truth))
    return word(static_cast<std::uint32_t>(*c));
  if (nodes[truth].op == TermOp::not_)
    return sub(word(1), bit(arg(truth, 0)));
  // Unsigned a < b is the carry of b + (a - b): written as the upper half of a wide sum where that is shorter.
  if (nodes[truth].op == TermOp::ult) {
    const TermId a = arg(truth, 0), b = arg(truth, 1);
    if (nodes[a].sort == Sort::word && nodes[a].op == TermOp::sum) {
      const TermId rest = sub(a, b);
      const auto length = [&](TermId t) {
        return nodes[t].op == TermOp::sum ? args(t).size() + (nodes[t].payload != 0) : std::size_t{1};
      };
      if (length(rest) < length(a) && length(b) < length(a))
        return hi(add(zext(b), zext(rest)));
    }
  }
  return intern(TermOp::bit, Sort::word, 0, std::array{truth});
}

TermId TermTable::demanded(TermId value, std::uint64_t mask) {
  const Node n = nodes[value];
  mask &= maskOf(n.sort);
  if ((n.maybeOnes & mask) == 0)
    return constant(n.sort, 0);
  switch (n.op) {
  case TermOp::constant:
    return constant(n.sort, n.payload & mask);
  case TermOp::and_: {
    std::vector<TermId> kept;
    for (const TermId t : args(value))
      if (const auto c = constantOf(t); !c || (*c & mask) != mask)
        kept.push_back(t);
    if (kept.size() == n.argCount)
      return value;
    if (kept.empty())
      return constant(n.sort, mask);
    TermId r = kept[0];
    for (std::size_t i = 1; i < kept.size(); ++i)
      r = nary(TermOp::and_, r, kept[i]);
    return kept.size() == 1 ? demanded(r, mask) : r;
  }
  case TermOp::sum: {
    // Parts above every demanded bit do not matter: carries go upward only.
    const std::uint64_t low = filledBelow(mask);
    Linear linear, kept;
    collect(value, 1, linear);
    kept.constant = linear.constant & low;
    for (const auto& [term, factor] : linear.terms) {
      const std::uint64_t reach =
          nodes[term].maybeOnes == 0 ? 0 : factor * (nodes[term].maybeOnes & (0 - nodes[term].maybeOnes));
      if ((factor & low) != 0 && (reach & low) != 0)
        kept.terms[term] = factor;
      else if ((factor & low) != 0 && reach == 0)
        kept.terms[term] = factor;
    }
    if (kept.terms.size() == linear.terms.size() && kept.constant == linear.constant)
      return value;
    return demanded(fromLinear(n.sort, kept), mask);
  }
  case TermOp::or_:
  case TermOp::xor_: {
    std::vector<TermId> kept;
    for (const TermId t : args(value))
      if ((nodes[t].maybeOnes & mask) != 0)
        kept.push_back(t);
    if (kept.size() == n.argCount)
      return value;
    TermId r = constant(n.sort, 0);
    for (const TermId t : kept)
      r = nary(n.op, r, t);
    return demanded(r, mask);
  }
  default:
    return value;
  }
}

} // namespace asmevo::verify
