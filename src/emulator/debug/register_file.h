/// Registers of a wave by unit. Private to the emulator.
#pragma once

#include "emulator/wave.h"
#include "isa/registers.h"

#include <string>
#include <vector>

namespace asmevo::emulator {

/// One value, or one for each lane of a vector register; empty for what has no value of its own.
std::vector<std::uint32_t> registerValue(const Wave& wave, isa::RegUnit unit);

/// As regUnitName, with the registers from `accumOffset` on as accumulators.
std::string registerName(isa::RegUnit unit, unsigned accumOffset);

/// "0-15=0x3f800000 16=0x0": the values of `lanes`, neighbours that are equal as one.
std::string formatLanes(const std::vector<std::uint32_t>& values, std::uint64_t lanes);

} // namespace asmevo::emulator
