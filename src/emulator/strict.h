/// What a strict run has to say about a kernel.
#pragma once

#include <cstdint>
#include <string>

namespace asmevo::emulator {

/// A rule of the hardware that the kernel broke, at its first occurrence.
struct StrictFinding {
  std::string rule;                         ///< "lds_race", "out_of_bounds_read", ...
  std::uint64_t producer = 0, consumer = 0; ///< virtual addresses in the object
  unsigned wave = 0, lane = 0;              ///< of the consumer; wave in its workgroup
  std::uint64_t workgroup = 0;              ///< dispatch index
  std::uint64_t count = 0;                  ///< occurrences in all
  std::string message;
};

} // namespace asmevo::emulator
