#include "verify/lint_deletion.h"

#include "program/analysis/call_closure.h"
#include "verify/lint/baseline.h"

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>

namespace asmevo::tests {

using isa::InstClass;
using isa::Instruction;
using isa::RegSet;
using program::BlockId;
using program::Place;

namespace {

constexpr std::size_t mostStates = 60'000;
constexpr std::size_t vmSlots = 63, ldsSlots = 15; ///< s_waitcnt of gfx9: more in flight stall the wave

template <class T> T value(Result<T> result) {
  if (!result)
    throw std::runtime_error(result.error().message);
  return *std::move(result);
}

/// Which queue an operation waits in.
enum class Queue : std::uint8_t { none, vector, lds, scalar, flat };

Queue queueOf(const Instruction& inst) {
  const std::string_view base = inst.base;
  if (base.starts_with("flat_"))
    return Queue::flat;
  if (base.starts_with("buffer_inv") || base.starts_with("buffer_wbinvl1"))
    return Queue::none;
  for (const std::string_view head : {"buffer_", "tbuffer_", "global_", "scratch_"})
    if (base.starts_with(head))
      return Queue::vector;
  if (base.starts_with("ds_"))
    return Queue::lds;
  if (inst.cls == InstClass::smem || base.starts_with("s_sendmsg"))
    return Queue::scalar;
  return Queue::none;
}

bool ordersMemory(const Instruction& inst) {
  if (inst.cls == InstClass::barrier || inst.base == "buffer_wbl2" || inst.base == "buffer_inv" ||
      inst.base.starts_with("buffer_wbinvl1"))
    return true;
  return (inst.isVectorMemory() || inst.cls == InstClass::lds) &&
         (inst.base.find("_atomic") != std::string::npos ||
          (inst.isVectorMemory() && (inst.mods.sc0 || inst.mods.sc1)));
}

/// Numbers of instructions in flight, oldest first; the scalar and flat ones with the counters still to reach zero.
struct Queues {
  std::vector<std::uint32_t> vector, lds;
  std::vector<std::pair<std::uint32_t, unsigned>> unordered;
  auto operator<=>(const Queues&) const = default;
};

struct PathState {
  Place at;
  std::vector<Place> stack;
  Queues queues;
  auto operator<=>(const PathState&) const = default;
};

class PathExplorer {
 public:
  PathExplorer(const program::Program& p, unsigned accum) : program(p), accumOffset(accum) {
    std::uint32_t count = 0;
    for (const auto& block : p.blocks) {
      first.push_back(count);
      count += static_cast<std::uint32_t>(block.instrs.size());
      for (const auto& instr : block.instrs)
        traits.push_back({instr.inst->reads(accum), instr.inst->writes(accum), queueOf(*instr.inst), &instr});
    }
    for (Traits& t : traits)
      trimReads(t);
  }

  std::optional<std::set<PathViolation>> run(const program::Function& kernel) {
    enter({{kernel.entryBlock, 0}, {}, {}});
    if (kernel.preloadEntry)
      enter({{*kernel.preloadEntry, 0}, {}, {}});
    while (!todo.empty()) {
      if (seen.size() > mostStates)
        return std::nullopt;
      const PathState state = std::move(todo.back());
      todo.pop_back();
      follow(state);
    }
    return violations;
  }

 private:
  struct Traits {
    RegSet reads, writes;
    Queue queue;
    const program::Instr* instr;
  };

  /// The old contents of a load's destination are not needed when it issues.
  void trimReads(Traits& t) const {
    const Instruction& inst = *t.instr->inst;
    if (!inst.mayLoad || inst.isAtomic() || !inst.tiedDest)
      return;
    RegSet kept = t.writes;
    for (const isa::Operand& operand : inst.operands)
      if (!operand.isDef && (operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr))
        for (unsigned k = 0; k < operand.dwords; ++k)
          kept.reset(isa::vgprBase + operand.index + k + (operand.kind == isa::OperandKind::agpr ? accumOffset : 0));
    t.reads.remove(kept);
  }

  void enter(PathState state) {
    if (seen.insert(state).second)
      todo.push_back(std::move(state));
  }

  void follow(PathState state) {
    const auto& block = program.blocks[state.at.block];
    for (; state.at.index < block.instrs.size(); ++state.at.index) {
      const program::Instr& instr = block.instrs[state.at.index];
      step(first[state.at.block] + state.at.index, state.queues);
      switch (program::flowOf(instr.inst)) {
      case program::Flow::end:
        return;
      case program::Flow::call:
        if (instr.target) {
          state.stack.push_back({state.at.block, state.at.index + 1});
          enter({{*instr.target, 0}, state.stack, state.queues});
          return;
        }
        state.queues = {}; // a callee that is not known waits for everything
        break;
      case program::Flow::jump:
        if (instr.target || instr.codeTable != 0)
          break;
        if (!state.stack.empty()) {
          const Place back = state.stack.back();
          state.stack.pop_back();
          enter({back, state.stack, state.queues});
        }
        return;
      default:
        break;
      }
    }
    for (const BlockId next : block.successors)
      enter({{next, 0}, state.stack, state.queues});
  }

  void violate(const char* rule, std::uint32_t producer, std::uint32_t consumer) {
    violations.emplace(rule, traits[producer].instr->address, traits[consumer].instr->address);
  }

  template <class F> static void forAll(const Queues& queues, F&& f) {
    for (const std::uint32_t op : queues.vector)
      f(op);
    for (const std::uint32_t op : queues.lds)
      f(op);
    for (const auto& [op, counters] : queues.unordered)
      f(op);
  }

  static void keepYoungest(std::vector<std::uint32_t>& queue, std::size_t count) {
    if (queue.size() > count)
      queue.erase(queue.begin(), queue.end() - static_cast<std::ptrdiff_t>(count));
  }

  void step(std::uint32_t number, Queues& queues) {
    const Traits& now = traits[number];
    const Instruction& inst = *now.instr->inst;
    if (inst.base == "s_waitcnt") {
      const isa::WaitCount wait = inst.waitCount();
      keepYoungest(queues.vector, wait.vm);
      keepYoungest(queues.lds, wait.lgkm);
      for (auto& [op, counters] : queues.unordered)
        counters &= (wait.vm == 0 ? ~1u : ~0u) & (wait.lgkm == 0 ? ~2u : ~0u);
      std::erase_if(queues.unordered, [](const auto& entry) { return entry.second == 0; });
      return;
    }
    const bool orders = ordersMemory(inst);
    forAll(queues, [&](std::uint32_t op) {
      const Traits& other = traits[op];
      if (other.writes.intersects(now.reads))
        violate("read", op, number);
      else if (other.writes.intersects(now.writes) &&
               !(other.queue == now.queue && (now.queue == Queue::vector || now.queue == Queue::lds)))
        violate("overwritten", op, number);
      if (orders && other.queue != Queue::scalar)
        violate("order", op, number);
      if (now.queue == Queue::lds && other.instr->inst->isLdsDma())
        violate("lds-dma", op, number);
    });
    switch (now.queue) {
    case Queue::vector:
      queues.vector.push_back(number);
      keepYoungest(queues.vector, vmSlots);
      break;
    case Queue::lds:
      queues.lds.push_back(number);
      keepYoungest(queues.lds, ldsSlots);
      break;
    case Queue::scalar:
    case Queue::flat: {
      const unsigned counters = now.queue == Queue::flat ? 3 : 2;
      std::erase_if(queues.unordered, [&](const auto& entry) { return entry.first == number; });
      queues.unordered.emplace_back(number, counters);
      std::ranges::sort(queues.unordered);
      break;
    }
    case Queue::none:
      break;
    }
  }

  const program::Program& program;
  unsigned accumOffset;
  std::vector<std::uint32_t> first; ///< by block: number of its first instruction
  std::vector<Traits> traits;       ///< by number
  std::set<PathState> seen;
  std::vector<PathState> todo;
  std::set<PathViolation> violations;
};

/// LLVM gives the first of the instructions that spill a tuple of registers the whole tuple as an implicit operand, and
/// its hazard recognizer takes that for a dependence: an s_nop behind it that no register asks for.
bool isSpillArtifact(const std::vector<program::Instr>& instrs, std::uint32_t at) {
  if (at == 0 || at + 1 >= instrs.size())
    return false;
  const Instruction &before = *instrs[at - 1].inst, &after = *instrs[at + 1].inst;
  if (before.base != after.base)
    return false;
  if (before.base == "v_writelane_b32")
    return before.operands[1].index + 1 == after.operands[1].index &&
           before.operands[2].imm + 1 == after.operands[2].imm;
  const bool stores = before.base.starts_with("buffer_store_") || before.base.starts_with("scratch_store_");
  return stores &&
         after.mods.offset - before.mods.offset == 4 * before.operands[before.cls == InstClass::scratch].dwords;
}

} // namespace

std::optional<std::set<PathViolation>> pathViolations(const program::Program& program, const program::Function& kernel,
                                                      unsigned accumOffset) {
  return PathExplorer(program, accumOffset).run(kernel);
}

DeletionTarget::DeletionTarget(object::CodeObject o) : object(std::move(o)) {
  codec = value(isa::Codec::create(object));
  program = value(program::Program::recover(object, *codec));
  program::completeInstructions(program, *codec);
  std::set<BlockId> owned;
  for (const auto& function : program.functions)
    owned.insert(function.blocks.begin(), function.blocks.end());
  for (const BlockId id : owned)
    for (std::uint32_t i = 0; i < program.blocks[id].instrs.size(); ++i) {
      const Instruction& inst = *program.blocks[id].instrs[i].inst;
      if (!program.blocks[id].opaque && (inst.base == "s_waitcnt" || inst.cls == InstClass::nop))
        all.push_back({id, i});
    }
}

const program::Function* DeletionTarget::kernelOf(BlockId block) const {
  for (const auto& function : program.functions)
    if (function.kernel)
      for (const auto* f : program::callClosure(program, function, program::UnknownCallees::leaveOut).functions)
        if (std::ranges::binary_search(f->blocks, block))
          return &function;
  return nullptr;
}

std::optional<DeletionTrial> DeletionTarget::remove(const Candidate& candidate) {
  program::Program edited = program;
  auto& instrs = edited.blocks[candidate.block].instrs;
  const program::Instr gone = instrs[candidate.index];
  DeletionTrial trial{gone.address, gone.inst->text, gone.inst->cls == InstClass::nop, {}, false, {}};
  instrs.erase(instrs.begin() + candidate.index);

  const auto bytes = program::rebuild(object, edited, *codec);
  if (!bytes)
    return std::nullopt;
  const auto k1 = value(object::CodeObject::parse(*bytes, "deleted"));
  const auto judged = value(verify::lintAgainst(object, k1, {.paths = false}));
  for (const auto& finding : judged.fresh.findings)
    if (finding.severity != verify::Severity::note) {
      trial.flagged = true;
      trial.rule = finding.rule;
      break;
    }

  if (trial.isNop) {
    trial.live = !isSpillArtifact(program.blocks[candidate.block].instrs, candidate.index);
    return trial;
  }
  const program::Function* kernel = kernelOf(candidate.block);
  if (!kernel)
    return trial;
  const unsigned accumOffset = object.target().hasUnifiedRegisterFile()
                                   ? object.kernels()[*kernel->kernel].descriptor.accumOffset(object.target())
                                   : 256;
  const auto after = pathViolations(edited, *kernel, accumOffset);
  const auto before = after ? pathViolations(program, *kernel, accumOffset) : std::nullopt;
  if (before)
    trial.live = !std::ranges::includes(*before, *after);
  return trial;
}

} // namespace asmevo::tests
