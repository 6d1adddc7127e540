#include "dispatch/initial.h"

#include "dispatch/element.h"
#include "dispatch/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

namespace asmevo::dispatch {
namespace {

std::uint64_t elementCount(const Buffer& buffer) {
  return buffer.initial.size() / dtypeSize(buffer.dtype);
}

/// Calls f(index) for every element and stores the bits it returns.
template <class F> void fillEach(Buffer& buffer, F&& f) {
  const std::size_t size = dtypeSize(buffer.dtype);
  const std::uint64_t count = elementCount(buffer);
  for (std::uint64_t i = 0; i < count; ++i)
    storeElement(buffer.dtype, f(i), buffer.initial.data() + i * size);
}

/// A value that is no integer of the type: rounded to nearest even and clamped.
std::uint64_t roundToInteger(DType type, double value) {
  const double low = static_cast<double>(integerMin(type));
  const double high = static_cast<double>(integerMax(type));
  if (std::isnan(value))
    return 0;
  const double rounded = std::nearbyint(value);
  if (rounded <= low)
    return static_cast<std::uint64_t>(integerMin(type));
  if (rounded >= high)
    return integerMax(type);
  return isSigned(type) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(rounded))
                        : static_cast<std::uint64_t>(rounded);
}

std::uint64_t drawnBits(DType type, double value) {
  return isFloat(type) ? encodeFloat(type, value, true) : roundToInteger(type, value);
}

/// An integer of any type, or a floating-point number with an integral value, as two's complement bits.
Result<std::uint64_t> integerBits(const Node& node, std::int64_t least, std::uint64_t greatest) {
  const Json& json = node.value();
  const auto outOfRange = [&] { return node.error("{} is out of range: {} to {}", json.dump(), least, greatest); };
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    if (value > greatest)
      return outOfRange();
    return value;
  }
  if (json.is_number_integer()) {
    const auto value = json.get<std::int64_t>();
    if (value < least)
      return outOfRange();
    return static_cast<std::uint64_t>(value);
  }
  if (!json.is_number_float())
    return node.error("expected an integer, found {}", node.kind());
  const auto value = json.get<double>();
  if (value != std::nearbyint(value) || std::fabs(value) > 0x1p53)
    return node.error("expected an integer, found {}", node.kind());
  if (value < static_cast<double>(least) || (value > 0 && static_cast<std::uint64_t>(value) > greatest))
    return outOfRange();
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

Result<std::uint64_t> seedOf(const Node& node) {
  const auto seed = node.find("seed");
  if (!seed)
    return node.error("'seed' is missing: generated data must be reproducible");
  return seed->asUnsigned(0, ~std::uint64_t{0});
}

Result<double> numberOr(const Node& node, const char* key, double otherwise) {
  const auto member = node.find(key);
  if (!member)
    return otherwise;
  ASMEVO_TRY(const double value, member->asNumber());
  if (!std::isfinite(value))
    return member->error("must be finite");
  return value;
}

Status fillConstant(Buffer& buffer, const Node& node, const std::string&) {
  ASMEVO_TRY(const std::uint64_t bits, scalarBits(node, buffer.dtype));
  fillEach(buffer, [&](std::uint64_t) { return bits; });
  return {};
}

Status fillIota(Buffer& buffer, const Node& node, const std::string&) {
  ASMEVO_CHECK(node.requireObject({"start", "step"}));
  const DType type = buffer.dtype;
  if (isFloat(type)) {
    ASMEVO_TRY(const double start, numberOr(node, "start", 0));
    ASMEVO_TRY(const double step, numberOr(node, "step", 1));
    fillEach(buffer, [&](std::uint64_t i) { return encodeFloat(type, start + static_cast<double>(i) * step, true); });
    return {};
  }
  std::uint64_t start = 0, step = 1;
  for (const auto& [key, value] : {std::pair{"start", &start}, std::pair{"step", &step}})
    if (const auto member = node.find(key)) {
      ASMEVO_TRY(*value, integerBits(*member, std::numeric_limits<std::int64_t>::min(), ~std::uint64_t{0}));
    }
  fillEach(buffer, [&](std::uint64_t i) { return start + i * step; });
  return {};
}

Status fillNormal(Buffer& buffer, const Node& node, const std::string&) {
  ASMEVO_CHECK(node.requireObject({"mean", "std", "seed"}));
  ASMEVO_TRY(const double mean, numberOr(node, "mean", 0));
  ASMEVO_TRY(const double deviation, numberOr(node, "std", 1));
  ASMEVO_TRY(const std::uint64_t seed, seedOf(node));
  NormalSource normals(seed);
  fillEach(buffer, [&](std::uint64_t) { return drawnBits(buffer.dtype, mean + deviation * normals.next()); });
  return {};
}

Status fillUniform(Buffer& buffer, const Node& node, const std::string&) {
  ASMEVO_CHECK(node.requireObject({"lo", "hi", "seed"}));
  ASMEVO_TRY(const std::uint64_t seed, seedOf(node));
  const DType type = buffer.dtype;
  SplitMix64 draws(seed);
  if (isFloat(type)) {
    ASMEVO_TRY(const double low, numberOr(node, "lo", 0));
    ASMEVO_TRY(const double high, numberOr(node, "hi", 1));
    if (low > high)
      return node.error("'lo' {} is above 'hi' {}", low, high);
    fillEach(buffer, [&](std::uint64_t) { return encodeFloat(type, low + (high - low) * draws.unit(), true); });
    return {};
  }
  std::uint64_t low = 0, high = 1;
  for (const auto& [key, value] : {std::pair{"lo", &low}, std::pair{"hi", &high}})
    if (const auto member = node.find(key)) {
      ASMEVO_TRY(*value, integerBits(*member, integerMin(type), integerMax(type)));
    }
  if (isSigned(type) ? static_cast<std::int64_t>(low) > static_cast<std::int64_t>(high) : low > high)
    return node.error("'lo' is above 'hi'");
  const std::uint64_t range = high - low + 1; // 0: all 64 bits
  fillEach(buffer, [&](std::uint64_t) {
    const std::uint64_t draw = draws.next();
    return low + (range == 0 ? draw : draw % range);
  });
  return {};
}

Status fillValues(Buffer& buffer, const Node& node, const std::string&) {
  const std::uint64_t count = elementCount(buffer);
  ASMEVO_CHECK(node.requireArray(count, count));
  for (std::uint64_t i = 0; i < count; ++i) {
    ASMEVO_TRY(const std::uint64_t bits, scalarBits(node.element(i), buffer.dtype));
    storeElement(buffer.dtype, bits, buffer.initial.data() + i * dtypeSize(buffer.dtype));
  }
  return {};
}

Status fillFile(Buffer& buffer, const Node& node, const std::string& folder) {
  ASMEVO_TRY(buffer.initial, readInitFile(node, folder, buffer.initial.size()));
  return {};
}

Status fillPermutation(Buffer& buffer, const Node& node, const std::string&) {
  ASMEVO_CHECK(node.requireObject({"seed"}));
  ASMEVO_TRY(const std::uint64_t seed, seedOf(node));
  const std::uint64_t count = elementCount(buffer);
  const DType type = buffer.dtype;
  // Every index must be a value of the type.
  const std::uint64_t most =
      isFloat(type) ? std::uint64_t{1} << (floatFormat(type).fractionBits + 1) : integerMax(type);
  if (count > 0 && count - 1 > most)
    return node.error("{} elements, but {} counts to {} only", count, dtypeName(type), most);
  fillEach(buffer,
           [&](std::uint64_t i) { return isFloat(type) ? encodeFloat(type, static_cast<double>(i), false) : i; });
  SplitMix64 draws(seed);
  const std::size_t size = dtypeSize(type);
  for (std::uint64_t i = count; i-- > 1;) {
    std::uint8_t* const one = buffer.initial.data() + i * size;
    std::uint8_t* const other = buffer.initial.data() + draws.next() % (i + 1) * size;
    std::swap_ranges(one, one + (one == other ? 0 : size), other);
  }
  return {};
}

Status fillPointers(Buffer& buffer, const Node& node, const std::string&) {
  if (buffer.dtype != DType::u64)
    return node.error("pointers need dtype u64, the buffer is {}", dtypeName(buffer.dtype));
  const std::uint64_t count = elementCount(buffer);
  ASMEVO_CHECK(node.requireArray(count, count));
  for (std::uint64_t i = 0; i < count; ++i) {
    const Node element = node.element(i);
    if (element.value().is_null()) // a null pointer
      continue;
    ASMEVO_CHECK(element.requireObject({"buffer", "offset"}));
    const auto name = element.find("buffer");
    if (!name)
      return element.error("'buffer' is missing");
    PointerElement pointer{i * 8, {}, 0};
    ASMEVO_TRY(pointer.buffer, name->asString());
    if (const auto offset = element.find("offset")) {
      ASMEVO_TRY(pointer.offset, offset->asUnsigned(0, ~std::uint64_t{0}));
    }
    buffer.pointers.push_back(std::move(pointer));
  }
  return {};
}

struct InitKind {
  const char* name;
  Status (*fill)(Buffer&, const Node&, const std::string& folder);
};

constexpr std::array<InitKind, 8> initKinds{{
    {"constant", fillConstant},
    {"iota", fillIota},
    {"normal", fillNormal},
    {"uniform", fillUniform},
    {"values", fillValues},
    {"file", fillFile},
    {"permutation", fillPermutation},
    {"pointers", fillPointers},
}};

} // namespace

Result<std::uint64_t> scalarBits(const Node& node, DType type) {
  if (!isFloat(type))
    return integerBits(node, integerMin(type), integerMax(type));
  ASMEVO_TRY(const double value, node.asNumber());
  const std::uint64_t bits = encodeFloat(type, value, false);
  if (std::isfinite(value) && !std::isfinite(decodeFloat(type, bits)))
    return node.error("{} is too large for {}", value, dtypeName(type));
  if (std::isinf(value) && !floatFormat(type).infinities)
    return node.error("{} has no infinity", dtypeName(type));
  return bits;
}

Result<Bytes> readInitFile(const Node& node, const std::string& folder, std::uint64_t expectedBytes) {
  namespace fs = std::filesystem;
  ASMEVO_TRY(const std::string name, node.asString());
  const fs::path relative(name);
  if (name.empty() || name.find('\0') != std::string::npos || relative.is_absolute())
    return node.error("'{}' must be a path relative to the dispatch file", name);
  std::error_code failure;
  const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : fs::path(folder), failure);
  if (failure)
    return node.error("folder '{}': {}", folder, failure.message());
  const fs::path target = fs::canonical(root / relative, failure);
  if (failure)
    return node.error("'{}': {}", name, failure.message());
  const auto [rootEnd, unused] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (rootEnd != root.end())
    return node.error("'{}' leads out of the dispatch file's folder", name);
  if (!fs::is_regular_file(target, failure))
    return node.error("'{}' is not a regular file", name);
  const std::uint64_t size = fs::file_size(target, failure);
  if (failure)
    return node.error("'{}': {}", name, failure.message());
  if (size != expectedBytes)
    return node.error("'{}' has {} bytes, the buffer has {}", name, size, expectedBytes);
  auto bytes = readFile(target.string(), std::max<std::uint64_t>(expectedBytes, 1));
  if (!bytes)
    return node.wrap(bytes.error().message);
  if (bytes->size() != expectedBytes)
    return node.error("'{}' changed while it was read", name);
  return bytes;
}

Status fillBuffer(Buffer& buffer, const Node& init, const std::string& folder) {
  std::vector<std::string> known{"zero", "poison"};
  if (init.value().is_string()) {
    const auto& kind = init.value().get_ref<const std::string&>();
    if (kind == "zero")
      return {}; // as allocated
    if (kind == "poison") {
      fillEach(buffer, [&](std::uint64_t i) { return poisonBits(buffer.dtype, i); });
      return {};
    }
    return init.error("unknown init {}{}; a word is \"zero\" or \"poison\"", init.kind(), suggestion(kind, known));
  }
  ASMEVO_TRY(const std::string kind, init.onlyKey());
  for (const InitKind& candidate : initKinds) {
    if (kind == candidate.name)
      return candidate.fill(buffer, init.member(kind), folder);
    known.emplace_back(candidate.name);
  }
  return init.error("unknown init '{}'{}", kind, suggestion(kind, known));
}

} // namespace asmevo::dispatch
