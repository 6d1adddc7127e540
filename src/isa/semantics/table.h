/// The table of modelled vector and scalar ALU opcodes, one row per base mnemonic, made from the .def files here.
///
/// A row is ASMEVO_OP(mnemonic, speed, use, body, signature, section):
///   mnemonic   without _e32/_e64/_sdwa/_dpp; with __clamp it is the saturating form that the clamp modifier selects
///   speed      fast: common, worth handlers of its own in the emulator; plain
///   use        bits: integers; mode: floats rounded by MODE; nearest: floats always rounded to nearest-even
///   body       function template of the category's header
///   signature  result type (source types ...) of types.h, in printed order
///   section    encoding in the CDNA3 ISA manual where it is described; manualSection names the chapter
#pragma once

#include "isa/semantics/types.h"

#include <span>
#include <string_view>

namespace asmevo::isa::semantics {

struct OpcodeInfo {
  std::string_view mnemonic;
  SignatureInfo signature;
  std::string_view section;
  bool scalar = false;
};

/// Every row, vector opcodes first.
std::span<const OpcodeInfo> opcodeTable();

/// The row of a base mnemonic, or null when the opcode is not modelled by a body.
const OpcodeInfo* findOpcode(std::string_view mnemonic);

/// "CDNA3 ISA 12.8, VOP1 instructions" for a row's section; VOP3 rows: "12.11".
std::string_view manualSection(std::string_view section);

/// Mnemonics that the emulator executes without a lane-wise body: lane access, register indexing, mode and special
/// moves.
std::span<const std::string_view> specialOpcodes();

} // namespace asmevo::isa::semantics
