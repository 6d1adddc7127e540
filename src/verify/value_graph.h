/// Hash-consed terms and the symbolic machine state the proof executes over.
#pragma once

#include "isa/instruction.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace asmevo::verify {

using TermId = std::uint32_t;

/// Hash-consed term nodes: equal terms have equal ids, so equality is one comparison. An operator is a string key,
/// interned.
class TermTable {
 public:
  TermId variable(std::uint32_t number);
  TermId node(const std::string& op, std::span<const TermId> args);
  /// select(exec, active, inactive), simplified: of lanes written twice under one EXEC only the second value remains.
  TermId select(TermId exec, TermId active, TermId inactive);
  /// What lanes active under `exec` see of `value`.
  TermId underExec(TermId exec, TermId value) const;
  std::size_t size() const { return nodes.size(); }

 private:
  struct Node {
    std::uint32_t op = 0, firstArg = 0, argCount = 0;
  };
  std::uint32_t internOp(const std::string& op);
  TermId intern(std::uint32_t op, std::span<const TermId> args);

  std::vector<Node> nodes;
  std::vector<TermId> args;
  std::unordered_map<std::string, std::uint32_t> opIds;
  std::unordered_multimap<std::uint64_t, TermId> index;
};

/// Register values and memory versions at one program point.
struct SymbolicState {
  std::vector<TermId> units; ///< by register unit
  TermId ldsMemory = 0;      ///< version of LDS
  TermId globalMemory = 0;   ///< version of everything else
};

/// What an instruction reads and writes, with registers taken out of its name: renaming does not change it.
struct InstructionShape {
  std::string key;                   ///< mnemonic, operand kinds, immediates, modifiers
  std::vector<isa::RegUnit> sources; ///< argument order: explicit operands, then every other register read
  std::vector<isa::RegUnit> results; ///< explicit destinations, then every other register written
  std::vector<bool> partial;         ///< per result: inactive lanes keep their old value
  bool laneWise = false;             ///< a lane's results depend on that lane's sources only
  bool hasEffect = true;             ///< false for waits, nops, priorities
  bool readsLds = false, writesLds = false, readsGlobal = false, writesGlobal = false;
  std::string unsupported; ///< why the proof cannot execute it, or ""
};

/// Shape of an instruction. `literalKey`, when not empty, stands for its literal or branch offset, whose value depends
/// on the layout.
InstructionShape shapeOf(const isa::Instruction& inst, unsigned accumOffset, const std::string& literalKey);

/// Executes instructions of one program symbolically.
class SymbolicExecutor {
 public:
  SymbolicExecutor(TermTable& table, unsigned accumOffset) : terms(table), accum(accumOffset) {}

  /// Effects of one instruction on `state`. False if it is outside what is reasoned about; `reason` then says why.
  bool execute(const isa::Instruction& inst, const std::string& literalKey, SymbolicState& state, std::string& reason);

 private:
  TermTable& terms;
  unsigned accum;
  std::map<std::pair<const isa::Instruction*, std::string>, std::unique_ptr<const InstructionShape>> shapes;
};

} // namespace asmevo::verify
