/// What the fuzzer does with one input, and what must hold. Shared with the test that replays the kept inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace asmevo::fuzz {

/// Opens `input` as a container; parses, recovers, prints, rebuilds and grows the code objects in it. Gives "" or the
/// property that does not hold. Inputs that are refused with an error hold by definition.
///   - a device object replaced by itself leaves an uncompressed container as it was;
///   - an unedited program rebuilds to the input's own bytes, and patches in place to them;
///   - a program grown by one s_nop in every block rebuilds to an object that parses, with the same kernels, or is
///     refused.
std::string checkObject(std::span<const std::uint8_t> input);

} // namespace asmevo::fuzz
