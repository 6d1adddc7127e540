#include "device/run_support.h"

#include "host/twins.h"

#include <stdexcept>

namespace asmevo::test {

object::CodeObject loadObject(const std::string& path) {
  return must(object::CodeObject::load(path));
}
dispatch::Dispatch loadDispatch(const std::string& path) {
  return must(dispatch::loadDispatch(path));
}

std::string kernelObject(const std::string& name) {
  return std::string(ASMEVO_BINARY_DIR "/kernels/") + name + ".co";
}
std::string kernelDispatch(const std::string& name) {
  return std::string(ASMEVO_SOURCE_DIR "/kernels/") + name + ".dispatch.json";
}
std::string corpusObject(const std::string& relative) {
  return ASMEVO_SOURCE_DIR "/.cache/corpus/aiter_meta/hsa/gfx942/" + relative;
}
std::string dataFile(const std::string& relative) {
  return ASMEVO_SOURCE_DIR "/tests/data/" + relative;
}

std::vector<Bytes> runTwin(const std::string& kernel, const dispatch::Case& launch) {
  std::vector<Bytes> buffers;
  for (const dispatch::Buffer& buffer : launch.buffers)
    buffers.push_back(buffer.initial);
  std::vector<host::Argument> arguments;
  for (const dispatch::Argument& argument : launch.arguments) {
    host::Argument bound;
    bound.scalar = argument.bytes;
    for (std::size_t i = 0; i < launch.buffers.size(); ++i)
      if (launch.buffers[i].name == argument.buffer)
        bound.pointer = buffers[i].data() + argument.offset;
    arguments.push_back(std::move(bound));
  }
  const std::string failure =
      host::runHost(kernel, {launch.workgroupSize, launch.gridSize, launch.dynamicLdsBytes}, arguments);
  if (!failure.empty())
    throw std::runtime_error(kernel + " on the host: " + failure);
  return buffers;
}

std::vector<double> elements(const dispatch::Case& launch, const std::vector<Bytes>& buffers, const std::string& name) {
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    const dispatch::Buffer& buffer = launch.buffers[i];
    if (buffer.name != name)
      continue;
    std::vector<double> values;
    for (std::size_t at = 0; at < buffers[i].size(); at += dispatch::dtypeSize(buffer.dtype))
      values.push_back(dispatch::elementValue(buffer.dtype, buffers[i].data() + at));
    return values;
  }
  throw std::runtime_error("no buffer " + name);
}

} // namespace asmevo::test
