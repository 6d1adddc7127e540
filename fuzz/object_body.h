/// What the fuzzer does with one input, and what must hold. Shared with the test that replays the kept inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace asmevo::fuzz {

/// Parses, recovers, prints, rebuilds and grows `input`. Gives "" or the property that does not hold. Inputs that are
/// refused with an error hold by definition.
///   - an unedited program rebuilds to the input's own bytes, and patches in place to them;
///   - a program grown by one s_nop in every block rebuilds to an object that parses, with the same kernels, or is
///     refused.
std::string checkObject(std::span<const std::uint8_t> input);

} // namespace asmevo::fuzz
