#include "optimize/moves/arithmetic/dead_code.h"

#include "optimize/edit/registers.h"
#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/dataflow.h"
#include "program/analysis/exec_mask.h"
#include "program/analysis/liveness.h"
#include "verify/proof/symbolic.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

/// Instructions of a block that can go, by position.
struct Removal {
  std::vector<bool> remove;
  std::vector<bool> keep; ///< never to be removed
  std::size_t dead = 0, redundant = 0, branches = 0;
  std::size_t total() const { return dead + redundant + branches; }
};

/// Backwards over the block: an instruction whose results are all dead does not keep its sources alive either.
/// `allLanes`: by instruction, are all lanes on? A vector instruction then leaves nothing of what it writes over.
void markDead(const program::Block& block, const std::vector<bool>& allLanes, isa::RegSet live, unsigned accumOffset,
              Removal& removal) {
  for (std::size_t i = block.instrs.size(); i-- > 0;) {
    const isa::Instruction& inst = *block.instrs[i].inst;
    const isa::RegSet writes = inst.writes(accumOffset);
    if (!removal.remove[i] && !removal.keep[i] && isPureAlu(inst) && writes.any() && !writes.intersects(live)) {
      removal.remove[i] = true;
      ++removal.dead;
      continue;
    }
    if (removal.remove[i])
      continue;
    live.remove(allLanes[i] && !removal.keep[i] ? writes : inst.kills(accumOffset));
    live |= inst.reads(accumOffset);
  }
}

/// Forwards over the block with value numbers: an instruction that leaves every result as it was is redundant.
void markRedundant(const program::Block& block, unsigned accumOffset, Removal& removal) {
  verify::TermTable terms;
  verify::SymbolicExecutor executor(terms, accumOffset, {});
  verify::SymbolicState state = verify::initialState(terms);
  for (std::size_t i = 0; i < block.instrs.size(); ++i) {
    const program::Instr& instr = block.instrs[i];
    if (instr.inst->isBranch() || instr.inst->cls == isa::InstClass::endpgm)
      continue;
    const auto before = state.units;
    std::string reason;
    const std::string key = instr.pcRef ? fmt::format("pc{}:{:#x}", instr.pcRef->high, instr.pcRef->target) : "";
    if (!executor.execute(*instr.inst, {}, key, state, reason))
      return;
    if (!removal.keep[i] && isPureAlu(*instr.inst) && instr.inst->writes(accumOffset).any() && state.units == before) {
      removal.remove[i] = true;
      ++removal.redundant;
    }
  }
}

class DeadCodeMove final : public Move {
 public:
  std::string_view name() const override { return "dead-code"; }
  std::string_view purpose() const override {
    return "delete ALU work nobody reads, values written again, and branches to the next instruction";
  }

  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    const program::Function* function = kernelFunction(program, context);
    if (!function)
      return {};
    std::vector<Proposal> proposals;
    std::size_t found = 0;
    const WholeWaves waves = wholeWavesOf(context);
    for (const WholeWaves known : {WholeWaves::unknown, waves}) {
      std::size_t removed = 0;
      auto proposal = without(program, context, *function, known != WholeWaves::unknown, removed);
      if (!proposal || removed <= found)
        continue;
      found = removed;
      if (known == WholeWaves::assumed)
        proposal->assumptions.emplace_back(wholeWavesAssumption);
      proposals.push_back(std::move(*proposal));
    }
    return proposals;
  }

 private:
  static std::optional<Proposal> without(const program::Program& program, const MoveContext& context,
                                         const program::Function& function, bool wholeWaves, std::size_t& removed) {
    const program::Liveness liveness = program::usefulness(program, function, context.accumOffset, wholeWaves);
    const program::ExecMask exec(program, function, wholeWaves);
    // Where operands do not name the registers that vector instructions use, nothing is known to be dead.
    const bool vectorsUnknown =
        program::usesGprIndexing(program, function) || program::maySkipVectors(program, function);
    Proposal all;
    all.program = program;
    Removal sum;
    all.begin = program::noAddress;
    for (const program::BlockId id : function.blocks) {
      const program::Block& block = program.blocks[id];
      if (block.opaque)
        continue;
      Removal removal;
      removal.remove.resize(block.instrs.size());
      removal.keep.resize(block.instrs.size());
      if (vectorsUnknown)
        for (std::size_t i = 0; i < block.instrs.size(); ++i)
          removal.keep[i] = block.instrs[i].inst->cls != isa::InstClass::salu;
      markRedundant(block, context.accumOffset, removal);
      markDead(block, exec.fullBefore(id), liveness.liveOut[id], context.accumOffset, removal);
      markBranchToNext(program, id, removal);
      if (!removal.total())
        continue;
      auto& instrs = all.program.blocks[id].instrs;
      std::size_t i = 0;
      std::erase_if(instrs, [&](const program::Instr&) { return removal.remove[i++]; });
      sum.dead += removal.dead;
      sum.redundant += removal.redundant;
      sum.branches += removal.branches;
      const auto [begin, end] = addressRange(block);
      all.begin = std::min(all.begin, begin);
      all.end = std::max(all.end, end);
    }
    removed = sum.total();
    if (!removed)
      return std::nullopt;
    all.program.relink();
    if (!repairWaitStates(program, all.program, context))
      return std::nullopt;
    all.reason =
        fmt::format("deleted {} dead and {} redundant ALU instructions and {} branches to the next instruction",
                    sum.dead, sum.redundant, sum.branches);
    return all;
  }

  static void markBranchToNext(const program::Program& program, program::BlockId id, Removal& removal) {
    const program::Block& block = program.blocks[id];
    if (block.instrs.empty() || id + 1 >= program.blocks.size() || program.blocks[id + 1].section != block.section)
      return;
    const program::Instr& last = block.instrs.back();
    if (last.inst->isBranch() && last.target == id + 1) {
      removal.remove[block.instrs.size() - 1] = true;
      ++removal.branches;
    }
  }
};

} // namespace

const Move& deadCodeMove() {
  static const DeadCodeMove move;
  return move;
}

} // namespace asmevo::optimize
