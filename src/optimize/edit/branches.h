/// Branch instructions made anew.
#pragma once

#include "program/program.h"

#include <optional>
#include <string_view>

namespace asmevo::optimize {

/// The conditional branch that goes where this one does not; null for others.
const char* invertedBranch(std::string_view base);

/// A branch to a block.
std::optional<program::Instr> branchTo(const char* mnemonic, program::BlockId target, isa::Codec& codec);

} // namespace asmevo::optimize
