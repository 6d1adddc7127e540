#include "host/twin_call.h"

#define ASMEVO_HOST
#include "device_call.hip"
#include "histogram.hip"
#include "launch_shape.hip"
#include "layernorm.hip"
#include "matmul_mfma.hip"
#include "matmul_tiled.hip"
#include "reduce_dpp.hip"
#include "relu.hip"
#include "saxpy.hip"
#include "softmax.hip"
#include "table_lookup.hip"
#include "transpose.hip"
#include "vector_add.hip"

namespace asmevo::host {
namespace {

constexpr Twin twins[] = {
    {"device_call", run<device_call>},
    {"histogram", run<histogram>},
    {"launch_shape", run<launch_shape>},
    {"layernorm", run<layernorm>},
    {"matmul_mfma", run<matmul_mfma>},
    {"matmul_tiled", run<matmul_tiled>},
    {"reduce_dpp", run<reduce_dpp>},
    {"relu", run<relu>},
    {"saxpy", run<saxpy>},
    {"softmax", run<softmax>},
    {"table_lookup", run<table_lookup>},
    {"transpose", run<transpose>},
    {"vector_add", run<vector_add>},
};

} // namespace

std::vector<std::string> kernelNames() {
  std::vector<std::string> names;
  for (const Twin& twin : twins)
    names.emplace_back(twin.name);
  return names;
}

std::string runHost(const std::string& name, const Shape& shape, const std::vector<Argument>& arguments) {
  for (const Twin& twin : twins)
    if (name == twin.name)
      return twin.run(shape, arguments);
  for (const auto more : {kernelBenchTwins(), reviewerTwins()})
    for (const Twin& twin : more)
      if (name == twin.name)
        return twin.run(shape, arguments);
  return "no kernel '" + name + "'";
}

} // namespace asmevo::host
