#include "optimize/moves/arithmetic/hoist_scalar.h"

#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/liveness.h"
#include "program/analysis/loops.h"
#include "program/analysis/wait_lint.h"

#include <algorithm>
#include <optional>
#include <set>

namespace asmevo::optimize {

namespace {

using program::BlockId;

/// The only block outside the loop that enters it, if it can only go to the header.
std::optional<BlockId> preheaderOf(const program::Program& program, const program::Loop& loop) {
  // Jumps through registers may enter anywhere without passing the preheader.
  if (std::ranges::any_of(loop.blocks, [&](BlockId id) { return program.blocks[id].entersByRegister; }))
    return std::nullopt;
  std::optional<BlockId> outside;
  for (const BlockId p : program.blocks[loop.header].predecessors) {
    if (std::ranges::binary_search(loop.blocks, p))
      continue;
    if (outside)
      return std::nullopt;
    outside = p;
  }
  if (!outside || program.blocks[*outside].successors.size() != 1 || program.blocks[*outside].opaque)
    return std::nullopt;
  return outside;
}

/// Instruction `at` of block `id` computes the same value in every iteration and may run once in front of the loop.
class InvariantTest {
 public:
  InvariantTest(const program::Program& p, const program::Loop& l, const program::Liveness& live, unsigned accum)
      : program(p), loop(l), liveness(live), accumOffset(accum) {
    for (const BlockId id : loop.blocks)
      for (const auto& instr : program.blocks[id].instrs)
        if (instr.inst->cls == isa::InstClass::jump || instr.inst->cls == isa::InstClass::unknown)
          hasCalls = true;
  }

  bool operator()(BlockId id, std::size_t at, const std::set<const program::Instr*>& hoisted) const {
    const program::Instr& candidate = program.blocks[id].instrs[at];
    const isa::Instruction& inst = *candidate.inst;
    if (hasCalls || inst.cls != isa::InstClass::salu || !isPureAlu(inst) || candidate.pcRef)
      return false;
    const isa::RegSet reads = inst.reads(accumOffset);
    isa::RegSet writes = inst.writes(accumOffset);
    if (reads.intersects(writes))
      return false;
    const bool writesScc = writes.test(isa::sreg::scc);
    if (writesScc && sccLiveAfter(id, at))
      return false;
    writes.reset(isa::sreg::scc);
    bool plain = writes.any();
    writes.forEach([&](isa::RegUnit u) { plain &= u < isa::sreg::vccLo; });
    if (!plain || writes.intersects(liveness.liveIn[loop.header]) ||
        (writesScc && liveness.liveIn[loop.header].test(isa::sreg::scc)))
      return false;
    for (const BlockId b : loop.blocks)
      for (const auto& other : program.blocks[b].instrs) {
        if (&other == &candidate || hoisted.contains(&other))
          continue;
        const isa::RegSet otherWrites = other.inst->writes(accumOffset);
        if (otherWrites.intersects(writes) || otherWrites.intersects(reads))
          return false;
      }
    // An instruction hoisted before this one runs before it in front of the loop too; nothing hoisted may clobber it.
    return std::ranges::none_of(hoisted, [&](const program::Instr* h) {
      isa::RegSet w = h->inst->writes(accumOffset);
      w.reset(isa::sreg::scc);
      return w.intersects(writes);
    });
  }

 private:
  bool sccLiveAfter(BlockId id, std::size_t at) const {
    const auto& instrs = program.blocks[id].instrs;
    for (std::size_t i = at + 1; i < instrs.size(); ++i) {
      if (instrs[i].inst->reads(accumOffset).test(isa::sreg::scc))
        return true;
      if (instrs[i].inst->kills(accumOffset).test(isa::sreg::scc))
        return false;
    }
    return liveness.liveOut[id].test(isa::sreg::scc);
  }

  const program::Program& program;
  const program::Loop& loop;
  const program::Liveness& liveness;
  unsigned accumOffset;
  bool hasCalls = false;
};

class HoistScalarMove final : public Move {
 public:
  std::string_view name() const override { return "hoist-scalar"; }
  std::string_view purpose() const override { return "move loop-invariant scalar ALU work in front of the loop"; }

  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    const program::Function* function = kernelFunction(program, context);
    if (!function)
      return proposals;
    const program::Liveness liveness = program::liveness(program, *function, context.accumOffset);
    for (const program::Loop& loop : program::naturalLoops(program, *function)) {
      const auto preheader = preheaderOf(program, loop);
      if (!preheader)
        continue;
      if (auto proposal = hoist(program, context, loop, *preheader, liveness))
        proposals.push_back(*std::move(proposal));
    }
    return proposals;
  }

 private:
  /// The wait that covers a hoisted instruction's sources may stand inside the loop.
  static bool readsInFlight(const program::Program& before, const program::Program& after, const MoveContext& context) {
    const auto findings = [&](const program::Program& p) {
      return program::uncoveredUses(p, *kernelFunction(p, context), context.accumOffset).size();
    };
    return findings(after) > findings(before);
  }

  static std::optional<Proposal> hoist(const program::Program& program, const MoveContext& context,
                                       const program::Loop& loop, BlockId preheader,
                                       const program::Liveness& liveness) {
    const InvariantTest invariant(program, loop, liveness, context.accumOffset);
    std::set<const program::Instr*> hoisted;
    std::vector<program::Instr> moved;
    Proposal proposal;
    proposal.program = program;
    // A chain of invariants becomes visible link by link.
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockId id : loop.blocks)
        for (std::size_t i = 0; i < program.blocks[id].instrs.size(); ++i) {
          const program::Instr& instr = program.blocks[id].instrs[i];
          if (hoisted.contains(&instr) || !invariant(id, i, hoisted))
            continue;
          hoisted.insert(&instr);
          moved.push_back(instr);
          changed = true;
        }
    }
    if (moved.empty())
      return std::nullopt;
    for (const BlockId id : loop.blocks) {
      std::vector<program::Instr> kept;
      for (const auto& instr : program.blocks[id].instrs)
        if (!hoisted.contains(&instr))
          kept.push_back(instr);
      proposal.program.blocks[id].instrs = std::move(kept);
    }
    auto& before = proposal.program.blocks[preheader].instrs;
    const bool branches = !before.empty() && before.back().inst->isBranch();
    before.insert(before.end() - (branches ? 1 : 0), moved.begin(), moved.end());
    if (readsInFlight(program, proposal.program, context) || !repairWaitStates(program, proposal.program, context))
      return std::nullopt;
    proposal.reason = fmt::format("hoisted {} loop-invariant scalar instructions out of the loop at {:#x}",
                                  moved.size(), program.blocks[loop.header].address);
    std::tie(proposal.begin, proposal.end) = addressRange(program.blocks[loop.header]);
    return proposal;
  }
};

} // namespace

const Move& hoistScalarMove() {
  static const HoistScalarMove move;
  return move;
}

} // namespace asmevo::optimize
