/// One spelling for code that differs only in register numbers and addresses.
#pragma once

#include "program/program.h"

#include <span>
#include <string>

namespace asmevo::optimize {

/// Hash of the instructions with registers numbered in order of appearance (tuples as their dwords) and without branch
/// distances and addresses. Equal for the loop that two kernels share.
std::string canonicalForm(std::span<const program::Instr> instrs);

} // namespace asmevo::optimize
