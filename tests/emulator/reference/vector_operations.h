/// Vector operations of the reference interpreter as functions of one lane's values.
#pragma once

#include "emulator/reference/machine.h"

#include <bit>

namespace asmevo::emulator::reference {

/// Type of a source or result; pk*: two elements.
enum class Type : std::uint8_t { b16, b32, b64, f16, f32, f64, pkB16, pkF16, pkF32 };

struct VectorContext {
  const Numbers& n;
  const Machine& machine; ///< before the instruction
  unsigned lane;
  std::uint64_t old; ///< of the destination
};

struct VectorOperation {
  Type result = Type::b32;
  std::vector<Type> sources;
  std::function<std::uint64_t(VectorContext&, const std::uint64_t*)> run;
  bool accumulates = false; ///< the destination's old value is the last source
  bool takesMask = false;   ///< the last source is a bit of a lane mask
  bool keepsHigh = false;   ///< a 16-bit result leaves bits 31:16 as they are
};

/// By base mnemonic.
const std::map<std::string_view, VectorOperation>& vectorOperations();

/// x, which the format holds exactly.
std::uint64_t roundOrDouble(Format f, double x);

} // namespace asmevo::emulator::reference
