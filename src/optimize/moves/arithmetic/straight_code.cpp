#include "optimize/moves/arithmetic/straight_code.h"

#include "optimize/moves/move_support.h"
#include "optimize/repair.h"
#include "program/analysis/call_closure.h"
#include "program/analysis/liveness.h"
#include "program/analysis/wait_lint.h"

#include <algorithm>
#include <bit>

namespace asmevo::optimize {

using isa::OperandKind;
using program::BlockId;

namespace {

bool isVector(const isa::Instruction& inst) {
  return inst.cls == isa::InstClass::valu || inst.cls == isa::InstClass::mfma || inst.cls == isa::InstClass::lds ||
         inst.isVectorMemory();
}

bool writesExec(const isa::RegSet& writes) {
  return writes.test(isa::sreg::execLo) || writes.test(isa::sreg::execHi);
}

/// The constant that the instruction moves to its register.
std::optional<std::uint32_t> movedConstant(const program::Instr& instr) {
  const isa::Instruction& inst = *instr.inst;
  if (instr.pcRef || inst.operands.size() != 2 || inst.operands[1].kind != OperandKind::imm || !isPlain(inst))
    return std::nullopt;
  if (inst.base == "s_mov_b32" || inst.base == "v_mov_b32")
    return static_cast<std::uint32_t>(inst.operands[1].imm);
  if (inst.base == "s_movk_i32")
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int16_t>(inst.operands[1].imm)));
  return std::nullopt;
}

} // namespace

FunctionFacts::FunctionFacts(const program::Program& p, const program::Function& f, const MoveContext& c)
    : program(p), function(f), context(c) {
  const program::CallClosure closure =
      program::callClosure(program, function, program::UnknownCallees::anyDeviceFunction);
  known = !closure.unknownCallee;
  for (const program::Function* each : closure.functions) {
    known = known && !program::usesGprIndexing(program, *each) && !program::maySkipVectors(program, *each);
    for (const BlockId id : each->blocks)
      for (const program::Instr& instr : program.blocks[id].instrs) {
        const std::string_view base = instr.inst->base;
        known = known && instr.inst->cls != isa::InstClass::unknown && !base.starts_with("v_movrel") &&
                !base.starts_with("s_movrel") && !base.starts_with("v_swaprel") && base != "s_trap" &&
                !instr.inst->choosesVgprBank;
      }
  }
  if (!known)
    return;
  live = program::liveness(program, function, context.accumOffset).liveOut;
  facts = verify::availableFacts(program, function, context.accumOffset);
}

std::optional<std::uint32_t> FunctionFacts::constantIn(isa::RegUnit unit, BlockId block) const {
  const auto fact = facts[block].find(unit);
  return fact == facts[block].end() ? std::nullopt : movedConstant(*fact->second);
}

StraightCode::StraightCode(const FunctionFacts& f, BlockId block) : facts(f), id(block), accum(f.context.accumOffset) {
  for (const program::Instr& instr : facts.program.blocks[id].instrs) {
    lines.emplace_back();
    lines.back().instr = instr;
    fill(lines.back());
  }
}

void StraightCode::fill(Line& line) const {
  const isa::Instruction& inst = *line.instr.inst;
  line.reads = inst.reads(accum);
  line.writes = inst.writes(accum);
  line.kills = inst.kills(accum);
  line.vector = isVector(inst);
  line.writesExec = writesExec(line.writes) || inst.leavesFunction();
  line.writesMode = line.writes.test(isa::sreg::mode);
}

bool StraightCode::isEditable(std::size_t index) const {
  const program::Instr& instr = lines[index].instr;
  return !lines[index].removed && !instr.pcRef && instr.getpcId == 0 && !instr.target && instr.codeTable == 0 &&
         !instr.inst->leavesFunction() && !instr.inst->isTerminator;
}

std::size_t StraightCode::definition(isa::RegUnit unit, std::size_t at) const {
  for (std::size_t i = at; i-- > 0;) {
    if (lines[i].removed)
      continue;
    if (lines[i].writes.test(unit))
      return lines[i].writesExec ? npos : i;
    if (lines[i].writesExec)
      return npos;
  }
  return npos;
}

bool StraightCode::unchangedBetween(const isa::RegSet& units, std::size_t from, std::size_t to) const {
  for (std::size_t i = from + 1; i < to; ++i)
    if (!lines[i].removed && lines[i].writes.intersects(units))
      return false;
  return true;
}

bool StraightCode::unreadBetween(isa::RegUnit unit, std::size_t from, std::size_t to) const {
  for (std::size_t i = from + 1; i < to; ++i)
    if (!lines[i].removed && lines[i].reads.test(unit))
      return false;
  return true;
}

bool StraightCode::sameLanes(std::size_t from, std::size_t to) const {
  for (std::size_t i = from; i < to; ++i)
    if (!lines[i].removed && (lines[i].writesExec || lines[i].writesMode))
      return false;
  return true;
}

bool StraightCode::deadAfter(isa::RegUnit unit, std::size_t at) const {
  for (std::size_t i = at + 1; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.removed)
      continue;
    if (line.reads.test(unit))
      return false;
    if (line.kills.test(unit) || (line.vector && line.writes.test(unit)))
      return true;
    if (line.writesExec) {
      // From here on whatever is read in any lane counts.
      for (std::size_t j = i + 1; j < lines.size(); ++j) {
        if (lines[j].removed)
          continue;
        if (lines[j].reads.test(unit) || lines[j].instr.inst->leavesFunction())
          return false;
        if (lines[j].kills.test(unit))
          return true;
      }
      return !facts.liveAtEnd(id).test(unit);
    }
  }
  return !facts.liveAtEnd(id).test(unit);
}

std::optional<std::vector<std::size_t>> StraightCode::usesOf(isa::RegUnit unit, std::size_t at) const {
  std::vector<std::size_t> uses;
  for (std::size_t i = at + 1; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (line.removed)
      continue;
    if (line.reads.test(unit))
      uses.push_back(i);
    if (line.kills.test(unit) || (line.vector && line.writes.test(unit)))
      return uses;
    if (line.writesExec) {
      if (!deadAfter(unit, i - 1))
        return std::nullopt;
      return uses;
    }
  }
  if (facts.liveAtEnd(id).test(unit))
    return std::nullopt;
  return uses;
}

std::optional<std::uint32_t> StraightCode::constant(const isa::Operand& operand, std::size_t at) const {
  if (operand.kind == OperandKind::imm)
    return static_cast<std::uint32_t>(operand.imm);
  if (operand.kind != OperandKind::sgpr || operand.dwords != 1 || operand.index >= isa::sreg::vccLo)
    return std::nullopt;
  for (std::size_t i = at; i-- > 0;)
    if (!lines[i].removed && lines[i].writes.test(operand.index))
      return movedConstant(lines[i].instr);
  return facts.constantIn(operand.index, id);
}

std::optional<std::uint32_t> StraightCode::vectorConstant(const isa::Operand& operand, std::size_t at) const {
  if (operand.kind != OperandKind::vgpr || operand.dwords != 1)
    return std::nullopt;
  const isa::RegUnit unit = isa::vgprUnit(operand.index);
  for (std::size_t i = at; i-- > 0;) {
    if (lines[i].removed)
      continue;
    if (lines[i].writesExec)
      return std::nullopt;
    if (!lines[i].writes.test(unit))
      continue;
    const isa::Instruction& inst = *lines[i].instr.inst;
    if (inst.base != "v_mov_b32" || !isPlain(inst) || lines[i].instr.pcRef)
      return std::nullopt;
    return constant(inst.operands[1], i);
  }
  return facts.constantIn(unit, id);
}

std::optional<unsigned> StraightCode::vgprHolding(std::uint32_t value, std::size_t at) const {
  std::vector<bool> written(256);
  for (std::size_t i = at; i-- > 0;) {
    if (lines[i].removed)
      continue;
    if (lines[i].writesExec)
      return std::nullopt;
    const isa::Instruction& inst = *lines[i].instr.inst;
    if (inst.base == "v_mov_b32" && isPlain(inst) && !lines[i].instr.pcRef &&
        inst.operands[0].kind == OperandKind::vgpr && !written[inst.operands[0].index & 255] &&
        constant(inst.operands[1], i) == value)
      return inst.operands[0].index;
    lines[i].writes.forEach([&](isa::RegUnit unit) {
      if (unit >= isa::vgprBase && unit < isa::vgprBase + 256)
        written[unit - isa::vgprBase] = true;
    });
  }
  for (unsigned v = 0; v < written.size(); ++v)
    if (!written[v] && facts.constantIn(isa::vgprUnit(v), id) == value)
      return v;
  return std::nullopt;
}

std::optional<unsigned> StraightCode::sgprHolding(std::uint32_t value, std::size_t at) const {
  std::vector<bool> written(isa::sreg::vccLo);
  for (std::size_t i = at; i-- > 0;) {
    if (lines[i].removed)
      continue;
    for (unsigned s = 0; s < written.size(); ++s)
      if (!written[s] && lines[i].writes.test(s)) {
        if (movedConstant(lines[i].instr) == value)
          return s;
        written[s] = true;
      }
  }
  for (unsigned s = 0; s < written.size(); ++s)
    if (!written[s] && facts.constantIn(static_cast<isa::RegUnit>(s), id) == value)
      return s;
  return std::nullopt;
}

std::optional<isa::RegUnit> StraightCode::unitOf(const isa::Operand& operand) const {
  if (operand.dwords != 1 || operand.half != 0)
    return std::nullopt;
  switch (operand.kind) {
  case OperandKind::vgpr:
    return isa::vgprUnit(operand.index);
  case OperandKind::agpr:
    return isa::vgprUnit(accum + operand.index);
  case OperandKind::sgpr:
    if (operand.index < isa::sreg::vccLo)
      return static_cast<isa::RegUnit>(operand.index);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

bool StraightCode::replace(std::size_t index, const std::string& text) {
  auto made = codec().assemble(text);
  if (!made)
    return false;
  replace(index, *made);
  return true;
}

void StraightCode::replace(std::size_t index, isa::InstRef inst) {
  lines[index].instr.inst = codec().complete(inst);
  fill(lines[index]);
  ++edited;
}

void StraightCode::remove(std::size_t index) {
  lines[index].removed = true;
  ++edited;
}

bool StraightCode::insert(std::size_t index, const std::string& text) {
  auto made = codec().assemble(text);
  if (!made)
    return false;
  program::Instr instr;
  instr.inst = codec().complete(*made);
  lines[index].inserted.push_back(instr);
  ++edited;
  return true;
}

std::vector<program::Instr> StraightCode::instructions() const {
  std::vector<program::Instr> result;
  for (const Line& line : lines) {
    result.insert(result.end(), line.inserted.begin(), line.inserted.end());
    if (!line.removed)
      result.push_back(line.instr);
  }
  return result;
}

std::string operandText(const isa::Instruction& inst, std::size_t operand) {
  const isa::Operand& o = inst.operands[operand];
  return inst.text.substr(o.textBegin, o.textEnd - o.textBegin);
}

bool isPlain(const isa::Instruction& inst) {
  const isa::Modifiers& m = inst.mods;
  if (m.dpp != isa::DppCtrl::none || m.isSdwa || m.clamp || m.omod != 0 || m.opSel != 0 || m.opSelPrinted ||
      m.opSelHiPrinted || m.negLo != 0 || m.negHi != 0)
    return false;
  return std::ranges::none_of(inst.operands,
                              [](const isa::Operand& o) { return o.neg || o.abs || o.sext || o.half != 0; });
}

bool finishEdit(const program::Program& before, Proposal& proposal, const MoveContext& context) {
  proposal.program.relink();
  const auto uncovered = [&](const program::Program& p) {
    return program::uncoveredUses(p, *kernelFunction(p, context), context.accumOffset).size();
  };
  return uncovered(proposal.program) <= uncovered(before) && repairWaitStates(before, proposal.program, context);
}

std::vector<BlockId> editableBlocks(const program::Program& program, const program::Function& function,
                                    const MoveContext& context, std::size_t limit) {
  std::vector<BlockId> blocks;
  for (const HotWindow& window : context.windows)
    if (window.block < program.blocks.size() && !program.blocks[window.block].opaque &&
        std::ranges::find(function.blocks, window.block) != function.blocks.end() && blocks.size() < limit)
      blocks.push_back(window.block);
  return blocks;
}

} // namespace asmevo::optimize
