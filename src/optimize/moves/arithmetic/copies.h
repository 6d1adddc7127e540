/// Taking copies out of straight code.
#pragma once

#include "optimize/edit/registers.h"
#include "optimize/moves/arithmetic/straight_code.h"

namespace asmevo::optimize {

/// Makes all readers of what instruction `copy` leaves in `target` read `source` instead, which holds the same in the
/// lanes on there, and removes the instruction. False (and nothing changed) where some reader cannot, or where either
/// is written again first. Tuples of equal length.
bool readFrom(StraightCode& code, std::size_t copy, const RegisterTuple& target, const RegisterTuple& source);

/// Makes the instruction that computes the copy's source write the copy's register, and removes the copy.
bool writeTo(StraightCode& code, std::size_t copy, const RegisterTuple& target, const RegisterTuple& source);

/// Makes all readers use a constant ("1.0", "0x1234") instead of the register it was moved into.
bool readConstant(StraightCode& code, std::size_t copy, const RegisterTuple& target, const std::string& constant);

} // namespace asmevo::optimize
