/// The code of one block as a line that peephole edits work on: where values come from, who reads them, and which are
/// needed no more.
///
/// All questions are about the code as edited so far. Registers are asked for by unit (isa/registers.h).
#pragma once

#include "optimize/optimize.h"
#include "verify/proof/available_facts.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace asmevo::optimize {

/// What an edit of any block needs to know of the function, worked out once per program.
class FunctionFacts {
 public:
  /// Keeps references to `program` and `context`.
  FunctionFacts(const program::Program& program, const program::Function& function, const MoveContext& context);

  /// Do operands name every register that is used? Where not, no vector code may be edited.
  bool isKnown() const { return known; }
  /// Units whose value somebody may still read at a block's end, in any lane.
  const isa::RegSet& liveAtEnd(program::BlockId block) const { return live[block]; }
  /// The constant that an SGPR or VGPR holds at the block's start, in the lanes on there: moved there on every way,
  /// under the EXEC of the block's start.
  std::optional<std::uint32_t> constantIn(isa::RegUnit unit, program::BlockId block) const;

  const program::Program& program;
  const program::Function& function;
  const MoveContext& context;

 private:
  bool known = false;
  std::vector<isa::RegSet> live; ///< at blocks' ends
  std::vector<verify::FactMap> facts;
};

class StraightCode {
 public:
  static constexpr std::size_t npos = ~std::size_t{0};

  StraightCode(const FunctionFacts& facts, program::BlockId block);

  std::size_t size() const { return lines.size(); }
  /// False for what was removed.
  bool has(std::size_t at) const { return !lines[at].removed; }
  const isa::Instruction& at(std::size_t index) const { return *lines[index].instr.inst; }
  const isa::RegSet& reads(std::size_t index) const { return lines[index].reads; }
  const isa::RegSet& writes(std::size_t index) const { return lines[index].writes; }
  /// May the instruction be taken out or changed at all? Not anchors of addresses, branches, or code between which
  /// nothing may be put.
  bool isEditable(std::size_t index) const;

  /// The instruction that wrote `unit` last before `at` and in the same lanes as those on at `at`: EXEC is unchanged
  /// since. npos if there is none in the block.
  std::size_t definition(isa::RegUnit unit, std::size_t at) const;
  /// No instruction strictly between writes one of the units.
  bool unchangedBetween(const isa::RegSet& units, std::size_t from, std::size_t to) const;
  bool unreadBetween(isa::RegUnit unit, std::size_t from, std::size_t to) const;
  /// EXEC, MODE and M0 are the same at both.
  bool sameLanes(std::size_t from, std::size_t to) const;
  /// What instruction `at` leaves in the lanes on there is read by nobody after `at`.
  bool deadAfter(isa::RegUnit unit, std::size_t at) const;
  /// Positions after `at` that read the unit before it is written again; nothing if it may be read behind the block or
  /// where EXEC changed.
  std::optional<std::vector<std::size_t>> usesOf(isa::RegUnit unit, std::size_t at) const;
  /// The 32-bit value of a constant operand, or of an SGPR known to hold one.
  std::optional<std::uint32_t> constant(const isa::Operand& operand, std::size_t at) const;
  /// The same of what a VGPR operand holds in the lanes on at `at`.
  std::optional<std::uint32_t> vectorConstant(const isa::Operand& operand, std::size_t at) const;
  /// A VGPR that holds the value in the lanes on at `at`.
  std::optional<unsigned> vgprHolding(std::uint32_t value, std::size_t at) const;
  /// An SGPR that holds the value in front of `at`, written in this block or everywhere.
  std::optional<unsigned> sgprHolding(std::uint32_t value, std::size_t at) const;

  /// Unit of a one-dword register operand; nothing for others.
  std::optional<isa::RegUnit> unitOf(const isa::Operand& operand) const;

  /// Puts the instruction in place of the one at `index`. False if LLVM does not take the text.
  bool replace(std::size_t index, const std::string& text);
  void replace(std::size_t index, isa::InstRef inst);
  void remove(std::size_t index);
  /// Puts an instruction in front of the one at `index`, which keeps its number. Registers it writes must be ones that
  /// the block does not know.
  bool insert(std::size_t index, const std::string& text);
  std::size_t edits() const { return edited; }
  /// The line as instructions of a block.
  std::vector<program::Instr> instructions() const;

  unsigned accumOffset() const { return accum; }
  isa::Codec& codec() const { return facts.context.codec; }
  const FunctionFacts& functionFacts() const { return facts; }
  program::BlockId block() const { return id; }

 private:
  struct Line {
    program::Instr instr;
    isa::RegSet reads, writes, kills;
    std::vector<program::Instr> inserted = {}; ///< in front
    bool removed = false, vector = false, writesExec = false, writesMode = false;
  };
  void fill(Line& line) const;

  const FunctionFacts& facts;
  program::BlockId id;
  unsigned accum;
  std::vector<Line> lines;
  std::size_t edited = 0;
};

/// How an operand is written: register or constant with its modifiers dropped.
std::string operandText(const isa::Instruction& inst, std::size_t operand);

/// True for VALU instructions in their plain forms: no DPP, SDWA, clamp, omod, op_sel, negation or absolute values.
bool isPlain(const isa::Instruction& inst);

/// Finishes a proposal: links and wait states anew, and no use of a register left in front of its wait that had one
/// before. False: give it up.
bool finishEdit(const program::Program& before, Proposal& proposal, const MoveContext& context);

/// Proposals of a move that rewrites blocks on their own: all hot blocks of the context's windows at once, and the
/// hottest ones alone. `rewrite(code)` edits one block and returns what it did ("" for nothing) as the end of a
/// sentence; it is asked again as long as it does something.
template <class Rewrite>
std::vector<Proposal> proposeForBlocks(const program::Program& program, const MoveContext& context,
                                       const Rewrite& rewrite);

/// Blocks that a local move edits: of the windows, hottest first, at most `limit`.
std::vector<program::BlockId> editableBlocks(const program::Program& program, const program::Function& function,
                                             const MoveContext& context, std::size_t limit);

template <class Rewrite>
std::vector<Proposal> proposeForBlocks(const program::Program& program, const MoveContext& context,
                                       const Rewrite& rewrite) {
  std::vector<Proposal> proposals;
  const program::Function* function = nullptr;
  for (const auto& candidate : program.functions)
    if (candidate.kernel == static_cast<std::size_t>(&context.kernel - context.object.kernels().data()))
      function = &candidate;
  if (!function)
    return proposals;
  const FunctionFacts facts(program, *function, context);
  if (!facts.isKnown())
    return proposals;
  struct Edited {
    program::BlockId block = 0;
    std::vector<program::Instr> instrs;
    std::string what;
  };
  std::vector<Edited> edited;
  for (const program::BlockId id : editableBlocks(program, *function, context, 64)) {
    StraightCode code(facts, id);
    std::string what = rewrite(code);
    if (what.empty())
      continue;
    edited.push_back({id, code.instructions(), std::move(what)});
  }
  const auto propose = [&](std::size_t begin, std::size_t end) {
    Proposal proposal;
    proposal.program = program;
    proposal.begin = program::noAddress;
    for (std::size_t i = begin; i < end; ++i) {
      const program::Block& block = program.blocks[edited[i].block];
      proposal.program.blocks[edited[i].block].instrs = edited[i].instrs;
      proposal.begin = std::min(proposal.begin, block.address);
      proposal.end = std::max(proposal.end, block.address + block.size);
    }
    proposal.reason = edited[begin].what;
    if (end - begin > 1)
      proposal.reason += " (and likewise in " + std::to_string(end - begin - 1) + " more blocks)";
    if (finishEdit(program, proposal, context))
      proposals.push_back(std::move(proposal));
  };
  if (edited.size() > 1)
    propose(0, edited.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(edited.size(), 4); ++i)
    propose(i, i + 1);
  return proposals;
}

} // namespace asmevo::optimize
