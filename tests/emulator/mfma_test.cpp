// Matrix instructions against three independent oracles: vectors made by tests/oracles/mfma_reference.py (exact
// rational arithmetic), element positions tabulated from AMD's matrix instruction calculator, and integer arithmetic on
// the host.
#include "emulator/bind.h"
#include "emulator/mfma/mfma_shape.h"
#include "isa/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>

namespace asmevo::emulator {
namespace {

using mfma::Element;
using mfma::Shape;

isa::Codec& codec() {
  static const auto owner = [] {
    object::Target target;
    target.processor = "gfx942";
    return isa::Codec::create(target);
  }();
  return **owner;
}

void stopHere(Wave&, const Op*) {}

/// One wave with all 512 registers; runs single instructions.
class Unit {
 public:
  static constexpr unsigned accumOffset = 256;
  Unit() : storage(static_cast<std::uint32_t*>(std::aligned_alloc(64, bytes)), &std::free) {
    std::memset(storage.get(), 0, bytes);
    wave.vgpr = storage.get();
    wave.vgprCount = 512;
    wave.setPair(isa::sreg::execLo, ~std::uint64_t{0});
  }

  Status run(const std::string& text, SimdLevel level) {
    ASMEVO_TRY(const isa::InstRef inst, codec().assemble(text));
    Arena arena;
    const BindContext context{accumOffset, level, &arena};
    Op ops[2];
    ASMEVO_CHECK(bindMfma(*inst, context, ops[0]));
    ops[1].fn = stopHere;
    ops[0].fn(wave, ops);
    return {};
  }

  /// A field of `width` bits (8 to 64) of lane `position / 32`, number `position % 32`, in registers from `reg`.
  std::uint64_t get(unsigned reg, unsigned position, unsigned width) const {
    std::uint64_t value = 0;
    const unsigned bit = position % 32 * width;
    for (unsigned done = 0; done < width; done += 32)
      value |= std::uint64_t{word(reg + (bit + done) / 32, position / 32)} << done;
    return width >= 32 ? value : value >> bit % 32 & ((1u << width) - 1);
  }
  void set(unsigned reg, unsigned position, unsigned width, std::uint64_t value) {
    const unsigned bit = position % 32 * width;
    if (width >= 32) {
      for (unsigned done = 0; done < width; done += 32)
        word(reg + (bit + done) / 32, position / 32) = static_cast<std::uint32_t>(value >> done);
      return;
    }
    std::uint32_t& w = word(reg + bit / 32, position / 32);
    const std::uint32_t mask = ((1u << width) - 1) << bit % 32;
    w = (w & ~mask) | (static_cast<std::uint32_t>(value) << bit % 32 & mask);
  }
  std::uint32_t& word(unsigned reg, unsigned lane) { return wave.lanes(reg)[lane]; }
  std::uint32_t word(unsigned reg, unsigned lane) const { return wave.lanes(reg)[lane]; }

  Wave wave;

 private:
  static constexpr std::size_t bytes = 512 * 64 * 4;
  std::unique_ptr<std::uint32_t, void (*)(void*)> storage;
};

/// Positions of a matrix's elements by mnemonic and matrix ("A", "B", "D", "K" for SMFMAC indices, with ":cbsz.." and
/// ":blgp.." for modified ones): (block, row, column) ascending; a position is lane * 32 + number in the lane.
const std::vector<unsigned>& positions(const std::string& mnemonic, const std::string& matrix) {
  static const auto table = [] {
    std::map<std::string, std::vector<unsigned>> all;
    std::ifstream file(ASMEVO_SOURCE_DIR "/tests/data/mfma/layouts.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream in(line);
      std::string name, which, first;
      in >> name >> which >> first;
      std::vector<unsigned>& list = all[name + " " + which];
      if (first == "=") {
        std::string otherName, otherWhich;
        in >> otherName >> otherWhich;
        list = all.at(otherName + " " + otherWhich);
        continue;
      }
      list.push_back(static_cast<unsigned>(std::stoul(first)));
      for (unsigned p; in >> p;)
        list.push_back(p);
    }
    return all;
  }();
  return table.at(mnemonic + " " + matrix);
}

std::string range(char file, unsigned first, unsigned count) {
  return count == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + count - 1);
}

/// Registers used throughout: A at 0, B at 8, C and D at 32 (SMFMAC indices at 16).
constexpr unsigned regA = 0, regB = 8, regIndex = 16, regD = 32;

std::string instructionText(const Shape& shape, const std::string& suffix = "") {
  const std::string d = range('v', regD, shape.dwordsD());
  return fmt::format("{} {}, {}, {}, {}{}", shape.mnemonic, d, range('v', regA, shape.dwordsA()),
                     range('v', regB, shape.dwordsB()), shape.sparse ? range('v', regIndex, 1) : d, suffix);
}

/// Matrices of element bits in (block, row, column) order.
struct Problem {
  std::vector<std::uint64_t> a, b, c;
  std::vector<std::uint8_t> index; ///< SMFMAC: which two of every four k row i selects: low | high << 2, in (i, group)
};

class Matrix {
 public:
  explicit Matrix(const Shape& s) : shape(s) {}
  unsigned depth() const { return shape.sparse ? shape.k / 2u : shape.k; } ///< columns of A held in registers
  unsigned outBits() const { return shape.a == Element::f64 ? 64 : 32; }
  std::size_t at(unsigned block, unsigned row, unsigned column, unsigned columns, unsigned rows) const {
    return (std::size_t{block} * rows + row) * columns + column;
  }
  std::size_t a(unsigned block, unsigned i, unsigned k) const { return at(block, i, k, depth(), shape.side); }
  std::size_t b(unsigned block, unsigned k, unsigned j) const { return at(block, k, j, shape.side, shape.k); }
  std::size_t d(unsigned block, unsigned i, unsigned j) const { return at(block, i, j, shape.side, shape.side); }

  /// Row of B that the stored column k of A's row i meets.
  unsigned selected(const Problem& p, unsigned i, unsigned k) const {
    return shape.sparse ? k / 2 * 4 + (p.index[i * (shape.k / 4u) + k / 2] >> (k % 2 * 2) & 3) : k;
  }

  void load(Unit& unit, const Problem& p, const std::string& aKey = "A", const std::string& bKey = "B",
            const std::string& indexKey = "K") const {
    const std::string name(shape.mnemonic);
    const unsigned bits = mfma::elementBits(shape.a);
    const std::vector<unsigned>& pa = positions(name, aKey);
    for (std::size_t n = 0; n < p.a.size(); ++n)
      if (shape.sparse) // a tabulated position is a pair of elements there
        unit.set(regA, pa[n / 2] / 32 * 32 + pa[n / 2] % 32 * 2 + n % 2, bits, p.a[n]);
      else
        unit.set(regA, pa[n], bits, p.a[n]);
    const std::vector<unsigned>& pb = positions(name, bKey);
    for (std::size_t n = 0; n < p.b.size(); ++n)
      unit.set(regB, pb[n], bits, p.b[n]);
    const std::vector<unsigned>& pd = positions(name, "D");
    for (std::size_t n = 0; n < p.c.size(); ++n)
      unit.set(regD, pd[n], outBits(), p.c[n]);
    if (shape.sparse) {
      const std::vector<unsigned>& pk = positions(name, indexKey);
      ASSERT_EQ(pk.size(), p.index.size());
      for (std::size_t n = 0; n < p.index.size(); ++n) { // 4-bit fields
        std::uint32_t& word = unit.word(regIndex, pk[n] / 32);
        const unsigned shift = pk[n] % 32 * 4;
        word = (word & ~(15u << shift)) | std::uint32_t{p.index[n]} << shift;
      }
    }
  }
  std::uint64_t result(const Unit& unit, unsigned block, unsigned i, unsigned j, unsigned reg = regD) const {
    return unit.get(reg, positions(std::string(shape.mnemonic), "D")[d(block, i, j)], outBits());
  }
  Problem randomBits(std::mt19937_64& random) const {
    Problem p;
    for (unsigned n = 0; n < unsigned{shape.blocks} * shape.side * depth(); ++n)
      p.a.push_back(random());
    for (unsigned n = 0; n < unsigned{shape.blocks} * shape.side * shape.k; ++n)
      p.b.push_back(random());
    for (unsigned n = 0; n < unsigned{shape.blocks} * shape.side * shape.side; ++n)
      p.c.push_back(random() & (outBits() == 64 ? ~0ull : 0xffffffffull));
    if (shape.sparse)
      fillIndices(random, p);
    return p;
  }
  void fillIndices(std::mt19937_64& random, Problem& p) const {
    static constexpr std::uint8_t pairs[] = {0 | 1 << 2, 0 | 2 << 2, 0 | 3 << 2, 1 | 2 << 2, 1 | 3 << 2, 2 | 3 << 2};
    for (unsigned n = 0; n < shape.side * (shape.k / 4u); ++n)
      p.index.push_back(pairs[random() % 6]);
  }

  const Shape& shape;
};

/// Small integers in each element type, where every rule of arithmetic is exact.
std::uint64_t encodeInteger(Element type, int value) {
  const float f = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(f);
  const std::uint32_t sign = bits >> 31, exponent = bits >> 23 & 255, fraction = bits & 0x7fffff;
  const auto narrow = [&](unsigned exponentBits, unsigned fractionBits, unsigned bias) -> std::uint64_t {
    if (value == 0)
      return 0;
    return sign << (exponentBits + fractionBits) | (exponent - 127 + bias) << fractionBits |
           fraction >> (23 - fractionBits);
  };
  switch (type) {
  case Element::f64:
    return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  case Element::f32:
  case Element::xf32:
    return bits;
  case Element::bf16:
    return bits >> 16;
  case Element::f16:
    return narrow(5, 10, 15);
  case Element::fp8:
    return narrow(4, 3, 8);
  case Element::bf8:
    return narrow(5, 2, 16);
  case Element::i8:
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  return 0;
}

struct IntegerProblem {
  Problem bits;
  std::vector<int> a, b, c;
};

IntegerProblem integerProblem(const Matrix& m, std::uint64_t seed) {
  const Shape& shape = m.shape;
  std::mt19937_64 random(seed);
  IntegerProblem p;
  const auto draw = [&](std::vector<int>& values, std::vector<std::uint64_t>& bits, std::size_t count, Element type,
                        int limit, std::uint64_t mask) {
    for (std::size_t n = 0; n < count; ++n) {
      values.push_back(static_cast<int>(random() % static_cast<unsigned>(2 * limit + 1)) - limit);
      bits.push_back(encodeInteger(type, values.back()) & mask);
    }
  };
  const Element out = shape.a == Element::f64 ? Element::f64 : shape.a == Element::i8 ? Element::i8 : Element::f32;
  const std::size_t lines = std::size_t{shape.blocks} * shape.side;
  draw(p.a, p.bits.a, lines * m.depth(), shape.a, 4, ~0ull);
  draw(p.b, p.bits.b, lines * shape.k, shape.b, 4, ~0ull);
  draw(p.c, p.bits.c, lines * shape.side, out, 100, m.outBits() == 64 ? ~0ull : 0xffffffffull);
  if (shape.sparse)
    m.fillIndices(random, p.bits);
  return p;
}

std::uint64_t encodeOutput(const Shape& shape, int value) {
  return shape.a == Element::f64  ? std::bit_cast<std::uint64_t>(static_cast<double>(value))
         : shape.a == Element::i8 ? static_cast<std::uint32_t>(value)
                                  : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

/// All elements of D against integer arithmetic.
void expectIntegerProduct(const Matrix& m, const IntegerProblem& p, const Unit& unit, const std::string& text,
                          unsigned reg = regD, const int* constantC = nullptr, int signA = 1, int signC = 1) {
  unsigned wrong = 0;
  for (unsigned block = 0; block < m.shape.blocks; ++block)
    for (unsigned i = 0; i < m.shape.side; ++i)
      for (unsigned j = 0; j < m.shape.side; ++j) {
        int sum = signC * (constantC ? *constantC : p.c[m.d(block, i, j)]);
        for (unsigned k = 0; k < m.depth(); ++k)
          sum += signA * p.a[m.a(block, i, k)] * p.b[m.b(block, m.selected(p.bits, i, k), j)];
        const std::uint64_t got = m.result(unit, block, i, j, reg), want = encodeOutput(m.shape, sum);
        if (got != want && ++wrong <= 3)
          ADD_FAILURE() << text << " block " << block << " D[" << i << "][" << j << "] = " << std::hex << got
                        << ", want " << want;
      }
  EXPECT_EQ(wrong, 0u) << text;
}

TEST(Mfma, EveryShapeAssemblesWithTheTabulatedWidths) {
  ASSERT_EQ(mfma::shapes().size(), 46u); // AMD's calculator lists 46 for CDNA3
  for (const Shape& shape : mfma::shapes()) {
    const auto inst = codec().assemble(instructionText(shape));
    ASSERT_TRUE(inst) << instructionText(shape) << ": " << inst.error().message;
    EXPECT_EQ((*inst)->base, shape.mnemonic);
    EXPECT_EQ((*inst)->cls, isa::InstClass::mfma);
    EXPECT_EQ((*inst)->operands.at(0).dwords, shape.dwordsD()) << shape.mnemonic;
    EXPECT_EQ((*inst)->operands.at(1).dwords, shape.dwordsA()) << shape.mnemonic;
    EXPECT_EQ((*inst)->operands.at(2).dwords, shape.dwordsB()) << shape.mnemonic;
  }
}

TEST(Mfma, LayoutsMatchTheCalculator) {
  for (const SimdLevel level : hostSimdLevels())
    for (const Shape& shape : mfma::shapes()) {
      const Matrix m(shape);
      const IntegerProblem p = integerProblem(m, 7);
      Unit unit;
      m.load(unit, p.bits);
      const Status status = unit.run(instructionText(shape), level);
      ASSERT_TRUE(status) << status.error().message;
      expectIntegerProduct(m, p, unit, instructionText(shape));
    }
}

/// The n-th vector of a file of tests/data/mfma.
struct Vector {
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0, d = 0;
};

std::string kindName(const Shape& shape) {
  switch (shape.a) {
  case Element::f64:
    return "f64";
  case Element::f32:
    return "f32";
  case Element::xf32:
    return "xf32";
  case Element::f16:
    return "f16";
  case Element::bf16:
    return "bf16";
  case Element::fp8:
    return shape.b == Element::fp8 ? "fp8_fp8" : "fp8_bf8";
  case Element::bf8:
    return shape.b == Element::fp8 ? "bf8_fp8" : "bf8_bf8";
  case Element::i8:
    return "i8";
  }
  return "";
}

/// The records of one element kind: a[depth] b[depth] c d, little endian (tests/oracles/mfma_vectors.py). They come
/// from tests/data/mfma, or from the folder that ASMEVO_MFMA_VECTORS names (freshly made ones,
/// mfma_fresh_vectors_test.py).
std::vector<Vector> readVectors(const Shape& shape, unsigned depth) {
  const char* const fresh = std::getenv("ASMEVO_MFMA_VECTORS");
  std::ifstream file(
      fmt::format("{}/{}_k{}.bin", fresh ? fresh : ASMEVO_SOURCE_DIR "/tests/data/mfma", kindName(shape), depth),
      std::ios::binary);
  const auto read = [&](unsigned bits) {
    std::uint64_t value = 0;
    for (unsigned done = 0; done < bits; done += 8)
      value |= std::uint64_t{static_cast<unsigned char>(file.get())} << done;
    return value;
  };
  const unsigned out = shape.a == Element::f64 ? 64 : 32;
  std::vector<Vector> all;
  while (file.peek() != std::ifstream::traits_type::eof()) {
    Vector v;
    for (unsigned k = 0; k < depth; ++k)
      v.a.push_back(read(mfma::elementBits(shape.a)));
    for (unsigned k = 0; k < depth; ++k)
      v.b.push_back(read(mfma::elementBits(shape.b)));
    v.c = read(out);
    v.d = read(out);
    all.push_back(std::move(v));
  }
  return file.bad() ? std::vector<Vector>() : all;
}

bool isNan(std::uint64_t bits, unsigned width) {
  return width == 64 ? (bits & 0x7fffffffffffffff) > 0x7ff0000000000000 : (bits & 0x7fffffff) > 0x7f800000;
}

TEST(Mfma, ArithmeticMatchesTheReferenceToTheBit) {
  for (const Shape& shape : mfma::shapes()) {
    const Matrix m(shape);
    const std::vector<Vector> vectors = readVectors(shape, m.depth());
    ASSERT_GE(vectors.size(), std::getenv("ASMEVO_MFMA_VECTORS") ? 1u : 2048u) << shape.mnemonic;
    std::mt19937_64 random(3);
    for (const SimdLevel level : hostSimdLevels()) {
      unsigned wrong = 0;
      const std::size_t perRun = std::size_t{shape.side} * shape.blocks;
      for (std::size_t first = 0; first < vectors.size(); first += perRun) {
        // Vector n is row i of A and column i of B of a block: its result is on the diagonal.
        Problem p;
        p.a.resize(perRun * m.depth());
        p.b.resize(perRun * shape.k);
        p.c.resize(perRun * shape.side);
        if (shape.sparse) {
          m.fillIndices(random, p);
          for (std::uint64_t& b : p.b)
            b = random() & 0xff; // what is not selected must not matter
        }
        const auto vectorAt = [&](unsigned block, unsigned i) -> const Vector& {
          return vectors[(first + block * shape.side + i) % vectors.size()];
        };
        for (unsigned block = 0; block < shape.blocks; ++block)
          for (unsigned i = 0; i < shape.side; ++i) {
            const Vector& v = vectorAt(block, i);
            for (unsigned k = 0; k < m.depth(); ++k) {
              p.a[m.a(block, i, k)] = v.a[k];
              p.b[m.b(block, m.selected(p, i, k), i)] = v.b[k];
            }
            for (unsigned j = 0; j < shape.side; ++j)
              p.c[m.d(block, i, j)] = v.c;
          }
        Unit unit;
        m.load(unit, p);
        ASSERT_TRUE(unit.run(instructionText(shape), level));
        for (unsigned block = 0; block < shape.blocks; ++block)
          for (unsigned i = 0; i < shape.side; ++i) {
            const std::uint64_t want = vectorAt(block, i).d, got = m.result(unit, block, i, i);
            const bool same =
                shape.a != Element::i8 && isNan(want, m.outBits()) ? isNan(got, m.outBits()) : got == want;
            if (!same && ++wrong <= 3)
              ADD_FAILURE() << shape.mnemonic << " vector " << first + block * shape.side + i << ": " << std::hex << got
                            << ", want " << want;
          }
      }
      EXPECT_EQ(wrong, 0u) << shape.mnemonic;
    }
  }
}

TEST(Mfma, BytesWrapAtThirtyTwoBits) {
  for (const SimdLevel level : hostSimdLevels())
    for (const Shape& shape : mfma::shapes()) {
      if (shape.a != Element::i8)
        continue;
      const Matrix m(shape);
      const Problem p = [&] {
        std::mt19937_64 random(11);
        return m.randomBits(random);
      }();
      Unit unit;
      m.load(unit, p);
      ASSERT_TRUE(unit.run(instructionText(shape), level));
      for (unsigned block = 0; block < shape.blocks; ++block)
        for (unsigned i = 0; i < shape.side; ++i)
          for (unsigned j = 0; j < shape.side; ++j) {
            auto sum = static_cast<std::uint32_t>(p.c[m.d(block, i, j)]);
            for (unsigned k = 0; k < m.depth(); ++k)
              sum += static_cast<std::uint32_t>(static_cast<std::int8_t>(p.a[m.a(block, i, k)]) *
                                                static_cast<std::int8_t>(p.b[m.b(block, m.selected(p, i, k), j)]));
            ASSERT_EQ(m.result(unit, block, i, j), sum) << shape.mnemonic << " " << i << " " << j;
          }
    }
}

TEST(Mfma, BytesAtTheirExtremesDoNotSaturate) {
  const Shape& shape = *mfma::findShape("v_mfma_i32_32x32x16_i8");
  for (const SimdLevel level : hostSimdLevels()) {
    Unit unit;
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned r = 0; r < 2; ++r)
        unit.word(regA + r, lane) = unit.word(regB + r, lane) = 0x80808080u; // (-128)^2 sixteen times
    ASSERT_TRUE(unit.run(instructionText(shape), level));
    for (unsigned r = 0; r < 16; ++r)
      EXPECT_EQ(unit.word(regD + r, 5), 16u * 16384u);
  }
}

TEST(Mfma, BroadcastOfAAndPermutationOfB) {
  struct Case {
    const char* mnemonic;
    const char* a;
    const char* b;
    const char* suffix;
  };
  std::vector<Case> cases = {
      {"v_mfma_f32_4x4x4_16b_f16", "A:cbsz3:abid5", "B", " cbsz:3 abid:5"},
      {"v_mfma_f32_4x4x4_16b_f16", "A:cbsz4:abid15", "B:blgp6", " cbsz:4 abid:15 blgp:6"},
      {"v_mfma_f32_4x4x4_16b_f16", "A:cbsz1:abid1", "B:blgp3", " cbsz:1 abid:1 blgp:3"},
      {"v_mfma_f32_32x32x4_2b_f16", "A:cbsz1:abid1", "B", " cbsz:1 abid:1"},
      {"v_mfma_f32_16x16x4_4b_f16", "A:cbsz1:abid1", "B", " cbsz:1 abid:1"},
      {"v_mfma_f32_16x16x4_4b_f16", "A:cbsz2:abid2", "B", " cbsz:2 abid:2"},
      {"v_mfma_i32_4x4x4_16b_i8", "A:cbsz2:abid3", "B", " cbsz:2 abid:3"},
      {"v_mfma_f32_32x32x1_2b_f32", "A:cbsz1:abid1", "B:blgp7", " cbsz:1 abid:1 blgp:7"},
      {"v_mfma_f32_4x4x1_16b_f32", "A:cbsz2:abid1", "B", " cbsz:2 abid:1"},
  };
  static constexpr const char* keys[] = {"B:blgp1", "B:blgp2", "B:blgp3", "B:blgp4", "B:blgp5", "B:blgp6", "B:blgp7"};
  static constexpr const char* suffixes[] = {" blgp:1", " blgp:2", " blgp:3", " blgp:4",
                                             " blgp:5", " blgp:6", " blgp:7"};
  for (const char* name : {"v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_16x16x4_f32", "v_mfma_i32_16x16x4_4b_i8"})
    for (unsigned i = 0; i < 7; ++i)
      cases.push_back({name, "A", keys[i], suffixes[i]});

  for (const SimdLevel level : hostSimdLevels())
    for (const Case& c : cases) {
      const Shape& shape = *mfma::findShape(c.mnemonic);
      const Matrix m(shape);
      IntegerProblem p = integerProblem(m, 99);
      Unit unit;
      m.load(unit, p.bits, c.a, c.b);
      // Several elements share a register field: what the field holds in the end is what all of them are.
      const auto settle = [&](std::vector<int>& values, std::vector<std::uint64_t>& bits, const char* key) {
        std::map<unsigned, std::size_t> last;
        const std::vector<unsigned>& at = positions(c.mnemonic, key);
        for (std::size_t n = 0; n < at.size(); ++n)
          last[at[n]] = n;
        for (std::size_t n = 0; n < at.size(); ++n) {
          values[n] = values[last[at[n]]];
          bits[n] = bits[last[at[n]]];
        }
      };
      settle(p.a, p.bits.a, c.a);
      settle(p.b, p.bits.b, c.b);
      const std::string text = instructionText(shape, c.suffix);
      const Status status = unit.run(text, level);
      ASSERT_TRUE(status) << status.error().message;
      expectIntegerProduct(m, p, unit, text);
    }
}

TEST(Mfma, SparseIndexSets) {
  for (const SimdLevel level : hostSimdLevels())
    for (const Shape& shape : mfma::shapes()) {
      if (!shape.sparse)
        continue;
      const Matrix m(shape);
      const IntegerProblem p = integerProblem(m, 21);
      for (const bool second : {false, true}) {
        Unit unit;
        for (unsigned lane = 0; lane < 64; ++lane)
          unit.word(regIndex, lane) = 0xe4e4e4e4; // another valid set everywhere else
        m.load(unit, p.bits, "A", "B", second ? "K:abid1" : "K");
        const std::string text = instructionText(shape, second ? " abid:1" : " cbsz:1");
        const Status status = unit.run(text, level);
        ASSERT_TRUE(status) << status.error().message;
        expectIntegerProduct(m, p, unit, text);
      }
    }
}

TEST(Mfma, ConstantAccumulators) {
  struct Case {
    const char* mnemonic;
    const char* constant;
    std::uint64_t bits; ///< of every element of D when A is zero
  };
  constexpr Case cases[] = {
      {"v_mfma_f32_16x16x16_f16", "0", 0},
      {"v_mfma_f32_16x16x16_f16", "1.0", 0x3f800000},
      {"v_mfma_f32_32x32x8_bf16", "-4.0", 0xc0800000},
      {"v_mfma_f32_16x16x4_f32", "1", 1}, // an integer constant is its bits: the least subnormal, kept
      {"v_mfma_f32_4x4x4_16b_f16", "0.5", 0x3f000000},
      {"v_mfma_i32_16x16x32_i8", "64", 64},
      {"v_mfma_i32_32x32x16_i8", "-16", 0xfffffff0},
      {"v_mfma_f64_16x16x4_f64", "2.0", 0x4000000000000000},
      {"v_mfma_f64_4x4x4_4b_f64", "-1.0", 0xbff0000000000000},
      {"v_mfma_f32_16x16x32_fp8_fp8", "2.0", 0x40000000},
  };
  for (const SimdLevel level : hostSimdLevels())
    for (const Case& c : cases) {
      const Shape& shape = *mfma::findShape(c.mnemonic);
      const Matrix m(shape);
      Unit unit;
      const std::string text =
          fmt::format("{} {}, {}, {}, {}", shape.mnemonic, range('v', regD, shape.dwordsD()),
                      range('v', regA, shape.dwordsA()), range('v', regB, shape.dwordsB()), c.constant);
      const Status status = unit.run(text, level);
      ASSERT_TRUE(status) << status.error().message;
      for (unsigned block = 0; block < shape.blocks; ++block)
        for (unsigned i = 0; i < shape.side; ++i)
          for (unsigned j = 0; j < shape.side; ++j)
            ASSERT_EQ(m.result(unit, block, i, j), c.bits) << text;
    }
}

TEST(Mfma, AccumulationRegisters) {
  const Shape& shape = *mfma::findShape("v_mfma_f32_16x16x16_bf16");
  const Matrix m(shape);
  const IntegerProblem p = integerProblem(m, 5);
  for (const SimdLevel level : hostSimdLevels()) {
    Unit unit;
    m.load(unit, p.bits);
    const auto move = [&](unsigned from, unsigned to, unsigned count) {
      for (unsigned r = 0; r < count; ++r)
        for (unsigned lane = 0; lane < 64; ++lane)
          unit.word(to + r, lane) = std::exchange(unit.word(from + r, lane), 0xdeadbeef);
    };
    move(regB, Unit::accumOffset + 10, 2);
    move(regD, Unit::accumOffset + 4, 4);
    const std::string text = "v_mfma_f32_16x16x16_bf16 a[20:23], v[0:1], a[10:11], a[4:7]";
    const Status status = unit.run(text, level);
    ASSERT_TRUE(status) << status.error().message;
    expectIntegerProduct(m, p, unit, text, Unit::accumOffset + 20);
  }
}

TEST(Mfma, DoubleOperandsNegate) {
  for (const SimdLevel level : hostSimdLevels())
    for (const char* name : {"v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"}) {
      const Shape& shape = *mfma::findShape(name);
      const Matrix m(shape);
      const IntegerProblem p = integerProblem(m, 17);
      struct Case {
        const char* suffix;
        int product, c;
      };
      for (const Case& c : {Case{" neg:[1,0,0]", -1, 1}, Case{" neg:[1,1,0]", 1, 1}, Case{" neg:[0,0,1]", 1, -1},
                            Case{" neg:[0,1,1]", -1, -1}}) {
        Unit unit;
        m.load(unit, p.bits);
        const std::string text = instructionText(shape, c.suffix);
        const Status status = unit.run(text, level);
        ASSERT_TRUE(status) << status.error().message;
        expectIntegerProduct(m, p, unit, text, regD, nullptr, c.product, c.c);
      }
    }
}

TEST(Mfma, ExecutionMaskIsIgnored) {
  const Shape& shape = *mfma::findShape("v_mfma_f32_32x32x8_f16");
  const Matrix m(shape);
  const IntegerProblem p = integerProblem(m, 23);
  for (const SimdLevel level : hostSimdLevels()) {
    Unit unit;
    unit.wave.setPair(isa::sreg::execLo, 0);
    m.load(unit, p.bits);
    ASSERT_TRUE(unit.run(instructionText(shape), level));
    expectIntegerProduct(m, p, unit, "EXEC = 0");
  }
}

TEST(Mfma, DestinationOverItsSources) {
  const Shape& shape = *mfma::findShape("v_mfma_f32_16x16x4_f32");
  const Matrix m(shape);
  const IntegerProblem p = integerProblem(m, 29);
  for (const SimdLevel level : hostSimdLevels())
    for (const unsigned d : {regD - 2, regD + 2, regA, regB}) {
      Unit unit;
      m.load(unit, p.bits);
      const std::string text =
          fmt::format("v_mfma_f32_16x16x4_f32 {}, v0, v8, {}", range('v', d, 4), range('v', regD, 4));
      const Status status = unit.run(text, level);
      ASSERT_TRUE(status) << status.error().message;
      expectIntegerProduct(m, p, unit, text, d);
    }
}

TEST(Mfma, ModifiersWithoutMeaningAreRefusedByName) {
  for (const char* suffix : {" blgp:1", " cbsz:1", " abid:1"}) {
    Unit unit;
    const Status status =
        unit.run(std::string("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]") + suffix, bestSimdLevel());
    ASSERT_FALSE(status) << suffix;
    EXPECT_EQ(status.error().kind, ErrorKind::refused);
    EXPECT_NE(status.error().message.find("v_mfma_f32_16x16x16_f16"), std::string::npos);
  }
  Unit unit;
  EXPECT_FALSE(unit.run("v_mfma_f32_32x32x4_2b_f16 v[0:31], v[32:33], v[34:35], v[0:31] cbsz:2", bestSimdLevel()));
}

TEST(Mfma, SimdLevelsAgreeOnRandomBits) {
  std::mt19937_64 random(2026);
  for (const Shape& shape : mfma::shapes()) {
    for (unsigned round = 0; round < 6; ++round) {
      Unit reference;
      for (unsigned r = 0; r < 64; ++r)
        for (unsigned lane = 0; lane < 64; ++lane) {
          auto bits = static_cast<std::uint32_t>(random());
          if (round % 3 == 0) // mostly ordinary f16, bf16 and f32 numbers
            bits = (bits & 0x83ff83ff) | 0x3c003c00;
          reference.word(r, lane) = bits;
        }
      std::vector<std::vector<std::uint32_t>> results;
      for (const SimdLevel level : hostSimdLevels()) {
        Unit unit;
        std::memcpy(unit.wave.vgpr, reference.wave.vgpr, 64 * 64 * 4);
        ASSERT_TRUE(unit.run(instructionText(shape), level));
        results.emplace_back(unit.wave.vgpr, unit.wave.vgpr + 64 * 64);
      }
      for (const auto& result : results)
        EXPECT_EQ(result, results.front()) << shape.mnemonic << " round " << round;
      EXPECT_TRUE(std::equal(results.front().begin(), results.front().begin() + regD * 64, reference.wave.vgpr))
          << shape.mnemonic << " wrote a source";
    }
  }
}

TEST(Mfma, OrderOfGroupsDecidesTheBits) {
  // 2^24 + 1 + 1 in one group of eight is exact before rounding; over two groups each 1 is lost in turn.
  const Shape& shape = *mfma::findShape("v_mfma_f32_16x16x16_f16");
  const Matrix m(shape);
  for (const SimdLevel level : hostSimdLevels())
    for (const bool together : {true, false}) {
      Problem p;
      p.a.assign(16 * 16, 0);
      p.b.assign(16 * 16, 0);
      p.c.assign(16 * 16, 0x4b800000); // 2^24
      for (const unsigned k : {0u, together ? 1u : 8u}) {
        p.a[m.a(0, 3, k)] = 0x3c00;
        p.b[m.b(0, k, 9)] = 0x3c00;
      }
      Unit unit;
      m.load(unit, p);
      ASSERT_TRUE(unit.run(instructionText(shape), level));
      EXPECT_EQ(m.result(unit, 0, 3, 9), together ? 0x4b800001u : 0x4b800000u);
    }
}

} // namespace
} // namespace asmevo::emulator
