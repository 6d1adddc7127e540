#include "optimize/moves/loops/batch_loads.h"

#include "optimize/edit/loop_ahead.h"
#include "optimize/moves/move_support.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

using program::BlockId;
using program::Instr;

/// The new loop: a block in front, one for each turn's loads, the way out, and the turns of a last, shorter round.
class Batch {
 public:
  Batch(const LoopAhead& p, const BlockLoop& l, unsigned n) : parts(p), loop(l), turns(n) {}

  bool allocate(const RegisterKit& kit, isa::RegSet& busy) {
    const auto counter = kit.take(RegisterFile::sgpr, 1, busy);
    const auto kept = kit.take(RegisterFile::sgpr, 1, busy);
    if (!counter || !kept)
      return false;
    count = registerText(*counter);
    flag = registerText(*kept);
    for (unsigned turn = 0; loop.leaving && turn <= turns; ++turn) {
      const auto pair = kit.take(RegisterFile::sgpr, 2, busy);
      if (!pair)
        return false;
      lanes.push_back(registerText(*pair));
    }
    return true;
  }

  bool build(program::Program& edited) const {
    parts.insertBlocks(edited, turns * 2);
    const BlockId at = loop.block, firstLoads = at + 1, out = firstLoads + turns, firstTail = out + 1,
                  exit = at + turns * 2 + 1;
    const auto code = [&](BlockId id) -> std::vector<Instr>& { return edited.blocks[id].instrs; };
    if (!parts.enter(code(at)))
      return false;
    for (unsigned turn = 0; turn < turns; ++turn) {
      auto& into = code(firstLoads + turn);
      const bool last = turn + 1 == turns;
      if (!loadTurn(into, turn) || !(last ? round(into, firstLoads) : leave(into, turn, firstTail)))
        return false;
    }
    if (!parts.branch(code(out), "s_branch", exit))
      return false;
    for (unsigned turn = 0; turn + 1 < turns; ++turn)
      if (!tail(code(firstTail + turn), turn, exit))
        return false;
    return parts.finish(edited);
  }

 private:
  /// Afterwards EXEC, or SCC, is what the loop's end would have made it.
  bool loadTurn(std::vector<Instr>& into, unsigned turn) const {
    if (!loop.leaving)
      return parts.ahead(into, turn);
    return parts.assemble(into, fmt::format("s_mov_b64 {}, exec", lanes[turn])) && parts.ahead(into, turn) &&
           parts.assemble(into, fmt::format("s_andn2_b64 exec, exec, {}", parts.leavingText()));
  }

  /// To the shorter round where this was the last turn. s_mov_b32 leaves SCC alone.
  bool leave(std::vector<Instr>& into, unsigned turn, BlockId firstTail) const {
    const char* ends = loop.leaving ? "s_cbranch_execz" : loop.repeatsOnOne ? "s_cbranch_scc0" : "s_cbranch_scc1";
    return parts.assemble(into, fmt::format("s_mov_b32 {}, {}", count, turn + 1)) &&
           parts.branch(into, ends, firstTail);
  }

  bool useTurn(std::vector<Instr>& into, unsigned turn, bool keepsAddresses) const {
    return (!loop.leaving || parts.assemble(into, fmt::format("s_mov_b64 exec, {}", lanes[turn]))) &&
           parts.iteration(into, turn, keepsAddresses);
  }

  /// A whole round's uses, and the way back.
  bool round(std::vector<Instr>& into, BlockId again) const {
    const std::string keep = loop.leaving ? fmt::format("s_mov_b64 {}, exec", lanes[turns])
                                          : fmt::format("s_cselect_b32 {}, {}, {}", flag, loop.repeatsOnOne ? 1 : 0,
                                                        loop.repeatsOnOne ? 0 : 1);
    if (!parts.assemble(into, keep))
      return false;
    for (unsigned turn = 0; turn < turns; ++turn)
      if (!useTurn(into, turn, false))
        return false;
    if (loop.leaving)
      return parts.assemble(into, fmt::format("s_mov_b64 exec, {}", lanes[turns])) &&
             parts.branch(into, "s_cbranch_execnz", again);
    return parts.assemble(into, fmt::format("s_cmp_lg_u32 {}, 0", flag)) && parts.branch(into, "s_cbranch_scc1", again);
  }

  /// A turn of the last round: out behind the last that was loaded. The last block of all falls through.
  bool tail(std::vector<Instr>& into, unsigned turn, BlockId exit) const {
    const bool last = turn + 2 == turns;
    if (!useTurn(into, turn, last) || (loop.leaving && !parts.assemble(into, "s_mov_b64 exec, 0")))
      return false;
    return last || (parts.assemble(into, fmt::format("s_cmp_eq_u32 {}, {}", count, turn + 1)) &&
                    parts.branch(into, "s_cbranch_scc1", exit));
  }

  const LoopAhead& parts;
  const BlockLoop& loop;
  unsigned turns;
  std::string count, flag;
  std::vector<std::string> lanes; ///< EXEC of each turn, and behind the last
};

/// Results of LDS accesses wait for turns of their own: where a loop ends early is not where K0's waits stand.
bool writesLds(const program::Block& block) {
  return std::ranges::any_of(
      block.instrs, [](const Instr& instr) { return instr.inst->cls == isa::InstClass::lds && instr.inst->mayStore; });
}

class BatchLoadsMove final : public Move {
 public:
  std::string_view name() const override { return "batch-loads"; }
  std::string_view purpose() const override {
    return "unroll a loop that waits for its loads and issue those of all copies together";
  }

  bool reshapes() const override { return true; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    constexpr std::size_t mostCode = 1200, mostChoices = 3;
    std::vector<Proposal> proposals;
    const auto propose = [&](const AheadChoice& choice) {
      std::vector<Proposal> made;
      const program::Block& block = program.blocks[choice.loop.block];
      for (const unsigned turns : {8u, 4u, 2u}) {
        if (writesLds(block) || block.instrs.size() * turns * 3 > mostCode)
          continue;
        LoopAhead parts(program, context, choice.kit, choice.loop, choice.slice, turns);
        Batch batch(parts, choice.loop, turns);
        isa::RegSet busy = choice.busy;
        Proposal proposal;
        proposal.program = program;
        if (!parts.prepare(busy) || !batch.allocate(choice.kit, busy) || !batch.build(proposal.program))
          continue;
        proposal.reason = fmt::format("unrolled {} times: {} loads a turn, those of all turns issued together, each "
                                      "behind the loop's own test",
                                      turns, parts.loads());
        made.push_back(std::move(proposal));
      }
      return made;
    };
    proposeAhead(program, context, mostChoices, propose, proposals);
    return proposals;
  }
};

} // namespace

const Move& batchLoadsMove() {
  static const BatchLoadsMove move;
  return move;
}

} // namespace asmevo::optimize
