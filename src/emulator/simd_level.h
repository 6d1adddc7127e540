/// Host vector instruction sets that the handlers are built for. All give the same bits.
#pragma once

#include <cstdint>
#include <vector>

namespace asmevo::emulator {

enum class SimdLevel : std::uint8_t {
  scalar, ///< any x86-64: baseline instructions only
  avx2,
  avx512
};

/// The best one this machine has.
SimdLevel bestSimdLevel();
/// All that this machine has, the best one last.
std::vector<SimdLevel> hostSimdLevels();

} // namespace asmevo::emulator
