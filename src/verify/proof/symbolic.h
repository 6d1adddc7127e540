/// Symbolic execution of one wave's instructions over terms: register values, and memory as a list of effects.
#pragma once

#include "program/analysis/dataflow.h"
#include "verify/proof/term_domain.h"
#include "verify/proof/terms.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace asmevo::verify {

/// What an instruction does to memory, in program order.
struct Effect {
  TermId payload = 0;      ///< operation, activity, address and data
  std::uint8_t reads = 0;  ///< spaces (program::space) whose contents the effect depends on
  std::uint8_t writes = 0; ///< spaces it may change
  bool fence = false;      ///< keeps its place against every other access to its spaces
  program::Place place;    ///< in its own program
};

/// An address that a lane loads from: what is not loaded by K0 may not be loaded by K1, since it may fault.
struct Access {
  TermId address = 0; ///< an `apply` of kind and address parts, one per dword (of smaller loads: per load)
  TermId active = 0;
};

/// Register values and memory at one program point.
struct SymbolicState {
  std::vector<TermId> units; ///< by register unit; SCC's is a truth value
  TermId memory = 0;         ///< contents at the window's entry
  std::vector<Effect> effects;
  std::vector<Access> accesses;
  std::vector<std::pair<TermId, unsigned>> ldsWidths; ///< address and bytes of every LDS access
};

/// Every register a variable of its own, memory as it was found.
SymbolicState initialState(TermTable& table);

/// Executes instructions of one program symbolically.
class SymbolicExecutor {
 public:
  /// Do two memory instructions of the program never touch a common byte, whatever the lanes?
  using Disjoint = std::function<bool(program::Place, program::Place)>;

  SymbolicExecutor(TermTable& table, unsigned accumOffset, Disjoint disjoint)
      : t(table), accum(accumOffset), disjoint(std::move(disjoint)) {}

  /// Effects of one instruction on `state`. `literalKey`, when not empty, stands for its literal, whose value depends
  /// on the layout. False if it is outside what is reasoned about; `reason` then says why.
  bool execute(const isa::Instruction& inst, program::Place place, const std::string& literalKey, SymbolicState& state,
               std::string& reason);

 private:
  bool vectorAlu(const isa::Instruction& inst, SymbolicState& state);
  bool scalarAlu(const isa::Instruction& inst, SymbolicState& state);
  bool special(const isa::Instruction& inst, SymbolicState& state);
  bool laneExchange(const isa::Instruction& inst, SymbolicState& state);
  bool scalarMemory(const isa::Instruction& inst, program::Place place, SymbolicState& state);
  bool vectorMemory(const isa::Instruction& inst, program::Place place, SymbolicState& state);
  bool ldsMemory(const isa::Instruction& inst, program::Place place, SymbolicState& state);
  /// Uninterpreted functions of everything the instruction reads.
  void opaque(const isa::Instruction& inst, program::Place place, const std::string& literalKey, SymbolicState& state);

  TermId exec(const SymbolicState& state);
  TermId active(const SymbolicState& state);
  TermId scalar32(const SymbolicState& state, unsigned index);
  TermId scalarPair(const SymbolicState& state, unsigned index);
  void setPair(SymbolicState& state, unsigned index, TermId value);
  /// Physical VGPR of a vector operand.
  unsigned physical(const isa::Operand& operand) const;
  /// A VGPR as the active lanes see it.
  TermId vectorValue(SymbolicState& state, unsigned physical);
  void writeVector(SymbolicState& state, unsigned physical, TermId lanes, TermId value);
  /// Memory as a load at `place` from `spaces` sees it: the entry contents and every effect that may have changed it.
  TermId memorySeen(const SymbolicState& state, std::uint8_t spaces, program::Place place);
  void addEffect(SymbolicState& state, TermId payload, std::uint8_t reads, std::uint8_t writes, bool fence,
                 program::Place place);
  bool dppSource(const isa::Instruction& inst, SymbolicState& state, TermId& value, TermId& lanes);

  TermTable& t;
  unsigned accum;
  Disjoint disjoint;
  std::map<const isa::Instruction*, std::string> keys; ///< of opaque instructions
};

/// Sort of a register unit's value.
inline Sort unitSort(isa::RegUnit unit) {
  return unit == isa::sreg::scc ? Sort::bit : Sort::word;
}

} // namespace asmevo::verify
