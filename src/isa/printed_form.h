/// Reads LLVM's printed form of one AMDGPU instruction. The text is the interface because it is stable across LLVM
/// versions, unlike operand indices and immediate encodings of MCInst.
#pragma once

#include "isa/instruction.h"

namespace asmevo::isa {

/// Facts about the opcode that the text does not show.
struct PrintedFormHints {
  unsigned explicitDefs = 0;         ///< destinations in LLVM's operand list
  bool implicitlyDefinesVcc = false; ///< VCC is written without being an operand (VOPC e32, carry-out of VOP2)
};

/// Fills mnemonic, base, operands and mods of `inst` from inst.text (with inst.encoding, cls and simm16 set). Words it
/// does not know stay unrepresented in mods; it never fails.
void parsePrintedForm(Instruction& inst, const PrintedFormHints& hints);

/// "v_add_f32" of "v_add_f32_e64_dpp".
std::string_view baseMnemonic(std::string_view mnemonic);

} // namespace asmevo::isa
