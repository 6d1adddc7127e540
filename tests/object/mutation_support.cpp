#include "object/mutation_support.h"

#include <algorithm>
#include <iterator>

namespace asmevo::object::testing {

namespace {

/// Positions worth damaging: half of all hits go to headers and tables, which are a small part of a file.
std::size_t position(Random& random, const Bytes& bytes) {
  if (random.below(2) == 0)
    return random.below(bytes.size());
  const std::size_t edge = std::min<std::size_t>(bytes.size(), 2048);
  const std::size_t at = random.below(edge);
  return random.below(2) == 0 ? at : bytes.size() - 1 - at;
}

} // namespace

Bytes mutated(const std::vector<Bytes>& bases, Random& random) {
  Bytes bytes = bases[random.below(bases.size())];
  switch (random.below(6)) {
  case 0:
    bytes.resize(random.below(bytes.size()));
    break;
  case 1:
    for (std::uint64_t i = 1 + random.below(8); i > 0; --i)
      bytes[position(random, bytes)] ^= static_cast<std::uint8_t>(1U << random.below(8));
    break;
  case 2:
    for (std::uint64_t i = 1 + random.below(8); i > 0; --i)
      bytes[position(random, bytes)] = static_cast<std::uint8_t>(random.next());
    break;
  case 3: { // the numbers that break arithmetic
    constexpr std::uint64_t interesting[] = {0, 1, 0x7fffffff, 0xffffffff, 0x8000000000000000, 0xffffffffffffffff, 24};
    const std::uint64_t value = interesting[random.below(std::size(interesting))];
    const std::size_t at = position(random, bytes) & ~std::size_t{3};
    for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i)
      bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
    break;
  }
  case 4: { // splice: the head of one object, the tail of another
    const Bytes& other = bases[random.below(bases.size())];
    const std::size_t head = random.below(bytes.size());
    const std::size_t tail = random.below(other.size());
    bytes.resize(head);
    bytes.insert(bytes.end(), other.end() - static_cast<std::ptrdiff_t>(tail), other.end());
    break;
  }
  default: // garbage, half of it behind a valid ELF identification
    for (std::size_t i = random.below(2) == 0 ? 0 : 20; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(random.next());
    bytes.resize(std::min<std::size_t>(bytes.size(), 4096));
    break;
  }
  return bytes;
}

} // namespace asmevo::object::testing
