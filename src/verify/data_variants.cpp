#include "verify/data_variants.h"

#include "dispatch/random.h"

#include <algorithm>
#include <cstring>

namespace asmevo::verify {

namespace {

bool isFloat(dispatch::DType type) {
  using enum dispatch::DType;
  switch (type) {
  case f16:
  case bf16:
  case f32:
  case f64:
  case fp8E4m3fnuz:
  case fp8E5m2fnuz:
  case fp8E4m3fn:
  case fp8E5m2:
    return true;
  default:
    return false;
  }
}

/// Fisher-Yates over elements of `size` bytes.
void permute(Bytes& bytes, std::size_t size, std::uint64_t seed) {
  dispatch::SplitMix64 random(seed);
  std::uint8_t held[8];
  for (std::size_t i = bytes.size() / size; i > 1; --i) {
    const std::size_t j = random.next() % i;
    std::uint8_t* a = bytes.data() + (i - 1) * size;
    std::uint8_t* b = bytes.data() + j * size;
    std::memcpy(held, a, size);
    std::memmove(a, b, size);
    std::memcpy(b, held, size);
  }
}

} // namespace

dispatch::Dispatch withDataVariants(const dispatch::Dispatch& dispatch, unsigned count) {
  dispatch::Dispatch result = dispatch;
  for (unsigned n = 1; n <= count; ++n)
    for (dispatch::Case launch : dispatch.cases) {
      bool changed = false;
      for (std::size_t b = 0; b < launch.buffers.size(); ++b) {
        dispatch::Buffer& buffer = launch.buffers[b];
        const std::size_t size = dispatch::dtypeSize(buffer.dtype);
        if (!isFloat(buffer.dtype) || buffer.initial.size() < 2 * size)
          continue;
        const Bytes before = buffer.initial;
        permute(buffer.initial, size, n * 1000 + b);
        changed |= buffer.initial != before;
      }
      if (!changed)
        continue;
      launch.name += fmt::format(", floats permuted {}", n);
      result.cases.push_back(std::move(launch));
    }
  return result;
}

} // namespace asmevo::verify
