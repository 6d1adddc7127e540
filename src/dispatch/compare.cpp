#include "dispatch/element.h"

#include <cmath>
#include <cstring>

namespace asmevo::dispatch {
namespace {

/// 64-bit integers keep all their digits in the x87 format.
long double exactValue(DType type, const std::uint8_t* at) {
  const std::uint64_t bits = loadElement(type, at);
  if (type == DType::u64)
    return static_cast<long double>(bits);
  if (type == DType::i64)
    return static_cast<long double>(static_cast<std::int64_t>(bits));
  return static_cast<long double>(elementValue(type, at));
}

bool within(long double expected, long double actual, const Comparison& rule) {
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual))
    return expected == actual;
  return std::fabs(actual - expected) <=
         static_cast<long double>(rule.atol) + static_cast<long double>(rule.rtol) * std::fabs(expected);
}

std::string show(DType type, const std::uint8_t* at) {
  const std::uint64_t bits = loadElement(type, at);
  if (isFloat(type))
    return fmt::format("{} (0x{:0{}x})", elementValue(type, at), bits, 2 * dtypeSize(type));
  if (isSigned(type)) {
    const unsigned unused = 64 - 8 * static_cast<unsigned>(dtypeSize(type));
    return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
  }
  return fmt::format("{}", bits);
}

} // namespace

std::optional<Difference> compareBuffer(const Buffer& buffer, const Comparison& rule, const Bytes& expected,
                                        const Bytes& actual) {
  if (rule.mode == Comparison::Mode::ignore)
    return std::nullopt;
  const std::size_t size = dtypeSize(buffer.dtype);
  if (expected.size() != actual.size())
    return Difference{buffer.name, std::min(expected.size(), actual.size()) / size,
                      (std::max(expected.size(), actual.size()) - std::min(expected.size(), actual.size())) / size,
                      fmt::format("{} bytes", expected.size()), fmt::format("{} bytes", actual.size())};
  if (expected == actual)
    return std::nullopt;
  Difference difference;
  for (std::size_t at = 0; at + size <= expected.size(); at += size) {
    const std::uint8_t* const want = expected.data() + at;
    const std::uint8_t* const have = actual.data() + at;
    if (std::memcmp(want, have, size) == 0)
      continue;
    if (rule.mode == Comparison::Mode::tolerance &&
        within(exactValue(buffer.dtype, want), exactValue(buffer.dtype, have), rule))
      continue;
    if (difference.count++ == 0)
      difference = {buffer.name, at / size, 1, show(buffer.dtype, want), show(buffer.dtype, have)};
  }
  if (difference.count == 0)
    return std::nullopt;
  return difference;
}

} // namespace asmevo::dispatch
