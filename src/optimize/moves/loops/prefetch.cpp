#include "optimize/moves/loops/prefetch.h"

#include "optimize/edit/loop_ahead.h"
#include "optimize/moves/move_support.h"

namespace asmevo::optimize {

namespace {

using program::BlockId;
using program::Instr;

/// The loop with loads a whole iteration ahead. `flag`: a free SGPR.
bool build(const LoopAhead& parts, const BlockLoop& loop, const std::string& flag, bool spread,
           program::Program& edited) {
  enum : BlockId { before, testX, turnX, testY, turnY, lastX, lastY };
  const BlockId at = loop.block;
  parts.insertBlocks(edited, lastY);
  const auto code = [&](BlockId which) -> std::vector<Instr>& { return edited.blocks[at + which].instrs; };
  const auto next = [&](unsigned set) { return LoopAhead::Next{set, !spread}; };
  const auto ahead = [&](BlockId which, unsigned set, bool withLate) {
    return parts.ahead(code(which), set, withLate) &&
           parts.assemble(code(which), fmt::format("s_cselect_b32 {}, {}, {}", flag, loop.repeatsOnOne ? 1 : 0,
                                                   loop.repeatsOnOne ? 0 : 1));
  };
  const auto test = [&](BlockId which, BlockId last) {
    return parts.assemble(code(which), fmt::format("s_cmp_lg_u32 {}, 0", flag)) &&
           parts.branch(code(which), "s_cbranch_scc0", at + last);
  };
  return parts.enter(code(before)) && ahead(before, 0, true) && test(testX, lastX) && ahead(turnX, 1, !spread) &&
         parts.iteration(code(turnX), 0, false, next(1)) && test(testY, lastY) && ahead(turnY, 0, !spread) &&
         parts.iteration(code(turnY), 1, false, next(0)) && parts.branch(code(turnY), "s_branch", at + testX) &&
         parts.iteration(code(lastX), 0, false) && parts.branch(code(lastX), "s_branch", at + lastY + 1) &&
         parts.iteration(code(lastY), 1, true) && parts.finish(edited);
}

class PrefetchMove final : public Move {
 public:
  std::string_view name() const override { return "prefetch"; }
  std::string_view purpose() const override {
    return "issue a loop's loads one iteration earlier, with its address arithmetic run ahead and its end peeled";
  }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    constexpr std::size_t longestBody = 2000, mostChoices = 8;
    constexpr unsigned sets = 2;
    std::vector<Proposal> proposals;
    const auto propose = [&](const AheadChoice& choice) {
      std::vector<Proposal> made;
      if (choice.loop.leaving || program.blocks[choice.loop.block].instrs.size() > longestBody)
        return made;
      LoopAhead parts(program, context, choice.kit, choice.loop, choice.slice, sets);
      isa::RegSet busy = choice.busy;
      if (!parts.prepare(busy))
        return made;
      const auto flag = choice.kit.take(RegisterFile::sgpr, 1, busy);
      for (const bool spread : {true, false}) {
        Proposal proposal;
        proposal.program = program;
        if (!flag || !build(parts, choice.loop, registerText(*flag), spread, proposal.program))
          return made;
        proposal.reason =
            fmt::format("{} loads issued an iteration earlier, {}, into two sets of registers in turn; the last "
                        "iteration is peeled, so that nothing is read beyond the end",
                        parts.loads(), spread ? "where the loop has them" : "all at once");
        made.push_back(std::move(proposal));
      }
      return made;
    };
    proposeAhead(program, context, mostChoices, propose, proposals);
    return proposals;
  }
};

} // namespace

const Move& prefetchMove() {
  static const PrefetchMove move;
  return move;
}

} // namespace asmevo::optimize
