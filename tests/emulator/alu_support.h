/// One instruction at a time on a bare wave, for the ALU tests.
#pragma once

#include "emulator/bind.h"
#include "isa/codec.h"
#include "object/target.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace asmevo::emulator {

/// "avx2".
std::string levelName(SimdLevel level);

class AluRig {
 public:
  static constexpr unsigned vgprs = 32;
  explicit AluRig(SimdLevel level = bestSimdLevel());

  /// Runs the lines in order. Fails the test when one does not assemble, is refused or stops the wave.
  void run(const std::vector<std::string>& lines, bool gprIndexing = false);
  void run(const std::string& line) { run(std::vector<std::string>{line}); }
  /// The emulator's refusal of one line, "" when it takes it.
  std::string refusal(const std::string& line);

  std::uint32_t& v(unsigned reg, unsigned lane) { return registers->lanes[reg][lane]; }
  std::uint32_t& s(unsigned reg) { return wave.sgpr[reg]; }
  void setAll(unsigned reg, std::uint32_t value) {
    for (unsigned lane = 0; lane < 64; ++lane)
      v(reg, lane) = value;
  }
  void setFloat(unsigned reg, float value) { setAll(reg, std::bit_cast<std::uint32_t>(value)); }
  float asFloat(unsigned reg, unsigned lane) { return std::bit_cast<float>(v(reg, lane)); }
  double asDouble(unsigned reg, unsigned lane) {
    return std::bit_cast<double>(v(reg, lane) | std::uint64_t{v(reg + 1, lane)} << 32);
  }
  Wave wave;

 private:
  struct alignas(64) Registers {
    std::uint32_t lanes[vgprs][64];
  };
  std::unique_ptr<Registers> registers = std::make_unique<Registers>();
  std::unique_ptr<isa::Codec> codec;
  SimdLevel level;
};

} // namespace asmevo::emulator
