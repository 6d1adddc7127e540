#include "optimize/edit/block_chain.h"

#include "optimize/edit/loop_slice.h"

#include <algorithm>
#include <map>
#include <set>

namespace asmevo::optimize {

namespace {

using isa::InstClass;
using program::BlockId;

bool isSgpr(const isa::Operand& operand, unsigned index) {
  return operand.kind == isa::OperandKind::sgpr && operand.index == index && operand.dwords == 2;
}

bool isExec(const isa::Instruction& inst, std::size_t operand) {
  return operand < inst.operands.size() && isSgpr(inst.operands[operand], isa::sreg::execLo);
}

/// Numbers of a pair of SGPRs proper.
std::optional<unsigned> pairOf(const isa::Instruction& inst, std::size_t operand) {
  if (operand >= inst.operands.size())
    return std::nullopt;
  const isa::Operand& o = inst.operands[operand];
  if (o.kind != isa::OperandKind::sgpr || o.dwords != 2 || o.index >= isa::sreg::vccLo)
    return std::nullopt;
  return o.index;
}

/// Something that other instructions cannot be moved over, whatever they are.
bool endsChain(const program::Instr& instr) {
  const isa::Instruction& inst = *instr.inst;
  const std::string_view base = inst.base;
  return inst.cls == InstClass::unknown || inst.cls == InstClass::jump || inst.cls == InstClass::endpgm ||
         inst.leavesFunction() || inst.entersGprIdxMode() || inst.choosesVgprBank || instr.getpcId != 0 ||
         (inst.cls == InstClass::message && base != "s_setprio") || base.starts_with("s_setreg") ||
         base.starts_with("s_set_gpr") || base.starts_with("s_setvskip") || base.starts_with("s_movrel") ||
         base.starts_with("v_movrel") || base.starts_with("buffer_inv") || base.starts_with("buffer_wbl2");
}

class Walk {
 public:
  Walk(const program::Program& p, const program::Function& f, BlockId start, unsigned accumOffset,
       std::span<const BlockId> blocks)
      : program(p), function(f), accum(accumOffset), loop(blocks) {
    chain.lanes.emplace_back();
    chain.guards.emplace_back();
    for (std::optional<BlockId> at = start; at;)
      at = block(*at);
  }
  BlockChain chain;

 private:
  using Saved = std::map<unsigned, std::size_t>; ///< SGPR pairs and the lanes they hold

  std::optional<BlockId> block(BlockId id) {
    const program::Block& b = program.blocks[id];
    chain.blocks.push_back(id);
    for (std::size_t i = 0; i < b.instrs.size(); ++i) {
      if (endsChain(b.instrs[i]))
        return std::nullopt;
      chain.steps.push_back({id, i, b.instrs[i].inst, lanes, open.empty() ? 0 : open.back()});
      if (!b.instrs[i].inst->isBranch() && !effect(*b.instrs[i].inst)) {
        chain.steps.pop_back();
        return std::nullopt;
      }
    }
    const program::Instr* last = b.instrs.empty() ? nullptr : &b.instrs.back();
    BlockId next = id + 1;
    if (last && last->inst->isBranch()) {
      if (!last->target)
        return std::nullopt;
      if (!last->inst->isConditional) {
        next = *last->target;
      } else if (*last->target == chain.blocks.front() && !loop.empty() &&
                 std::ranges::find(loop, next) == loop.end()) {
        chain.next = *last->target;
        return std::nullopt;
      }
      if (last->inst->isConditional && !openGuard(*last))
        return std::nullopt;
    }
    return enter(id, next);
  }

  /// What an instruction does to EXEC and to the pairs that hold lanes.
  bool effect(const isa::Instruction& inst) {
    const isa::RegSet writes = inst.writes(accum);
    const bool toExec = writes.test(isa::sreg::execLo) || writes.test(isa::sreg::execHi);
    const auto held = [&](std::size_t operand) -> std::optional<std::size_t> {
      if (isExec(inst, operand))
        return lanes;
      const auto pair = pairOf(inst, operand);
      const auto found = pair ? saved.find(*pair) : saved.end();
      return found == saved.end() ? std::nullopt : std::optional(found->second);
    };
    const auto destination = pairOf(inst, 0);
    std::optional<std::size_t> now = lanes, kept;
    if (inst.base == "s_and_saveexec_b64" && destination && !isExec(inst, 1)) {
      kept = lanes;
      now = narrowed(ChainLanes::How::masked, lanes, 1);
    } else if (inst.base == "s_mov_b64" && held(1)) {
      (toExec ? now : kept) = held(1);
    } else if (inst.base == "s_or_b64" && toExec && (isExec(inst, 1) || isExec(inst, 2))) {
      const auto back = held(isExec(inst, 1) ? 2 : 1);
      now = back && chain.lanesWithin(lanes, *back) ? back : std::nullopt;
    } else if (const auto made = partOf(inst, held)) {
      (toExec ? now : kept) = made;
    } else if (toExec) {
      now.reset();
    }
    // Lanes may come back as far as they were at the branches that are still open.
    if (!now || (!open.empty() && !chain.lanesWithin(*now, chain.guards[open.back()].inner)))
      return false;
    std::erase_if(saved, [&](const auto& entry) { return writes.test(entry.first) || writes.test(entry.first + 1); });
    if (kept && destination)
      saved[*destination] = *kept;
    lanes = *now;
    return true;
  }

  /// A part of lanes that EXEC or a pair holds, as this instruction makes it.
  template <class Held> std::optional<std::size_t> partOf(const isa::Instruction& inst, const Held& held) {
    if (inst.operands.size() != 3)
      return std::nullopt;
    const bool isAnd = inst.base == "s_and_b64", picks = inst.base == "s_cselect_b64";
    if (!isAnd && !picks && inst.base != "s_andn2_b64")
      return std::nullopt;
    const auto first = held(1), second = held(2);
    const auto isZero = [&](std::size_t o) {
      return inst.operands[o].kind == isa::OperandKind::imm && inst.operands[o].imm == 0;
    };
    if (picks)
      return first && isZero(2)    ? std::optional(narrowed(ChainLanes::How::picked, *first, 0))
             : second && isZero(1) ? std::optional(narrowed(ChainLanes::How::picked, *second, 0))
                                   : std::nullopt;
    if (first && !second)
      return narrowed(isAnd ? ChainLanes::How::masked : ChainLanes::How::cleared, *first, 2);
    if (second && !first && isAnd)
      return narrowed(ChainLanes::How::masked, *second, 1);
    return std::nullopt;
  }

  std::size_t narrowed(ChainLanes::How how, std::size_t parent, std::size_t operand) {
    chain.lanes.push_back({how, parent, chain.steps.size() - 1, operand});
    return chain.lanes.size() - 1;
  }

  bool openGuard(const program::Instr& branch) {
    const std::string_view base = branch.inst->base;
    ChainGuard guard{open.empty() ? 0 : open.back(), chain.steps.size() - 1, *branch.target, lanes, lanes};
    if (base.starts_with("s_cbranch_scc") || base.starts_with("s_cbranch_vcc"))
      guard.inner = lanes = narrowed(ChainLanes::How::unskipped, lanes, 0);
    else if (base != "s_cbranch_execz")
      return false;
    open.push_back(chain.guards.size());
    chain.guards.push_back(guard);
    atBranch.push_back(saved);
    return true;
  }

  std::optional<BlockId> enter(BlockId from, BlockId next) {
    chain.next = next < program.blocks.size() ? std::optional(next) : std::nullopt;
    std::vector<BlockId> ways = {from};
    while (!open.empty() && chain.guards[open.back()].join == next) {
      const ChainGuard& guard = chain.guards[open.back()];
      const bool scalar = guard.inner != guard.outer;
      // Past an s_cbranch_execz no lane is on: as many as in any part of what was on at the branch, had it not skipped.
      if (scalar ? lanes != guard.inner : !chain.lanesWithin(lanes, guard.inner))
        return std::nullopt;
      if (scalar)
        lanes = guard.outer;
      std::erase_if(saved, [&](const auto& entry) {
        const auto found = atBranch.back().find(entry.first);
        return found == atBranch.back().end() || found->second != entry.second;
      });
      ways.push_back(chain.steps[guard.step].block);
      open.pop_back();
      atBranch.pop_back();
    }
    if (!chain.next)
      return std::nullopt;
    const program::Block& b = program.blocks[next];
    const bool known = std::ranges::all_of(
        b.predecessors, [&](BlockId before) { return std::ranges::find(ways, before) != ways.end(); });
    if (!known || b.opaque || b.entersByRegister || next == function.entryBlock || function.preloadEntry == next ||
        std::ranges::find(chain.blocks, next) != chain.blocks.end())
      return std::nullopt;
    chain.next.reset();
    return next;
  }

  const program::Program& program;
  const program::Function& function;
  unsigned accum;
  std::span<const BlockId> loop;
  std::size_t lanes = 0;
  Saved saved;
  std::vector<std::size_t> open; ///< guards
  std::vector<Saved> atBranch;   ///< of each open guard
};

} // namespace

bool BlockChain::lanesWithin(std::size_t inner, std::size_t outer) const {
  while (inner != outer && inner != 0)
    inner = lanes[inner].parent;
  return inner == outer;
}

bool BlockChain::guardWithin(std::size_t inner, std::size_t outer) const {
  while (inner != outer && inner != 0)
    inner = guards[inner].parent;
  return inner == outer;
}

BlockChain chainFrom(const program::Program& program, const program::Function& function, BlockId start,
                     unsigned accumOffset, std::span<const BlockId> loop) {
  return Walk(program, function, start, accumOffset, loop).chain;
}

namespace {

/// Who reads what is in a register, of those behind a step.
class Readers {
 public:
  static constexpr std::size_t everyLane = ~std::size_t{0};

  Readers(const BlockChain& c, unsigned accumOffset) : chain(c), accum(accumOffset) {}

  bool any(const isa::RegSet& units) const {
    return std::ranges::any_of(readers, [&](const auto& entry) { return units.test(entry.first); });
  }
  /// Code outside the chain: all lanes of vector registers.
  void addOutside(const isa::RegSet& live, std::size_t guard) {
    live.forEach([&](isa::RegUnit unit) { readers[unit].insert(isVector(unit) ? everyLane : guard); });
  }
  void addReads(const ChainStep& step) {
    const isa::Instruction& inst = *step.inst;
    const bool ownLanes = (isRepeatable(inst) && !inst.base.starts_with("v_readfirstlane")) ||
                          inst.cls == InstClass::vmem || inst.cls == InstClass::global;
    inst.reads(accum).forEach([&](isa::RegUnit unit) {
      readers[unit].insert(!isVector(unit) ? step.guard : ownLanes ? step.lanes : everyLane);
    });
  }
  void removeWritten(const ChainStep& step, bool full) {
    const isa::RegSet kills = step.inst->kills(accum);
    step.inst->writes(accum).forEach([&](isa::RegUnit unit) {
      const auto found = readers.find(unit);
      if (found == readers.end())
        return;
      std::erase_if(found->second, [&](std::size_t reader) {
        if (!isVector(unit))
          return kills.test(unit) && chain.guardWithin(reader, step.guard);
        return kills.test(unit) || (reader == everyLane ? full : chain.lanesWithin(reader, step.lanes));
      });
      if (found->second.empty())
        readers.erase(found);
    });
  }

 private:
  static bool isVector(isa::RegUnit unit) { return unit >= isa::vgprBase; }
  const BlockChain& chain;
  unsigned accum;
  std::map<isa::RegUnit, std::set<std::size_t>> readers; ///< lanes of vector registers, guards of scalar ones
};

} // namespace

std::vector<bool> deadSteps(const program::Program& program, const program::Function& function, const BlockChain& chain,
                            const program::Liveness& live, const std::vector<bool>& full, unsigned accumOffset) {
  std::vector<bool> dead(chain.steps.size());
  if (chain.steps.empty())
    return dead;
  Readers readers(chain, accumOffset);
  const ChainStep& last = chain.steps.back();
  readers.addOutside(program::liveBefore(program, function, live, last.block, accumOffset)[last.index + 1], last.guard);
  for (std::size_t s = chain.steps.size(); s-- > 0;) {
    const ChainStep& step = chain.steps[s];
    const program::Instr& instr = program.blocks[step.block].instrs[step.index];
    const isa::RegSet writes = step.inst->writes(accumOffset);
    if (instr.target &&
        (*instr.target == chain.blocks.front() || std::ranges::find(chain.blocks, *instr.target) == chain.blocks.end()))
      readers.addOutside(live.liveIn[*instr.target], step.guard);
    const bool pure = isPureAlu(*step.inst) && !instr.pcRef && !writes.test(isa::sreg::execLo) &&
                      !writes.test(isa::sreg::execHi) && writes.any();
    if (pure && !readers.any(writes)) {
      dead[s] = true;
      continue;
    }
    readers.removeWritten(step, full[s]);
    readers.addReads(step);
  }
  return dead;
}

} // namespace asmevo::optimize
