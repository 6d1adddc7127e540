#include "program/resources.h"

#include "object/review.h"
#include "program/analysis/call_closure.h"
#include "program/analysis/memory_dependence.h"

#include <llvm/Support/AMDHSAKernelDescriptor.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace asmevo::program {

namespace {

using isa::InstClass;
using isa::OperandKind;

constexpr unsigned fileSize = 256; ///< VGPRs or AGPRs that an operand can name

constexpr unsigned banks = 4; ///< of so many on gfx1250 (LLVM's Feature1024AddressableVGPRs)

/// VGPRs and AGPRs a wave can have together.
unsigned mostRegisters(const object::Target& target) {
  if (target.processor == "gfx1250" || target.processor == "gfx1251")
    return banks * fileSize;
  return target.hasUnifiedRegisterFile() ? 2 * fileSize : fileSize;
}

unsigned roundUp(unsigned value, unsigned granule) {
  return (value + granule - 1) / granule * granule;
}

/// Does the instruction stand where K0 has the same bytes?
bool isOriginal(const object::CodeObject& object, const Block& block, const Instr& instr) {
  if (instr.address == noAddress || block.section >= object.sections().size())
    return false;
  const object::Section& section = object.sections()[block.section];
  const auto bytes = instr.inst->bytes();
  if (!section.contains(instr.address) || section.size - (instr.address - section.address) < bytes.size())
    return false;
  const std::uint64_t offset = section.offset + (instr.address - section.address);
  return offset <= object.bytes().size() && object.bytes().size() - offset >= bytes.size() &&
         std::equal(bytes.begin(), bytes.end(), object.bytes().begin() + static_cast<std::ptrdiff_t>(offset));
}

/// Highest registers named, plus one.
struct Named {
  unsigned vgprs = 0, agprs = 0, sgprs = 0;

  void add(const isa::Instruction& inst) {
    for (const isa::Operand& operand : inst.operands) {
      const unsigned end = operand.index + unsigned{operand.dwords};
      if (operand.kind == OperandKind::vgpr)
        vgprs = std::max(vgprs, end);
      else if (operand.kind == OperandKind::agpr)
        agprs = std::max(agprs, end);
      else if (operand.kind == OperandKind::sgpr && operand.index < isa::sreg::flatScratchLo)
        sgprs = std::max(sgprs, end);
    }
  }
  void add(const Named& other) {
    vgprs = std::max(vgprs, other.vgprs);
    agprs = std::max(agprs, other.agprs);
    sgprs = std::max(sgprs, other.sgprs);
  }
};

/// The highest bank that an instruction chooses: S_SET_VGPR_MSB has two bits for each operand, S_SETREG may set any.
unsigned highestBank(const isa::Instruction& inst) {
  if (inst.base != "s_set_vgpr_msb")
    return banks - 1;
  unsigned highest = 0;
  for (unsigned shift = 0; shift < 8; shift += 2)
    highest = std::max(highest, (unsigned{inst.simm16} >> shift) & 3);
  return highest;
}

/// Everything about one kernel that its instructions tell.
struct Use {
  Named all, edited, original;
  unsigned editedBank = 0; ///< the highest that new code chooses
  bool lds = false, memory = false;
  std::set<std::string> unproven;
};

void noteUnproven(const isa::Instruction& inst, Use& use) {
  if (!inst.isComplete)
    use.unproven.insert("instructions that were not decoded in full");
  if (inst.cls == InstClass::mfma || inst.cls == InstClass::lds || inst.isVectorMemory())
    return; // the larger part of most kernels, and nothing below is among it
  for (const std::string_view prefix : {"v_movrel", "s_movrel", "v_swaprel"})
    if (inst.base.starts_with(prefix))
      use.unproven.insert(inst.base + " names a register by M0");
  if (inst.cls == InstClass::valu)
    return;
  if (inst.choosesVgprBank)
    use.unproven.insert(inst.base + " chooses among banks of VGPRs");
  else if (inst.entersGprIdxMode())
    use.unproven.insert(inst.base + " lets vector operations use VGPRs by M0");
  if (inst.base == "s_alloc_vgpr")
    use.unproven.insert("s_alloc_vgpr changes the number of VGPRs");
  if (inst.base == "s_trap")
    use.unproven.insert("a trap handler may look at registers");
  if (inst.base.starts_with("s_rfe"))
    use.unproven.insert("s_rfe returns to code that is not known");
}

Use useOf(const object::CodeObject& object, const Program& program, const Function& kernel) {
  Use use;
  const CallClosure closure = callClosure(program, kernel, UnknownCallees::anyDeviceFunction);
  if (closure.unknownCallee)
    use.unproven.insert("a call whose target is not known");
  for (const Function* function : closure.functions)
    for (const BlockId id : function->blocks) {
      const Block& block = program.blocks[id];
      if (block.opaque) {
        use.unproven.insert("words that could not be decoded");
        continue;
      }
      for (const Instr& instr : block.instrs) {
        const isa::Instruction& inst = *instr.inst;
        noteUnproven(inst, use);
        use.lds |= inst.cls == InstClass::lds || inst.cls == InstClass::flat || inst.isLdsDma();
        use.memory |= inst.isVectorMemory();
        const bool isOriginalCode = isOriginal(object, block, instr);
        (isOriginalCode ? use.original : use.edited).add(inst);
        if (!isOriginalCode && inst.choosesVgprBank)
          use.editedBank = std::max(use.editedBank, highestBank(inst));
      }
    }
  use.all = use.original;
  use.all.add(use.edited);
  // Which instructions see that bank is not followed: any may.
  if (use.editedBank > 0)
    use.edited.vgprs = use.editedBank * fileSize + use.all.vgprs;
  return use;
}

ResourceAllocation declaredBy(const object::KernelDescriptor& descriptor, const object::Target& target) {
  return {descriptor.allocatedVgprs(target), descriptor.accumOffset(target), descriptor.allocatedSgprs(target),
          descriptor.groupSegmentSize(), descriptor.privateSegmentSize()};
}

/// Registers that are loaded before the first instruction (LLVM AMDGPUUsage, "Initial Kernel Execution State").
void addInitialRegisters(const object::KernelDescriptor& descriptor, const object::Target& target, ResourceNeed& need) {
  unsigned scalars = descriptor.userSgprCount() + descriptor.workgroupInfo() + descriptor.privateSegmentEnabled();
  for (unsigned dimension = 0; dimension < 3; ++dimension)
    scalars += descriptor.workgroupId(dimension);
  need.sgprs = std::max(need.sgprs, scalars);
  // Unified targets and gfx11 pack the three work-item ids into v0.
  const bool packed = target.hasUnifiedRegisterFile() || !(target.isGfx9() || target.processor.starts_with("gfx10") ||
                                                           target.processor.starts_with("gfx8"));
  need.vgprs = std::max(need.vgprs, packed ? 1u : std::min(descriptor.workitemIdMode(), 2u) + 1u);
}

/// The descriptor with other register counts; everything is rounded up to granules.
object::KernelDescriptor withRegisters(object::KernelDescriptor descriptor, const object::Target& target,
                                       unsigned vgprs, unsigned accumOffset, unsigned sgprs) {
  descriptor.setVgprs(target, vgprs, accumOffset);
  if (sgprs != descriptor.allocatedSgprs(target))
    descriptor.setSgprs(target, sgprs);
  return descriptor;
}

class Derivation {
 public:
  Derivation(const object::CodeObject& o, const Program& p, const Function& f, std::size_t index)
      : object(o), program(p), function(f), kernel(o.kernels()[index]), descriptor(kernel.descriptor),
        target(o.target()), unified(target.hasUnifiedRegisterFile()) {
    result.kernel = index;
  }

  Result<KernelResources> run(ResourceDetail detail) {
    const Use use = useOf(object, program, function);
    result.declared = result.value = declaredBy(descriptor, target);
    result.need = {use.all.vgprs, use.all.agprs, use.all.sgprs, {}, {}};
    if (!use.lds && use.unproven.empty())
      result.need.ldsBytes = 0;
    else if (const auto end = detail == ResourceDetail::everything ? constantLdsEnd(program, function) : std::nullopt)
      result.need.ldsBytes = static_cast<std::uint32_t>(*end);
    if (!use.memory && use.unproven.empty())
      result.need.scratchBytes = 0;
    addInitialRegisters(descriptor, target, result.need);
    result.unproven.assign(use.unproven.begin(), use.unproven.end());
    result.accumFixed = unified && use.original.vgprs > result.declared.accumOffset && use.original.agprs > 0;
    ASMEVO_CHECK(raise(use));
    findLeast();
    const auto occupancy = [&](const ResourceAllocation& allocation) {
      return object::occupancyOf(target, allocation.vgprs, allocation.sgprs, allocation.ldsBytes,
                                 object::workgroupSizeOf(kernel), descriptor.isWave32() ? 32 : 64);
    };
    result.before = occupancy(result.declared);
    result.after = occupancy(result.value);
    result.atLeast = occupancy(result.least);
    return std::move(result);
  }

 private:
  /// Extra SGPRs that GFX8 and GFX9 put above the numbered ones (LLVM AMDGPUBaseInfo, getNumExtraSGPRs).
  static constexpr unsigned extraSgprs = 6;
  bool hasSgprField() const { return target.isGfx9() || target.processor.starts_with("gfx8"); }

  Status raise(const Use& use) {
    const ResourceAllocation& declared = result.declared;
    unsigned accum = declared.accumOffset, total = declared.vgprs, sgprs = declared.sgprs;
    const Named& edited = use.edited;
    if (unified) {
      // Registers from accum_offset on are AGPRs. New code that names a VGPR there wants one of its own, unless the
      // code that is already there uses both names.
      const unsigned agprs = std::max(use.all.agprs, total > accum ? total - accum : 0);
      if (edited.vgprs > std::max(accum, use.original.vgprs) && !result.accumFixed) {
        accum = std::min(roundUp(edited.vgprs, 4), fileSize);
        total = std::max({total, accum, use.all.agprs ? accum + agprs : 0});
      }
      total = std::max(total, edited.vgprs);
      if (edited.agprs > use.original.agprs)
        total = std::max(total, accum + edited.agprs);
    } else {
      total = std::max({total, edited.vgprs > use.original.vgprs ? edited.vgprs : 0,
                        edited.agprs > use.original.agprs ? edited.agprs : 0});
    }
    if (hasSgprField() && edited.sgprs > use.original.sgprs && edited.sgprs + extraSgprs > sgprs)
      sgprs = edited.sgprs + extraSgprs;
    const unsigned most = mostRegisters(target);
    if (total > most && total > declared.vgprs)
      return refused("kernel '{}' would need {} VGPRs and AGPRs together, {} has {}", kernel.name, total,
                     target.processor, most);
    if (total != declared.vgprs || accum != declared.accumOffset || sgprs != declared.sgprs)
      result.value = declaredBy(withRegisters(descriptor, target, total, accum, sgprs), target);
    return {};
  }

  void findLeast() {
    result.least = result.declared;
    if (!result.unproven.empty())
      return;
    const ResourceNeed& need = result.need;
    // A border that both names depend on stays; else AGPRs follow the VGPRs.
    const unsigned accum =
        result.accumFixed ? result.declared.accumOffset : std::clamp(roundUp(need.vgprs, 4), 4u, fileSize);
    const unsigned total =
        unified ? std::max(need.vgprs, need.agprs ? accum + need.agprs : 0) : std::max(need.vgprs, need.agprs);
    const unsigned sgprs = hasSgprField() ? need.sgprs + extraSgprs : result.declared.sgprs;
    result.least = declaredBy(withRegisters(descriptor, target, std::max(total, 1u), accum, sgprs), target);
    // Dynamic LDS follows the static part, so a smaller static part moves it: only a kernel without any LDS access may
    // give it up.
    result.least.ldsBytes = need.ldsBytes == 0u ? 0 : result.declared.ldsBytes;
    result.least.scratchBytes = need.scratchBytes.value_or(result.declared.scratchBytes);
  }

  const object::CodeObject& object;
  const Program& program;
  const Function& function;
  const object::Kernel& kernel;
  const object::KernelDescriptor& descriptor;
  const object::Target& target;
  bool unified;
  KernelResources result;
};

} // namespace

Result<std::vector<KernelResources>> deriveResources(const object::CodeObject& object, const Program& program,
                                                     ResourceDetail detail) {
  std::vector<KernelResources> all;
  for (const Function& function : program.functions) {
    if (!function.kernel || *function.kernel >= object.kernels().size())
      continue;
    ASMEVO_TRY(KernelResources derived, Derivation(object, program, function, *function.kernel).run(detail));
    all.push_back(std::move(derived));
  }
  return all;
}

bool applyResources(const object::CodeObject& object, const std::vector<KernelResources>& derived, Program& program) {
  bool raised = false;
  const object::Target& target = object.target();
  for (const KernelResources& kernel : derived) {
    if (kernel.value == kernel.declared)
      continue;
    const object::KernelDescriptor& original = object.kernels()[kernel.kernel].descriptor;
    const auto found = program.resources.find(kernel.kernel);
    const ResourceEdit present = found == program.resources.end() ? ResourceEdit() : found->second;
    const object::KernelDescriptor descriptor = present.descriptor.value_or(original);
    const unsigned vgprs = present.vgprs.value_or(descriptor.allocatedVgprs(target));
    const unsigned accum = present.accumOffset.value_or(descriptor.accumOffset(target));
    const unsigned sgprs = descriptor.allocatedSgprs(target);
    if (vgprs >= kernel.value.vgprs && accum >= kernel.value.accumOffset && sgprs >= kernel.value.sgprs)
      continue;
    // An edit that chose the border itself keeps it, and AGPRs their number.
    const unsigned newAccum = std::max(accum, kernel.value.accumOffset);
    const unsigned agprs =
        kernel.value.vgprs > kernel.value.accumOffset ? kernel.value.vgprs - kernel.value.accumOffset : 0;
    const unsigned newVgprs = std::max({vgprs, kernel.value.vgprs, agprs ? newAccum + agprs : 0});
    ResourceEdit& edit = program.resources[kernel.kernel];
    edit.vgprs.reset();
    edit.accumOffset.reset();
    edit.descriptor = withRegisters(descriptor, target, newVgprs, newAccum, std::max(sgprs, kernel.value.sgprs));
    raised = true;
  }
  return raised;
}

} // namespace asmevo::program
