#include "optimize/edit/registers.h"

#include "optimize/block_graph.h"
#include "optimize/moves/move_support.h"
#include "program/analysis/call_closure.h"
#include "program/resources.h"
#include "support/round_up.h"

#include <algorithm>

namespace asmevo::optimize {

using isa::OperandKind;

namespace {

constexpr unsigned fileSize = 256;   ///< VGPRs or AGPRs that an operand can name
constexpr unsigned sgprsNamed = 102; ///< s0 to s101; FLAT_SCRATCH, XNACK_MASK and VCC follow (CDNA3 ISA, "SGPRs")

char fileLetter(RegisterFile file) {
  return file == RegisterFile::sgpr ? 's' : file == RegisterFile::vgpr ? 'v' : 'a';
}

OperandKind kindOf(RegisterFile file) {
  return file == RegisterFile::sgpr   ? OperandKind::sgpr
         : file == RegisterFile::vgpr ? OperandKind::vgpr
                                      : OperandKind::agpr;
}

/// The same operand but for the registers it names.
bool differsInRegisterOnly(const isa::Operand& x, const isa::Operand& y) {
  return x.dwords == y.dwords && x.isDef == y.isDef && x.half == y.half && x.neg == y.neg && x.abs == y.abs &&
         x.sext == y.sext && x.imm == y.imm && x.fp == y.fp;
}

/// Does `inst` read or write a register that its operands do not name?
bool touchesImplicitly(const isa::Instruction& inst, const RegisterTuple& tuple) {
  constexpr unsigned accum = fileSize;
  isa::RegSet touched = inst.reads(accum) | inst.writes(accum);
  for (const isa::Operand& operand : inst.operands)
    if (const auto named = tupleOf(operand))
      touched.remove(unitsOf(*named, accum));
  return touched.intersects(unitsOf(tuple, accum));
}

} // namespace

std::string registerText(const RegisterTuple& tuple) {
  if (tuple.count == 1)
    return fmt::format("{}{}", fileLetter(tuple.file), tuple.first);
  return fmt::format("{}[{}:{}]", fileLetter(tuple.file), tuple.first, tuple.first + tuple.count - 1);
}

std::optional<RegisterTuple> tupleOf(const isa::Operand& operand) {
  switch (operand.kind) {
  case OperandKind::vgpr:
    return RegisterTuple{RegisterFile::vgpr, operand.index, operand.dwords};
  case OperandKind::agpr:
    return RegisterTuple{RegisterFile::agpr, operand.index, operand.dwords};
  case OperandKind::sgpr:
    if (unsigned{operand.index} + operand.dwords <= sgprsNamed)
      return RegisterTuple{RegisterFile::sgpr, operand.index, operand.dwords};
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

isa::RegSet unitsOf(const RegisterTuple& tuple, unsigned accumOffset) {
  isa::RegSet units;
  const std::size_t base = tuple.file == RegisterFile::sgpr   ? 0u
                           : tuple.file == RegisterFile::vgpr ? std::size_t{isa::vgprBase}
                                                              : std::size_t{isa::vgprBase} + accumOffset;
  for (std::size_t i = 0; i < tuple.count; ++i)
    if (base + tuple.first + i < isa::regUnitCount)
      units.set(base + tuple.first + i);
  return units;
}

unsigned alignmentOf(RegisterFile file, unsigned count, const object::Target& target) {
  if (count == 1)
    return 1;
  if (file == RegisterFile::sgpr)
    return count == 2 ? 2 : 4;
  return target.hasUnifiedRegisterFile() ? 2 : 1;
}

Result<isa::InstRef> renameOperands(const isa::Instruction& inst, std::span<const OperandRename> renames,
                                    isa::Codec& codec) {
  std::vector<isa::Operand> expected = inst.operands;
  std::vector<OperandRename> byText(renames.begin(), renames.end());
  for (const OperandRename& rename : byText) {
    if (rename.operand >= inst.operands.size())
      return refused("'{}' has no operand {}", inst.text, rename.operand);
    const isa::Operand& operand = inst.operands[rename.operand];
    if (!tupleOf(operand) || operand.textBegin >= operand.textEnd || operand.textEnd > inst.text.size() ||
        operand.half != 0)
      return refused("operand {} of '{}' names no registers of its own", rename.operand, inst.text);
    expected[rename.operand].index = static_cast<std::uint16_t>(rename.first);
    expected[rename.operand].kind = kindOf(rename.file);
  }
  // From the end, so that the places in front keep their text.
  std::ranges::sort(byText, std::greater<>{},
                    [&](const OperandRename& rename) { return inst.operands[rename.operand].textBegin; });
  std::string text = inst.text;
  std::size_t last = text.size();
  for (const OperandRename& rename : byText) {
    const isa::Operand& operand = inst.operands[rename.operand];
    if (operand.textEnd > last)
      return refused("two renames of one operand of '{}'", inst.text);
    last = operand.textBegin;
    text.replace(operand.textBegin, operand.textEnd - operand.textBegin,
                 registerText({rename.file, rename.first, operand.dwords}));
  }
  ASMEVO_TRY(isa::InstRef renamed, codec.assemble(text));
  renamed = codec.complete(renamed);
  const bool sameForm =
      renamed->mnemonic == inst.mnemonic && renamed->size == inst.size && renamed->operands.size() == expected.size();
  for (std::size_t i = 0; sameForm && i < expected.size(); ++i) {
    const isa::Operand& got = renamed->operands[i];
    if (got.kind != expected[i].kind || got.index != expected[i].index || !differsInRegisterOnly(got, expected[i]))
      return refused("'{}' reads back with another operand {}", text, i);
  }
  if (!sameForm)
    return refused("'{}' is another form than '{}'", text, inst.text);
  return renamed;
}

Result<isa::InstRef> replaceRegisters(const isa::Instruction& inst, const RegisterTuple& from, const RegisterTuple& to,
                                      isa::Codec& codec) {
  if (from.count != to.count)
    return refused("{} and {} differ in size", registerText(from), registerText(to));
  if (touchesImplicitly(inst, from))
    return refused("'{}' touches {} without naming it", inst.text, registerText(from));
  std::vector<OperandRename> renames;
  for (std::size_t i = 0; i < inst.operands.size(); ++i) {
    const auto named = tupleOf(inst.operands[i]);
    if (!named || named->file != from.file || named->first >= from.first + from.count ||
        named->first + named->count <= from.first)
      continue;
    if (named->first < from.first || named->first + named->count > from.first + from.count)
      return refused("'{}' names more than {} in one operand", inst.text, registerText(from));
    renames.push_back({i, to.first + (named->first - from.first), to.file});
  }
  if (renames.empty())
    return &inst;
  return renameOperands(inst, renames, codec);
}

WholeWaves wholeWavesOf(const MoveContext& context) {
  const unsigned wave = context.kernel.descriptor.isWave32() ? 32 : 64;
  if (context.kernel.metadata)
    if (const auto& required = context.kernel.metadata->requiredWorkgroupSize;
        required && std::uint64_t{(*required)[0]} * (*required)[1] * (*required)[2] != 0 &&
        std::uint64_t{(*required)[0]} * (*required)[1] * (*required)[2] % wave == 0)
      return WholeWaves::known;
  if (!context.launches || context.launches->cases.empty())
    return WholeWaves::unknown;
  const bool whole = std::ranges::all_of(context.launches->cases, [&](const auto& launch) {
    const auto& size = launch.workgroupSize;
    const std::uint64_t items = std::uint64_t{size[0]} * size[1] * size[2];
    bool divides = items != 0 && items % wave == 0;
    for (std::size_t d = 0; d < 3; ++d)
      divides = divides && launch.gridSize[d] % size[d] == 0;
    return divides;
  });
  return whole ? WholeWaves::assumed : WholeWaves::unknown;
}

RegisterKit::RegisterKit(const program::Program& p, const MoveContext& c, WholeWaves waves)
    : program(p), context(c), function(kernelFunction(p, c)), wholeWaves(waves), accum(c.accumOffset) {
  if (!function)
    return;
  const program::CallClosure closure =
      program::callClosure(program, *function, program::UnknownCallees::anyDeviceFunction);
  known = !closure.unknownCallee;
  for (const program::Function* each : closure.functions) {
    known = known && !program::usesGprIndexing(program, *each) && !program::maySkipVectors(program, *each);
    for (const program::BlockId id : each->blocks) {
      known = known && !program.blocks[id].opaque;
      for (const program::Instr& instr : program.blocks[id].instrs) {
        const std::string_view base = instr.inst->base;
        known = known && instr.inst->cls != isa::InstClass::unknown && !base.starts_with("v_movrel") &&
                !base.starts_with("s_movrel") && !base.starts_with("v_swaprel") && base != "s_trap" &&
                !instr.inst->choosesVgprBank;
      }
    }
  }
  findLimits();
  live = program::liveness(program, *function, accum, waves != WholeWaves::unknown);
  for (const InFlight& entry : inFlightAtEntry(program, *function, accum)) {
    isa::RegSet both;
    for (const isa::RegSet& destinations : entry.destinations)
      both |= destinations;
    inFlight.push_back(both);
  }
  for (const program::Function* each : closure.functions)
    for (const program::BlockId id : each->blocks)
      for (const program::Instr& instr : program.blocks[id].instrs)
        everywhere |= instr.inst->reads(accum) | instr.inst->writes(accum);
  if (!closure.functions.empty())
    everywhere |= live.liveIn[function->entryBlock];
}

void RegisterKit::findLimits() {
  const object::Target& target = context.object.target();
  const auto kernel = static_cast<std::size_t>(&context.kernel - context.object.kernels().data());
  const object::KernelDescriptor& descriptor = context.kernel.descriptor;
  limits.accumOffset = context.accumOffset;
  const auto derived = program::deriveResources(context.object, program, program::ResourceDetail::registers);
  const auto mine = derived ? std::ranges::find(*derived, kernel, &program::KernelResources::kernel)
                            : std::vector<program::KernelResources>::const_iterator();
  if (!derived || mine == derived->end()) {
    known = false;
    return;
  }
  known = known && mine->unproven.empty();
  limits.vgprsUsed = mine->need.vgprs;
  limits.agprsUsed = mine->need.agprs;
  limits.sgprsUsed = mine->need.sgprs;
  const auto found = program.resources.find(kernel);
  const program::ResourceEdit edit = found == program.resources.end() ? program::ResourceEdit{} : found->second;
  const object::KernelDescriptor& base = edit.descriptor ? *edit.descriptor : descriptor;
  const unsigned total = edit.vgprs.value_or(base.allocatedVgprs(target));
  const unsigned border = edit.accumOffset.value_or(base.accumOffset(target));
  std::uint32_t lds = edit.ldsBytes.value_or(base.groupSegmentSize());
  if (context.launches)
    for (const auto& launch : context.launches->cases)
      lds = std::max(lds, edit.ldsBytes.value_or(base.groupSegmentSize()) + launch.dynamicLdsBytes);
  const auto workgroups = [&](unsigned vgprs, unsigned sgprs) {
    return object::occupancyOf(target, vgprs, sgprs, lds, context.workgroupSize, base.isWave32() ? 32 : 64)
        .workgroupsPerCu;
  };
  unsigned wanted = workgroups(total, base.allocatedSgprs(target));
  if (context.profile.occupancyLimiter == "grid" && context.profile.workgroupsPerCu > 0)
    wanted = std::min(wanted, context.profile.workgroupsPerCu);
  // VCC, FLAT_SCRATCH and XNACK_MASK are allocated on top (LLVM AMDGPUBaseInfo, getNumExtraSGPRs).
  constexpr unsigned extraSgprs = 6, sgprGranule = 16;
  unsigned allocated = base.allocatedSgprs(target);
  while (allocated < sgprsNamed + extraSgprs && workgroups(total, allocated + sgprGranule) >= wanted)
    allocated += sgprGranule;
  limits.sgprEnd =
      std::max(limits.sgprsUsed, std::min(sgprsNamed, allocated > extraSgprs ? allocated - extraSgprs : 0));

  if (!target.hasUnifiedRegisterFile()) {
    accum = fileSize;
    unsigned most = total;
    while (most < fileSize && workgroups(most + 1, base.allocatedSgprs(target)) >= wanted)
      ++most;
    limits.vgprEnd = limits.agprEnd = std::min(most, fileSize);
    return;
  }
  // Code that knows a register by both names keeps the border where it is, and so does one that has VGPRs beyond it:
  // AGPRs would be those.
  const bool beyond = limits.vgprsUsed > border;
  limits.vgprEnd = beyond ? limits.vgprsUsed : border;
  limits.agprEnd = beyond ? limits.agprsUsed : total > border ? total - border : 0;
  if (mine->accumFixed || (beyond && limits.agprsUsed > 0))
    return;
  accum = fileSize;
  const unsigned agprs = limits.agprsUsed > 0 && total > border ? total - border : 0;
  for (unsigned next = roundUp(limits.vgprEnd + 1, 4); next <= fileSize; next += 4) {
    const unsigned needed = std::max(total, next + agprs);
    if (needed > 2 * fileSize || workgroups(needed, base.allocatedSgprs(target)) < wanted)
      break;
    limits.vgprEnd = next;
  }
  if (limits.agprsUsed == 0)
    limits.agprEnd = 0; // the VGPRs that may grow come first
}

isa::RegSet RegisterKit::busyOver(std::span<const program::BlockId> blocks) const {
  isa::RegSet busy;
  if (!known)
    return program::allUnits();
  for (const program::BlockId id : blocks) {
    busy |= live.liveIn[id] | live.liveOut[id] | inFlight[id];
    for (const program::Instr& instr : program.blocks[id].instrs) {
      if (instr.inst->leavesFunction())
        return program::allUnits();
      busy |= instr.inst->reads(accum) | instr.inst->writes(accum);
    }
  }
  return busy;
}

isa::RegSet RegisterKit::busyEverywhere() const {
  return known ? everywhere : program::allUnits();
}

std::optional<RegisterTuple> RegisterKit::take(RegisterFile file, unsigned count, isa::RegSet& busy, unsigned step,
                                               unsigned remainder) const {
  if (!known || count == 0)
    return std::nullopt;
  const unsigned end = file == RegisterFile::sgpr   ? limits.sgprEnd
                       : file == RegisterFile::vgpr ? limits.vgprEnd
                                                    : limits.agprEnd;
  if (step == 0)
    step = alignmentOf(file, count, target());
  for (unsigned first = remainder; first + count <= end; first += step) {
    const RegisterTuple tuple{file, first, count};
    const isa::RegSet units = unitsOf(tuple, accum);
    if (units.intersects(busy))
      continue;
    busy |= units;
    return tuple;
  }
  return std::nullopt;
}

MoveContext RegisterKit::editedContext() const {
  MoveContext edited = context;
  edited.accumOffset = accum;
  return edited;
}

} // namespace asmevo::optimize
