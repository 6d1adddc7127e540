/// Walks the dwords that a memory instruction touches. Private to the emulator.
#pragma once

#include "emulator/observe/observer.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace asmevo::emulator {

/// f(lane, k, bytes) for each dword k of the element, or its rest of less than 4 bytes, in range of a lane of `exec`;
/// it begins at event.address[lane] + k * 4.
template <class F> void forEachDword(const AccessEvent& event, F&& f) {
  for (unsigned k = 0; k * 4 < event.bytes; ++k) {
    const unsigned part = std::min(4u, event.bytes - k * 4);
    // Scalar accesses are wider than the four dwords whose range is told apart.
    std::uint64_t lanes = event.exec & event.valid[std::min<std::size_t>(k, event.valid.size() - 1)];
    for (; lanes != 0; lanes &= lanes - 1)
      f(static_cast<unsigned>(std::countr_zero(lanes)), k, part);
  }
}

} // namespace asmevo::emulator
