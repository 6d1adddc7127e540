#include "optimize/moves/shrink_resources.h"

#include "optimize/lds_bounds.h"
#include "optimize/moves/move_support.h"
#include "program/resources.h"
#include "support/round_up.h"

#include <algorithm>

namespace asmevo::optimize {

namespace {

class ShrinkResourcesMove final : public Move {
 public:
  std::string_view name() const override { return "shrink-resources"; }
  std::string_view purpose() const override {
    return "cut declared VGPRs, AGPRs and LDS to what the code uses where that raises occupancy";
  }

  bool isLocal() const override { return false; }

  std::vector<Proposal> propose(const program::Program& program, const MoveContext& context) const override {
    std::vector<Proposal> proposals;
    if (!context.object.target().hasUnifiedRegisterFile())
      return proposals;
    const auto kernel = static_cast<std::size_t>(&context.kernel - context.object.kernels().data());
    const auto& descriptor = context.kernel.descriptor;
    const object::Target& target = context.object.target();
    const auto current = program.resources.find(kernel);
    const program::ResourceEdit declared =
        current == program.resources.end() ? program::ResourceEdit{} : current->second;
    const unsigned vgprs = declared.vgprs.value_or(descriptor.allocatedVgprs(target));
    const unsigned accum = declared.accumOffset.value_or(descriptor.accumOffset(target));
    const std::uint32_t lds = declared.ldsBytes.value_or(descriptor.groupSegmentSize());

    program::ResourceEdit cut;
    const auto derived = program::deriveResources(context.object, program, program::ResourceDetail::registers);
    const auto mine = derived ? std::find_if(derived->begin(), derived->end(),
                                             [&](const auto& each) { return each.kernel == kernel; })
                              : std::vector<program::KernelResources>::const_iterator();
    if (derived && mine != derived->end() && mine->unproven.empty()) {
      const program::ResourceNeed& use = mine->need;
      // v at or above accum_offset aliases an AGPR: moving the border would change which one.
      const bool aliased = use.vgprs > accum && use.agprs > 0;
      const unsigned newAccum = use.agprs && aliased ? accum : std::max(4u, roundUp(use.vgprs, 4));
      const unsigned total = roundUp(std::max(use.vgprs, use.agprs ? newAccum + use.agprs : 0), 8);
      if (newAccum <= 256 && std::max(total, 8u) < vgprs) {
        cut.vgprs = std::max(total, 8u);
        cut.accumOffset = newAccum;
      }
    }
    if (lds > 0)
      if (const auto reach = ldsReach(program, *kernelFunction(program, context), context); reach && *reach < lds)
        cut.ldsBytes = *reach;

    const auto occupancy = [&](const program::ResourceEdit& edit) {
      return object::occupancyOf(target, edit.vgprs.value_or(vgprs), descriptor.allocatedSgprs(target),
                                 edit.ldsBytes.value_or(lds), context.workgroupSize);
    };
    const auto before = occupancy({});
    const auto after = occupancy(cut);
    if (after.workgroupsPerCu <= before.workgroupsPerCu && after.wavesPerSimd <= before.wavesPerSimd)
      return proposals;
    Proposal proposal;
    proposal.program = program;
    auto& edit = proposal.program.resources[kernel];
    if (cut.vgprs) {
      edit.vgprs = cut.vgprs;
      edit.accumOffset = cut.accumOffset;
    }
    if (cut.ldsBytes)
      edit.ldsBytes = cut.ldsBytes;
    proposal.reason = fmt::format(
        "declared {} VGPRs and {} bytes of LDS, used {} and {}: {} instead of {} waves per SIMD", vgprs, lds,
        edit.vgprs.value_or(vgprs), edit.ldsBytes.value_or(lds), after.wavesPerSimd, before.wavesPerSimd);
    proposal.begin = proposal.end = context.kernel.entryAddress;
    proposals.push_back(std::move(proposal));
    return proposals;
  }
};

} // namespace

const Move& shrinkResourcesMove() {
  static const ShrinkResourcesMove move;
  return move;
}

} // namespace asmevo::optimize
