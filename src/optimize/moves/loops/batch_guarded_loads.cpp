#include "optimize/moves/loops/batch_guarded_loads.h"

#include "optimize/edit/chain_replay.h"
#include "optimize/edit/loop_slice.h"
#include "optimize/edit/unroll.h"
#include "optimize/edit/waits.h"
#include "optimize/moves/arithmetic/dead_code.h"
#include "optimize/moves/move_support.h"
#include "program/analysis/exec_mask.h"
#include "program/analysis/loops.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

using isa::InstClass;
using program::BlockId;

bool isLoad(const isa::Instruction& inst) {
  return (inst.isVectorMemory() && inst.mayLoad && !inst.mayStore) || (inst.cls == InstClass::smem && inst.mayLoad);
}

bool waitsForMemory(const isa::Instruction& inst) {
  if (inst.cls != InstClass::waitcnt)
    return false;
  const isa::WaitCount wait = inst.waitCount();
  return inst.base != "s_waitcnt" || wait.vm < 63 || wait.lgkm < 15;
}

/// Which loads are worth it.
enum class Choice {
  all,
  narrow, ///< of at most two dwords: indices
};

/// One program's chains, and what can be done with them.
class Batcher {
 public:
  Batcher(const program::Program& p, const MoveContext& c, WholeWaves waves)
      : program(p), context(c), kit(p, c, waves), function(*kernelFunction(p, c)),
        exec(p, function, waves != WholeWaves::unknown), wholeWaves(waves != WholeWaves::unknown),
        barriersOrder(storesReachBarrier(p, function)) {}

  bool isKnown() const { return kit.isKnown(); }
  unsigned accumOffset() const { return kit.accumOffset(); }
  const program::Function& kernel() const { return function; }

  struct Batch {
    program::Program program;
    std::size_t loads = 0;
    BlockId first = 0, last = 0;
  };

  /// Batches the loads of a chain from the first at or behind `from` that starts one; `from` is moved behind them.
  std::optional<Batch> batch(const BlockChain& chain, Choice choice, bool scalarToo, std::size_t& from) const {
    const ChainReplay probe(program, context, kit, chain, fullOf(exec, chain));
    const std::size_t start = from;
    for (std::size_t s = start; s < chain.steps.size(); ++s) {
      if (!wanted(chain, s, choice, scalarToo))
        continue;
      from = s + 1;
      const auto plan = planFrom(probe, chain, s, choice, scalarToo);
      if (!plan)
        continue;
      from = *plan->all.loads.rbegin() + 1;
      if (auto made = build(chain, *plan))
        return made;
    }
    from = chain.steps.size();
    return std::nullopt;
  }

 private:
  struct Plan {
    std::size_t place = 0;
    ReplaySlice all;
  };

  static std::vector<bool> fullOf(const program::ExecMask& exec, const BlockChain& chain) {
    std::vector<bool> full;
    for (std::size_t s = 0; s < chain.steps.size();) {
      const std::vector<bool> block = exec.fullBefore(chain.steps[s].block);
      for (const BlockId id = chain.steps[s].block; s < chain.steps.size() && chain.steps[s].block == id; ++s)
        full.push_back(block[chain.steps[s].index]);
    }
    return full;
  }

  static bool wanted(const BlockChain& chain, std::size_t step, Choice choice, bool scalarToo) {
    const isa::Instruction& inst = *chain.steps[step].inst;
    return isLoad(inst) && !inst.operands.empty() && (scalarToo || inst.cls != InstClass::smem) &&
           (choice == Choice::all || inst.operands.front().dwords <= 2);
  }

  /// The loads that can be issued with load `first`: in front of it where something may skip it, else behind it and
  /// those that K0 issues with it.
  std::optional<Plan> planFrom(const ChainReplay& probe, const BlockChain& chain, std::size_t first, Choice choice,
                               bool scalarToo) const {
    constexpr std::size_t mostLoads = 64;
    std::optional<Plan> best;
    // Every place in front of it where more lanes, or fewer skips, may still be ahead of the chain.
    std::size_t place = first;
    for (bool outermost = false; !outermost;) {
      Plan plan = planAt(probe, chain, place, first, choice, scalarToo, mostLoads);
      if (!plan.all.loads.empty() && (!best || plan.all.loads.size() > best->all.loads.size()))
        best = std::move(plan);
      const ChainStep& at = chain.steps[place];
      outermost = at.lanes == 0 && at.guard == 0;
      std::size_t next = place;
      while (next > 0 && chain.steps[next].lanes == at.lanes && chain.steps[next].guard == at.guard)
        --next;
      // Over regions that are closed, to where this one was opened.
      while (next > 0 && !(chain.lanesWithin(at.lanes, chain.steps[next].lanes) &&
                           chain.guardWithin(at.guard, chain.steps[next].guard)))
        --next;
      if (next == place)
        break;
      place = next;
    }
    return best;
  }

  Plan planAt(const ChainReplay& probe, const BlockChain& chain, std::size_t place, std::size_t first, Choice choice,
              bool scalarToo, std::size_t most) const {
    Plan plan;
    plan.place = place;
    const auto atPlace = [&](std::size_t s) {
      return chain.steps[s].lanes == chain.steps[place].lanes && chain.steps[s].guard == chain.steps[place].guard;
    };
    if (place == first)
      for (std::size_t s = first; s < chain.steps.size() && atPlace(s) && !waitsForMemory(*chain.steps[s].inst); ++s)
        if (wanted(chain, s, choice, scalarToo))
          plan.place = s + 1;
    if (plan.place >= chain.steps.size() || !atPlace(plan.place))
      return plan;
    bool waited = false;
    for (std::size_t s = plan.place; s < chain.steps.size() && plan.all.loads.size() < most; ++s) {
      waited = waited || waitsForMemory(*chain.steps[s].inst);
      if (s < first || !wanted(chain, s, choice, scalarToo) || (s > first && !waited))
        continue;
      auto slice = probe.sliceOf(s, plan.place, barriersOrder);
      if (!slice)
        continue;
      plan.all.work.merge(slice->work);
      plan.all.loads.merge(slice->loads);
      plan.all.lanes.merge(slice->lanes);
      plan.all.inputs |= slice->inputs;
    }
    // One behind nothing but its own wait gains nothing.
    if (!waited || (plan.all.loads.size() == 1 && *plan.all.loads.begin() == first))
      plan.all.loads.clear();
    return plan;
  }

  std::optional<Batch> build(const BlockChain& chain, const Plan& plan) const {
    Batch batch;
    batch.first = chain.steps[plan.place].block;
    batch.last = chain.steps[*plan.all.loads.rbegin()].block;
    std::vector<BlockId> blocks;
    for (const BlockId id : chain.blocks)
      blocks.push_back(id);
    // Registers nobody names, if there are enough: what is on its way then meets no other use where the chain is left.
    for (const isa::RegSet& taken : {kit.busyEverywhere(), kit.busyOver(blocks)})
      for (const bool keepsLanes : {true, false}) {
        isa::RegSet busy = taken;
        ChainReplay replay(program, context, kit, chain, fullOf(exec, chain));
        batch.program = program;
        batch.loads = plan.all.loads.size();
        if (replay.build(batch.program, plan.all, plan.place, busy, keepsLanes) &&
            finish(batch.program, chain.blocks.front()))
          return batch;
      }
    return std::nullopt;
  }

  bool finish(program::Program& edited, BlockId start) const {
    const MoveContext grown = kit.editedContext();
    edited.relink();
    dropDead(edited, start, grown);
    if (!settle(program, edited, grown))
      return false;
    auto swept = deadCodeMove().propose(edited, grown);
    if (!swept.empty())
      edited = std::move(swept.front().program);
    return true;
  }

  /// What only the loads needed where they were.
  void dropDead(program::Program& edited, BlockId start, const MoveContext& grown) const {
    const program::Function& after = *kernelFunction(edited, context);
    const BlockChain chain = chainFrom(edited, after, start, grown.accumOffset);
    const program::Liveness live = program::liveness(edited, after, grown.accumOffset, wholeWaves);
    const program::ExecMask mask(edited, after, wholeWaves);
    const std::vector<bool> dead = deadSteps(edited, after, chain, live, fullOf(mask, chain), grown.accumOffset);
    for (std::size_t s = chain.steps.size(); s-- > 0;)
      if (dead[s]) {
        auto& instrs = edited.blocks[chain.steps[s].block].instrs;
        instrs.erase(instrs.begin() + static_cast<std::ptrdiff_t>(chain.steps[s].index));
      }
  }

  const program::Program& program;
  const MoveContext& context;
  RegisterKit kit;
  const program::Function& function;
  program::ExecMask exec;
  bool wholeWaves, barriersOrder;
};

class BatchGuardedLoadsMove final : public Move {
 public:
  std::string_view name() const override { return "batch-guarded-loads"; }
  std::string_view purpose() const override {
    return "issue the loads of conditional blocks, or of several turns of a loop, together, each for the lanes it had";
  }
  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    const program::Function* function = kernelFunction(program, context);
    if (!function || context.kernel.descriptor.isWave32())
      return {};
    const WholeWaves waves = wholeWavesOf(context);
    const Batcher batcher(program, context, waves);
    if (!batcher.isKnown())
      return {};
    const std::vector<BlockId> hot = hotBlocks(*function, context, 0.02);
    const std::set<BlockId> isHot(hot.begin(), hot.end());
    std::vector<Proposal> proposals;
    loops(program, context, *function, waves, isHot, proposals);
    straight(program, batcher, isHot, proposals);
    for (Proposal& proposal : proposals)
      if (waves == WholeWaves::assumed)
        proposal.assumptions.emplace_back(wholeWavesAssumption);
    return proposals;
  }

 private:
  static constexpr std::size_t mostProposals = 16, mostCode = 1500, mostSteps = 6000;

  static Proposal made(const program::Program& program, BlockId block, Batcher::Batch batch, std::string reason) {
    Proposal proposal;
    std::tie(proposal.begin, proposal.end) = addressRange(program.blocks[block]);
    proposal.program = std::move(batch.program);
    proposal.reason = std::move(reason);
    return proposal;
  }

  static void straight(const program::Program& program, const Batcher& batcher, const std::set<BlockId>& hot,
                       std::vector<Proposal>& proposals) {
    const program::Function& function = batcher.kernel();
    std::set<BlockId> seen;
    std::set<std::pair<BlockId, BlockId>> done;
    std::size_t steps = 0;
    for (const BlockId start : function.blocks) {
      if (seen.contains(start) || program.blocks[start].opaque)
        continue;
      const BlockChain chain = chainFrom(program, function, start, batcher.accumOffset());
      seen.insert(chain.blocks.begin(), chain.blocks.end());
      steps += chain.steps.size();
      if (steps > mostSteps || chain.guards.size() < 2)
        continue;
      for (std::size_t from = 0; from < chain.steps.size() && proposals.size() < mostProposals;) {
        auto batch = batcher.batch(chain, Choice::all, false, from);
        if (!batch || !(hot.contains(batch->first) || hot.contains(batch->last)) ||
            !done.emplace(batch->first, batch->last).second)
          continue;
        const std::size_t loads = batch->loads;
        const BlockId block = batch->first;
        proposals.push_back(
            made(program, block, std::move(*batch),
                 fmt::format("{} loads that stand behind waits of others issued together, in front of the first "
                             "wait, each under its own mask",
                             loads)));
      }
    }
  }

  static void loops(const program::Program& program, const MoveContext& context, const program::Function& function,
                    WholeWaves waves, const std::set<BlockId>& hot, std::vector<Proposal>& proposals) {
    for (const program::Loop& loop : program::naturalLoops(program, function)) {
      if (!loop.innermost || loop.header == function.entryBlock || function.preloadEntry == loop.header ||
          program.blocks[loop.header].entersByRegister ||
          std::ranges::none_of(loop.blocks, [&](BlockId id) { return hot.contains(id); }))
        continue;
      const BlockChain body = chainFrom(program, function, loop.header, context.accumOffset, loop.blocks);
      const bool whole = body.next == loop.header && body.blocks.size() == loop.blocks.size() &&
                         std::ranges::all_of(loop.blocks, [&](BlockId id) {
                           return std::ranges::find(body.blocks, id) != body.blocks.end();
                         });
      if (!whole || std::ranges::none_of(body.steps, [](const ChainStep& step) { return isLoad(*step.inst); }))
        continue;
      for (const unsigned turns : {8U, 4U, 2U}) {
        if (body.steps.size() * turns > mostCode)
          continue;
        const auto laidOut = unrolled(program, body, turns, context.codec);
        if (!laidOut)
          break;
        const Batcher batcher(*laidOut, context, waves);
        if (!batcher.isKnown())
          break;
        const BlockChain chain = chainFrom(*laidOut, batcher.kernel(), loop.header, batcher.accumOffset());
        for (const Choice choice : {Choice::all, Choice::narrow}) {
          if (proposals.size() >= mostProposals)
            return;
          std::size_t from = 0;
          auto batch = batcher.batch(chain, choice, true, from);
          if (!batch)
            continue;
          const std::size_t loads = batch->loads;
          proposals.push_back(made(program, loop.header, std::move(*batch),
                                   fmt::format("unrolled {} times, {} {}loads of all turns issued together, each where "
                                               "its turn is taken",
                                               turns, loads, choice == Choice::narrow ? "narrow " : "")));
          if (choice == Choice::all && std::ranges::all_of(body.steps, [&](const ChainStep& step) {
                return !isLoad(*step.inst) || step.inst->operands.empty() || step.inst->operands.front().dwords <= 2;
              }))
            break;
        }
      }
    }
  }
};

} // namespace

const Move& batchGuardedLoadsMove() {
  static const BatchGuardedLoadsMove move;
  return move;
}

} // namespace asmevo::optimize
