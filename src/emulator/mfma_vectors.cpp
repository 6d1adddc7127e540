/// Single output elements of a matrix instruction, checked against expected bits: as many at a time as the instruction
/// has rows, on the diagonals of its blocks.
#include "emulator/mfma/mfma_shape.h"
#include "emulator/vectors.h"

#include "isa/codec.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

namespace asmevo::emulator {

namespace {

using mfma::Element;
using mfma::Shape;
using nlohmann::json;

constexpr unsigned registers = 96, firstA = 64, firstB = 72, indexRegister = 80;

struct Vector {
  std::size_t line = 0;
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0, d = 0;
};

struct alignas(64) Lanes64 {
  std::uint32_t lane[registers][64];
};

std::string_view elementName(Element e) {
  switch (e) {
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
    return "fp8";
  case Element::bf8:
    return "bf8";
  case Element::i8:
    return "i8";
  }
  return "";
}

/// The vector's element kinds as mfma_reference.py names them: "f16", "fp8_bf8".
std::string kindOf(const Shape& shape) {
  const std::string a(elementName(shape.a));
  return mfma::elementBits(shape.a) == 8 && shape.a != Element::i8 ? a + "_" + std::string(elementName(shape.b)) : a;
}

unsigned productsOf(const Shape& shape) {
  return shape.sparse ? shape.k / 2u : shape.k;
}

std::string assemblyOf(const Shape& shape) {
  const auto range = [](unsigned first, unsigned count) {
    return count == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + count - 1);
  };
  const std::string d = range(0, shape.dwordsD());
  return fmt::format("{} {}, {}, {}, {}", shape.mnemonic, d, range(firstA, shape.dwordsA()),
                     range(firstB, shape.dwordsB()), shape.sparse ? fmt::format("v{}", indexRegister) : d);
}

/// Stores an element of `bits` bits as number `element` of a lane's registers.
void place(Lanes64& r, unsigned first, unsigned lane, unsigned element, unsigned bits, std::uint64_t value) {
  if (bits == 64) {
    r.lane[first + 2 * element][lane] = static_cast<std::uint32_t>(value);
    r.lane[first + 2 * element + 1][lane] = static_cast<std::uint32_t>(value >> 32);
    return;
  }
  const unsigned at = element * bits;
  r.lane[first + at / 32][lane] |= static_cast<std::uint32_t>(value) << (at % 32);
}

/// Register and lane of D[i][i] of a block.
struct Place {
  unsigned reg, lane;
  Place(const Shape& shape, unsigned block, unsigned i) {
    const unsigned side = shape.side;
    if (shape.a == Element::f64) {
      reg = i / 4 * 2;
      lane = 16 * (i % 4) + side * block + i;
    } else if (side == 4) {
      reg = i;
      lane = 4 * block + i;
    } else {
      const unsigned groups = 64 / side, group = i / 4;
      reg = block * side * side / 64 + 4 * (group / groups) + i % 4;
      lane = side * (group % groups) + i;
    }
  }
};

/// Which of the four elements of B the two stored elements of A stand for, by the pair's number.
unsigned sparseIndex(unsigned k) {
  constexpr unsigned pairs[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  return pairs[k / 2 % 4][k % 2];
}

void fill(const Shape& shape, std::span<const Vector> batch, Lanes64& r) {
  std::memset(&r, 0, sizeof r);
  const unsigned bitsA = mfma::elementBits(shape.a), bitsB = mfma::elementBits(shape.b), perLane = shape.perLaneA();
  for (unsigned n = 0; n < batch.size(); ++n) {
    const unsigned block = n / shape.side, i = n % shape.side;
    for (unsigned k = 0; k < productsOf(shape); ++k) {
      const unsigned lane = k / perLane * shape.lanesPerStep() + block * shape.side + i, element = k % perLane;
      place(r, firstA, lane, element, bitsA, batch[n].a[k]);
      const unsigned selected = shape.sparse ? element / 2 * 4 + sparseIndex(element) : element;
      place(r, firstB, lane, selected, bitsB, batch[n].b[k]);
    }
    const Place at(shape, block, i);
    r.lane[at.reg][at.lane] = static_cast<std::uint32_t>(batch[n].c);
    if (shape.a == Element::f64)
      r.lane[at.reg + 1][at.lane] = static_cast<std::uint32_t>(batch[n].c >> 32);
  }
  std::uint32_t indices = 0;
  for (unsigned e = 0; e < perLane; ++e)
    indices |= sparseIndex(e) << (2 * e);
  for (std::uint32_t& lane : r.lane[indexRegister])
    lane = indices;
}

Result<Vector> parse(std::string_view line, std::size_t number, const Shape& shape) {
  const json j = json::parse(line, nullptr, false);
  const auto malformed = [&](std::string_view what) { return badInput("line {}: {}", number, what); };
  if (!j.is_object() || !j.contains("a") || !j["a"].is_array() || !j.contains("b") || !j["b"].is_array() ||
      !j.contains("c") || !j["c"].is_number_unsigned() || !j.contains("d") || !j["d"].is_number_unsigned())
    return malformed("not a vector of a matrix instruction");
  if (j.contains("kind") && j["kind"] != kindOf(shape))
    return badInput("line {}: the vector is of another kind than {}, which takes {}", number, shape.mnemonic,
                    kindOf(shape));
  Vector v;
  v.line = number;
  v.c = j["c"].get<std::uint64_t>();
  v.d = j["d"].get<std::uint64_t>();
  const auto elements = [&](const json& from, unsigned bits, std::vector<std::uint64_t>& to) {
    for (const json& x : from) {
      if (!x.is_number_unsigned() || (bits < 64 && x.get<std::uint64_t>() >> bits != 0))
        return false;
      to.push_back(x.get<std::uint64_t>());
    }
    return to.size() == productsOf(shape);
  };
  if (!elements(j["a"], mfma::elementBits(shape.a), v.a) || !elements(j["b"], mfma::elementBits(shape.b), v.b))
    return badInput("line {}: {} multiplies {} elements of {} and {} bits", number, shape.mnemonic, productsOf(shape),
                    mfma::elementBits(shape.a), mfma::elementBits(shape.b));
  return v;
}

} // namespace

Result<VectorReport> checkMfmaVectors(std::string_view text, std::string_view opcode, const object::Target& target,
                                      const VectorOptions& options) {
  const Shape* shape = mfma::findShape(opcode);
  if (!shape)
    return badInput("'{}' is not a matrix instruction of gfx942", opcode);
  ASMEVO_TRY(std::unique_ptr<isa::Codec> codec, isa::Codec::create(target));
  ASMEVO_TRY(const isa::InstRef inst, codec->assemble(assemblyOf(*shape)));
  Arena arena;
  BindContext context;
  context.simd = options.simd;
  context.arena = &arena;
  Op ops[2];
  ops[0].inst = inst;
  ops[1].fn = [](Wave&, const Op*) {};
  ASMEVO_CHECK(bindMfma(*inst, context, ops[0]));
  auto storage = std::make_unique<Lanes64>();
  Wave wave;
  wave.vgpr = storage->lane[0];
  wave.vgprCount = registers;
  wave.runStart = ops;

  VectorReport report;
  VectorCounts& counts = report.byOpcode[std::string(opcode)];
  std::vector<Vector> batch;
  const auto flush = [&] {
    fill(*shape, batch, *storage);
    ops[0].fn(wave, ops);
    for (unsigned n = 0; n < batch.size(); ++n) {
      const Place at(*shape, n / shape->side, n % shape->side);
      std::uint64_t got = storage->lane[at.reg][at.lane];
      if (shape->a == Element::f64)
        got |= std::uint64_t{storage->lane[at.reg + 1][at.lane]} << 32;
      ++(got == batch[n].d ? counts.passed : counts.failed);
      if (got != batch[n].d && report.differences.size() < options.differencesPerOpcode)
        report.differences.push_back(
            fmt::format("{}: {:#x}, expected {:#x} (line {})", opcode, got, batch[n].d, batch[n].line));
    }
    batch.clear();
  };
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty())
      continue;
    ASMEVO_TRY(Vector vector, parse(line, number, *shape));
    batch.push_back(std::move(vector));
    if (batch.size() == unsigned{shape->side} * shape->blocks)
      flush();
  }
  flush();
  report.total = counts;
  return report;
}

} // namespace asmevo::emulator
