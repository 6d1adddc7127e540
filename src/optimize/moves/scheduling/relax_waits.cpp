#include "optimize/moves/scheduling/relax_waits.h"

#include "optimize/edit/waits.h"
#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/in_flight.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace asmevo::optimize {

namespace {

class RelaxWaitsMove final : public Move {
 public:
  std::string_view name() const override { return "relax-waits"; }
  std::string_view purpose() const override {
    return "weaken s_waitcnt to what every path needs, sink waits to their first use, delete idle ones";
  }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    const program::Function* function = kernelFunction(program, context);
    if (!function)
      return proposals;
    if (auto proposal = weaken(program, *function, context))
      proposals.push_back(*std::move(proposal));
    for (const program::BlockId id : hotBlocks(*function, context, 0.02))
      if (auto proposal = sink(program, *function, context, id))
        proposals.push_back(*std::move(proposal));
    return proposals;
  }

 private:
  /// All waits of the function at once.
  static std::optional<Proposal> weaken(const program::Program& program, const program::Function& function,
                                        const MoveContext& context) {
    Proposal proposal;
    proposal.program = program;
    std::size_t changed = 0;
    if (!weakenWaits(proposal.program, function, context, changed) || changed == 0)
      return std::nullopt;
    if (!repairWaitStates(program, proposal.program, context))
      return std::nullopt;
    proposal.reason = fmt::format("{} waits were stronger than any path needs", changed);
    std::tie(proposal.begin, proposal.end) = addressRange(program.blocks[function.entryBlock]);
    return proposal;
  }

  /// Repeats each wait of a block in front of every later instruction, then weakens all of them: what remains is the
  /// weakest wait at the latest place.
  static std::optional<Proposal> sink(const program::Program& program, const program::Function& function,
                                      const MoveContext& context, program::BlockId id) {
    const program::Block& block = program.blocks[id];
    if (block.opaque || block.instrs.size() > 4000)
      return std::nullopt;
    Proposal proposal;
    proposal.program = program;
    auto& instrs = proposal.program.blocks[id].instrs;
    instrs.clear();
    const program::Instr* lastWait = nullptr;
    std::size_t copies = 0;
    for (const auto& instr : block.instrs) {
      if (instr.inst->cls == isa::InstClass::waitcnt) {
        lastWait = instr.inst->base == "s_waitcnt" ? &instr : nullptr;
        instrs.push_back(instr);
        continue;
      }
      if (lastWait && usesRegistersOfMemory(instr)) {
        program::Instr copy = *lastWait;
        copy.address = program::noAddress;
        instrs.push_back(copy);
        ++copies;
      }
      instrs.push_back(instr);
    }
    if (copies == 0)
      return std::nullopt;
    std::size_t changed = 0;
    if (!weakenWaits(proposal.program, function, context, changed))
      return std::nullopt;
    if (!dropIdleWaits(instrs, context.codec))
      return std::nullopt;
    if (std::ranges::equal(instrs, block.instrs, {}, &program::Instr::inst, &program::Instr::inst))
      return std::nullopt;
    if (!repairWaitStates(program, proposal.program, context))
      return std::nullopt;
    proposal.reason = "each wait taken apart: every use waits for its own loads only";
    std::tie(proposal.begin, proposal.end) = addressRange(block);
    return proposal;
  }

  /// Deletes what an earlier wait of the block has made sure of already: a counter is at most what it was waited for
  /// plus what was issued since.
  static bool dropIdleWaits(std::vector<program::Instr>& instrs, isa::Codec& codec) {
    constexpr unsigned unknown = 1000;
    std::array<unsigned, program::counterCount> bound{unknown, unknown};
    std::vector<program::Instr> kept;
    for (program::Instr& instr : instrs) {
      if (instr.inst->base != "s_waitcnt") {
        const auto counting = program::countingOf(*instr.inst);
        for (std::size_t c = 0; c < bound.size(); ++c)
          if (counting.counts[c]) // scalar loads of more than a dword count twice
            bound[c] = std::min(unknown, bound[c] + 2);
        if (instr.inst->leavesFunction())
          bound.fill(unknown);
        kept.push_back(instr);
        continue;
      }
      const isa::WaitCount given = instr.inst->waitCount();
      isa::WaitCount left = given;
      if (left.vm >= bound[0])
        left.vm = 63;
      if (left.lgkm >= bound[1])
        left.lgkm = 15;
      bound[0] = std::min<unsigned>(bound[0], given.vm < 63 ? given.vm : unknown);
      bound[1] = std::min<unsigned>(bound[1], given.lgkm < 15 ? given.lgkm : unknown);
      if (left == isa::WaitCount{})
        continue;
      if (left != given) {
        auto wait = codec.assemble(waitText(left));
        if (!wait)
          return false;
        instr.inst = codec.complete(*wait);
      }
      kept.push_back(instr);
    }
    instrs = std::move(kept);
    return true;
  }

  static bool usesRegistersOfMemory(const program::Instr& instr) {
    const auto cls = instr.inst->cls;
    return cls != isa::InstClass::nop && cls != isa::InstClass::message && !instr.inst->isBranch();
  }
};

} // namespace

const Move& relaxWaitsMove() {
  static const RelaxWaitsMove move;
  return move;
}

} // namespace asmevo::optimize
