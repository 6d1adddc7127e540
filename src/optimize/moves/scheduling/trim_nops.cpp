#include "optimize/moves/scheduling/trim_nops.h"

#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/hazards.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

/// More states than any row of the tables asks for in plain code are there for their time.
constexpr unsigned pacingStates = 12;

class TrimNopsMove final : public Move {
 public:
  std::string_view name() const override { return "trim-nops"; }
  std::string_view purpose() const override { return "shorten or delete s_nops that no hazard on any path needs"; }
  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    const program::Function* function = kernelFunction(program, context);
    const auto target = program::hazardTargetOf(context.object.target());
    // Where the tables do not reach, an s_nop may be there for something else.
    if (!function || !target)
      return {};
    Proposal proposal;
    proposal.program = program;
    proposal.begin = program::noAddress;
    std::size_t states = 0;
    auto nops = program::requiredNops(program, program::CallSites(program), *function, context.accumOffset, *target);
    std::ranges::sort(nops, std::greater<>{}, &program::NopRequirement::place);
    for (const program::NopRequirement& nop : nops) {
      const program::Block& block = program.blocks[nop.place.block];
      const program::Instr& instr = block.instrs[nop.place.index];
      if (nop.present >= pacingStates || nop.sufficient >= nop.present || instr.inst->base != "s_nop" || block.opaque)
        continue;
      auto& edited = proposal.program.blocks[nop.place.block].instrs;
      const auto at = edited.begin() + static_cast<std::ptrdiff_t>(nop.place.index);
      if (nop.sufficient == 0) {
        edited.erase(at);
      } else {
        auto shorter = context.codec.assemble(fmt::format("s_nop {}", nop.sufficient - 1));
        if (!shorter)
          return {};
        at->inst = context.codec.complete(*shorter);
      }
      states += nop.present - nop.sufficient;
      proposal.begin = std::min(proposal.begin, instr.address);
      proposal.end = std::max(proposal.end, instr.address == program::noAddress ? 0 : instr.address + instr.inst->size);
    }
    if (!states || !repairWaitStates(program, proposal.program, context))
      return {};
    if (!changes(program, proposal.program))
      return {};
    proposal.reason = fmt::format("{} wait states of s_nops that no path needs", states);
    std::vector<Proposal> proposals;
    proposals.push_back(std::move(proposal));
    return proposals;
  }

 private:
  /// What repair puts back is no change.
  static bool changes(const program::Program& before, const program::Program& after) {
    return !std::ranges::equal(before.blocks, after.blocks, [](const program::Block& x, const program::Block& y) {
      return std::ranges::equal(x.instrs, y.instrs, {}, &program::Instr::inst, &program::Instr::inst);
    });
  }
};

} // namespace

const Move& trimNopsMove() {
  static const TrimNopsMove move;
  return move;
}

} // namespace asmevo::optimize
