/// The register kit of the moves: give an instruction other registers, find registers that are free, and say how many
/// more a kernel may use.
///
/// Numbers are those of the printed form: s0.., v0.., a0... AGPR numbers are relative to accum_offset, so raising
/// accum_offset leaves them as they are. program::rebuild raises the descriptor's counts by itself for whatever an
/// edited instruction names (program/resources.h); moves only have to stay within the budget.
#pragma once

#include "optimize/optimize.h"
#include "program/analysis/liveness.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace asmevo::optimize {

enum class RegisterFile : std::uint8_t { sgpr, vgpr, agpr };

/// Consecutive registers of one file.
struct RegisterTuple {
  RegisterFile file = RegisterFile::vgpr;
  unsigned first = 0, count = 1;
  bool operator==(const RegisterTuple&) const = default;
};

/// As operands are written: "v7", "a[4:7]", "s[2:3]".
std::string registerText(const RegisterTuple& tuple);

/// The registers of an operand; nothing for constants and for scalar operands that are no SGPRs (vcc, exec, m0,
/// scc...).
std::optional<RegisterTuple> tupleOf(const isa::Operand& operand);

/// Units of the registers (isa/registers.h), AGPRs as physical VGPRs.
isa::RegSet unitsOf(const RegisterTuple& tuple, unsigned accumOffset);

/// Tuples of VGPRs and AGPRs start at even numbers on gfx90a and later (CDNA3 ISA, "VGPR alignment"); SGPR pairs at
/// even ones, larger tuples at multiples of 4 (CDNA3 ISA, "SGPR alignment").
unsigned alignmentOf(RegisterFile file, unsigned count, const object::Target& target);

/// One operand (position in Instruction::operands) and the first of the registers it is to name.
struct OperandRename {
  std::size_t operand = 0;
  unsigned first = 0;
  RegisterFile file = RegisterFile::vgpr;
};

/// The instruction with other registers, every other operand and modifier as it was. Refused: operands without
/// registers, implicit ones (no text of their own), scalar operands of a fixed register, registers LLVM does not accept
/// there, and whatever does not read back as asked (another encoding or an operand that follows another one).
Result<isa::InstRef> renameOperands(const isa::Instruction& inst, std::span<const OperandRename> renames,
                                    isa::Codec& codec);

/// The instruction with each register of `from` replaced by the one at its place in `to` in every operand that it
/// names, read or written. Refused where an operand lies only partly in `from`, or where one is touched implicitly.
Result<isa::InstRef> replaceRegisters(const isa::Instruction& inst, const RegisterTuple& from, const RegisterTuple& to,
                                      isa::Codec& codec);

/// What a kernel may still use without running fewer waves.
struct RegisterBudget {
  unsigned vgprsUsed = 0, agprsUsed = 0, sgprsUsed = 0; ///< one more than the highest number named by the kernel
  /// One more than the highest number that may be named: the allocation, grown as long as no fewer workgroups fit on a
  /// CU, LDS and (where the launches are given) the grid's own limit considered.
  unsigned vgprEnd = 0, agprEnd = 0, sgprEnd = 0;
  unsigned accumOffset = 0; ///< K0's
  unsigned moreVgprs() const { return vgprEnd > vgprsUsed ? vgprEnd - vgprsUsed : 0; }
};

/// Do waves start with all lanes on: workgroups are whole waves? Without that the old value of a VGPR may live on in
/// inactive lanes behind every write, and hardly any register is ever free.
enum class WholeWaves : std::uint8_t {
  unknown,
  assumed, ///< every launch of the context is so: say wholeWavesAssumption in Proposal::assumptions
  known,   ///< the kernel's required workgroup size says so
};
WholeWaves wholeWavesOf(const MoveContext& context);
inline constexpr std::string_view wholeWavesAssumption =
    "every workgroup of the dispatch is a whole number of waves, so all lanes are on at the kernel's entry";

/// Registers of a kernel's function in one program: a snapshot, to be made anew after edits.
class RegisterKit {
 public:
  /// Keeps references to `program` and `context`. The context's kernel must have a function in the program, with
  /// complete instructions. `waves`: what liveness may take for granted (wholeWavesOf, or unknown for a proposal
  /// without assumptions).
  RegisterKit(const program::Program& program, const MoveContext& context, WholeWaves waves = WholeWaves::unknown);

  /// Do operands name every register that is used? Where not (S_SET_GPR_IDX, V_MOVREL, S_SETVSKIP, unknown callees,
  /// undecodable words) no register counts as free.
  bool isKnown() const { return known; }
  const RegisterBudget& budget() const { return limits; }
  WholeWaves waves() const { return wholeWaves; }
  const program::Liveness& liveness() const { return live; }

  /// Units that must not be given another value anywhere in the blocks: touched by them, live into or out of one, in
  /// flight into one, or not within the budget. Their complement is free.
  isa::RegSet busyOver(std::span<const program::BlockId> blocks) const;
  /// The same over the whole function and what it calls: its complement are registers nobody ever names.
  isa::RegSet busyEverywhere() const;

  /// Lowest free tuple outside `busy`, of the budget's registers; it is marked in `busy`. Nothing if there is none. It
  /// starts at `remainder` modulo `step`; 0: what the architecture asks of an operand of that size.
  std::optional<RegisterTuple> take(RegisterFile file, unsigned count, isa::RegSet& busy, unsigned step = 0,
                                    unsigned remainder = 0) const;
  const object::Target& target() const { return context.object.target(); }

  /// Number that AGPR units are relative to in `busy` sets: K0's accum_offset, or 256 where VGPRs may grow past it, so
  /// that no unit has two names. Analyses of edited programs that name such VGPRs should be asked with it.
  unsigned accumOffset() const { return accum; }
  /// `context` with accumOffset().
  MoveContext editedContext() const;

 private:
  void findLimits();

  const program::Program& program;
  const MoveContext& context;
  const program::Function* function = nullptr;
  WholeWaves wholeWaves;
  bool known = false;
  unsigned accum = 0;
  RegisterBudget limits;
  program::Liveness live;
  std::vector<isa::RegSet> inFlight; ///< destinations at entry, by block
  isa::RegSet everywhere;
};

} // namespace asmevo::optimize
