#include "optimize/search/view.h"

#include "program/analysis/dataflow.h"
#include "program/analysis/loops.h"
#include "support/file_io.h"

namespace asmevo::optimize {

namespace {

Result<Gates> gatesOf(const View& v, const Pricer& pricer) {
  Gates gates;
  gates.parentCycles = v.cycles;
  ASMEVO_TRY(const Pricer::ByOne first, pricer.byOne(v.object));
  gates.clocks = first.clockMhz;
  ASMEVO_TRY(const Pricer::ByOne again, pricer.byOne(v.object, gates.clocks));
  gates.parentByOne = again.cycles;
  // One workgroup does not see what an edit does to those that behave otherwise.
  constexpr double unlikeSlack = 0.01;
  gates.slack = v.profile.behaviours > 1 ? unlikeSlack : 0;
  gates.accumOffset = v.accumOffset();
  gates.hazards = program::hazardTargetOf(v.object.target());
  if (lintsClean(v.program, v.kernelIndex, gates.accumOffset, gates.hazards))
    gates.lintKernel = v.kernelIndex;
  return gates;
}

} // namespace

Result<View> viewOf(const Bytes& bytes, const std::string& name, const std::string& kernel, double cycles,
                    isa::Codec& codec, const Pricer& pricer) {
  ASMEVO_TRY(auto object, object::CodeObject::parse(bytes, name));
  ASMEVO_TRY(auto recovered, program::Program::recover(object, codec));
  program::completeInstructions(recovered, codec);
  View v{std::move(object), sha256Hex(bytes), std::move(recovered), nullptr, 0, cycles, {}, {}, {}, {}, {}, {}};
  ASMEVO_TRY(v.kernel, v.object.findKernel(kernel));
  v.kernelIndex = static_cast<std::size_t>(v.kernel - v.object.kernels().data());
  ASMEVO_TRY(v.profile, pricer.heaviest(v.object));
  v.windows = rankWindows(v.object, v.program, *v.kernel, v.profile);
  if (const auto* function = v.program.functionOf(v.kernelIndex))
    for (const auto& loop : program::naturalLoops(v.program, *function))
      v.inLoops.insert(loop.blocks.begin(), loop.blocks.end());
  ASMEVO_TRY(v.gates, gatesOf(v, pricer));
  if (v.gates.slack == 0) {
    ASMEVO_TRY(v.perturbedByOne, pricer.perturbedByOne(v.object));
  }
  return v;
}

} // namespace asmevo::optimize
