/// Names and sets of architectural registers, one unit per dword.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace asmevo::isa {

/// Scalar operand space by hardware encoding (CDNA3 ISA, table "SGPR and constant encodings").
namespace sreg {
inline constexpr unsigned flatScratchLo = 102, flatScratchHi = 103, xnackMaskLo = 104, xnackMaskHi = 105;
inline constexpr unsigned vccLo = 106, vccHi = 107, ttmp0 = 108, m0 = 124, execLo = 126, execHi = 127;
inline constexpr unsigned scc = 128;   ///< our own unit: the SCC bit
inline constexpr unsigned mode = 129;  ///< our own unit: the MODE register
inline constexpr unsigned hwreg = 130; ///< our own unit: every other hardware register
inline constexpr unsigned count = 131;
} // namespace sreg

/// A register unit: 0..130 scalar space (see sreg), then physical VGPRs of the unified file from `vgprBase`.
/// An AGPR a[i] is physical VGPR accum_offset + i on unified targets (facts/corpus.md: v above accum_offset is legal).
using RegUnit = std::uint16_t;
inline constexpr RegUnit vgprBase = 256;
inline constexpr std::size_t regUnitCount = 256 + 512;

inline RegUnit vgprUnit(unsigned physical) {
  return static_cast<RegUnit>(vgprBase + physical);
}

/// "s12", "vcc_lo", "scc", "v17" (physical number).
std::string regUnitName(RegUnit unit);

/// A set of register units.
class RegSet {
 public:
  void set(std::size_t unit) { words[unit >> 6] |= std::uint64_t{1} << (unit & 63); }
  void setRange(std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      set(first + i);
  }
  void reset(std::size_t unit) { words[unit >> 6] &= ~(std::uint64_t{1} << (unit & 63)); }
  bool test(std::size_t unit) const { return (words[unit >> 6] >> (unit & 63)) & 1; }
  bool any() const {
    for (const auto w : words)
      if (w)
        return true;
    return false;
  }
  bool intersects(const RegSet& other) const {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] & other.words[i])
        return true;
    return false;
  }
  RegSet& operator|=(const RegSet& other) {
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] |= other.words[i];
    return *this;
  }
  RegSet& operator&=(const RegSet& other) {
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] &= other.words[i];
    return *this;
  }
  RegSet& remove(const RegSet& other) {
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] &= ~other.words[i];
    return *this;
  }
  friend RegSet operator|(RegSet a, const RegSet& b) { return a |= b; }
  friend RegSet operator&(RegSet a, const RegSet& b) { return a &= b; }
  bool operator==(const RegSet&) const = default;
  /// Calls f(unit) for every member, ascending.
  template <class F> void forEach(F&& f) const {
    for (std::size_t i = 0; i < words.size(); ++i)
      for (std::uint64_t w = words[i]; w; w &= w - 1)
        f(static_cast<RegUnit>(i * 64 + static_cast<std::size_t>(std::countr_zero(w))));
  }

 private:
  std::array<std::uint64_t, regUnitCount / 64> words{};
};

} // namespace asmevo::isa
