#include "verify/data_variants.h"

#include "dispatch/element.h"
#include "dispatch/random.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace asmevo::verify {

namespace {

using dispatch::Buffer;
using dispatch::Case;
using dispatch::DType;
using dispatch::FloatFormat;
using dispatch::SplitMix64;

/// What all variants of a dispatch may hold.
constexpr std::uint64_t maxVariantBytes = std::uint64_t{128} << 20;
constexpr std::uint64_t extentLimit = std::uint64_t{1} << 26;
constexpr std::size_t maxSizedArguments = 6, maxIntegerBuffers = 4;

std::size_t elementsOf(const Buffer& buffer) {
  return buffer.initial.size() / dispatch::dtypeSize(buffer.dtype);
}

std::uint64_t element(const Buffer& buffer, std::size_t i) {
  return dispatch::loadElement(buffer.dtype, buffer.initial.data() + i * dispatch::dtypeSize(buffer.dtype));
}

void setElement(Buffer& buffer, std::size_t i, std::uint64_t bits) {
  dispatch::storeElement(buffer.dtype, bits, buffer.initial.data() + i * dispatch::dtypeSize(buffer.dtype));
}

/// Outputs are poisoned or zero; both stay.
bool carriesData(const Buffer& buffer) {
  const std::size_t count = elementsOf(buffer);
  if (count < 2 || !buffer.pointers.empty())
    return false;
  bool constant = true, poison = true;
  const std::uint64_t first = element(buffer, 0);
  for (std::size_t i = 0; i < count && (constant || poison); ++i) {
    const std::uint64_t bits = element(buffer, i);
    constant &= bits == first;
    poison &= bits == dispatch::poisonBits(buffer.dtype, i);
  }
  return !constant && !poison;
}

/// May K1 round differently somewhere?
bool hasTolerance(const Case& launch) {
  return std::ranges::any_of(
      launch.compare, [](const auto& rule) { return rule.second.mode == dispatch::Comparison::Mode::tolerance; });
}

/// Elements of a row: the last dimension, or pieces of a vector.
std::size_t rowOf(const Buffer& buffer) {
  constexpr std::size_t longPiece = 128;
  const std::size_t count = elementsOf(buffer);
  if (buffer.shape.size() > 1 && buffer.shape.back() > 1 && buffer.shape.back() < count)
    return static_cast<std::size_t>(buffer.shape.back());
  return std::max<std::size_t>(2, std::min(longPiece, count / 4));
}

/// Fisher-Yates.
void permute(Buffer& buffer, SplitMix64& random) {
  for (std::size_t i = elementsOf(buffer); i > 1; --i) {
    const std::size_t j = random.next() % i;
    const std::uint64_t a = element(buffer, i - 1), b = element(buffer, j);
    setElement(buffer, i - 1, b);
    setElement(buffer, j, a);
  }
}

/// The codes of a format that break things.
struct Codes {
  explicit Codes(DType type) : format(dispatch::floatFormat(type)) {
    const unsigned fraction = static_cast<unsigned>(format.fractionBits);
    sign = std::uint64_t{1} << (fraction + static_cast<unsigned>(format.exponentBits));
    leastNormal = std::uint64_t{1} << fraction;
    const std::uint64_t magnitudes = sign - 1;
    // See FloatFormat: what the top exponent means differs.
    infinity = magnitudes - (leastNormal - 1);
    largest = format.infinities ? infinity - 1 : format.fnuz ? magnitudes : magnitudes - 1;
    quiet = format.fnuz ? sign : format.infinities ? infinity | leastNormal >> 1 : magnitudes;
    signalling = format.infinities && fraction > 1 ? infinity | 1 : quiet;
  }
  bool isNan(std::uint64_t bits) const {
    const std::uint64_t magnitude = bits & (sign - 1);
    return format.fnuz ? bits == sign : format.infinities ? magnitude > infinity : magnitude > largest;
  }
  std::uint64_t negated(std::uint64_t bits) const {
    return format.fnuz && (bits & (sign - 1)) == 0 ? bits : bits ^ sign;
  }

  FloatFormat format;
  std::uint64_t sign, leastNormal, infinity, largest, quiet, signalling;
};

/// `summable`: large, but sums of 2^16 products of two are still finite in the format, or in f32 for narrower ones.
std::uint64_t boundaryCode(const Codes& codes, SplitMix64& random, bool summable) {
  const int spare = codes.format.exponentBits >= 8 ? 9 : 0;
  const std::uint64_t large = static_cast<std::uint64_t>(codes.format.bias + codes.format.bias / 2 - spare)
                              << codes.format.fractionBits;
  const std::array<std::uint64_t, 7> list = {0,
                                             1,
                                             codes.leastNormal >> 1,
                                             codes.leastNormal - 1,
                                             codes.leastNormal,
                                             summable ? large : codes.largest,
                                             (summable ? large : codes.largest) - 1};
  const std::uint64_t draw = random.next();
  const std::uint64_t bits = list[draw % list.size()];
  return draw >> 32 & 1 ? codes.negated(bits) : bits;
}

void mixBoundary(Buffer& buffer, SplitMix64& random, bool summable) {
  constexpr std::uint64_t oneIn = 16;
  const Codes codes(buffer.dtype);
  for (std::size_t i = 0; i < elementsOf(buffer); ++i)
    if (random.next() % oneIn == 0)
      setElement(buffer, i, boundaryCode(codes, random, summable));
}

void mixSpecials(Buffer& buffer, SplitMix64& random, bool summable) {
  const Codes codes(buffer.dtype);
  const std::size_t count = elementsOf(buffer), row = rowOf(buffer);
  for (std::size_t begin = 0, number = 0; begin < count; begin += row, ++number) {
    const std::size_t size = std::min(row, count - begin);
    const std::array<std::uint64_t, 4> specials = {
        codes.quiet, codes.format.infinities ? codes.infinity : codes.quiet,
        codes.format.infinities ? codes.negated(codes.infinity) : codes.quiet, codes.signalling};
    for (unsigned n = 0; n < 2 && number % 3 != 2; ++n) {
      const std::size_t at = begin + random.next() % size;
      setElement(buffer, at,
                 number % 3 == 0 ? specials[random.next() % specials.size()] : boundaryCode(codes, random, summable));
    }
  }
}

void randomCodes(Buffer& buffer, SplitMix64& random) {
  constexpr std::uint64_t binades = 16;
  const Codes codes(buffer.dtype);
  const std::size_t count = elementsOf(buffer);
  std::vector<std::uint64_t> exponents;
  for (std::size_t i = 0; i < count; i += std::max<std::size_t>(1, count / 1000))
    if (const std::uint64_t magnitude = element(buffer, i) & (codes.sign - 1); magnitude < codes.infinity)
      exponents.push_back(magnitude >> codes.format.fractionBits);
  std::ranges::sort(exponents);
  const std::uint64_t middle =
      exponents.empty() ? static_cast<std::uint64_t>(codes.format.bias) : exponents[exponents.size() / 2];
  const std::uint64_t top = codes.infinity >> codes.format.fractionBits; // first exponent not to use
  const std::uint64_t low = middle > binades / 2 ? middle - binades / 2 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t draw = random.next();
    std::uint64_t bits = draw & (codes.sign * 2 - 1);
    if (dispatch::dtypeSize(buffer.dtype) > 1) {
      const std::uint64_t exponent = std::min(low + (draw >> 56) % binades, top - 1);
      bits = (bits & (codes.sign | (codes.leastNormal - 1))) | exponent << codes.format.fractionBits;
    } else if (codes.isNan(bits) || (codes.format.infinities && (bits & (codes.sign - 1)) == codes.infinity)) {
      bits = codes.leastNormal;
    }
    setElement(buffer, i, bits);
  }
}

void cancel(Buffer& buffer, SplitMix64& random) {
  const Codes codes(buffer.dtype);
  const std::size_t count = elementsOf(buffer), row = rowOf(buffer);
  const bool wide = codes.format.exponentBits > 4;
  std::vector<std::size_t> order;
  for (std::size_t begin = 0; begin < count; begin += row) {
    const std::size_t size = std::min(row, count - begin), half = size / 2;
    for (std::size_t i = 0; i < half; ++i) {
      const std::uint64_t draw = random.next();
      const auto bias = static_cast<std::uint64_t>(codes.format.bias);
      const std::uint64_t exponent = wide ? bias + draw % 8 : bias - 2 + draw % 4;
      const std::uint64_t bits =
          (draw >> 8 & (codes.sign | (codes.leastNormal - 1))) | exponent << codes.format.fractionBits;
      setElement(buffer, begin + i, bits);
    }
    order.resize(half);
    for (std::size_t i = 0; i < half; ++i)
      order[i] = i;
    for (std::size_t i = half; i > 1; --i)
      std::swap(order[i - 1], order[random.next() % i]);
    for (std::size_t i = 0; i < half; ++i)
      setElement(buffer, begin + half + i, codes.negated(element(buffer, begin + order[i])));
  }
}

void makePositive(Buffer& buffer) {
  const Codes codes(buffer.dtype);
  for (std::size_t i = 0; i < elementsOf(buffer); ++i)
    if (const std::uint64_t bits = element(buffer, i); bits & codes.sign && !codes.isNan(bits))
      setElement(buffer, i, codes.negated(bits));
}

void makeNegative(Buffer& buffer) {
  const Codes codes(buffer.dtype);
  const std::size_t row = rowOf(buffer);
  for (std::size_t i = 0; i < elementsOf(buffer); ++i)
    if (const std::uint64_t bits = element(buffer, i); i / row % 2 == 0 && !(bits & codes.sign) && !codes.isNan(bits))
      setElement(buffer, i, codes.negated(bits));
}

/// Integers stay in the range they have: they may be indices and lengths.
void mixIntegers(Buffer& buffer, SplitMix64& random) {
  constexpr std::uint64_t oneIn = 16;
  const bool isSigned = dispatch::isSigned(buffer.dtype);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(dispatch::dtypeSize(buffer.dtype));
  const auto less = [&](std::uint64_t a, std::uint64_t b) {
    return isSigned ? static_cast<std::int64_t>(a << unused) < static_cast<std::int64_t>(b << unused) : a < b;
  };
  std::uint64_t least = element(buffer, 0), greatest = least;
  for (std::size_t i = 1; i < elementsOf(buffer); ++i) {
    least = std::min(least, element(buffer, i), less);
    greatest = std::max(greatest, element(buffer, i), less);
  }
  permute(buffer, random);
  for (std::size_t i = 0; i < elementsOf(buffer); ++i)
    if (const std::uint64_t draw = random.next(); draw % oneIn == 0)
      setElement(buffer, i, draw >> 32 & 1 ? least : greatest);
}

/// Bytes as data, not indices: quantised values.
void randomBytes(Buffer& buffer, SplitMix64& random) {
  for (std::uint8_t& byte : buffer.initial)
    byte = static_cast<std::uint8_t>(random.next() >> 32);
}

class Maker {
 public:
  Maker(const dispatch::Dispatch& given, unsigned firstRound) : firstRound(firstRound) {
    result.dispatch = given;
    result.given = given.cases.size();
  }

  VariedDispatch run(unsigned rounds) {
    for (unsigned round = firstRound; round < firstRound + rounds; ++round)
      for (std::size_t c = 0; c < result.given; ++c) {
        floats(c, round);
        integers(c, round);
        if (round == firstRound) {
          sizes(c);
          grids(c);
        }
      }
    return std::move(result);
  }

 private:
  const Case& parent(std::size_t c) const { return result.dispatch.cases[c]; }

  bool hasRoom(std::size_t c) {
    std::uint64_t size = 0;
    for (const Buffer& buffer : parent(c).buffers)
      size += buffer.initial.size();
    if (bytes + size <= maxVariantBytes) {
      bytes += size;
      return true;
    }
    if (!full)
      result.leftOut.push_back(fmt::format("{}: further variants would hold more than {} MiB of data in all",
                                           parent(c).name, maxVariantBytes >> 20));
    full = true;
    return false;
  }

  void add(std::size_t c, VariantKind kind, Case launch) {
    result.dispatch.cases.push_back(std::move(launch));
    result.variants.push_back({c, kind});
  }

  void floats(std::size_t c, unsigned round) {
    using enum VariantKind;
    std::vector<std::size_t> buffers;
    for (std::size_t b = 0; b < parent(c).buffers.size(); ++b)
      if (dispatch::isFloat(parent(c).buffers[b].dtype) && carriesData(parent(c).buffers[b]))
        buffers.push_back(b);
    if (buffers.empty())
      return;
    // Sums that cancel in one half of the buffers, then in the other.
    const std::size_t turns = buffers.size() > 1 ? 2 : 1;
    std::vector<std::pair<VariantKind, std::size_t>> list;
    for (const VariantKind kind : {permuted, boundary, specials, codes, cancelling, negative, zeros})
      for (std::size_t turn = 0; turn < (kind == cancelling ? turns : 1); ++turn)
        list.emplace_back(kind, turn);
    for (const auto& [kind, turn] : list) {
      // The same again every time.
      if ((kind == negative || kind == zeros) && round != firstRound)
        continue;
      if (!hasRoom(c))
        return;
      Case launch = parent(c);
      std::size_t ordinal = 0;
      for (const std::size_t b : buffers) {
        Buffer& buffer = launch.buffers[b];
        SplitMix64 random(round * 1000 + turn * 500 + static_cast<unsigned>(kind) * 100 + b);
        const bool mine = buffers.size() == 1 || (ordinal++ + round + turn) % 2 == 0;
        switch (kind) {
        case permuted:
          permute(buffer, random);
          break;
        case boundary:
          mixBoundary(buffer, random, hasTolerance(parent(c)));
          break;
        case specials:
          mixSpecials(buffer, random, hasTolerance(parent(c)));
          break;
        case codes:
          randomCodes(buffer, random);
          break;
        case cancelling:
          mine ? cancel(buffer, random) : makePositive(buffer);
          break;
        case zeros:
          if (mine)
            std::ranges::fill(buffer.initial, std::uint8_t{0});
          break;
        default:
          makeNegative(buffer);
        }
      }
      launch.name += fmt::format(", {} {}{}", variantKindName(kind), round, turn == 0 ? "" : "b");
      add(c, kind, std::move(launch));
    }
  }

  void integers(std::size_t c, unsigned round) {
    std::size_t made = 0;
    for (std::size_t b = 0; b < parent(c).buffers.size() && made < maxIntegerBuffers; ++b) {
      const Buffer& original = parent(c).buffers[b];
      if (dispatch::isFloat(original.dtype) || !carriesData(original))
        continue;
      const bool isByte = dispatch::dtypeSize(original.dtype) == 1;
      for (unsigned way = 0; way < (isByte ? 2u : 1u); ++way) {
        if (!hasRoom(c))
          return;
        Case launch = parent(c);
        SplitMix64 random(round * 1000 + 900 + b);
        way == 0 ? mixIntegers(launch.buffers[b], random) : randomBytes(launch.buffers[b], random);
        launch.name += fmt::format(", {} of {} {}", way == 0 ? "integers" : "bytes", original.name, round);
        add(c, VariantKind::integers, std::move(launch));
      }
      ++made;
    }
  }

  void sized(std::size_t c, const std::vector<Extent>& extents, std::string_view name) {
    if (!hasRoom(c))
      return;
    Case launch = parent(c);
    std::string text(name);
    bool changed = false;
    for (const Extent& extent : extents) {
      setScalar(launch, extent.argument, extent.value);
      changed |= launch.arguments[extent.argument].bytes != parent(c).arguments[extent.argument].bytes;
      if (name.empty())
        text += fmt::format("{}argument {} = {}", text.empty() ? "" : ", ", extent.argument, extent.value);
    }
    launch.name += ", " + text;
    const bool known = std::ranges::any_of(result.dispatch.cases, [&](const Case& other) {
      return other.gridSize == launch.gridSize && other.kernel == launch.kernel &&
             std::ranges::equal(other.arguments, launch.arguments,
                                [](const auto& a, const auto& b) { return a.bytes == b.bytes; }) &&
             std::ranges::equal(other.buffers, launch.buffers,
                                [](const Buffer& a, const Buffer& b) { return a.initial == b.initial; });
    });
    if (changed && !known)
      add(c, VariantKind::sizes, std::move(launch));
  }

  void sizes(std::size_t c) {
    const std::vector<Extent> extents = extentsOf(parent(c));
    if (extents.empty())
      return;
    const auto all = [&](std::string_view name, auto&& change) {
      std::vector<Extent> changed = extents;
      for (Extent& extent : changed)
        extent.value = change(extent.value);
      sized(c, changed, name);
    };
    all("sizes / 2 + 1", [](std::uint64_t v) { return v / 2 + 1; });
    const std::size_t alone = std::min(extents.size(), maxSizedArguments);
    const auto each = [&](auto&& change) {
      for (std::size_t i = 0; i < alone; ++i)
        sized(c, {{extents[i].argument, change(extents[i].value)}}, "");
    };
    each([](std::uint64_t v) { return v - 1; });
    // One tile less: loops that were unrolled leave by another way.
    each([](std::uint64_t v) { return v > 128 ? (v - 1) / 128 * 128 : v > 32 ? (v - 1) / 32 * 32 : v / 2; });
    // Inside one wave.
    each([](std::uint64_t v) { return v / 40 + 1; });
    all("sizes / 3 + 1", [](std::uint64_t v) { return v / 3 + 1; });
    all("sizes 1", [](std::uint64_t) { return std::uint64_t{1}; });
    all("sizes 0", [](std::uint64_t) { return std::uint64_t{0}; });
    each([](std::uint64_t v) { return v / 2 + 1; });
    all("sizes / 7 + 1", [](std::uint64_t v) { return v / 7 + 1; });
    // To the edge of a tile, and one beyond.
    each([](std::uint64_t v) { return v > 64 ? (v - 1) / 64 * 64 : v / 2; });
    each([](std::uint64_t v) { return v > 65 ? (v - 2) / 64 * 64 + 1 : v / 3 + 1; });
    each([](std::uint64_t) { return std::uint64_t{1}; });
    each([](std::uint64_t) { return std::uint64_t{0}; });
  }

  void shaped(std::size_t c, VariantKind kind, unsigned dimension, std::uint32_t grid, std::uint32_t workgroup,
              const std::string& name) {
    if (grid == 0 || workgroup == 0 || !hasRoom(c))
      return;
    Case launch = parent(c);
    launch.gridSize[dimension] = grid;
    launch.workgroupSize[dimension] = workgroup;
    launch.name += ", " + name;
    add(c, kind, std::move(launch));
  }

  void grids(std::size_t c) {
    for (unsigned d = 0; d < 3; ++d) {
      const std::uint32_t grid = parent(c).gridSize[d], workgroup = parent(c).workgroupSize[d];
      const char axis = "xyz"[d];
      if (grid > 1 && grid < extentLimit)
        shaped(c, VariantKind::grid, d, grid + workgroup, workgroup, fmt::format("one more workgroup in {}", axis));
      if (grid > workgroup)
        shaped(c, VariantKind::grid, d, workgroup, workgroup, fmt::format("one workgroup in {}", axis));
      if (workgroup > 3 && grid < extentLimit) {
        const std::uint32_t groups = (grid + workgroup - 1) / workgroup;
        for (const std::uint32_t size : {workgroup / 2, workgroup - 1, workgroup / 3})
          shaped(c, VariantKind::workgroup, d, groups * size, size, fmt::format("workgroups of {} in {}", size, axis));
      }
    }
  }

  VariedDispatch result;
  unsigned firstRound;
  std::uint64_t bytes = 0;
  bool full = false;
};

} // namespace

std::string_view variantKindName(VariantKind kind) {
  static constexpr std::array<std::string_view, 11> names = {
      "floats permuted", "boundary values", "NaN and infinity", "random codes", "cancelling halves",
      "negative rows",   "zeros",           "integers",         "sizes",        "grid",
      "workgroup size"};
  return names[static_cast<std::size_t>(kind)];
}

bool isFloatData(VariantKind kind) {
  return kind < VariantKind::integers;
}

std::vector<Extent> extentsOf(const Case& launch) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const dispatch::Argument& argument = launch.arguments[i];
    if (!argument.buffer.empty() || (argument.bytes.size() != 4 && argument.bytes.size() != 8))
      continue;
    std::uint64_t value = 0;
    std::memcpy(&value, argument.bytes.data(), argument.bytes.size());
    if (value >= 2 && value < extentLimit)
      extents.push_back({i, value});
  }
  return extents;
}

void setScalar(Case& launch, std::size_t argument, std::uint64_t value) {
  Bytes& bytes = launch.arguments[argument].bytes;
  std::memcpy(bytes.data(), &value, std::min(bytes.size(), sizeof value));
}

VariedDispatch withVariants(const dispatch::Dispatch& dispatch, unsigned rounds, unsigned firstRound) {
  return Maker(dispatch, firstRound).run(rounds);
}

} // namespace asmevo::verify
