/// What the kernels of kernels/kernelbench30 have to compute, said once more in doubles and in the plainest way.
#pragma once

#include "dispatch/dispatch.h"

#include <string>
#include <vector>

namespace asmevo::test {

/// The elements of an output and how far the kernel's may be off.
struct Expectation {
  std::string buffer;
  std::vector<double> values, bounds;
};

/// Of one case of kernels/kernelbench30/<object>.dispatch.json, whose kernel is launch.kernel. Throws where there is no
/// reference for it.
Expectation kernelBenchReference(const dispatch::Case& launch);

} // namespace asmevo::test
