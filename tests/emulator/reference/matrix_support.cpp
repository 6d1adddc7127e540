// MFMA of the reference interpreter: element positions as AMD's matrix instruction calculator gives them for CDNA3, and
// the rounding rules of tests/oracles/mfma_reference.py in integer arithmetic. Dense forms without broadcasts.
#include "emulator/reference/machine.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace asmevo::emulator::reference {

namespace {

struct Kind {
  unsigned bits; ///< of an element of A and B
  int exponentBits, fraction, bias;
  bool fnuz; ///< no infinity, one NaN (8-bit types)
};
constexpr Kind f16Kind{16, 5, 10, 15, false}, bf16Kind{16, 8, 7, 127, false}, f32Kind{32, 8, 23, 127, false};
constexpr Kind fp8Kind{8, 4, 3, 8, true}, bf8Kind{8, 5, 2, 16, true};

struct Shape {
  unsigned rows = 16, k = 4, blocks = 1;
  std::string a, b;
};

/// "v_mfma_f32_16x16x4_4b_f16": 16 rows, k 4, 4 blocks, f16.
bool parse(std::string_view name, Shape& shape) {
  const auto number = [&](std::size_t& at) {
    unsigned x = 0;
    const auto r = std::from_chars(name.data() + at, name.data() + name.size(), x);
    at = static_cast<std::size_t>(r.ptr - name.data());
    return x;
  };
  if (!name.starts_with("v_mfma_"))
    return false;
  std::size_t at = name.find('_', 7) + 1;
  shape.rows = number(at);
  at = name.find('x', at + 1) + 1; // past the columns
  shape.k = number(at);
  ++at;
  const std::size_t block = name.find("b_", at);
  if (block != name.npos && block < at + 3) {
    shape.blocks = number(at);
    at += 2;
  }
  const std::string types(name.substr(at));
  const std::size_t split = types.find('_');
  shape.a = types.substr(0, split);
  shape.b = split == types.npos ? shape.a : types.substr(split + 1);
  return true;
}

const Kind& kindOf(const std::string& type) {
  return type == "f16"    ? f16Kind
         : type == "bf16" ? bf16Kind
         : type == "fp8"  ? fp8Kind
         : type == "bf8"  ? bf8Kind
                          : f32Kind;
}

struct Number {
  std::int64_t significand = 0; ///< with `fraction` bits of its kind behind the point
  int exponent = -126;          ///< a zero's
  bool nan = false, infinite = false;
  int sign = 1;
};
Number decode(const Kind& kind, std::uint64_t bits) {
  Number n;
  n.sign = bits >> (kind.bits - 1) & 1 ? -1 : 1;
  const auto exponent = static_cast<int>(bits >> kind.fraction & maskOf(static_cast<unsigned>(kind.exponentBits)));
  const auto fraction = static_cast<std::int64_t>(bits & maskOf(static_cast<unsigned>(kind.fraction)));
  if (kind.fnuz) {
    n.nan = bits == std::uint64_t{1} << (kind.bits - 1);
  } else if (exponent == (1 << kind.exponentBits) - 1) {
    n.nan = fraction != 0;
    n.infinite = fraction == 0;
  }
  if (exponent == 0 && fraction == 0)
    return n;
  n.exponent = exponent == 0 ? 1 - kind.bias : exponent - kind.bias;
  n.significand = n.sign * (exponent == 0 ? fraction : fraction | std::int64_t{1} << kind.fraction);
  return n;
}

/// x * 2^shift, cut toward minus infinity.
std::int64_t shifted(std::int64_t x, int shift) {
  return shift >= 0 ? x << shift : x >> std::min(-shift, 63);
}
std::int64_t towardZero(std::int64_t x, int shift) {
  return x < 0 ? -shifted(-x, shift) : shifted(x, shift);
}

/// sum * 2^(exponent - 31) to f32, nearest even, subnormals kept.
std::uint32_t encode(std::int64_t sum, int exponent) {
  // The sum has at most 39 bits, so a double holds it exactly; the scaled value may need a double's subnormals never.
  return static_cast<std::uint32_t>(roundTo(Format::f32, std::ldexp(static_cast<double>(sum), exponent - 31), 0));
}

struct Term {
  std::int64_t product = 0; ///< with 2 x fraction bits
  int exponent = 0;
};

struct Sum {
  std::int64_t bits = 0; ///< 24 behind the point
  int exponent = 0;
};
Sum aligned(const std::vector<Term>& terms, int fractionBits) {
  Sum sum;
  sum.exponent = terms[0].exponent;
  for (const Term& t : terms)
    sum.exponent = std::max(sum.exponent, t.exponent);
  for (const Term& t : terms)
    sum.bits += towardZero(t.product, 24 - fractionBits + std::max(t.exponent - sum.exponent, -200));
  return sum;
}

std::uint32_t group(const std::vector<Number>& a, const std::vector<Number>& b, int fractionBits, bool halves,
                    std::uint32_t running) {
  const Number c = decode(f32Kind, running);
  bool plus = c.infinite && c.sign > 0, minus = c.infinite && c.sign < 0, nan = c.nan, overPlus = false,
       overMinus = false;
  std::vector<Term> even, odd;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Number &x = a[k], &y = b[k];
    const bool zero = x.significand == 0 && !x.infinite && !x.nan,
               otherZero = y.significand == 0 && !y.infinite && !y.nan;
    nan |= x.nan || y.nan || (x.infinite && otherZero) || (y.infinite && zero);
    const int sign = x.sign * y.sign;
    if (x.infinite || y.infinite)
      (sign > 0 ? plus : minus) = true;
    const Term term{x.significand * y.significand, x.exponent + y.exponent};
    if (std::fabs(std::ldexp(static_cast<double>(term.product), term.exponent - fractionBits)) >= 0x1p128)
      (sign > 0 ? overPlus : overMinus) = true;
    (halves && k % 2 ? odd : even).push_back(term);
  }
  if (!plus && !minus) { // finite products of 2^128 and more count only where no operand is infinite
    plus = overPlus;
    minus = overMinus;
  }
  if (nan || (plus && minus))
    return 0x7fc00000;
  if (plus || minus)
    return plus ? 0x7f800000 : 0xff800000;
  Sum sum = aligned(even, fractionBits);
  if (halves) {
    const Sum other = aligned(odd, fractionBits);
    const int top = std::max(sum.exponent, other.exponent);
    sum = {shifted(sum.bits, std::max(sum.exponent - top, -63)) +
               shifted(other.bits, std::max(other.exponent - top, -63)),
           top};
  }
  const int top = std::max(sum.exponent, c.exponent);
  const std::int64_t products = shifted(sum.bits, 7 + std::max(sum.exponent - top, -100));
  const bool dropped = halves && c.exponent < top - 25;
  const std::int64_t before = dropped ? 0 : shifted(c.significand, 1 + std::max(c.exponent - top, -100)) << 7;
  return encode(products + before, top);
}

struct Position {
  unsigned lane, bit; ///< bit: within the operand's registers
};

std::uint64_t take(const Machine& m, unsigned reg, Position at, unsigned bits) {
  const unsigned first = reg + at.bit / 32;
  return (m.read(first, at.lane, bits > 32 ? 2 : 1) >> at.bit % 32) & maskOf(bits);
}

/// A[i][k] or B[k][i] of a block.
Position sourcePosition(const Shape& s, unsigned bits, unsigned block, unsigned i, unsigned k) {
  const unsigned perLane = s.k * s.rows * s.blocks / 64;
  return {k / perLane * s.rows * s.blocks + block * s.rows + i, k % perLane * bits};
}
Position resultPosition(const Shape& s, bool wide, unsigned block, unsigned i, unsigned j) {
  if (wide)
    return {16 * (i % 4) + s.rows * block + j, i / 4 * 64};
  if (s.rows == 4)
    return {4 * block + j, i * 32};
  const unsigned perRow = 64 / s.rows, quad = i / 4;
  return {s.rows * (quad % perRow) + j, (block * s.rows * s.rows / 64 + 4 * (quad / perRow) + i % 4) * 32};
}

std::uint64_t dot(const Shape& s, const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                  std::uint64_t c) {
  if (s.a == "i8") {
    std::uint64_t sum = c;
    for (unsigned k = 0; k < s.k; ++k)
      sum += static_cast<std::uint64_t>(extended(a[k], 8) * extended(b[k], 8));
    return sum & 0xffffffff;
  }
  if (s.a == "f64" || s.a == "f32") {
    const Numbers nearest(0x3f0);
    for (unsigned k = 0; k < s.k; ++k)
      c = nearest.fma(s.a == "f64" ? Format::f64 : Format::f32, a[k], b[k], c);
    return c;
  }
  const bool truncated = s.a == "xf32", halves = kindOf(s.a).bits == 8;
  const unsigned size = std::min(s.k, truncated ? 4u : halves ? 16u : 8u);
  for (unsigned first = 0; first < s.k; first += size) {
    std::vector<Number> x, y;
    for (unsigned k = first; k < first + size; ++k) {
      x.push_back(decode(kindOf(s.a), truncated ? a[k] & 0xffffe000 : a[k]));
      y.push_back(decode(kindOf(s.b), truncated ? b[k] & 0xffffe000 : b[k]));
    }
    c = group(x, y, kindOf(s.a).fraction + kindOf(s.b).fraction, halves, static_cast<std::uint32_t>(c));
  }
  return c;
}

} // namespace

bool stepMatrix(Machine& m, const isa::Instruction& inst) {
  Shape s;
  if (!parse(inst.base, s) || inst.mods.cbsz || inst.mods.abid || inst.mods.blgp || inst.mods.negLo)
    return false;
  const unsigned bits = s.a == "f64" ? 64 : s.a == "i8" ? 8 : kindOf(s.a).bits;
  const bool wide = s.a == "f64";
  const unsigned outBits = wide ? 64 : 32;
  const Machine before = m;
  const unsigned d = m.physical(inst.operands[0]), a = m.physical(inst.operands[1]), b = m.physical(inst.operands[2]);
  const isa::Operand& c = inst.operands[3];
  const bool registerC = c.kind == isa::OperandKind::vgpr || c.kind == isa::OperandKind::agpr;
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned i = 0; i < s.rows; ++i)
      for (unsigned j = 0; j < s.rows; ++j) {
        std::vector<std::uint64_t> x, y;
        for (unsigned k = 0; k < s.k; ++k) {
          x.push_back(take(before, a, sourcePosition(s, bits, block, i, k), bits));
          y.push_back(take(before, b, sourcePosition(s, bits, block, j, k), bits));
        }
        const Position at = resultPosition(s, wide, block, i, j);
        const std::uint64_t start = registerC ? take(before, m.physical(c), at, outBits)
                                    : wide    ? m.scalar64(c)
                                              : m.scalar32(c);
        m.write(d + at.bit / 32, at.lane, dot(s, x, y, start), wide ? 2 : 1);
      }
  return true;
}

} // namespace asmevo::emulator::reference
