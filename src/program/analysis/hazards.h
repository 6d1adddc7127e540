/// Wait states that software must keep between dependent instructions because the hardware does not check them: CDNA3
/// ISA table 11 ("Required Software-inserted Wait States") and table 37 (MFMA), LLVM GCNHazardRecognizer for the
/// differences between targets. Where the two disagree the larger number is taken.
///
/// requiredStates() is the pure question about one (producer, consumer) pair: a checker of a running wave asks it for
/// each of the last maxWaitStates instructions and compares with the states that went by; unmetWaitStates() asks it
/// along all paths of a function.
#pragma once

#include "program/analysis/flow_path.h"
#include "program/analysis/wait_lint.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace asmevo::program {

/// Whose table; `strictest` is the maximum over gfx940 (gfx940 to gfx942, gfx9-4-generic) and gfx950.
enum class HazardTarget : std::uint8_t { gfx908, gfx90a, gfx940, gfx950, strictest };

/// Nothing for targets whose rules are not in the tables (gfx900 to gfx906, gfx10 and later).
std::optional<HazardTarget> hazardTargetOf(const object::Target& target);

/// Names of the rules, in the order in which the tables list them.
enum class HazardRule : std::uint8_t {
  none,
  setregGetreg,        ///< S_SETREG, then S_GETREG or S_SETREG of the same register
  setregVskip,         ///< MODE.vskip set, then a vector operation
  setregTrapsts,       ///< S_SETREG TRAPSTS, then RFE
  valuVccz,            ///< VALU writes VCC or EXEC, VALU reads VCCZ or EXECZ
  valuLaneSelect,      ///< VALU writes the SGPR that selects a lane
  valuDivFmas,         ///< VALU writes VCC, V_DIV_FMAS
  wideStoreData,       ///< store of more than 64 bits, then its data registers are overwritten
  valuSgprVmem,        ///< VALU writes an SGPR that vector memory reads
  saluM0,              ///< SALU writes M0, then GDS, message, LDS add-TID, LDS-DMA, S_MOVREL
  valuDpp,             ///< VALU writes a VGPR that DPP reads
  valuExecDpp,         ///< VALU writes EXEC, then DPP
  valuSgprValu,        ///< VALU writes an SGPR that VALU reads as a constant
  valuExecValu,        ///< VALU writes EXEC, then VALU reads it as data, or a lane access
  valuReadlane,        ///< VALU writes a VGPR that a lane access reads
  destSelect,          ///< OPSEL or SDWA moves the result, then VALU reads it
  transcendental,      ///< transcendental result, then a VALU of another kind reads it
  permlane,            ///< gfx950 V_PERMLANE*
  valuMfma,            ///< VALU writes a VGPR that MFMA reads
  execMfma,            ///< VALU writes EXEC, then MFMA
  dotProduct,          ///< dot product result, then another opcode, or the same as SrcA/B
  mfmaSrcC,            ///< MFMA result, MFMA reads it as SrcC
  mfmaSrcAB,           ///< MFMA result, MFMA reads it as SrcA, SrcB or index
  mfmaVector,          ///< MFMA result, VALU reads or writes it, or memory reads it
  mfmaSourceOverwrite, ///< MFMA reads SrcC, VALU overwrites it
  dgemmFma64,          ///< DGEMM, then V_FMA_F64
  dgemmBetween,        ///< gfx90a: DGEMM between a VALU write and the memory access that reads it
  accumulatorMove,     ///< gfx908 V_ACCVGPR_READ and _WRITE around MFMA, and what depends on them
  accumulatorBetween,  ///< gfx908: V_ACCVGPR_* directly between a VALU write and its reader
};
std::string_view hazardRuleName(HazardRule rule);

struct Hazard {
  unsigned states = 0; ///< instructions (s_nop N counts N + 1) that must stand between the two
  HazardRule rule = HazardRule::none;
  /// LLVM keeps the distance though the manual does not ask for it, and shipped hand-written code does not: kept in new
  /// code, no finding in old.
  bool llvmOnly = false;
};

/// The largest number in any table.
inline constexpr unsigned maxWaitStates = 20;

/// States an instruction is worth to those around it: s_nop N is N + 1, everything else 1.
unsigned waitStatesOf(const isa::Instruction& inst);

/// What must stand between `producer` and a later `consumer`. Depends on nothing but the two: whoever asks counts the
/// distance.
Hazard requiredHazard(const isa::Instruction& producer, const isa::Instruction& consumer, unsigned accumOffset,
                      HazardTarget target);
inline unsigned requiredWaitStates(const isa::Instruction& producer, const isa::Instruction& consumer,
                                   unsigned accumOffset, HazardTarget target = HazardTarget::strictest) {
  return requiredHazard(producer, consumer, accumOffset, target).states;
}

/// Which distances to count: the manual's; those and LLVM's from an M0 write to an LDS-DMA, of which the manual's row
/// 15 names one direction only; all of LLVM's (Hazard::llvmOnly), which an edit is held to where K0 kept them.
enum class HazardScope : std::uint8_t { manual, documented, withLlvm };

/// The distance that a checker of executed or static code asks for: instructions (s_nop N is N + 1) that must issue
/// between `producer` and `consumer`, whichever other instructions they are. 0: they may follow each other directly.
unsigned requiredStates(const isa::Instruction& producer, const isa::Instruction& consumer, unsigned accumOffset,
                        HazardTarget target, HazardScope scope = HazardScope::manual);

/// A pair that is too near on some path.
struct HazardFinding {
  Place producer, consumer;
  HazardRule rule = HazardRule::none;
  unsigned needed = 0, present = 0;
};

/// All such pairs with a consumer in the function, by consumer. Needs complete instructions. Paths go through calls:
/// into callees that are known and back, and from a device function's entry to all its callers. One finding per
/// consumer and rule: the one that misses most; in scope withLlvm, which is for comparisons, one per consumer, rule and
/// producer.
std::vector<HazardFinding> unmetWaitStates(const Program& program, const Function& function, unsigned accumOffset,
                                           HazardTarget target, HazardScope scope = HazardScope::manual);

/// The same for callers with many functions.
std::vector<HazardFinding> unmetWaitStates(const Program& program, const CallSites& sites, const Function& function,
                                           unsigned accumOffset, HazardTarget target, HazardScope scope);

struct NopRequirement {
  Place place;             ///< of an s_nop
  unsigned present = 0;    ///< states it is worth
  unsigned sufficient = 0; ///< the least with which no pair falls (further) below the distances, LLVM's included
};
/// Every s_nop of the function that control reaches.
std::vector<NopRequirement> requiredNops(const Program& program, const CallSites& sites, const Function& function,
                                         unsigned accumOffset, HazardTarget target);

/// 4-clk passes of an MFMA or SMFMAC (isa/matrix_cost.h), 0 for others.
unsigned mfmaPasses(const isa::Instruction& inst, HazardTarget target);

} // namespace asmevo::program
