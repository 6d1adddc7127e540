/// Loads of a chain issued ahead: what their addresses and lanes come from is done again, in registers of its own and
/// under the very EXEC of each instruction, at an earlier place; where the load was, what it brought is copied into its
/// destination, in the lanes that are on there. No lane loads that would not have.
#pragma once

#include "optimize/edit/block_chain.h"
#include "optimize/edit/registers.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace asmevo::optimize {

/// Steps of a chain.
struct ReplaySlice {
  std::set<std::size_t> work;  ///< instructions that are done again, those that make lanes and skips among them
  std::set<std::size_t> loads; ///< themselves
  std::set<std::size_t> lanes; ///< of BlockChain::lanes, without those at the place
  isa::RegSet inputs;          ///< read as they are at the place
};

class ChainReplay {
 public:
  /// The references outlive it. `full`: of each step, whether all lanes are on.
  ChainReplay(const program::Program& program, const MoveContext& context, const RegisterKit& kit,
              const BlockChain& chain, std::vector<bool> full);

  /// What it takes to issue a load in front of an earlier step; nothing where that is not possible: something else than
  /// ALU work within lanes is needed, a store or (where `barriersOrder`) a barrier stands between, the destination's
  /// old value counts. Scalar loads become vector loads, where all lanes are on.
  std::optional<ReplaySlice> sliceOf(std::size_t load, std::size_t place, bool barriersOrder) const;

  /// The edit. False where registers do not suffice. `busy`: units that are taken, more is marked. `keepsLanes`: masks
  /// that were worked out ahead stay, and K0's instructions that narrow EXEC take them: what they took may be dead.
  bool build(program::Program& edited, const ReplaySlice& all, std::size_t place, isa::RegSet& busy, bool keepsLanes);

 private:
  struct Group {
    RegisterFile file = RegisterFile::sgpr;
    unsigned first = 0, end = 0, step = 1; ///< numbers, end exclusive; what the largest tuple in it is aligned to
    unsigned fresh = 0;                    ///< number that `first` gets
  };
  bool canIssueAhead(std::size_t load) const;
  bool makeGroups(const ReplaySlice& all);
  void join(const RegisterTuple& tuple);
  const Group* groupOf(const RegisterTuple& tuple) const;
  bool takeRegisters(const ReplaySlice& all, std::size_t place, isa::RegSet& busy, bool keepsLanes);
  bool emit(std::vector<program::Instr>& into, const ReplaySlice& all, std::size_t place);
  bool emitStep(std::vector<program::Instr>& into, std::size_t step, bool isLoad);
  bool emitLanes(std::vector<program::Instr>& into, std::size_t lanes);
  bool switchTo(std::vector<program::Instr>& into, std::size_t lanes);
  bool scalarLoad(std::vector<program::Instr>& into, std::size_t step);
  bool takeKeptLanes(program::Program& edited, const ReplaySlice& all) const;
  bool landing(std::vector<program::Instr>& into, std::size_t load) const;
  bool assemble(std::vector<program::Instr>& into, const std::string& text) const;
  std::string operandText(const isa::Instruction& inst, std::size_t operand) const;
  bool flagsLive(std::size_t place, unsigned unit) const;

  const program::Program& program;
  const MoveContext& context;
  const RegisterKit& kit;
  const BlockChain& chain;
  std::vector<bool> full;
  unsigned accum;
  std::vector<Group> groups;
  std::map<std::size_t, RegisterTuple> brought; ///< by load
  std::map<std::size_t, std::string> lanesText; ///< SGPR pairs, by lanes
  std::size_t startLanes = 0, current = 0;      ///< at the place, and in EXEC
  std::string zero, address;                    ///< VGPR of zeros, SGPR pair, for scalar loads
  std::string savedScc, savedVcc;               ///< where they are live at the place
};

} // namespace asmevo::optimize
