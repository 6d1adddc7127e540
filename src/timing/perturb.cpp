#include "timing/perturb.h"

#include "timing/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace asmevo::timing {

namespace {

constexpr std::array<std::string_view, 30> keys = {
    "fetch.latency",
    "fetch.missL2",
    "fetch.missMemory",
    "barrier.release",
    "lds.latency",
    "lds.writeExtra",
    "lds.portBytesPerClk",
    "lds.readBytesPerClk",
    "lds.addressClk",
    "lds.directClk",
    "smem.hit",
    "smem.l2",
    "smem.memory",
    "smem.mall",
    "l1.latency",
    "l1.clkPerSector",
    "vmem.addressClk",
    "vmem.storeAck",
    "atomic.extra",
    "atomic.clkPerPass",
    "l2.latency",
    "l2.bytesPerClkPerXcd",
    "l2.writeBytesPerClkPerXcd",
    "l2.bytesPerClkPerCu",
    "tlb.missClk",
    "fabric.bytesPerClkPerXcd",
    "mall.latency",
    "hbm.latency",
    "hbm.bytesPerSecond",
    "dispatch.clkPerWorkgroup",
};

/// SplitMix64 of a seed and a name, in [0, 1): equal on every machine.
double draw(std::uint64_t seed, std::string_view name) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15;
  for (const char c : name)
    z = (z ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  z += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
}

} // namespace

std::span<const std::string_view> perturbedParameters() {
  return keys;
}

Chip perturbed(const Chip& chip, std::uint64_t seed, double share) {
  Chip result = chip;
  result.name = fmt::format("{}~{}", chip.name, seed);
  for (auto& [name, value] : result.parameters) {
    if (std::ranges::find(keys, name) == keys.end())
      continue;
    const auto known = std::ranges::find(parameterKeys(), name, &ParameterKey::key);
    value *= 1 - share + 2 * share * draw(seed, name);
    value = std::clamp(value, known->least, known->most);
  }
  return result;
}

} // namespace asmevo::timing
