/// The kernels of this folder as host code: the independent oracle of the emulator's results.
#pragma once

#include "host/workgroup.h"

#include <cstdint>
#include <string>
#include <vector>

namespace asmevo::host {

/// One kernel argument, in the order of the kernel's parameters.
struct Argument {
  std::uint8_t* pointer = nullptr;  ///< a buffer in host memory, or null for a scalar
  std::vector<std::uint8_t> scalar; ///< bytes of a scalar
};

/// Names of the kernels of this folder, sorted.
std::vector<std::string> kernelNames();
/// Names of the kernels of kernelbench30/, sorted.
std::vector<std::string> kernelBenchNames();
/// Names of the kernels of reviewer/, sorted.
std::vector<std::string> reviewerNames();

/// Runs the host build of a kernel; buffers are read and written in place. Returns "" or what went wrong (no such
/// kernel, wrong number or size of arguments, deadlock).
std::string runHost(const std::string& name, const Shape& shape, const std::vector<Argument>& arguments);

} // namespace asmevo::host
