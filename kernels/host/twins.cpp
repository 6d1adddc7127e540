#include "host/twins.h"

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

#include <cstring>
#include <tuple>
#include <utility>

namespace asmevo::host {
namespace {

template <class T> bool bind(const Argument& argument, T& parameter) {
  if constexpr (std::is_pointer_v<T>) {
    parameter = reinterpret_cast<T>(argument.pointer);
    return argument.pointer != nullptr;
  } else {
    if (argument.scalar.size() != sizeof(T))
      return false;
    std::memcpy(&parameter, argument.scalar.data(), sizeof(T));
    return true;
  }
}

template <class... P>
std::string call(void (*kernel)(P...), const Shape& shape, const std::vector<Argument>& arguments) {
  if (arguments.size() != sizeof...(P))
    return "wrong number of arguments";
  std::tuple<std::remove_cv_t<P>...> parameters;
  const bool bound = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (bind(arguments[I], std::get<I>(parameters)) && ...);
  }(std::index_sequence_for<P...>{});
  if (!bound)
    return "an argument does not fit its parameter";
  return runGrid(shape, [&] { std::apply(kernel, parameters); }) ? "" : "deadlock";
}

using Run = std::string (*)(const Shape&, const std::vector<Argument>&);
template <auto kernel> std::string run(const Shape& shape, const std::vector<Argument>& arguments) {
  return call(kernel, shape, arguments);
}

struct Twin {
  const char* name;
  Run run;
};

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
  return "no kernel '" + name + "'";
}

} // namespace asmevo::host
