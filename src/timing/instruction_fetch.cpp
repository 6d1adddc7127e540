#include "timing/instruction_fetch.h"

#include <algorithm>

namespace asmevo::timing {
namespace {

constexpr std::uint32_t lineBytes = 64;

std::size_t setsOf(const Parameters& p) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(p.fetchCacheBytes / lineBytes / p.fetchCacheWays));
}

} // namespace

InstructionFetch::InstructionFetch(const Parameters& parameters, std::size_t codeBytes, CodeState codeState)
    : p(parameters), state(codeState),
      tagsMatter(state != CodeState::cached || static_cast<double>(codeBytes) > p.fetchCacheBytes),
      tags(tagsMatter ? setsOf(p) : 1, static_cast<std::size_t>(p.fetchCacheWays)) {}

Clk InstructionFetch::fetch(unsigned simd, std::uint32_t block, Clk now) {
  ++blocks;
  Clk& port = portFree[simd];
  const Clk start = std::max(now, port);
  port = start + static_cast<Clk>(p.slot);
  const Clk hit = start + static_cast<Clk>(p.fetchLatency);
  if (!tagsMatter)
    return hit;
  const std::uint32_t line = block / (lineBytes / blockBytes);
  const std::size_t set = line % tags.sets();
  if (const auto present = tags.find(set, line))
    return std::max(hit, *present.fill);
  const Clk fill = hit + static_cast<Clk>(state == CodeState::inMemory ? p.fetchMissMemory : p.fetchMissL2);
  ++missed;
  tags.insert(set, line, fill);
  return fill;
}

} // namespace asmevo::timing
