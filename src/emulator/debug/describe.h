/// Names for messages about waves under way. Private to the emulator.
#pragma once

#include "emulator/code_image.h"
#include "emulator/wave.h"

namespace asmevo::emulator {

/// Virtual address of an operation in its object; the guest's where there is no code around it.
inline std::uint64_t objectAddress(const Wave& wave, const Op* op) {
  return wave.code ? wave.code->objectAddress(op->pc) : op->pc;
}

/// "wave 1 waits at the barrier before 's_nop 0' at 0x1510", of a wave whose turn it is not.
inline std::string describePosition(const Wave& wave, std::string_view verb = "is at") {
  if (wave.stop == Stop::ended || !wave.resume)
    return fmt::format("wave {} has ended", wave.waveInGroup);
  return fmt::format("wave {} {} '{}' at {:#x}", wave.waveInGroup,
                     wave.stop == Stop::barrier ? "waits at the barrier before" : verb, wave.resume->inst->text,
                     objectAddress(wave, wave.resume));
}

} // namespace asmevo::emulator
