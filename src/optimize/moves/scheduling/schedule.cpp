#include "optimize/moves/scheduling/schedule.h"

#include "dispatch/random.h"
#include "optimize/block_graph.h"
#include "optimize/edit/webs.h"
#include "optimize/moves/move_support.h"
#include "optimize/moves/scheduling/list_scheduler.h"
#include "optimize/repair.h"
#include "verify/proof/indexed_mode.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace asmevo::optimize {

namespace {

constexpr std::size_t mostProposals = 32;
/// Larger blocks are not worked out with all their pairs of memory operations.
constexpr std::size_t largestReordered = 3000;

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
    std::set<std::vector<isa::InstRef>> seen;
    seen.insert(refsOf(block.instrs));
    const bool hasMatrix = std::ranges::any_of(
        block.instrs, [](const program::Instr& instr) { return instr.inst->cls == isa::InstClass::mfma; });
    for (const auto& [freedom, extra] : freedoms) {
      if (freedom != Freedom::order && (!memory || block.instrs.size() > largestReordered))
        continue;
      const auto subject = subjectOf(id, freedom);
      if (!subject)
        continue;
      for (const auto& [priority, words] : priorities) {
        if (!hasMatrix && (priority == Priority::matrixPaced || priority == Priority::matrixSpread))
          continue;
        add(id, *subject, listSchedule(subject->graph, {priority, 0, core}), fmt::format("{}{}", words, extra), seen,
            proposals);
      }
      if (context.effort == 0)
        continue;
      for (unsigned s = 0; s < perEffort; ++s) {
        const std::uint64_t seed = std::uint64_t{context.effort} * 1000 + s;
        if (s % 3 == 0)
          add(id, *subject,
              listSchedule(subject->graph,
                           {priorities[(context.effort + s / 3) % priorities.size()].first, seed, core}),
              fmt::format("by shaken priorities{}", extra), seen, proposals);
        else
          add(id, *subject, shiftedOrder(subject->graph, sourceOrder(subject->graph), seed, 1u << (s % 4)),
              fmt::format("single instructions moved{}", extra), seen, proposals);
      }
    }
  }

 private:
  /// Further schedules per block and freedom at each effort above the first.
  static constexpr unsigned perEffort = 6;

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
      subject.vectors =
          std::ranges::any_of(webs, [](const Web& web) { return web.registers.file != RegisterFile::sgpr; });
      subject.moved =
          spreadWebs(subject.block, std::move(webs), used, busy, context.codec, freedom == Freedom::loadsSpread);
      if (!subject.moved)
        return std::nullopt;
      accum = used.accumOffset();
    }
    // What a barrier orders are stores; the first ones of a kernel come late as a rule.
    const bool overBarriers = freedom != Freedom::order && freedom != Freedom::exchange && hasBarrier(subject.block) &&
                              !storesBefore(program, function, id);
    if (freedom == Freedom::overBarrier && !overBarriers)
      return std::nullopt;
    const GraphOptions options{freedom != Freedom::order, memory ? &*memory : nullptr, id, overBarriers};
    subject.graph = buildBlockGraph(subject.block, entryFor(id, accum), accum, latencies, options);
    return subject;
  }

  /// What is in flight at entry, AGPRs numbered from `accum`.
  const InFlight& entryFor(program::BlockId id, unsigned accum) {
    if (accum == context.accumOffset)
      return entry[id];
    if (entryApart.empty())
      entryApart = inFlightAtEntry(program, function, accum);
    return entryApart[id];
  }

  void add(program::BlockId id, const Subject& subject, const std::vector<std::uint32_t>& order, std::string words,
           std::set<std::vector<isa::InstRef>>& seen, std::vector<Proposal>& proposals) {
    if (proposals.size() >= mostProposals)
      return;
    auto instrs = writeBack(subject.graph, order, context.codec);
    if (!instrs || !seen.insert(refsOf(*instrs)).second)
      return;
    Proposal proposal;
    proposal.program = program;
    proposal.program.blocks[id].instrs = *std::move(instrs);
    if (!repairWaitStates(program, proposal.program, context))
      return;
    const auto& result = proposal.program.blocks[id].instrs;
    if (std::ranges::equal(result, program.blocks[id].instrs, {}, &program::Instr::inst, &program::Instr::inst))
      return;
    proposal.reason = fmt::format("rescheduled {} instructions, {}", subject.block.instrs.size(), words);
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
  std::optional<RegisterKit> kit;
};

class ScheduleMove final : public Move {
 public:
  std::string_view name() const override { return "schedule"; }
  std::string_view purpose() const override {
    return "list-schedule a hot block: long-latency memory early, independent work into the shadows, values in "
           "registers of their own";
  }

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
