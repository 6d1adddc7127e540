/// Small kernels for the proof tests.
#pragma once

#include "program/program_support.h"
#include "verify/proof/value_proof.h"

#include <string>

namespace asmevo::verify::test {

object::CodeObject assembled(const program::test::KernelText& text);

/// A kernel that loads v2 and v3 (and s6, s7), runs `lines` and stores v4.
program::test::KernelText straight(const std::string& lines);

/// A loop of s10 turns that adds s9 to v4: `before` runs once, `top` in every turn, `bottom` after the use.
program::test::KernelText loop(const std::string& before, const std::string& top, const std::string& bottom = "");

} // namespace asmevo::verify::test
