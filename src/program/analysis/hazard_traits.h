/// Internal to the hazard analysis: what the rules ask about instructions, so that a walk over a program finds it out
/// once for each.
#pragma once

#include "program/analysis/hazards.h"

namespace asmevo::program::hazard {

/// What kind of matrix operation (CDNA3 ISA table 37: XDL are all but the f32 and f64 ones).
enum class Matrix : std::uint8_t { none, xdl, sgemm, dgemm };

/// What the rules ask about an instruction, found out once.
struct Traits {
  bool valu = false; ///< VALU but MFMA
  Matrix matrix = Matrix::none;
  bool smallDgemm = false; ///< f64 4x4x4
  unsigned passes = 0;
  bool trans = false, dot = false, dpp = false, movesResult = false, permlane = false;
  bool laneAccess = false;                ///< v_readlane, v_readfirstlane, v_writelane
  bool accRead = false, accWrite = false; ///< v_accvgpr_read, v_accvgpr_write
  bool memory = false;                    ///< vector memory, LDS, export: reads VGPRs when it issues
  bool vectorMemory = false;
  bool writesVgpr = false, writesScalar = false, writesExec = false, writesVcc = false, writesM0 = false;
};

Traits traitsOf(const isa::Instruction& inst, HazardTarget target);

/// How far, in states, the rules reach of which it is the earlier one.
unsigned reachOf(const isa::Instruction& inst, const Traits& traits);

/// The strictest rule about the two. Not for HazardTarget::strictest.
Hazard between(const isa::Instruction& producer, const Traits& from, const isa::Instruction& consumer, const Traits& to,
               unsigned accumOffset, HazardTarget target);

/// The vector registers an instruction writes.
isa::RegSet vectorWrites(const isa::Instruction& inst, unsigned accumOffset);

} // namespace asmevo::program::hazard
