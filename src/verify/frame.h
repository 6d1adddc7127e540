/// Everything of a code object that is not instructions: K1 may differ from K0 there only in where things lie and in
/// the registers and LDS that kernels declare.
#pragma once

#include "verify/alignment.h"

#include <string>
#include <vector>

namespace asmevo::verify {

struct FrameDifferences {
  std::vector<std::string> violations; ///< what a replacement must not change, or resources that do not suffice
  std::vector<std::string> resources;  ///< declared registers or LDS that differ
  bool ldsChanged = false;
};

FrameDifferences compareFrames(const object::CodeObject& k0, const object::CodeObject& k1, const ProgramPair& pair,
                               const Alignment& alignment);

} // namespace asmevo::verify
