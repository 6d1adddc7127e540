#include "optimize/moves/loops/prefetch.h"

#include "optimize/edit/loop_ahead.h"
#include "optimize/moves/move_support.h"

namespace asmevo::optimize {

namespace {

using program::BlockId;
using program::Instr;

/// Where the next iteration's loads go.
struct Places {
  bool spread = true;       ///< where the loop has them; else all at the start
  std::size_t secondAt = 0; ///< those whose addresses others bring
};

/// The loop with loads a whole iteration ahead. `flag`: a free SGPR.
bool build(const LoopAhead& parts, const BlockLoop& loop, const std::string& flag, const Places& places,
           program::Program& edited) {
  enum : BlockId { before, testX, turnX, testY, turnY, lastX, lastY };
  const BlockId at = loop.block;
  parts.insertBlocks(edited, lastY);
  const auto code = [&](BlockId which) -> std::vector<Instr>& { return edited.blocks[at + which].instrs; };
  const auto next = [&](unsigned set) { return LoopAhead::Next{set, !places.spread, places.secondAt}; };
  const auto ahead = [&](BlockId which, unsigned set, bool withLate) {
    return parts.ahead(code(which), set, withLate) &&
           parts.assemble(code(which), fmt::format("s_cselect_b32 {}, {}, {}", flag, loop.repeatsOnOne ? 1 : 0,
                                                   loop.repeatsOnOne ? 0 : 1));
  };
  const auto test = [&](BlockId which, BlockId last) {
    return parts.assemble(code(which), fmt::format("s_cmp_lg_u32 {}, 0", flag)) &&
           parts.branch(code(which), "s_cbranch_scc0", at + last);
  };
  return parts.enter(code(before)) && ahead(before, 0, true) &&
         (!parts.hasSecond() || parts.second(code(before), 0, 0)) && test(testX, lastX) &&
         ahead(turnX, 1, !places.spread) && parts.iteration(code(turnX), 0, false, next(1)) && test(testY, lastY) &&
         ahead(turnY, 0, !places.spread) && parts.iteration(code(turnY), 1, false, next(0)) &&
         parts.branch(code(turnY), "s_branch", at + testX) && parts.iteration(code(lastX), 0, false) &&
         parts.branch(code(lastX), "s_branch", at + lastY + 1) && parts.iteration(code(lastY), 1, true) &&
         parts.finish(edited);
}

/// Some places for loads whose addresses have to arrive first: early ones hide more, late ones wait less.
std::vector<std::size_t> someOf(const std::vector<std::size_t>& places, std::size_t length) {
  std::vector<std::size_t> chosen;
  for (const double share : {0.25, 0.5, 0.12, 0.75}) {
    const auto found = std::ranges::lower_bound(places, static_cast<std::size_t>(share * static_cast<double>(length)));
    if (found != places.end() && std::ranges::find(chosen, *found) == chosen.end())
      chosen.push_back(*found);
  }
  return chosen;
}

class PrefetchMove final : public Move {
 public:
  std::string_view name() const override { return "prefetch"; }
  std::string_view purpose() const override {
    return "issue a loop's loads one iteration earlier, with its address arithmetic run ahead and its end peeled";
  }

  bool reshapes() const override { return true; }

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
      if (!flag)
        return made;
      std::vector<Places> choices;
      if (parts.hasSecond())
        for (const std::size_t place : someOf(parts.placesForSecond(), choice.loop.length))
          choices.push_back({false, place});
      else
        choices = {{true, 0}, {false, 0}};
      for (const Places& places : choices) {
        Proposal proposal;
        proposal.program = program;
        if (!build(parts, choice.loop, registerText(*flag), places, proposal.program))
          continue;
        proposal.reason =
            fmt::format("{} loads issued an iteration earlier, {}, into two sets of registers in turn; the last "
                        "iteration is peeled, so that nothing is read beyond the end",
                        parts.loads(),
                        parts.hasSecond() ? "some of them once others have brought their addresses"
                        : places.spread   ? "where the loop has them"
                                          : "all at once");
        made.push_back(std::move(proposal));
      }
      return made;
    };
    proposeAhead(program, context, mostChoices, propose, proposals);
    proposeAhead(program, context, mostChoices / 2, propose, proposals, true);
    return proposals;
  }
};

} // namespace

const Move& prefetchMove() {
  static const PrefetchMove move;
  return move;
}

} // namespace asmevo::optimize
