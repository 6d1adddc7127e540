#include "verify/proof/sides.h"

#include <algorithm>

namespace asmevo::verify {

using isa::InstClass;
using isa::Instruction;
using program::Block;
using program::BlockId;
using program::Function;
using program::Instr;
using program::Program;

namespace {

/// Name of a code address that both sides share: a function by its position, which relayout keeps.
std::string codePlace(const Side& side, std::uint64_t address) {
  const auto& functions = side.program->functions;
  const auto at = std::ranges::find(functions, address, &Function::entry);
  return at != functions.end() ? fmt::format("function{}", at - functions.begin()) : fmt::format("{:#x}", address);
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

/// Where a call or jump with a known target goes; jumps that end a block are followed by the walk instead.
std::string jumpPlace(const Side& side, const Instr& instr) {
  return !instr.target || program::flowOf(instr.inst) == program::Flow::jump
             ? std::string()
             : codePlace(side, side.program->blocks[*instr.target].address);
}

} // namespace

bool Side::disjoint(program::Place first, program::Place second) {
  if (!dependence)
    dependence = std::make_unique<program::MemoryDependence>(*program, *function, accumOffset);
  return dependence->areDisjoint(first, second);
}

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

Side sideOf(const Side& original, Program edited) {
  Side side;
  side.object = original.object;
  side.kernel = original.kernel;
  side.accumOffset = original.accumOffset;
  side.program = std::make_unique<Program>(std::move(edited));
  side.function = side.program->functionOf(static_cast<std::size_t>(side.kernel - side.object->kernels().data()));
  side.facts = availableFacts(*side.program, *side.function, side.accumOffset);
  return side;
}

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

bool isWaitLike(const Instr& instr) {
  return instr.inst->cls == InstClass::waitcnt || instr.inst->cls == InstClass::nop;
}

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

} // namespace asmevo::verify
