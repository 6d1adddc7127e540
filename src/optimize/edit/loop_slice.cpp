#include "optimize/edit/loop_slice.h"

#include "optimize/moves/move_support.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

using isa::InstClass;
using isa::RegSet;

constexpr unsigned scc = isa::sreg::scc;

bool touches(const RegSet& set, unsigned unit) {
  return set.test(unit);
}

/// First SGPR of the mask in s_andn2_b64 exec, exec, s[n:n+1].
std::optional<unsigned> leavingMask(const isa::Instruction& inst) {
  const auto isExec = [](const isa::Operand& operand) {
    return operand.kind == isa::OperandKind::sgpr && operand.index == isa::sreg::execLo;
  };
  if (inst.base != "s_andn2_b64" || inst.operands.size() != 3 || !isExec(inst.operands[0]) ||
      !isExec(inst.operands[1]) || inst.operands[2].kind != isa::OperandKind::sgpr ||
      inst.operands[2].index >= isa::sreg::vccLo)
    return std::nullopt;
  return inst.operands[2].index;
}

bool writesExec(const RegSet& writes) {
  return touches(writes, isa::sreg::execLo) || touches(writes, isa::sreg::execHi);
}

} // namespace

bool isRepeatable(const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  return isPureAlu(inst) && inst.cls != InstClass::mfma && inst.mods.dpp == isa::DppCtrl::none &&
         !base.starts_with("v_readlane") && !base.starts_with("v_writelane") && !base.starts_with("v_permlane") &&
         !base.starts_with("v_accvgpr") && !base.starts_with("v_swap");
}

bool storesToGlobal(const isa::Instruction& inst) {
  return (inst.isVectorMemory() && (inst.mayStore || inst.isAtomic())) ||
         (inst.cls == InstClass::smem && inst.mayStore);
}

bool storesReachBarrier(const program::Program& program, const program::Function& function) {
  std::vector<program::BlockId> queue;
  const auto barrierFrom = [&](program::BlockId id, std::size_t at) {
    const auto& instrs = program.blocks[id].instrs;
    return std::any_of(instrs.begin() + static_cast<std::ptrdiff_t>(at), instrs.end(),
                       [](const program::Instr& instr) { return instr.inst->cls == InstClass::barrier; });
  };
  for (const program::BlockId id : function.blocks)
    for (std::size_t i = 0; i < program.blocks[id].instrs.size(); ++i)
      if (storesToGlobal(*program.blocks[id].instrs[i].inst)) {
        if (barrierFrom(id, i))
          return true;
        queue.insert(queue.end(), program.blocks[id].successors.begin(), program.blocks[id].successors.end());
        break;
      }
  std::set<program::BlockId> seen;
  while (!queue.empty()) {
    const program::BlockId id = queue.back();
    queue.pop_back();
    if (!seen.insert(id).second)
      continue;
    if (barrierFrom(id, 0))
      return true;
    queue.insert(queue.end(), program.blocks[id].successors.begin(), program.blocks[id].successors.end());
  }
  return false;
}

std::optional<BlockLoop> blockLoopAt(const program::Program& program, const program::Function& function,
                                     program::BlockId block, unsigned accumOffset) {
  const program::Block& b = program.blocks[block];
  if (b.opaque || b.entersByRegister || b.instrs.size() < 2 || block == function.entryBlock ||
      function.preloadEntry == block || block + 1 >= program.blocks.size())
    return std::nullopt;
  const program::Instr& branch = b.instrs.back();
  if (!branch.target || *branch.target != block)
    return std::nullopt;
  const std::string_view base = branch.inst->base;
  BlockLoop loop{.block = block,
                 .exit = block + 1,
                 .repeatsOnOne = base == "s_cbranch_scc1" || base == "s_cbranch_vccnz",
                 .testsVcc = base.starts_with("s_cbranch_vcc"),
                 .length = b.instrs.size() - 1,
                 .leaving = std::nullopt};
  if (base == "s_cbranch_execnz") {
    loop.leaving = leavingMask(*b.instrs[b.instrs.size() - 2].inst);
    if (!loop.leaving || b.instrs.size() < 3)
      return std::nullopt;
    --loop.length;
  } else if (!base.starts_with("s_cbranch_scc") && !loop.testsVcc) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < loop.length; ++i) {
    const isa::Instruction& inst = *b.instrs[i].inst;
    const bool known = inst.cls != InstClass::unknown && inst.cls != InstClass::jump && inst.cls != InstClass::endpgm &&
                       inst.cls != InstClass::message && !inst.isBranch() && !inst.entersGprIdxMode();
    if (!known || storesToGlobal(inst) || inst.isLdsDma() || b.instrs[i].pcRef || inst.base.starts_with("s_setreg") ||
        inst.base.starts_with("s_set_gpr") || inst.base.starts_with("s_movrel") || inst.base.starts_with("v_movrel") ||
        inst.base.starts_with("buffer_inv") || inst.base.starts_with("buffer_wbl2") ||
        writesExec(inst.writes(accumOffset)))
      return std::nullopt;
  }
  const bool hasBarrier =
      std::ranges::any_of(b.instrs, [](const program::Instr& instr) { return instr.inst->cls == InstClass::barrier; });
  if (hasBarrier && storesReachBarrier(program, function))
    return std::nullopt;
  return loop;
}

namespace {

bool isPlainLoad(const isa::Instruction& inst) {
  return inst.isVectorMemory() && inst.mayLoad && !inst.mayStore && !inst.isAtomic() && !inst.mods.tfe &&
         inst.cls != InstClass::scratch && inst.cls != InstClass::flat && !inst.isLdsDma();
}

/// Sorts out what comes from loads of the slice. False where that cannot run behind all the rest: the rest needs it, or
/// overwrites what it uses, or it takes a flag from there. `carried`: read at the start of the next iteration.
bool separate(const std::vector<program::Instr>& instrs, LoopSlice& slice, const RegSet& carried,
              unsigned accumOffset) {
  std::set<std::size_t> order = slice.work;
  order.insert(slice.loads.begin(), slice.loads.end());
  RegSet flags;
  for (const unsigned unit : {unsigned{scc}, unsigned{isa::sreg::vccLo}, unsigned{isa::sreg::vccHi}})
    flags.set(unit);
  RegSet loaded, flagsOfSecond;
  for (const std::size_t i : order) {
    const isa::Instruction& inst = *instrs[i].inst;
    const RegSet reads = inst.reads(accumOffset), writes = inst.writes(accumOffset);
    const bool second = reads.intersects(loaded);
    if (second) {
      slice.second.insert(i);
      RegSet foreign = reads & flags;
      if (foreign.remove(flagsOfSecond).any())
        return false;
    }
    if (second || slice.loads.contains(i))
      loaded |= writes;
    else
      loaded.remove(writes);
    (second ? flagsOfSecond |= writes & flags : flagsOfSecond.remove(writes));
  }
  if (loaded.intersects(carried))
    return false;
  for (const std::size_t i : slice.second) {
    RegSet used = instrs[i].inst->reads(accumOffset);
    if (!slice.loads.contains(i))
      used |= instrs[i].inst->writes(accumOffset);
    for (auto j = order.upper_bound(i); j != order.end(); ++j)
      if (!slice.second.contains(*j) && slice.work.contains(*j) &&
          instrs[*j].inst->writes(accumOffset).intersects(used))
        return false;
  }
  return true;
}

} // namespace

std::optional<LoopSlice> sliceOf(const program::Program& program, const BlockLoop& loop,
                                 const std::set<std::size_t>& loads, unsigned accumOffset, bool throughLoads) {
  const auto& instrs = program.blocks[loop.block].instrs;
  RegSet writtenInLoop;
  for (std::size_t i = 0; i < loop.length; ++i)
    writtenInLoop |= instrs[i].inst->writes(accumOffset);
  LoopSlice slice;
  slice.loads = loads;
  bool pure = true;
  // What `needed` before `position` comes from, back to the body's start; what is left is an input.
  const auto trace = [&](RegSet needed, std::size_t position) {
    for (std::size_t i = position; i-- > 0;) {
      const isa::Instruction& inst = *instrs[i].inst;
      const RegSet writes = inst.writes(accumOffset);
      if (!writes.intersects(needed))
        continue;
      if (throughLoads && isPlainLoad(inst)) {
        slice.loads.insert(i);
      } else {
        pure = pure && isRepeatable(inst);
        slice.work.insert(i);
      }
      needed.remove(writes);
      RegSet reads = inst.reads(accumOffset);
      needed |= reads;
    }
    return needed;
  };
  RegSet end;
  if (loop.leaving) {
    end.set(*loop.leaving);
    end.set(*loop.leaving + 1);
  } else if (loop.testsVcc) {
    end.set(isa::sreg::vccLo);
    end.set(isa::sreg::vccHi);
  } else {
    end.set(scc);
  }
  slice.inputs = trace(end, loop.length);
  for (const std::size_t load : loads)
    slice.inputs |= trace(instrs[load].inst->reads(accumOffset), load);
  // Inputs that the loop changes are computed along.
  for (RegSet known; pure;) {
    RegSet carried = slice.inputs & writtenInLoop;
    RegSet fresh = carried;
    fresh.remove(known);
    if (!fresh.any())
      break;
    known |= fresh;
    slice.inputs |= trace(fresh, loop.length);
  }
  if (!pure)
    return std::nullopt;
  const RegSet carried = slice.inputs & writtenInLoop;
  for (const unsigned unit :
       {unsigned{scc}, unsigned{isa::sreg::vccLo}, unsigned{isa::sreg::vccHi}, unsigned{isa::sreg::m0}})
    if (carried.test(unit))
      return std::nullopt;
  for (const std::size_t i : slice.work)
    if (instrs[i].inst->writes(accumOffset).test(isa::sreg::m0))
      return std::nullopt;
  if (throughLoads && !separate(instrs, slice, carried | end, accumOffset))
    return std::nullopt;
  return slice;
}

} // namespace asmevo::optimize
