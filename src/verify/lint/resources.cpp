#include "verify/lint/parts.h"

#include "program/analysis/call_closure.h"
#include "program/analysis/memory_dependence.h"

#include <algorithm>

namespace asmevo::verify {

namespace {

using isa::InstClass;
using isa::OperandKind;
using program::Place;

/// Bytes of LDS that a workgroup can have at all (ISA manuals, "Local Data Share").
std::uint64_t largestLds(const object::Target& target) {
  return target.processor == "gfx950" ? 160 * 1024 : 64 * 1024;
}

class ResourceLint {
 public:
  ResourceLint(LintContext& c, const program::Function& k, const object::KernelDescriptor& d)
      : context(c), kernel(k), target(c.object.target()), descriptor(d) {}

  void run() {
    limits.vgprs = descriptor.allocatedVgprs(target);
    limits.accumOffset = target.hasUnifiedRegisterFile() ? descriptor.accumOffset(target) : 0;
    limits.sgprs = descriptor.allocatedSgprs(target);
    for (const program::Function* function :
         program::callClosure(context.code, kernel, program::UnknownCallees::leaveOut).functions) {
      bool lds = false;
      for (const program::BlockId id : function->blocks) {
        const program::Block& block = context.code.blocks[id];
        for (std::uint32_t i = 0; i < block.instrs.size() && !block.opaque; ++i) {
          checkRegisters({id, i}, *function);
          lds |= block.instrs[i].inst->cls == InstClass::lds;
        }
      }
      if (lds)
        checkLds(*function);
    }
  }

 private:
  struct Limits {
    unsigned vgprs = 0, accumOffset = 0, sgprs = 0;
  };

  void checkRegisters(Place place, const program::Function& function) {
    for (const isa::Operand& operand : context.at(place).inst->operands) {
      const unsigned end = operand.index + unsigned{operand.dwords};
      if (operand.kind == OperandKind::vgpr && end > limits.vgprs)
        addRegister("registers.vgpr", 'v', end - 1, limits.vgprs, place, function);
      else if (operand.kind == OperandKind::agpr && limits.accumOffset + end > limits.vgprs)
        addRegister("registers.accum", 'a', end - 1, limits.vgprs - std::min(limits.vgprs, limits.accumOffset), place,
                    function);
      else if (operand.kind == OperandKind::sgpr && operand.index < isa::sreg::flatScratchLo && end > limits.sgprs)
        addRegister("registers.sgpr", 's', end - 1, limits.sgprs, place, function);
    }
  }

  void addRegister(const char* rule, char file, unsigned number, unsigned allocated, Place place,
                   const program::Function& function) {
    LintFinding finding = context.start("registers", rule, Severity::error, place, place, function);
    finding.need = number + 1;
    finding.have = allocated;
    finding.message = fmt::format("{}{} is used, but {} allocates {}", file, number, kernel.name, allocated);
    context.add(std::move(finding));
  }

  void checkLds(const program::Function& function) {
    const program::MemoryDependence memory(context.code, function, context.accumOffsetOf(function));
    const std::uint64_t declared = descriptor.groupSegmentSize();
    for (const program::BlockId id : function.blocks)
      for (std::uint32_t i = 0; i < context.code.blocks[id].instrs.size(); ++i) {
        const isa::Instruction& inst = *context.code.blocks[id].instrs[i].inst;
        const program::MemoryAddress* address =
            inst.cls == InstClass::lds && !inst.mods.gds ? memory.addressOf({id, i}) : nullptr;
        if (!address || address->space != program::MemoryAddress::Space::lds || !address->offset.isConstant())
          continue;
        std::uint64_t end = 0;
        for (const auto& range : address->ranges)
          end = std::max(end, address->offset.constant + static_cast<std::uint64_t>(range.end));
        const std::uint64_t allocated = declared + context.options.dynamicLds.value_or(0);
        if (end > allocated)
          addLds({id, i}, end, allocated, function);
      }
  }

  void addLds(Place place, std::uint64_t end, std::uint64_t allocated, const program::Function& function) {
    // A launch may add to a kernel that declares none: only it can tell.
    const bool unknown = !context.options.dynamicLds && allocated == 0 && end <= largestLds(target);
    LintFinding finding =
        context.start("lds", "lds.beyond", unknown ? Severity::note : Severity::error, place, place, function);
    finding.need = static_cast<unsigned>(std::min<std::uint64_t>(end, ~0u));
    finding.have = static_cast<unsigned>(allocated);
    finding.message =
        unknown ? fmt::format("LDS up to byte {} is used: the launch must add it, {} declares none", end, kernel.name)
                : fmt::format("LDS up to byte {} is used, but {} allocates {}", end, kernel.name, allocated);
    context.add(std::move(finding));
  }

  LintContext& context;
  const program::Function& kernel;
  const object::Target& target;
  const object::KernelDescriptor& descriptor;
  Limits limits;
};

} // namespace

void lintResources(LintContext& context) {
  for (const auto& function : context.code.functions)
    if (function.kernel)
      ResourceLint(context, function, context.object.kernels()[*function.kernel].descriptor).run();
}

} // namespace asmevo::verify
