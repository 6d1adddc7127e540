/// A buffer resource descriptor. Private to the emulator.
#pragma once

#include "emulator/wave.h"

#include <array>
#include <cstdint>

namespace asmevo::emulator {

/// CDNA3 ISA 9.1.8, "Buffer Resource Descriptor".
struct BufferResource {
  std::uint64_t base;
  std::uint32_t stride; ///< bytes of a record, 14 bits
  std::uint32_t records;
  std::uint32_t indexStride; ///< swizzled: indices side by side
  std::uint8_t dataFormat, numberFormat;
  std::array<std::uint8_t, 4> select; ///< DST_SEL: 0 and 1 are those numbers, 4 to 7 the format's components
  bool swizzle;
  bool addThreadId;
  std::uint32_t type;

  BufferResource(const Wave& wave, unsigned sgpr) {
    const std::uint32_t* word = &wave.sgpr[sgpr];
    base = word[0] | std::uint64_t{word[1] & 0xffff} << 32;
    stride = word[1] >> 16 & 0x3fff;
    records = word[2];
    swizzle = word[1] >> 31;
    indexStride = 8u << (word[3] >> 21 & 3);
    dataFormat = word[3] >> 15 & 15;
    numberFormat = word[3] >> 12 & 7;
    for (unsigned i = 0; i < 4; ++i)
      select[i] = word[3] >> (3 * i) & 7;
    addThreadId = word[3] >> 23 & 1;
    type = word[3] >> 30;
  }
  /// A data format of 0 means that nothing is bound: loads give 0 and stores are dropped, whatever the instruction's
  /// own format. With ADD_TID_ENABLE the field holds stride bits.
  bool unbound() const { return dataFormat == 0 && !addThreadId; }
  bool linear() const { return !swizzle && !addThreadId && type == 0 && dataFormat != 0; }
};

} // namespace asmevo::emulator
