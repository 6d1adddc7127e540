/// Constants in scalar instructions, which is where code keeps the distance between a program counter and what it
/// refers to.
#pragma once

#include "isa/codec.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace asmevo::program {

/// The constant operand of a scalar instruction with one or two sources (SOP1 and SOP2 are encoded alike on every GCN
/// and RDNA target).
struct ScalarConstant {
  std::uint64_t value = 0; ///< as 64 bits: inline constants and 32-bit literals are sign-extended
  bool isLiteral = false;  ///< in the last four (or eight) bytes; else an inline constant
  bool isSource1 = false;  ///< which source it is
  unsigned bytes = 0;      ///< of a literal
};
/// The constant of `inst`, where it has exactly one, or one literal beside an inline constant: the literal.
std::optional<ScalarConstant> scalarConstant(const isa::Instruction& inst);
/// The same instruction with that constant as a literal of the given value; its encoded bytes. `wide`: the operand has
/// 64 bits (s_add_nc_u64, s_add_pc_i64), where a literal of 32 is kept for values that fit in 31.
std::vector<std::uint8_t> withLiteral(const isa::Instruction& inst, const ScalarConstant& old, std::uint64_t value,
                                      bool wide);

/// One scalar source operand.
struct ScalarSource {
  unsigned encoding = 0;
  std::optional<std::uint64_t> constant; ///< inline integer or literal, sign-extended
};
bool isSop1(const isa::Instruction& inst);
bool isSop2(const isa::Instruction& inst);
ScalarSource scalarSource(const isa::Instruction& inst, unsigned which);
/// Encoding of the scalar destination of SOP1 and SOP2.
unsigned scalarDestination(const isa::Instruction& inst);

bool isGetpc(const isa::Instruction& inst);

/// The 32-bit constant operand of a scalar two-operand instruction.
struct Sop2Constant {
  std::uint32_t value = 0;
  bool isLiteral = false; ///< in the last four bytes; else an inline constant
  bool isSource1 = false; ///< which source it is
};
std::optional<Sop2Constant> sop2Constant(const isa::Instruction& inst);

} // namespace asmevo::program
