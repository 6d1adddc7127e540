/// Code that finds out whether any of many values is a NaN.
#pragma once

#include "optimize/edit/registers.h"
#include "program/program.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace asmevo::optimize {

/// How. Each finds every NaN; the first two also stop at infinities that meet (infinity minus infinity, infinity times
/// zero), which the copy of the old code then computes as well.
enum class NanTestForm : std::uint8_t {
  packed,  ///< V_PK_FMA_F32 over aligned pairs of registers, four values each
  sums,    ///< V_FMAC_F32, two values each
  compares ///< V_CMP_U_F32 of two values each, the masks joined by the scalar unit
};

/// Registers that are free in front of the test.
struct NanTestRegisters {
  std::optional<unsigned> vgpr;     ///< for `sums`
  std::optional<unsigned> vgprPair; ///< even, for `packed`
  std::vector<std::string> masks;   ///< up to two lane masks as operands, "vcc" first if it is free
  bool scc = false;
};

struct NanTest {
  std::vector<program::Instr> code;
  const char* branch = nullptr; ///< mnemonic of the branch taken where a value may be a NaN
};

/// Nothing where the form needs registers that are not there. `values`: at least two different VGPRs. Lanes that are
/// off do not count.
std::optional<NanTest> nanTest(NanTestForm form, std::span<const unsigned> values, const NanTestRegisters& registers,
                               isa::Codec& codec);

} // namespace asmevo::optimize
