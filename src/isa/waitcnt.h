/// The immediate of s_waitcnt on gfx9 and gfx940 (CDNA3 ISA, S_WAITCNT): vmcnt in bits 15:14 and 3:0, expcnt in 6:4,
/// lgkmcnt in 11:8.
#pragma once

#include "isa/instruction.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace asmevo::isa {

/// "Do not wait": every counter at its largest value.
inline constexpr WaitCount noWait{63, 7, 15};

/// Values above a counter's range are clamped to it. Bits 13:12 stay zero, as LLVM writes them.
std::uint16_t encodeWaitcnt(WaitCount wait);
WaitCount decodeWaitcnt(std::uint32_t simm16);

/// What waits for both.
inline WaitCount strongest(WaitCount a, WaitCount b) {
  return {std::min(a.vm, b.vm), std::min(a.exp, b.exp), std::min(a.lgkm, b.lgkm)};
}

/// Does `a` wait for everything that `b` waits for?
inline bool covers(WaitCount a, WaitCount b) {
  return a.vm <= b.vm && a.exp <= b.exp && a.lgkm <= b.lgkm;
}

/// "s_waitcnt vmcnt(3) lgkmcnt(0)", only the counters that wait; without any, "s_waitcnt vmcnt(63) expcnt(7)
/// lgkmcnt(15)".
std::string waitcntText(WaitCount wait);

} // namespace asmevo::isa
