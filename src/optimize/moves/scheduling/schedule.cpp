#include "optimize/moves/scheduling/schedule.h"

#include "dispatch/random.h"
#include "optimize/block_graph.h"
#include "optimize/edit/webs.h"
#include "optimize/moves/move_support.h"
#include "optimize/moves/scheduling/block_replay.h"
#include "optimize/moves/scheduling/list_scheduler.h"
#include "optimize/moves/scheduling/paced_scheduler.h"
#include "optimize/repair.h"
#include "program/analysis/wait_lint.h"
#include "verify/proof/indexed_mode.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>

namespace asmevo::optimize {

namespace {

constexpr std::size_t mostProposals = 32;
/// Of one block: the ones that the replay likes best.
constexpr std::size_t mostOfBlock = 16;
/// Larger blocks are not worked out with all their pairs of memory operations.
constexpr std::size_t largestReordered = 3000;
/// Larger ones are not given every combination of what may be changed and what comes first.
constexpr std::size_t largestInFull = 1200;

/// What may be changed besides the order of independent instructions.
enum class Freedom : std::uint8_t {
  order,       ///< nothing: operations of a counter keep their order
  exchange,    ///< memory operations change places, each use waits for its own
  overBarrier, ///< and loads of memory that nobody has written go up over barriers
  loadsSpread, ///< and loads get registers of their own
  allSpread,   ///< and so does every value of the block
};
/// The most promising first.
constexpr std::array<std::pair<Freedom, std::string_view>, 5> freedoms = {{
    {Freedom::loadsSpread, ", loads into registers of their own"},
    {Freedom::allSpread, ", values in registers of their own"},
    {Freedom::overBarrier, ", loads of memory not yet written moved up over barriers"},
    {Freedom::exchange, ", memory operations exchanged where they do not meet"},
    {Freedom::order, ""},
}};

/// One block of a program, with its values in other registers perhaps.
struct Subject {
  program::Block block;
  BlockGraph graph;
  std::size_t moved = 0; ///< values in other registers
  bool vectors = false;  ///< VGPRs or AGPRs among them
  unsigned accumOffset = 0;
  std::string_view words; ///< for a reason
};

class BlockScheduler {
 public:
  BlockScheduler(const program::Program& p, const program::Function& f, const MoveContext& c, bool reorder)
      : program(p), function(f), context(c), waves(wholeWavesOf(c)), entry(inFlightAtEntry(p, f, c.accumOffset)),
        indexed(verify::indexedAtEntry(p, f)), latencies(latenciesOf(c)),
        core(isa::matrixCoreOf(c.object.target().processor).value_or(isa::MatrixCore::gfx940)) {
    if (reorder)
      memory.emplace(p, f, c.accumOffset);
  }

  void propose(program::BlockId id, std::vector<Proposal>& proposals) {
    const program::Block& block = program.blocks[id];
    if (block.opaque || indexed[id] || block.instrs.size() < 4)
      return;
    std::vector<Subject> subjects;
    for (const auto& [freedom, extra] : freedoms) {
      if (freedom != Freedom::order && (!memory || block.instrs.size() > largestReordered))
        continue;
      if (block.instrs.size() > largestInFull && subjects.size() >= 2)
        break;
      if (auto subject = subjectOf(id, freedom)) {
        subject->words = extra;
        subjects.push_back(*std::move(subject));
      }
    }
    auto replay = BlockReplay::of(program, id, context);
    std::vector<Draft> drafts = firstDrafts(block, subjects, replay ? &*replay : nullptr);
    if (replay)
      improve(subjects, *replay, drafts);
    std::ranges::sort(drafts, {}, [](const Draft& d) { return std::pair(d.clk, d.number); });
    const auto before = replay ? replay->clk(block.instrs, context.accumOffset) : std::nullopt;
    const std::size_t most = std::min(mostProposals, proposals.size() + mostOfBlock);
    for (const Draft& draft : drafts)
      if (proposals.size() < most)
        add(id, subjects[draft.subject], draft, replay ? &*replay : nullptr, before, proposals);
  }

 private:
  /// Further schedules per block and freedom at each effort above the first.
  static constexpr unsigned perEffort = 6;
  /// Wave-instructions that the replays of one block may take at effort 0, and that they grow by with each.
  static constexpr std::uint64_t replayWork = 16'000'000;
  static constexpr unsigned mostGrowth = 4;
  /// Orders that are improved step by step.
  static constexpr std::size_t mostImproved = 3;

  /// An order of one subject and what it costs in the loop.
  struct Draft {
    std::size_t subject = 0;
    std::vector<std::uint32_t> order;
    std::string words;
    double clk = 0;
    std::size_t number = 0; ///< in the order of making; breaks ties
  };

  std::optional<double> clkOf(const Subject& subject, const std::vector<std::uint32_t>& order, BlockReplay& replay) {
    const auto instrs = writeBack(subject.graph, order, context.codec, /*withStates=*/true, &assembled);
    return instrs ? replay.clk(*instrs, subject.accumOffset) : std::nullopt;
  }

  std::vector<Draft> firstDrafts(const program::Block& block, const std::vector<Subject>& subjects,
                                 BlockReplay* replay) {
    const bool hasMatrix = std::ranges::any_of(
        block.instrs, [](const program::Instr& instr) { return instr.inst->cls == isa::InstClass::mfma; });
    std::vector<Draft> drafts;
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      const Subject& subject = subjects[s];
      const auto draft = [&](std::vector<std::uint32_t> order, std::string words) {
        Draft made{s, std::move(order), std::move(words), 0, drafts.size()};
        if (replay)
          made.clk = clkOf(subject, made.order, *replay).value_or(std::numeric_limits<double>::infinity());
        drafts.push_back(std::move(made));
      };
      for (const auto& [priority, words] : priorities) {
        if (!hasMatrix && (priority == Priority::matrixPaced || priority == Priority::matrixSpread))
          continue;
        draft(listSchedule(subject.graph, {priority, 0, core}), std::string(words));
      }
      if (replay) {
        const PacedMachine machine{replay->parameters(), replay->vectorLatency(), replay->wavesPerSimd(),
                                   replay->wavesPerCu(), subject.accumOffset};
        const PacedScheduler paced(subject.graph, machine);
        for (const auto& [options, words] : pacedOptions)
          if (block.instrs.size() <= largestInFull || options.rank == Rank::height)
            draft(paced.order(options), std::string(words));
      }
      for (unsigned k = 0; context.effort && k < perEffort; ++k) {
        const std::uint64_t seed = std::uint64_t{context.effort} * 1000 + k;
        if (k % 3 == 0)
          draft(
              listSchedule(subject.graph, {priorities[(context.effort + k / 3) % priorities.size()].first, seed, core}),
              "by shaken priorities");
        else
          draft(shiftedOrder(subject.graph, sourceOrder(subject.graph), seed, 1u << (k % 4)),
                "single instructions moved");
      }
    }
    return drafts;
  }

  /// Small steps from the best orders, as long as the replays show a gain.
  void improve(const std::vector<Subject>& subjects, BlockReplay& replay, std::vector<Draft>& drafts) {
    std::ranges::sort(drafts, {}, [](const Draft& d) { return std::pair(d.clk, d.number); });
    std::vector<Draft> best;
    for (const Draft& draft : drafts)
      if (best.size() < mostImproved &&
          std::ranges::none_of(best, [&](const Draft& other) { return other.subject == draft.subject; }))
        best.push_back(draft);
    const std::uint64_t budget = replayWork * (1 + std::min(context.effort, mostGrowth));
    for (std::size_t b = 0; b < best.size(); ++b) {
      Draft& draft = best[b];
      const std::uint64_t until = replay.work() + budget / best.size();
      // A short block has few orders: it is given up after some steps without a gain.
      const std::uint64_t patience = (32 + 4 * draft.order.size()) * (1 + std::min(context.effort, mostGrowth));
      bool better = false;
      std::uint64_t lastGain = 0;
      for (std::uint64_t step = 1; replay.work() + replay.workOfOne() < until && step <= lastGain + patience; ++step) {
        const std::uint64_t seed = (context.effort * 64 + b) * 1'000'003 + step;
        auto order = shiftedOrder(subjects[draft.subject].graph, draft.order, seed, 1u << (step % 3));
        const auto clk = clkOf(subjects[draft.subject], order, replay);
        if (!clk || *clk > draft.clk)
          continue;
        if (*clk < draft.clk) {
          better = true;
          lastGain = step;
        }
        draft.clk = *clk;
        draft.order = std::move(order);
      }
      if (better) {
        draft.words += ", improved step by step";
        drafts.push_back(draft);
      }
    }
  }

  static std::vector<isa::InstRef> refsOf(const std::vector<program::Instr>& instrs) {
    std::vector<isa::InstRef> refs;
    for (const program::Instr& instr : instrs)
      refs.push_back(instr.inst);
    return refs;
  }
  static bool hasBarrier(const program::Block& block) {
    return std::ranges::any_of(block.instrs,
                               [](const program::Instr& instr) { return instr.inst->cls == isa::InstClass::barrier; });
  }
  static std::vector<std::uint32_t> sourceOrder(const BlockGraph& graph) {
    std::vector<std::uint32_t> order(graph.nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
  }

  const RegisterKit& registers() {
    if (!kit)
      kit.emplace(program, context, waves);
    return *kit;
  }

  /// Busy over the blocks where nothing is known of the lanes that waves start with.
  isa::RegSet heldRegisters(std::span<const program::BlockId> blocks) {
    if (waves == WholeWaves::unknown)
      return registers().busyOver(blocks);
    if (!strictKit)
      strictKit.emplace(program, context);
    return strictKit->busyOver(blocks);
  }

  /// Nothing where the freedom adds nothing to the one before.
  std::optional<Subject> subjectOf(program::BlockId id, Freedom freedom) {
    Subject subject;
    subject.block = program.blocks[id];
    unsigned accum = context.accumOffset;
    if (freedom == Freedom::loadsSpread || freedom == Freedom::allSpread) {
      const RegisterKit& used = registers();
      const program::BlockId blocks[] = {id};
      isa::RegSet busy = used.busyOver(blocks);
      std::vector<Web> webs = websOf(program, function, id, used, waves);
      // The gate knows K0's own findings by their text.
      std::erase_if(webs, [&](const Web& web) {
        return std::ranges::any_of(web.places, [&](Web::Place at) { return findingsIn(id).contains(at.instr); });
      });
      subject.vectors =
          std::ranges::any_of(webs, [](const Web& web) { return web.registers.file != RegisterFile::sgpr; });
      // Only registers that hold nothing even in lanes that are off: nothing is assumed of them.
      const bool loadedOnly = freedom == Freedom::loadsSpread;
      busy |= heldRegisters(blocks);
      subject.moved = spreadWebs(subject.block, std::move(webs), used, busy, context.codec, loadedOnly);
      if (!subject.moved)
        return std::nullopt;
      accum = used.accumOffset();
    }
    // What a barrier orders are stores; the first ones of a kernel come late as a rule.
    const auto& pinned = findingsIn(id);
    const bool overBarriers = pinned.empty() && freedom != Freedom::order && freedom != Freedom::exchange &&
                              hasBarrier(subject.block) && !storesBefore(program, function, id);
    if (freedom == Freedom::overBarrier && !overBarriers)
      return std::nullopt;
    const GraphOptions options{freedom != Freedom::order, memory ? &*memory : nullptr, id, overBarriers, &pinned};
    subject.accumOffset = accum;
    subject.graph = buildBlockGraph(subject.block, entryFor(id, accum), accum, latencies, options);
    return subject;
  }

  /// Instructions of the block that use what no wait of the program as it is covers, and the operations themselves.
  const std::set<std::uint32_t>& findingsIn(program::BlockId id) {
    if (!findings) {
      findings.emplace();
      for (const program::WaitFinding& finding : program::uncoveredUses(program, function, context.accumOffset)) {
        (*findings)[finding.producer.block].insert(static_cast<std::uint32_t>(finding.producer.index));
        (*findings)[finding.consumer.block].insert(static_cast<std::uint32_t>(finding.consumer.index));
        // The first use is named for all.
        const auto& instrs = program.blocks[finding.consumer.block].instrs;
        for (std::uint32_t i = 0; i < instrs.size(); ++i)
          if (instrs[i].inst->reads(context.accumOffset).test(finding.unit))
            (*findings)[finding.consumer.block].insert(i);
      }
    }
    return (*findings)[id];
  }

  /// What is in flight at entry, AGPRs numbered from `accum`.
  const InFlight& entryFor(program::BlockId id, unsigned accum) {
    if (accum == context.accumOffset)
      return entry[id];
    if (entryApart.empty())
      entryApart = inFlightAtEntry(program, function, accum);
    return entryApart[id];
  }

  void add(program::BlockId id, const Subject& subject, const Draft& draft, BlockReplay* replay,
           std::optional<double> before, std::vector<Proposal>& proposals) {
    auto instrs = writeBack(subject.graph, draft.order, context.codec);
    if (!instrs || !seen.insert(refsOf(*instrs)).second)
      return;
    if (replay && before && draft.clk > *before * 1.002)
      return;
    Proposal proposal;
    proposal.program = program;
    proposal.program.blocks[id].instrs = *std::move(instrs);
    if (!repairWaitStates(program, proposal.program, context))
      return;
    const auto& result = proposal.program.blocks[id].instrs;
    if (std::ranges::equal(result, program.blocks[id].instrs, {}, &program::Instr::inst, &program::Instr::inst))
      return;
    proposal.reason =
        fmt::format("rescheduled {} instructions, {}{}", subject.block.instrs.size(), draft.words, subject.words);
    if (subject.moved && subject.vectors && waves == WholeWaves::assumed)
      proposal.assumptions.emplace_back(wholeWavesAssumption);
    std::tie(proposal.begin, proposal.end) = addressRange(program.blocks[id]);
    proposals.push_back(std::move(proposal));
  }

  const program::Program& program;
  const program::Function& function;
  const MoveContext& context;
  WholeWaves waves;
  std::vector<InFlight> entry, entryApart;
  std::vector<bool> indexed;
  SlotLatencies latencies;
  isa::MatrixCore core;
  std::optional<program::MemoryDependence> memory;
  std::optional<RegisterKit> kit, strictKit;
  std::set<std::vector<isa::InstRef>> seen;
  Assembled assembled;
  std::optional<std::map<program::BlockId, std::set<std::uint32_t>>> findings;
};

class ScheduleMove final : public Move {
 public:
  std::string_view name() const override { return "schedule"; }
  std::string_view purpose() const override {
    return "list-schedule a hot block: long-latency memory early, independent work into the shadows, values in "
           "registers of their own";
  }

  bool growsWithEffort() const override { return true; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    const program::Function* function = kernelFunction(program, context);
    if (!function)
      return proposals;
    BlockScheduler scheduler(program, *function, context, /*reorder=*/true);
    for (const program::BlockId id : hotBlocks(*function, context, 0.01))
      scheduler.propose(id, proposals);
    return proposals;
  }
};

} // namespace

const Move& scheduleMove() {
  static const ScheduleMove move;
  return move;
}

} // namespace asmevo::optimize
