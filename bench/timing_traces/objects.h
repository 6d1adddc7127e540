/// Measured code objects run in the emulator and replayed on one CU of a chip.
#pragma once

#include "device/device.h"
#include "timing/synthetic.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace asmevo::bench {

/// A launch of an object whose kernel takes pointers to f32 buffers and nothing else.
struct FloatLaunch {
  std::array<std::uint32_t, 3> workgroup{1, 1, 1};
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::vector<std::uint64_t> elements; ///< of each buffer, in argument order
};

/// Traces of some workgroups of a launch, and the code by dword from the traces' base.
struct TracedObject {
  std::unique_ptr<device::Device> device;
  std::unique_ptr<device::LoadedKernel> kernel; ///< owns the instructions of `code`
  std::vector<emulator::WorkgroupTrace> traces;
  std::vector<isa::InstRef> code;
  unsigned accumOffset = 0;
};
Result<TracedObject> traceObject(const std::string& path, const FloatLaunch& launch,
                                 const std::vector<std::uint64_t>& workgroups);

} // namespace asmevo::bench
