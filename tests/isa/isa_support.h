#pragma once

#include "isa/codec.h"

#include <memory>
#include <string>
#include <vector>

namespace asmevo::isa::test {

std::unique_ptr<Codec> codecFor(const std::string& processor);
/// One for gfx942, shared by all tests of the program.
Codec& gfx942();
/// Assembles or fails the test; never null (s_nop 0 on failure).
InstRef instruction(Codec& codec, const std::string& text);

/// Operands in short: "=v[1:2] -|s4| 0x10 0.5", definitions with '=', AGPRs as a, specials by their encoding number.
std::string operands(const Instruction& inst);
/// Names of the units of a set, runs of registers joined: "s[4:7] exec v1".
std::string units(const RegSet& set);

} // namespace asmevo::isa::test
