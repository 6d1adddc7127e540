/// Iterations of a loop taken apart: the loads and what their addresses come from, run ahead in registers of their own;
/// and the rest, which takes what was loaded from a set of registers.
#pragma once

#include "optimize/edit/loop_slice.h"
#include "optimize/edit/registers.h"
#include "optimize/edit/turn_waits.h"
#include "program/analysis/exec_mask.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace asmevo::optimize {

class LoopAhead {
 public:
  /// What loads bring gets `sets` sets of registers. The references outlive it.
  LoopAhead(const program::Program& program, const MoveContext& context, const RegisterKit& kit, const BlockLoop& loop,
            LoopSlice slice, unsigned sets);

  /// Allocates registers, marked in `busy`. False where they do not suffice or a use cannot be given other ones.
  bool prepare(isa::RegSet& busy);

  /// In front of the loop: its state copied into the slice's registers, behind a complete wait.
  bool enter(std::vector<program::Instr>& into) const;
  /// The slice of the next iteration, its loads into a set. Leaves in SCC what the loop's scalar test says, or in
  /// leavingText() the lanes that leave. Without the late loads where `withLate` is off: iteration() has them then.
  bool ahead(std::vector<program::Instr>& into, unsigned set, bool withLate = true) const;
  /// What comes from loads that ahead() issued, behind a wait that leaves `inFlight` of vector memory behind them.
  bool second(std::vector<program::Instr>& into, unsigned set, std::size_t inFlight) const;
  bool hasSecond() const { return !slice.second.empty(); }
  /// Positions of the body in front of which second() writes over no flag that somebody still reads.
  std::vector<std::size_t> placesForSecond() const;
  std::string leavingText() const;
  /// The loads of the next iteration, as they stand in and in front of an iteration.
  struct Next {
    unsigned set = 0;
    bool withLate = false;    ///< ahead() had them too; else they go where the loop has them: a load queue that is full
                              ///< does not hold up what stands between them
    std::size_t secondAt = 0; ///< position that second() goes in front of, where there is one
  };
  /// The rest of an iteration, whose loads came from a set, without the branch and what changes EXEC. With `next`, its
  /// waits complete what they completed before and leave the next loads in flight; else those for vector memory are
  /// complete ones, to be weakened.
  bool iteration(std::vector<program::Instr>& into, unsigned set, bool keepsAddresses,
                 std::optional<Next> next = std::nullopt) const;

  /// Appends one instruction, or a branch to a block.
  bool assemble(std::vector<program::Instr>& into, const std::string& text) const;
  bool branch(std::vector<program::Instr>& into, const char* mnemonic, program::BlockId target) const;

  /// Puts `count` blocks in front of the loop's; whoever went to the loop goes to the first of them.
  void insertBlocks(program::Program& edited, program::BlockId count) const;
  /// Weakens waits, restores wait states. False where a register would be used before it has arrived.
  bool finish(program::Program& edited) const;

  std::size_t loads() const { return slice.loads.size(); }

 private:
  /// Registers next to each other that are renamed as one.
  struct Group {
    RegisterFile file = RegisterFile::sgpr;
    unsigned first = 0, end = 0; ///< numbers, end exclusive
    unsigned step = 1;           ///< what the largest tuple in it is aligned to
    std::vector<unsigned> fresh; ///< number that `first` gets, in each set
    bool contains(const RegisterTuple& tuple) const {
      return file == tuple.file && first <= tuple.first && tuple.first + tuple.count <= end;
    }
  };
  void addTo(std::vector<Group>& groups, const RegisterTuple& tuple) const;
  static const Group* groupOf(const std::vector<Group>& groups, const RegisterTuple& tuple);
  static unsigned placeOf(const Group& group, const RegisterTuple& tuple, unsigned set) {
    return group.fresh[set] + (tuple.first - group.first);
  }
  bool findUses();
  bool isReadBehind(const isa::RegSet& units) const;
  bool followUses(std::size_t i, isa::RegSet& tracked);
  bool makeGroups();
  bool allocate(std::vector<Group>& groups, unsigned copies, isa::RegSet& busy) const;
  /// Nothing where vector memory does not return in order.
  std::optional<TurnWaits> turnWaits(const Next& next) const;
  bool aheadOne(std::vector<program::Instr>& into, std::size_t i, unsigned set) const;
  bool isLate(std::size_t load) const;

  const program::Program& program;
  const MoveContext& context;
  const RegisterKit& kit;
  const BlockLoop& loop;
  LoopSlice slice;
  unsigned sets, accum;
  const std::vector<program::Instr>& body;
  program::ExecMask exec;
  std::vector<bool> full;                             ///< are all lanes on, by instruction of the body
  std::vector<Group> groups;                          ///< registers of the slice
  std::vector<Group> brought;                         ///< what the loads bring, with what stands beside it in operands
  isa::RegSet destinations;                           ///< of the loads
  std::map<std::size_t, std::set<std::size_t>> uses;  ///< operands that read it, by instruction
  std::map<std::size_t, isa::RegSet> mine, strangers; ///< units of these operands: brought, and beside it
};

/// SCC and, where the slice writes it, VCC must not be live where the loop begins and ends: what is run ahead writes
/// them at places where the loop does not.
bool clobbersFlags(const program::Program& program, const RegisterKit& kit, const BlockLoop& loop,
                   const LoopSlice& slice);

/// Hot loops of one block and sets of their loads worth running ahead (all that have a slice, those of one size, single
/// ones; at most `mostChoices` of a loop). `propose` gives a proposal made of them, or nothing; place and assumptions
/// are filled in. Empty where the kernel's registers are not known. `throughLoads`: loads whose addresses other loads
/// of the iteration bring, and those with them; else the ones without.
struct AheadChoice {
  const RegisterKit& kit;
  const BlockLoop& loop;
  const LoopSlice& slice;
  isa::RegSet busy; ///< registers that the loop leaves no room for
};
void proposeAhead(const program::Program& program, const MoveContext& context, std::size_t mostChoices,
                  const std::function<std::vector<Proposal>(const AheadChoice&)>& propose,
                  std::vector<Proposal>& proposals, bool throughLoads = false);

} // namespace asmevo::optimize
