#include "verify/value_proof.h"

#include "isa/codec.h"
#include "program/analysis/liveness.h"
#include "program/program.h"
#include "verify/available_facts.h"
#include "verify/indexed_mode.h"
#include "verify/value_graph.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <set>

namespace asmevo::verify {

using isa::InstClass;
using isa::Instruction;
using isa::RegUnit;
using program::Block;
using program::BlockId;
using program::Function;
using program::Instr;
using program::Program;

namespace {

/// One object's side of the proof.
struct Side {
  const object::CodeObject* object = nullptr;
  std::unique_ptr<isa::Codec> codec;
  std::unique_ptr<Program> program;
  const Function* function = nullptr;
  const object::Kernel* kernel = nullptr;
  unsigned accumOffset = 0;
  std::vector<FactMap> facts;
};

Result<Side> openSide(const object::CodeObject& object, const std::string& kernelName) {
  Side side;
  side.object = &object;
  ASMEVO_TRY(side.kernel, object.findKernel(kernelName));
  ASMEVO_TRY(side.codec, isa::Codec::create(object));
  ASMEVO_TRY(Program program, Program::recover(object, *side.codec));
  side.program = std::make_unique<Program>(std::move(program));
  const auto index = static_cast<std::size_t>(side.kernel - object.kernels().data());
  side.function = side.program->functionOf(index);
  if (!side.function)
    return badInput("{}: the entry of kernel {} is outside every code section", object.name(), side.kernel->name);
  side.accumOffset = side.kernel->descriptor.accumOffset(object.target());
  for (auto& block : side.program->blocks)
    for (auto& instr : block.instrs)
      instr.inst = side.codec->complete(instr.inst);
  side.facts = availableFacts(*side.program, *side.function, side.accumOffset);
  return side;
}

/// Name of a code address that both sides share: a function by its position, which relayout keeps.
std::string codePlace(const Side& side, std::uint64_t address) {
  const auto& functions = side.program->functions;
  const auto at = std::ranges::find(functions, address, &Function::entry);
  return at != functions.end() ? fmt::format("function{}", at - functions.begin()) : fmt::format("{:#x}", address);
}

/// What a layout-dependent literal stands for: the same text on both sides when it is the same place.
std::string literalKey(const Side& side, const Instr& instr) {
  if (!instr.pcRef)
    return {};
  const auto& sections = side.object->sections();
  for (std::size_t i = 0; i < sections.size(); ++i)
    if (sections[i].contains(instr.pcRef->target) && !sections[i].isCode())
      return fmt::format("pc{}:{}+{:#x}", instr.pcRef->high ? "hi" : "lo", sections[i].name,
                         instr.pcRef->target - sections[i].address);
  return fmt::format("pc{}:{}", instr.pcRef->high ? "hi" : "lo", codePlace(side, instr.pcRef->target));
}

/// Equal operands but for constants.
bool sameRegisters(const Instruction& x, const Instruction& y) {
  const auto isConstant = [](const isa::Operand& o) {
    return o.kind == isa::OperandKind::imm || o.kind == isa::OperandKind::fpImm;
  };
  return std::ranges::equal(x.operands, y.operands, [&](const isa::Operand& p, const isa::Operand& q) {
    return (isConstant(p) && isConstant(q)) ||
           (p.kind == q.kind && p.index == q.index && p.dwords == q.dwords && p.isDef == q.isDef);
  });
}

bool isWaitLike(const Instr& instr) {
  return instr.inst->cls == InstClass::waitcnt || instr.inst->cls == InstClass::nop;
}

/// Where a call or jump with a known target goes; jumps that end a block are followed by the walk instead.
std::string jumpPlace(const Side& side, const Instr& instr) {
  return !instr.target || program::flowOf(instr.inst) == program::Flow::jump
             ? std::string()
             : codePlace(side, side.program->blocks[*instr.target].address);
}

/// Equal but for a branch offset or a pc-relative literal that means the same place.
bool sameInstr(const Side& a, const Instr& p, const Side& b, const Instr& q) {
  if (p.inst->isBranch())
    return p.inst->opcode == q.inst->opcode;
  if (p.inst->cls == InstClass::jump && (p.target || q.target))
    return p.inst->opcode == q.inst->opcode && sameRegisters(*p.inst, *q.inst) && p.target && q.target &&
           jumpPlace(a, p) == jumpPlace(b, q);
  if (p.pcRef || q.pcRef)
    return p.inst->opcode == q.inst->opcode && p.pcRef && q.pcRef && p.pcRef->negated == q.pcRef->negated &&
           sameRegisters(*p.inst, *q.inst) && literalKey(a, p) == literalKey(b, q);
  return std::ranges::equal(p.inst->bytes(), q.inst->bytes());
}

/// Equal instruction lists but for branch offsets and pc-relative literals: executing both from equal state gives equal
/// state without looking inside.
bool sameText(const Side& a, const Block& x, const Side& b, const Block& y) {
  std::size_t i = 0, j = 0;
  const auto skip = [](const Block& block, std::size_t& at) {
    while (at < block.instrs.size() && isWaitLike(block.instrs[at]))
      ++at;
  };
  for (;; ++i, ++j) {
    skip(x, i);
    skip(y, j);
    if (i == x.instrs.size() || j == y.instrs.size())
      return i == x.instrs.size() && j == y.instrs.size();
    if (!sameInstr(a, x.instrs[i], b, y.instrs[j]))
      return false;
  }
}

/// Where a block goes: the terminating branch (if it is a real choice) and its targets.
struct Exit {
  const Instr* branch = nullptr; ///< conditional branch
  std::optional<BlockId> taken, fallThrough;
  bool ends = false; ///< s_endpgm or a register jump
};

Exit exitOf(const Program& program, BlockId id) {
  const Block& block = program.blocks[id];
  Exit exit;
  const bool hasNext = id + 1 < program.blocks.size() && program.blocks[id + 1].section == block.section;
  const std::optional<BlockId> next = hasNext ? std::optional<BlockId>(id + 1) : std::nullopt;
  if (block.instrs.empty()) {
    exit.fallThrough = next;
    return exit;
  }
  const Instr& last = block.instrs.back();
  if (last.inst->isBranch()) {
    if (!last.inst->isConditional)
      exit.fallThrough = last.target;
    else if (last.target == next)
      exit.fallThrough = next;
    else {
      exit.branch = &last;
      exit.taken = last.target;
      exit.fallThrough = next;
    }
    return exit;
  }
  const program::Flow flow = program::flowOf(last.inst);
  if (flow == program::Flow::jump && last.target)
    exit.fallThrough = last.target;
  else if (flow == program::Flow::end || flow == program::Flow::jump)
    exit.ends = true;
  else
    exit.fallThrough = next;
  return exit;
}

/// Skips blocks that only jump on (branch islands, empty blocks), so that relayout does not change the shape.
std::optional<BlockId> resolve(const Program& program, std::optional<BlockId> id) {
  for (std::size_t steps = 0; id && steps < program.blocks.size(); ++steps) {
    const Block& block = program.blocks[*id];
    const bool onlyBranch = block.instrs.size() == 1 && block.instrs[0].inst->isBranch() &&
                            !block.instrs[0].inst->isConditional && block.instrs[0].target;
    if (block.opaque || !(block.instrs.empty() || onlyBranch))
      return id;
    id = exitOf(program, *id).fallThrough;
  }
  return id;
}

class Proof {
 public:
  Proof(Side& k0, Side& k1)
      : a(k0), b(k1), liveness(program::liveness(*k0.program, *k0.function, k0.accumOffset)),
        indexedA(indexedAtEntry(*k0.program, *k0.function)), indexedB(indexedAtEntry(*k1.program, *k1.function)) {}

  ProofResult run() {
    if (a.accumOffset != b.accumOffset && usesAccumulators())
      return fail(a.kernel->entryAddress, "the AGPR file starts elsewhere in K1");
    push(a.function->entryBlock, b.function->entryBlock, a.kernel->entryAddress);
    pushOtherEntries();
    while (!queue.empty() && !failure) {
      const auto [x, y] = queue.front();
      queue.pop_front();
      comparePair(x, y);
    }
    if (!failure && hasCalls)
      compareCallees();
    if (failure)
      return *failure;
    result.status = ProofStatus::proved;
    result.reason =
        fmt::format("{} blocks compared, {} edited: live-out registers, branch conditions and ordered memory "
                    "effects are equal terms",
                    result.blocks, result.editedBlocks);
    return result;
  }

 private:
  bool usesAccumulators() const {
    for (const BlockId id : a.function->blocks)
      for (const auto& instr : a.program->blocks[id].instrs)
        for (const auto& operand : instr.inst->operands)
          if (operand.kind == isa::OperandKind::agpr)
            return true;
    return false;
  }

  ProofResult fail(std::uint64_t address, std::string why, ProofStatus status = ProofStatus::unsupported) {
    result.status = status;
    result.reason = std::move(why);
    result.address = address;
    failure = result;
    return result;
  }

  void push(std::optional<BlockId> x, std::optional<BlockId> y, std::uint64_t from) {
    x = resolve(*a.program, x);
    y = resolve(*b.program, y);
    if (x.has_value() != y.has_value()) {
      fail(from, fmt::format("control flow differs after {:#x}", from));
      return;
    }
    if (!x)
      return;
    const auto [it, isNew] = pairs.emplace(*x, *y);
    if (!isNew && it->second != *y)
      fail(from, fmt::format("the block at {:#x} has two counterparts in K1", a.program->blocks[*x].address));
    else if (isNew)
      queue.emplace_back(*x, *y);
  }

  /// Hardware that preloads arguments starts behind the prologue, and jumps through registers go where the walk does
  /// not see: such blocks are entries of their own.
  void pushOtherEntries() {
    if (a.function->preloadEntry || b.function->preloadEntry)
      push(a.function->preloadEntry, b.function->preloadEntry, a.kernel->entryAddress);
    const auto entered = [](const Side& side) {
      std::vector<BlockId> blocks;
      for (const BlockId id : side.function->blocks)
        if (side.program->blocks[id].entersByRegister && id != side.function->entryBlock)
          blocks.push_back(id);
      return blocks;
    };
    const auto x = entered(a), y = entered(b);
    if (x.size() != y.size())
      fail(a.kernel->entryAddress, "the blocks that jumps through registers may reach are not the same");
    for (std::size_t i = 0; i < x.size() && !failure; ++i)
      push(x[i], y[i], a.program->blocks[x[i]].address);
  }

  static std::uint32_t privateVariable(RegUnit unit, int sideIndex) {
    return unit + 1000u * static_cast<std::uint32_t>(sideIndex + 1);
  }

  /// Value of `unit` at the pair's entry. Registers live in K0 are equal on both sides and share one term; facts of
  /// either side name it. Dead ones are private to their side.
  TermId entryValue(RegUnit unit, int sideIndex, std::set<std::pair<RegUnit, int>>& open) {
    const bool shared = liveIn->test(unit);
    auto& slot = entryTerms[shared ? 0 : static_cast<std::size_t>(sideIndex) + 1][unit];
    if (slot)
      return *slot;
    const TermId plain = terms.variable(shared ? unit : privateVariable(unit, sideIndex));
    if (!open.insert({unit, shared ? -1 : sideIndex}).second)
      return plain;
    TermId value = plain;
    for (const int s : shared ? std::vector<int>{1, 0} : std::vector<int>{sideIndex}) {
      const FactMap& facts = *(s == 0 ? factsA : factsB);
      const auto fact = facts.find(unit);
      if (fact == facts.end())
        continue;
      Side& side = s == 0 ? a : b;
      const InstructionShape shape = shapeOf(*fact->second->inst, side.accumOffset, literalKey(side, *fact->second));
      std::vector<TermId> arguments;
      arguments.reserve(shape.sources.size());
      for (const RegUnit source : shape.sources)
        arguments.push_back(entryValue(source, s, open));
      const auto at = std::ranges::find(shape.results, unit);
      value = terms.node(fmt::format("{}/{}", shape.key, at - shape.results.begin()), arguments);
      break;
    }
    open.erase({unit, shared ? -1 : sideIndex});
    slot = value;
    return value;
  }

  SymbolicState entryState(int sideIndex) {
    SymbolicState state;
    state.units.resize(isa::regUnitCount);
    std::set<std::pair<RegUnit, int>> open;
    for (std::size_t u = 0; u < isa::regUnitCount; ++u)
      state.units[u] = entryValue(static_cast<RegUnit>(u), sideIndex, open);
    state.ldsMemory = terms.variable(5000);
    state.globalMemory = terms.variable(5001);
    return state;
  }

  /// Executes from instruction `at` to the next one the executor cannot follow (or the block's end); waits are skipped.
  bool executeRun(Side& side, const Block& block, SymbolicExecutor& executor, SymbolicState& state, std::size_t& at,
                  std::vector<TermId>& condition) {
    std::string reason;
    for (; at < block.instrs.size(); ++at) {
      const Instr& instr = block.instrs[at];
      if (instr.inst->isBranch()) {
        if (instr.inst->isConditional)
          instr.inst->reads(side.accumOffset).forEach([&](RegUnit u) { condition.push_back(state.units[u]); });
        continue;
      }
      if (instr.inst->cls == InstClass::endpgm)
        continue;
      if (isOpaque(*instr.inst))
        return true;
      if (instr.inst->base == "s_getpc_b64" && !side.program->pinned.empty()) {
        fail(block.address, fmt::format("the program counter is a value: {}", side.program->pinned));
        return false;
      }
      if (!executor.execute(*instr.inst, literalKey(side, instr), state, reason)) {
        fail(block.address, reason);
        return false;
      }
    }
    return true;
  }

  /// Instructions that address registers in ways only the machine's state tells, or leave the block for a while. Both
  /// sides must run the same of them from states that are equal in every register.
  static bool isOpaque(const Instruction& inst) {
    const std::string_view base = inst.base;
    return inst.cls == InstClass::jump || base.starts_with("s_set_gpr_idx") || base.starts_with("s_movrel") ||
           base.starts_with("v_movrel") || base.starts_with("s_setvskip");
  }

  /// Steps over equal opaque runs on both sides: one instruction, or all until indexing is off again.
  bool skipOpaque(const Block& p, const Block& q, std::size_t& i, std::size_t& j, SymbolicState& x, SymbolicState& y) {
    std::string different;
    std::vector<bool> untouched(isa::regUnitCount, false);
    for (RegUnit u = 0; u < isa::regUnitCount; ++u) {
      // A scalar register that is dead at the block's entry and that nobody wrote since has a value of its own on each
      // side; operands name scalars, so the run cannot read it.
      untouched[u] = u < isa::vgprBase && !liveIn->test(u) && x.units[u] == entryA[u] && y.units[u] == entryB[u];
      if (!untouched[u] && x.units[u] != y.units[u] && different.empty())
        different = isa::regUnitName(u);
    }
    if (different.empty() && (x.ldsMemory != y.ldsMemory || x.globalMemory != y.globalMemory))
      different = "memory";
    if (!different.empty()) {
      fail(p.address, fmt::format("{} differs in front of {}", different, p.instrs[i].inst->text),
           ProofStatus::differs);
      return false;
    }
    const std::string_view opener = p.instrs[i].inst->base;
    const bool region = opener == "s_set_gpr_idx_on" || opener == "s_set_gpr_idx_mode" || opener == "s_setvskip";
    for (bool first = true;; first = false, ++i, ++j) {
      while (!first && i < p.instrs.size() && isWaitLike(p.instrs[i]))
        ++i;
      while (!first && j < q.instrs.size() && isWaitLike(q.instrs[j]))
        ++j;
      if (i >= p.instrs.size() || j >= q.instrs.size() || !sameInstr(a, p.instrs[i], b, q.instrs[j])) {
        fail(p.address, fmt::format("{}: edited among indexed registers, calls or skips", opener),
             ProofStatus::differs);
        return false;
      }
      if (!region || p.instrs[i].inst->base == "s_set_gpr_idx_off")
        break;
    }
    ++i;
    ++j;
    // Equal code from equal state: whatever it left is equal again.
    for (RegUnit u = 0; u < isa::regUnitCount; ++u)
      if (!untouched[u])
        x.units[u] = y.units[u] = terms.variable(nextFresh++);
    x.ldsMemory = terms.variable(nextFresh++);
    x.globalMemory = terms.variable(nextFresh++);
    y.ldsMemory = x.ldsMemory;
    y.globalMemory = x.globalMemory;
    return true;
  }

  void comparePair(BlockId x, BlockId y) {
    const Block& p = a.program->blocks[x];
    const Block& q = b.program->blocks[y];
    ++result.blocks;
    hasCalls |= std::ranges::any_of(p.instrs, [](const Instr& i) { return i.inst->cls == InstClass::jump; });
    if (p.opaque || q.opaque) {
      fail(p.address, fmt::format("undecodable code is reached at {:#x}", p.address));
      return;
    }
    const Exit exitA = exitOf(*a.program, x), exitB = exitOf(*b.program, y);
    const bool sameChoice =
        exitA.branch ? exitB.branch && exitA.branch->inst->base == exitB.branch->inst->base : exitB.branch == nullptr;
    if (exitA.ends != exitB.ends || !sameChoice) {
      fail(p.address, fmt::format("the block at {:#x} ends differently in K1", p.address));
      return;
    }
    if (!sameText(a, p, b, q)) {
      ++result.editedBlocks;
      if (indexedA[x] || indexedB[y]) {
        fail(p.address,
             fmt::format("the edited block at {:#x} is entered with VGPR indexing or skipping on", p.address));
        return;
      }
      compareEdited(x, p, q, exitA.branch != nullptr);
    }
    if (failure)
      return;
    push(exitA.fallThrough, exitB.fallThrough, p.address);
    if (!failure && exitA.branch)
      push(exitA.taken, exitB.taken, p.address);
  }

  /// A call runs code that the walk does not follow: all other functions must be the same text.
  void compareCallees() {
    const auto& f = a.program->functions;
    const auto& g = b.program->functions;
    if (f.size() != g.size()) {
      fail(a.kernel->entryAddress, "the object's functions are not the same");
      return;
    }
    for (std::size_t i = 0; i < f.size() && !failure; ++i)
      if (!f[i].kernel && !sameFunction(f[i], g[i]))
        fail(f[i].entry, fmt::format("the device function {} was edited", f[i].name));
  }

  bool sameFunction(const Function& f, const Function& g) const {
    if (g.kernel || f.blocks.size() != g.blocks.size())
      return false;
    // Branches must go to corresponding blocks; control that leaves the function goes to places compared elsewhere.
    const auto place = [](const Function& function, const std::optional<BlockId>& id) {
      return id ? std::ranges::find(function.blocks, *id) - function.blocks.begin() : std::ptrdiff_t{-1};
    };
    const auto sameExit = [&](BlockId x, BlockId y) {
      const Exit p = exitOf(*a.program, x), q = exitOf(*b.program, y);
      return p.ends == q.ends && (p.branch != nullptr) == (q.branch != nullptr) &&
             place(f, p.taken) == place(g, q.taken) && place(f, p.fallThrough) == place(g, q.fallThrough);
    };
    return place(f, f.entryBlock) == place(g, g.entryBlock) &&
           std::ranges::equal(f.blocks, g.blocks, [&](BlockId x, BlockId y) {
             const Block &p = a.program->blocks[x], &q = b.program->blocks[y];
             return !p.opaque && !q.opaque && sameText(a, p, b, q) && sameExit(x, y);
           });
  }

  void compareEdited(BlockId x, const Block& p, const Block& q, bool hasCondition) {
    liveIn = &liveness.liveIn[x];
    factsA = &a.facts[x];
    factsB = &b.facts[static_cast<std::size_t>(&q - b.program->blocks.data())];
    for (auto& table : entryTerms)
      table.assign(isa::regUnitCount, std::nullopt);
    SymbolicState stateA = entryState(0), stateB = entryState(1);
    entryA = stateA.units;
    entryB = stateB.units;
    SymbolicExecutor executorA(terms, a.accumOffset), executorB(terms, b.accumOffset);
    std::vector<TermId> conditionA, conditionB;
    for (std::size_t i = 0, j = 0;;) {
      if (!executeRun(a, p, executorA, stateA, i, conditionA) || !executeRun(b, q, executorB, stateB, j, conditionB))
        return;
      if (i == p.instrs.size() && j == q.instrs.size())
        break;
      if (i == p.instrs.size() || j == q.instrs.size()) {
        fail(p.address, "indexed registers, a call or a skip on one side only", ProofStatus::differs);
        return;
      }
      if (!skipOpaque(p, q, i, j, stateA, stateB))
        return;
    }
    const auto differs = [&](const std::string& what) {
      fail(p.address, fmt::format("{} differs at the end of the block at {:#x}", what, p.address),
           ProofStatus::differs);
    };
    if (hasCondition && conditionA != conditionB)
      return differs("the branch condition");
    if (stateA.globalMemory != stateB.globalMemory)
      return differs("the order or contents of global memory effects");
    if (stateA.ldsMemory != stateB.ldsMemory)
      return differs("the order or contents of LDS effects");
    liveness.liveOut[x].forEach([&](RegUnit u) {
      if (!failure && stateA.units[u] != stateB.units[u])
        differs(isa::regUnitName(u));
    });
  }

  Side& a;
  Side& b;
  program::Liveness liveness;
  std::vector<bool> indexedA, indexedB; ///< by block: VGPR indexing may be on at its entry
  TermTable terms;
  std::map<BlockId, BlockId> pairs;
  std::deque<std::pair<BlockId, BlockId>> queue;
  bool hasCalls = false;
  std::vector<TermId> entryA, entryB; ///< values at the current pair's entry
  std::uint32_t nextFresh = 10000;    ///< below it: entry variables
  ProofResult result;
  std::optional<ProofResult> failure;
  const isa::RegSet* liveIn = nullptr;
  const FactMap* factsA = nullptr;
  const FactMap* factsB = nullptr;
  std::array<std::vector<std::optional<TermId>>, 3> entryTerms; ///< shared, K0's own, K1's own
};

} // namespace

Result<ProofResult> proveEquivalent(const object::CodeObject& k0, const object::CodeObject& k1,
                                    const std::string& kernel) {
  ASMEVO_TRY(Side a, openSide(k0, kernel));
  ASMEVO_TRY(Side b, openSide(k1, a.kernel->name));
  return Proof(a, b).run();
}

} // namespace asmevo::verify
