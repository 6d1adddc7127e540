/// Loading what a device test runs, and running a kernel's host twin on the same case.
#pragma once

#include "device/device.h"

#include <string>
#include <vector>

namespace asmevo::test {

/// kernels/<name>.co of the build, a kernel's dispatch.json, or a production object of the corpus. Failures end the
/// test program with the message: no test can go on without its inputs.
object::CodeObject loadObject(const std::string& path);
dispatch::Dispatch loadDispatch(const std::string& path);
std::string kernelObject(const std::string& name);
std::string kernelDispatch(const std::string& name);
std::string corpusObject(const std::string& relative);
std::string dataFile(const std::string& relative);

/// Buffers after the host build of `kernel` ran the case (its arguments in metadata order).
std::vector<Bytes> runTwin(const std::string& kernel, const dispatch::Case& launch);

/// Elements of a buffer as doubles.
std::vector<double> elements(const dispatch::Case& launch, const std::vector<Bytes>& buffers, const std::string& name);

/// A Result's value; throws its message otherwise, which fails the test.
template <class T> T must(Result<T> result) {
  if (!result)
    throw std::runtime_error(result.error().message);
  return *std::move(result);
}

} // namespace asmevo::test
