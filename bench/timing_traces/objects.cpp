#include "objects.h"

namespace asmevo::bench {

Result<TracedObject> traceObject(const std::string& path, const FloatLaunch& launch,
                                 const std::vector<std::uint64_t>& workgroups) {
  ASMEVO_TRY(const object::CodeObject object, object::CodeObject::load(path));
  ASMEVO_TRY(const object::Kernel* kernel, object.findKernel(""));
  dispatch::Case run;
  run.name = path;
  run.kernel = kernel->name;
  run.workgroupSize = launch.workgroup;
  for (std::size_t d = 0; d < 3; ++d)
    run.gridSize[d] = launch.workgroup[d] * launch.groups[d];
  for (std::size_t i = 0; i < launch.elements.size(); ++i) {
    dispatch::Buffer& buffer = run.buffers.emplace_back();
    buffer.name = std::string(1, static_cast<char>('a' + i));
    buffer.dtype = dispatch::DType::f32;
    buffer.shape = {launch.elements[i]};
    buffer.initial.assign(launch.elements[i] * 4, 0);
    run.arguments.emplace_back().buffer = buffer.name;
  }
  TracedObject result;
  ASMEVO_TRY(result.device, device::makeSimulator("mi350x"));
  ASMEVO_TRY(result.kernel, result.device->load(object, kernel->name));
  ASMEVO_TRY(device::TracedCase traced, result.kernel->trace(run, workgroups));
  result.traces = std::move(traced.traces);
  result.code = std::move(traced.code);
  result.accumOffset = traced.accumOffset;
  return result;
}

} // namespace asmevo::bench
