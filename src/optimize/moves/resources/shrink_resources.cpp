#include "optimize/moves/resources/shrink_resources.h"

#include "optimize/lds_bounds.h"
#include "optimize/moves/move_support.h"
#include "program/resources.h"
#include "support/round_up.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

/// LDS is given out in so many bytes (object::occupancyOf).
constexpr std::uint32_t granule = 512;

/// Numbers of hardware registers that hold a wave's allocation (LLVM AMDGPU SIDefines, Hwreg), and the bits of SIMM16
/// that name one.
constexpr unsigned hwregMask = 0x3f, gprAlloc = 5, ldsAlloc = 6;

/// Does some code of the program look at what its wave was given?
bool readsAllocation(const program::Program& program, unsigned hwreg) {
  return std::ranges::any_of(program.blocks, [&](const program::Block& block) {
    return std::ranges::any_of(block.instrs, [&](const program::Instr& instr) {
      return instr.inst->base.starts_with("s_getreg") && (instr.inst->simm16 & hwregMask) == hwreg;
    });
  });
}

/// A kernel's numbers as they are declared now, and cuts of them.
class Cutter {
 public:
  Cutter(const program::Program& p, const MoveContext& c)
      : program(p), context(c), target(c.object.target()),
        kernel(static_cast<std::size_t>(&c.kernel - c.object.kernels().data())) {
    const auto found = program.resources.find(kernel);
    if (found != program.resources.end())
      edit = found->second;
    const object::KernelDescriptor& descriptor = edit.descriptor ? *edit.descriptor : context.kernel.descriptor;
    vgprs = edit.vgprs.value_or(descriptor.allocatedVgprs(target));
    accum = edit.accumOffset.value_or(descriptor.accumOffset(target));
    sgprs = descriptor.allocatedSgprs(target);
    lds = edit.ldsBytes.value_or(descriptor.groupSegmentSize());
  }

  std::vector<Proposal> proposals() const {
    const program::ResourceEdit registers = registerCut(), local = ldsCut();
    program::ResourceEdit both = registers;
    both.ldsBytes = local.ldsBytes;
    std::vector<const program::ResourceEdit*> chosen;
    if (isStep({}, both)) {
      const auto isEnough = [&](const program::ResourceEdit& part) { return !isStep(part, both); };
      chosen.push_back(isEnough(registers) ? &registers : isEnough(local) ? &local : &both);
      if (chosen.front() == &both && isStep({}, registers))
        chosen.push_back(&registers);
    }
    std::vector<Proposal> result;
    for (const auto* cut : chosen)
      result.push_back(proposal(*cut));
    addMeasured(registers, both, result);
    return result;
  }

 private:
  program::ResourceEdit registerCut() const {
    program::ResourceEdit cut;
    if (readsAllocation(program, gprAlloc))
      return cut;
    const auto derived = program::deriveResources(context.object, program, program::ResourceDetail::registers);
    if (!derived)
      return cut;
    const auto mine = std::ranges::find(*derived, kernel, &program::KernelResources::kernel);
    if (mine == derived->end() || !mine->unproven.empty())
      return cut;
    const program::ResourceNeed& use = mine->need;
    // v at or above accum_offset aliases an AGPR: moving the border would change which one.
    const bool isFixed = mine->accumFixed || (use.vgprs > accum && use.agprs > 0);
    const unsigned border = isFixed ? accum : std::max(4u, roundUp(use.vgprs, 4));
    const unsigned total = std::max(8u, roundUp(std::max(use.vgprs, use.agprs ? border + use.agprs : 0), 8));
    if (border <= 256 && total < vgprs) {
      cut.vgprs = total;
      cut.accumOffset = border;
    }
    return cut;
  }

  program::ResourceEdit ldsCut() const {
    program::ResourceEdit cut;
    const program::Function* function = kernelFunction(program, context);
    if (lds == 0 || !function || readsAllocation(program, ldsAlloc))
      return cut;
    if (const auto reach = ldsReach(program, *function, context); reach && *reach < lds)
      cut.ldsBytes = *reach;
    return cut;
  }

  /// A cut to the LDS that launches were seen to reach, where no bound holds for all of them.
  void addMeasured(const program::ResourceEdit& registers, const program::ResourceEdit& proven,
                   std::vector<Proposal>& result) const {
    program::ResourceEdit cut = registers;
    cut.ldsBytes = granule;
    if (!isStep(proven, cut) || !mayMeasureLds())
      return;
    const auto use = context.evidence->ldsUse(context.object, context.kernel.name);
    if (!use || roundUp(std::max(use->extent.reached, granule), granule) >= lds)
      return;
    cut.ldsBytes = roundUp(std::max(use->extent.reached, granule), granule);
    if (!isStep(proven, cut))
      return;
    // What is left over between two steps costs nothing and may be what another launch needs.
    for (program::ResourceEdit wider = cut; *wider.ldsBytes + granule < lds; cut = wider) {
      *wider.ldsBytes += granule;
      if (isStep(wider, cut))
        break;
    }
    program::ResourceEdit alone;
    alone.ldsBytes = cut.ldsBytes;
    Proposal measured = proposal(isStep(alone, cut) ? cut : alone);
    measured.assumptions.push_back(
        fmt::format("no launch reaches beyond byte {} of the LDS: measured at most {} in {} cases, {} variants of them "
                    "and samples of {} timed cases",
                    *cut.ldsBytes, use->extent.reached, use->verified, use->variants, use->timed));
    result.insert(result.begin(), std::move(measured));
  }

  bool mayMeasureLds() const {
    if (!context.evidence || readsAllocation(program, ldsAlloc))
      return false;
    // LDS that launches add starts where the declared part ends.
    const auto& metadata = context.kernel.metadata;
    return !metadata || std::ranges::none_of(metadata->arguments, [](const object::KernelArgument& argument) {
      return argument.valueKind == "dynamic_shared_pointer" || argument.valueKind == "hidden_dynamic_lds_size";
    });
  }

  object::Occupancy occupancy(const program::ResourceEdit& cut) const {
    return object::occupancyOf(target, cut.vgprs.value_or(vgprs), sgprs, cut.ldsBytes.value_or(lds),
                               context.workgroupSize);
  }

  bool isStep(const program::ResourceEdit& from, const program::ResourceEdit& to) const {
    const auto before = occupancy(from), after = occupancy(to);
    return after.workgroupsPerCu > before.workgroupsPerCu || after.wavesPerSimd > before.wavesPerSimd;
  }

  Proposal proposal(const program::ResourceEdit& cut) const {
    Proposal result;
    result.program = program;
    program::ResourceEdit& changed = result.program.resources[kernel];
    std::string what;
    if (cut.vgprs) {
      changed.vgprs = cut.vgprs;
      changed.accumOffset = cut.accumOffset;
      what = fmt::format("declares {} VGPRs and uses {}", vgprs, *cut.vgprs);
    }
    if (cut.ldsBytes) {
      changed.ldsBytes = cut.ldsBytes;
      what += fmt::format("{}{} bytes of LDS and reaches {}", what.empty() ? "declares " : ", ", lds, *cut.ldsBytes);
    }
    const auto before = occupancy({}), after = occupancy(cut);
    result.reason = fmt::format("{}: {} instead of {} waves per SIMD, {} instead of {} workgroups per CU", what,
                                after.wavesPerSimd, before.wavesPerSimd, after.workgroupsPerCu, before.workgroupsPerCu);
    result.begin = result.end = context.kernel.entryAddress;
    return result;
  }

  const program::Program& program;
  const MoveContext& context;
  const object::Target& target;
  std::size_t kernel;
  program::ResourceEdit edit;
  unsigned vgprs = 0, accum = 0, sgprs = 0;
  std::uint32_t lds = 0;
};

class ShrinkResourcesMove final : public Move {
 public:
  std::string_view name() const override { return "shrink-resources"; }
  std::string_view purpose() const override {
    return "cut declared VGPRs, AGPRs and LDS to what the code uses where that raises occupancy";
  }

  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    if (!context.object.target().hasUnifiedRegisterFile())
      return {};
    return Cutter(program, context).proposals();
  }
};

} // namespace

const Move& shrinkResourcesMove() {
  static const ShrinkResourcesMove move;
  return move;
}

} // namespace asmevo::optimize
